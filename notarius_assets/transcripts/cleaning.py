"""What is taken out of text before it becomes a unit or a label: control characters and runs of white space."""

from __future__ import annotations

import re

from notarius_assets.transcripts import codes

REPLACEMENT = "\ufffd"
"""Stands where bytes, or half a surrogate pair, could not be read."""

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
_SURROGATE = "\ud800-\udfff"

_DIRTY = re.compile(f"[{_BIDI}{_CONTROL}{_SURROGATE}]")
_BIDI_RUN = re.compile(f"[{_BIDI}]+")
_CONTROL_RUN = re.compile(f"[{_CONTROL}]+")
_SURROGATE_ONE = re.compile(f"[{_SURROGATE}]")


def is_dirty(text: str) -> bool:
    """Tell whether `strip_controls` would change a text."""
    return _DIRTY.search(text) is not None


def strip_controls(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without control and bidi characters, lone surrogates as U+FFFD, and the codes that name it.

    White space, also tab, line ends and U+0085, stays as it is.
    """
    found: list[str] = []
    if _DIRTY.search(text):
        for pattern, by, code in (
            (_CONTROL_RUN, "", codes.CONTROL_CHARACTERS_REMOVED),
            (_BIDI_RUN, "", codes.BIDI_CONTROLS_REMOVED),
            (_SURROGATE_ONE, REPLACEMENT, codes.ENCODING_REPLACED),
        ):
            text, count = pattern.subn(by, text)
            if count:
                found.append(code)
    return text, tuple(found)


def tidy(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without control characters and with single spaces for white space, and the codes for it."""
    text, found = strip_controls(text)
    return " ".join(text.split()), found
