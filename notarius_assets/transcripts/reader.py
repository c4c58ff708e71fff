"""Reading one transcript file: which reader takes it is found by its content."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from notarius_assets.transcripts import codes, crd3, script
from notarius_assets.transcripts.base import Reader
from notarius_assets.transcripts.content import Content, check_size, load
from notarius_assets.transcripts.intake import Intake
from notarius_assets.transcripts.model import IngestWarning, Transcript, TranscriptError, error_json
from notarius_assets.transcripts.shown import shown
from notarius_assets.transcripts.unknown import unknown_shape

__all__ = ["READERS", "READERS_VERSION", "error_json", "read", "read_bytes"]

READERS: Final[tuple[Reader, ...]] = (crd3.READER, script.READER)
"""The readers in the order they are asked; the strict ones come first. Another format is one more entry."""

_COMMON_VERSION = "1"

READERS_VERSION: Final = "+".join((f"ingest-{_COMMON_VERSION}", *(f"{r.name}-{r.version}" for r in READERS)))
"""Part of the fingerprint of everything made from units: it changes when a reader could give other units."""

_FOREIGN_SUFFIXES = frozenset(
    (".json", ".vtt", ".srt", ".html", ".htm", ".csv", ".tsv", ".ass", ".db", ".jsonl", ".xml")
)


def read(path: Path) -> Transcript:
    """Return the transcript in a file; its `source` is the file's name.

    Raises TranscriptError where no unit can be had; the message is one line with the file, the reason and the place.
    """
    try:
        found = path.stat()
        if not (S_ISREG(found.st_mode) or S_ISDIR(found.st_mode)):
            # Reading a pipe or a device may never end.
            raise OSError(None, "not a regular file")
        check_size(found.st_size, path.name)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TranscriptError(
            codes.FILE_UNREADABLE,
            f"{shown(str(path))}: can't be read: {reason or type(error).__name__}",
            next_step="check the path and the file's permissions",
        ) from error
    return read_bytes(data, path.name)


def read_bytes(data: bytes, name: str) -> Transcript:
    """Return the transcript in a file's bytes; `name` is used in messages and for `format_mismatch` only.

    Raises TranscriptError where no unit can be had, and nothing else for any bytes.
    """
    content = load(data, name)
    for reader in READERS:
        if reader.takes(content):
            return _taken(reader, content)
    raise unknown_shape(content)


def _taken(reader: Reader, content: Content) -> Transcript:
    intake = Intake(replaced=content.replaced)
    reading = reader.read(content, intake)
    name = shown(content.name)
    if not intake.units:
        raise TranscriptError(
            codes.NO_CUES,
            f"{name}: read as {reading.format}, but none of its {reading.records_seen:,} records has text",
            next_step="export the transcript again, or leave the file out with `ignore:`",
            records=reading.records_seen,
        )
    warnings = content.warnings + intake.warnings()
    if content.suffix in _FOREIGN_SUFFIXES - reader.suffixes:
        note = f"named {content.suffix}, read as {reading.format}: content wins"
        warnings += (IngestWarning(codes.FORMAT_MISMATCH, note=note),)
    return Transcript(
        source=name,
        format=reading.format,
        encoding=content.encoding,
        units=tuple(intake.units),
        warnings=tuple(sorted(warnings, key=lambda w: codes.WARNINGS.index(w.code))),
        records_seen=reading.records_seen,
    )
