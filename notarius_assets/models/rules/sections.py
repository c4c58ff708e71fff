"""What a rule file is made of: words, phrases, the patterns that find them, and a section closed to misspelt keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _words(value: Any) -> Any:
    return frozenset(value.casefold().split()) if isinstance(value, str) else value


def _phrases(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(phrase for part in value.casefold().split(",") if (phrase := " ".join(part.split())))


Words = Annotated[frozenset[str], BeforeValidator(_words)]
"""Single words, separated by white space in the file."""

Phrases = Annotated[tuple[str, ...], BeforeValidator(_phrases)]
"""Phrases of one or more words, separated by commas in the file."""


def _alternatives(phrases: Sequence[str]) -> str:
    """Return the phrases as one pattern of literal texts, longest first; matching time is linear in the text."""
    ordered = sorted(phrases, key=lambda p: (-len(p), p))
    words = "|".join(re.escape(p) for p in ordered if p[0].isalnum())
    # A phrase that begins with a mark ("'s turn", "[break]") hangs on whatever stands before it.
    marks = [re.escape(p) for p in ordered if not p[0].isalnum()]
    return "|".join([*([rf"\b(?:{words})"] if words else []), *marks])


def phrase_pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases as whole words; one that finds nothing for none."""
    return re.compile(rf"(?:{_alternatives(phrases)})(?!\w)" if phrases else r"(?!)")


def ending_pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases at the very end of a text."""
    return re.compile(rf"(?:{_alternatives(phrases)})\Z" if phrases else r"(?!)")


def beginning_pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of the phrases at the start of a text, behind white space."""
    return re.compile(rf"\s*(?:{_alternatives(phrases)})(?!\w)" if phrases else r"(?!)")


class Section(BaseModel):
    """A file's contents: closed to unknown keys, so that a misspelt key is an error and not a silent default."""

    model_config = ConfigDict(frozen=True, extra="forbid")
