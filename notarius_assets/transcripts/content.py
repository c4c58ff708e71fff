"""One file as the readers see it: a JSON document, or text in lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final

from notarius_assets.transcripts import codes, jsontext
from notarius_assets.transcripts.decode import binary_kind, bom, decode
from notarius_assets.transcripts.model import IngestWarning, TranscriptError
from notarius_assets.transcripts.shown import shown

MAX_BYTES: Final = 128 * 1024 * 1024
"""The largest file that is read: some sixty hours of CRD3 text, or a day of word-timed JSON."""

MAX_LINE: Final = 1_000_000
"""The longest line of a text file, in characters; checked before any pattern meets it."""


@dataclass(frozen=True)
class Content:
    """A file's content, read once, offered to each reader in turn.

    A reader of JSON looks at `document` where `is_json`; the others look at `lines`.
    """

    name: str
    encoding: str
    is_json: bool
    document: Any = None
    text: str = field(default="", repr=False)
    replaced: bool = False
    warnings: tuple[IngestWarning, ...] = ()

    @property
    def suffix(self) -> str:
        """The file's last suffix in lower case, with its dot; empty where there is none."""
        return PurePath(self.name).suffix.lower()

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines without their ends. Raises TranscriptError `line_too_long`."""
        lines = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if len(self.text) > MAX_LINE:
            for number, line in enumerate(lines, 1):
                if len(line) > MAX_LINE:
                    raise TranscriptError(
                        codes.LINE_TOO_LONG,
                        f"{shown(self.name)}: line {number} has {len(line):,} characters, more than {MAX_LINE:,}",
                        next_step="break the text into lines, or leave the file out with `ignore:`",
                        line=number,
                    )
        return lines


def load(data: bytes, name: str) -> Content:
    """Return a file's content. Raises TranscriptError where it holds neither text nor JSON."""
    check_size(len(data), name)
    mark = bom(data)
    if not data[len(mark) :] or data.isspace():
        raise TranscriptError(
            codes.EMPTY_FILE,
            f"{shown(name)}: the file has no {'text, only white space' if data else 'bytes'}",
            next_step="export the transcript again, or leave the file out with `ignore:`",
        )
    kind = binary_kind(data)
    if kind:
        raise TranscriptError(
            codes.BINARY_FILE,
            f"{shown(name)}: this is {kind}, not a transcript",
            next_step="give the transcript made from it as text or JSON",
        )
    if not mark:
        document = jsontext.quick(data)
        if document is not jsontext.NOT_JSON:
            return Content(name, "utf-8", True, document)
    decoded = decode(data)
    if not decoded.text.strip("\0\ufeff \t\r\n\v\f"):
        raise TranscriptError(
            codes.EMPTY_FILE,
            f"{shown(name)}: the file has no text, only white space",
            next_step="export the transcript again, or leave the file out with `ignore:`",
        )
    if jsontext.looks_like_json(decoded.text):
        warnings, nans = decoded.warnings, 0
        document = jsontext.quick(decoded.text)
        if document is jsontext.NOT_JSON:
            document, nans = jsontext.thorough(decoded.text, name)
        if nans:
            warnings += (IngestWarning(codes.JSON_NAN, note=f"{nans} numbers are NaN or infinite: read as null"),)
        return Content(name, decoded.encoding, True, document, "", decoded.replaced, warnings)
    return Content(name, decoded.encoding, False, None, decoded.text, decoded.replaced, decoded.warnings)


def check_size(size: int, name: str) -> None:
    """Raise TranscriptError `file_too_large` for more bytes than are read."""
    if size > MAX_BYTES:
        raise TranscriptError(
            codes.FILE_TOO_LARGE,
            f"{shown(name)}: {size:,} bytes, more than {MAX_BYTES:,}",
            next_step="split the recording into sessions, one file each",
        )
