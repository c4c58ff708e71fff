"""Words of a unit: where they stand, whether a capital means anything there, whether they are quoted speech.

All folding keeps the length of the text, so that positions of the folded and the real text are the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from notarius_assets.transcripts.model import Unit

_FOLD = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\uff07\u0060\u00b4"), "'") | dict.fromkeys(
    map(ord, "\u201c\u201d\u201e\u00ab\u00bb"), '"'
)
"""One apostrophe, one quotation mark: people and programs type many."""

_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.?!…:;(\[*\"\u266a]|--|\u2014")
"""Behind one of these a capital is no sign of a name: a new sentence, a stage direction, an interrupted one."""


def fold(text: str) -> str:
    """Return the text with plain apostrophes and quotation marks; the length stays."""
    return text.translate(_FOLD)


def lower(text: str) -> str:
    """Return the text in lower case; the length stays, even for letters whose lower case is longer."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@dataclass(frozen=True, slots=True)
class Word:
    """One word: `base` without a possessive ending, `key` for comparing; `opens` where a sentence or aside opens."""

    start: int
    end: int
    base: str
    key: str
    capital: bool
    possessive: bool
    opens: bool
    before: str

    @property
    def base_end(self) -> int:
        """Where the word ends without its possessive ending."""
        return self.start + len(self.base)


@dataclass(frozen=True)
class Line:
    """One unit, read: its words and quoted stretches."""

    unit_id: int
    speakers: tuple[str, ...]
    by_dm: bool
    citable: bool
    text: str

    @cached_property
    def folded(self) -> str:
        """The text with plain apostrophes and quotation marks."""
        return fold(self.text)

    @cached_property
    def lowered(self) -> str:
        """The folded text in lower case, of the same length."""
        return lower(self.folded)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words in order."""
        return tuple(_words(self.folded))

    @cached_property
    def quotes(self) -> tuple[tuple[int, int], ...]:
        """The quoted stretches; an open quotation reaches the end, one that only closes begins at the start."""
        marks = [i for i, c in enumerate(self.folded) if c == '"']
        if len(marks) % 2:
            # Of an odd number the first mark closes when it hangs on a word before it.
            first = marks[0]
            closes = first > 0 and not self.folded[first - 1].isspace() and len(marks) == 1
            marks = [-1, *marks] if closes else [*marks, len(self.folded)]
        return tuple(zip(marks[::2], marks[1::2], strict=True))

    @cached_property
    def _quote_starts(self) -> list[int]:
        return [start for start, _ in self.quotes]

    def quoted(self, position: int) -> bool:
        """Tell whether a position lies inside quoted speech."""
        i = bisect_right(self._quote_starts, position) - 1
        return i >= 0 and position < self.quotes[i][1]

    @cached_property
    def speech(self) -> bool:
        """Whether the unit holds quoted speech of more than one word, or opens with a quotation."""
        return any(
            start <= 0 or len(self.folded[start + 1 : end].split()) > 1 or end - start > 3 for start, end in self.quotes
        )

    @cached_property
    def unquoted(self) -> str:
        """The lower-case text with quoted stretches blanked."""
        out, last = [], 0
        for start, end in self.quotes:
            out.append(self.lowered[last : max(start, 0)])
            out.append(" " * (end - max(start, 0)))
            last = end
        out.append(self.lowered[last:])
        return "".join(out)


def _words(text: str) -> Iterable[Word]:
    last = 0
    for match in _WORD.finditer(text):
        raw, start, end = match.group(), match.start(), match.end()
        before = text[last:start]
        # The plural possessive ("the Breakers' hall") keeps its s: only the apostrophe falls away, outside the word.
        possessive = raw[-2:].lower() == "'s"
        base = raw[:-2] if possessive else raw
        opens = last == 0 or (before != " " and _SENTENCE_END.search(before) is not None)
        yield Word(start, end, base, base.casefold(), base[:1].isupper(), possessive, opens, before)
        last = end


def read(units: Iterable[Unit], dms: frozenset[str], citable: bool) -> list[Line]:
    """Return the units as lines; `dms` are folded labels, empty where everybody may narrate."""
    return [
        Line(
            unit_id=u.unit_id,
            speakers=u.speakers,
            by_dm=not dms or any(s.casefold().strip() in dms for s in u.speakers),
            citable=citable,
            text=u.text,
        )
        for u in units
    ]
