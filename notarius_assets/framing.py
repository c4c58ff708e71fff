"""Transcript text as lines of a request: whatever was said stays inside its frame and can't imitate it."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from notarius_assets.identity import compact_json
from notarius_assets.transcripts.model import Unit

_TAGS = "chunk|context_before|context_after|campaign|registry|example|candidates|evidence"
_TAG = re.compile(rf"[<＜](?=\s*[/／]?\s*(?:{_TAGS})\b)", re.I)
_NUMBER = re.compile(r"[\[［]\s*(\d+|context)\s*[\]］]", re.I)
_FILLERS = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10))))
"""Characters that nobody sees and that are no format characters by category."""

_JSON_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<\u0085\u2028\u2029"}


def framed_json(value: Any) -> str:
    """Return compact JSON on one line in which nothing looks like the frame."""
    return compact_json(value).translate(_JSON_ESCAPES)


def said(unit: Unit, most: int | None = None) -> str:
    """Return `SPEAKER: text` on one line; of a text longer than `most` characters the beginning."""
    speakers = ", ".join(map(plain, unit.speakers)) or "?"
    text = plain(unit.text)
    if most is not None and len(text) > most:
        text = f"{text[: most - 1]}…"
    return f"{speakers}: {text}"


def plain(text: str) -> str:
    """Return text as one line in which nothing looks like the frame or like the beginning of a unit."""
    line = " ".join(text.split())
    # between the letters of a tag, characters that nobody sees would hide it; elsewhere scripts and emoji need them
    if not line.isascii():
        seen = "".join(c for c in line if c not in _FILLERS and unicodedata.category(c) != "Cf")
        line = seen if _frame_like(seen) > _frame_like(line) else line
    return _NUMBER.sub(r"(\1)", _TAG.sub("‹", line))


def _frame_like(line: str) -> int:
    return len(_TAG.findall(line)) + len(_NUMBER.findall(line))
