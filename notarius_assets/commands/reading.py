"""`read`, `init`: transcripts before there is a lake."""

from __future__ import annotations

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notarius_assets.commands.terminal import json_out, note, out
from notarius_assets.errors import ConfigurationError
from notarius_assets.files import write_atomically
from notarius_assets.identity import slug
from notarius_assets.transcripts.model import TranscriptError
from notarius_assets.transcripts.reader import error_json, read

SHOWN_UNITS = 5
_SURROGATES = re.compile("[\\ud800-\\udfff]")
_NOT_IN_YAML = re.compile("[^\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]|[\\u2028\\u2029\\ufeff]")
"""Characters that a YAML file can hold as an escape only."""


def read_file(path: Path, as_json: bool) -> int:
    """Parse a file only; return the exit code."""
    try:
        transcript = read(path)
    except TranscriptError as error:
        if as_json:
            json_out(error_json(path.name, error))
            return 1
        raise
    if as_json:
        json_out(transcript.as_json())
        return 0
    out(f"{path.name}: {len(transcript.units):,} units, read as {transcript.format} ({transcript.encoding})")
    for unit in transcript.units[:SHOWN_UNITS]:
        out(f"  [{unit.unit_id}] {', '.join(unit.speakers) or '(nobody)'}: {unit.text}")
    if len(transcript.units) > SHOWN_UNITS:
        out(f"  … {len(transcript.units) - SHOWN_UNITS:,} more")
    for warning in transcript.warnings:
        where = (
            f" units {', '.join(map(str, warning.units[:8]))}{' …' if len(warning.units) > 8 else ''}"
            if warning.units
            else ""
        )
        dropped = f" {warning.records} records dropped" if warning.records else ""
        out(f"  warning {warning.code}:{where}{dropped}{f' ({warning.note})' if warning.note else ''}")
    return 0


def init(folder: Path, globs: Sequence[str], campaign: str, speakers: Path | None) -> int:
    """Write a commented starter pipeline file with the speakers that the transcripts have."""
    target = folder / "pipeline.yaml"
    if target.exists():
        raise ConfigurationError(f"{target} is already there", next_step="edit it, or give another folder")
    if slug(campaign) is None or _SURROGATES.search(campaign):
        raise ConfigurationError(
            f"campaign {campaign!r} gives no slug", next_step="use a name with a letter a-z or a digit"
        )
    if "" in globs:
        raise ConfigurationError("--transcripts is empty", next_step="give a glob, such as 'transcripts/*.txt'")
    declared = _speakers(speakers)
    written = [_relative(pattern, folder) for pattern in globs]
    files = sorted({Path(p) for pattern in written for p in _matches(folder / pattern)})
    counts, unread = _labels([p for p in files if p.is_file()])
    text = _starter(campaign, written, counts, declared)
    try:
        write_atomically(target, text.encode())
    except OSError as error:
        raise ConfigurationError(
            f"{target}: can't be written ({error.strerror})", next_step="give another DIR"
        ) from error
    out(f"Wrote {target}: {len(files) - len(unread)} transcripts, {len(counts)} speaker labels.")
    for problem in unread[:5]:
        note(f"notarius: {problem}")
    if not files:
        note(f"notarius: no file matches {', '.join(globs)} yet; correct `transcripts:` in {target}")
    if counts and not declared:
        note(f"notarius: no --speakers given: say who speaks in {target}, or players may be taken for NPCs")
    out(f"Next: notarius run --pipeline {target}")
    return 0


def _relative(pattern: str, folder: Path) -> str:
    """Return a glob typed here as one relative to the pipeline file, where it stays on the same disk tree."""
    if Path(pattern).is_absolute():
        return pattern
    if not _matches(Path(pattern)) and _matches(folder / pattern):
        return pattern
    return Path(os.path.relpath(pattern, folder)).as_posix()


def _matches(pattern: Path) -> list[str]:
    # `..` is taken out of the text: a folder that is yet to be made leads nowhere
    return glob.glob(os.path.normpath(pattern), recursive=True)  # noqa: PTH207 - the pattern may be absolute


def _speakers(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    shape = '{"dm": ["MATT"], "players": {"TRAVIS": "Grog"}}'
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path}: can't be read as JSON ({error})", next_step=f"write it as {shape}"
        ) from error
    good = (
        isinstance(found, dict)
        and set(found) <= {"dm", "players"}
        and isinstance(found.get("dm", []), list)
        and isinstance(found.get("players", {}), dict)
        and all(map(_is_label, (*found.get("dm", []), *found.get("players", {}), *found.get("players", {}).values())))
    )
    if not good:
        raise ConfigurationError(f"{path}: not the shape of a speakers file", next_step=f"write it as {shape}")
    return dict(found)


def _is_label(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not _SURROGATES.search(value)


def _labels(files: Sequence[Path]) -> tuple[Counter[str], list[TranscriptError]]:
    counts: Counter[str] = Counter()
    unread: list[TranscriptError] = []
    for path in files:
        try:
            counts.update(label for unit in read(path).units for label in unit.speakers)
        except TranscriptError as error:
            unread.append(error)
    return counts, unread


def _starter(campaign: str, globs: Sequence[str], counts: Counter[str], declared: Mapping[str, Any]) -> str:
    dms = declared.get("dm", [])
    players = declared.get("players", {})
    lines = [
        "# What notarius does with these transcripts. Every key: docs/reference/configuration.md",
        f"campaign: {_text(campaign)}",
        "",
        "# Files of sessions, relative to this file. A session is named by its file.",
        "transcripts:",
        *(f"  - {_text(pattern)}" for pattern in globs),
        "# ignore: [README.md]",
        "# sessions:                       # name a session otherwise than its file",
        '#   "some file.txt": s07',
        "",
        "# Who speaks: labels as in the transcripts.",
        "# Without it the rules guess the DM, and players may be taken for NPCs.",
        "speakers:",
    ]
    lines += ["  dm:", *(f"    - {_text(d)}" for d in dms)] if dms else ["  # dm: [LABEL]"]
    if players:
        lines += [
            "  players:                       # label: character",
            *(f"    {_text(k)}: {_text(v)}" for k, v in players.items()),
        ]
    else:
        lines.append("  # players: {LABEL: Character}")
    left = [(label, n) for label, n in counts.most_common(30) if label not in dms and label not in players]
    if left:
        lines.append("  # also found in the transcripts, with the number of their units:")
        lines += [f"  #   {_text(label)}: {n}" for label, n in left]
    lines += [
        "",
        "# Names you know, with the other forms they go by.",
        "gazetteer:",
        "  npcs:",
        "  # - name: Old Marta",
        "  #   aliases: [Marta, the widow]",
        "  locations:",
        "  # - name: Brackwater",
        "  # glossary:",
        "  #   fog bells: bells that are rung in fog; neither a person nor a place",
        "",
        "# What you find united wrongly, or in two records: it holds whatever is proposed.",
        "# reconciliation:",
        "#   - {lane: dnd/npcs, apart: [Mara, Tamara]}",
        "#   - {lane: dnd/locations, one: [Vessel Point Light, the Candle]}",
        "",
        "model:",
        "  provider: rules                 # offline; no key, no download",
        "  # provider: anthropic           # Claude, with ANTHROPIC_API_KEY in the environment: docs/how-to/models.md",
        "",
        "steps:",
        "  - name: registries",
        "    lanes:",
        "      - lane: dnd/npcs",
        "      - lane: dnd/locations",
        "  - name: occurrences",
        "    lanes:",
        "      - lane: dnd/npc-interactions",
        "        references: {npcs: dnd/npcs}",
        "      - lane: dnd/location-occurrences",
        "        references: {locations: dnd/locations}",
        "",
    ]
    return "\n".join(lines)


def _text(value: str) -> str:
    """Return a YAML scalar: a JSON string is one."""
    plain = value.isascii() and value.replace("_", "a").replace("-", "a").isalnum() and value[0].isalpha()
    if plain:
        return value
    return _NOT_IN_YAML.sub(lambda c: f"\\u{ord(c[0]):04x}", json.dumps(value, ensure_ascii=False))
