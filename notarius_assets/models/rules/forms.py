"""Known forms of names, and where lines have them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from notarius_assets.models.rules.text import Line, fold

_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")


_ARTICLES = frozenset(("the", "a", "an"))
"""Their capital says nothing about a name."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a name: its folded words; `proper` forms need a capital on a word that is no article."""

    keys: tuple[str, ...]
    name: str
    proper: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A name found: the words `first` to `last` of a line, by a form."""

    name: str
    line: int
    first: int
    last: int
    proper: bool


def keys_of(text: str) -> tuple[str, ...]:
    """Return the folded words of a text, without possessive endings."""
    words = (w[:-2] if w.lower().endswith("'s") else w for w in _WORD.findall(fold(text)))
    return tuple(w.casefold() for w in words if w)


def is_proper(text: str) -> bool:
    """Tell whether a name is written with a capital on some word that is not its first article."""
    return any(w[:1].isupper() for w in _WORD.findall(fold(text)) if w.casefold() not in _ARTICLES)


class FormIndex:
    """Forms by their first word; a longer form at a place wins over a shorter one."""

    def __init__(self, forms: Iterable[Form]) -> None:
        index: dict[str, list[Form]] = defaultdict(list)
        for form in dict.fromkeys(forms):
            if form.keys:
                index[form.keys[0]].append(form)
        self._index: Mapping[str, Sequence[Form]] = {
            key: sorted(found, key=lambda f: (-len(f.keys), f.name)) for key, found in index.items()
        }

    def hits(self, lines: Sequence[Line]) -> Iterable[Hit]:
        """Give every place where a line has a form, in order, without overlaps."""
        for number, line in enumerate(lines):
            keys = [w.key for w in line.words]
            i = 0
            while i < len(keys):
                form = self._at(line, keys, i)
                if form is None:
                    i += 1
                    continue
                yield Hit(form.name, number, i, i + len(form.keys) - 1, form.proper)
                i += len(form.keys)

    def _at(self, line: Line, keys: Sequence[str], i: int) -> Form | None:
        for form in self._index.get(keys[i], ()):
            size = len(form.keys)
            if tuple(keys[i : i + size]) != form.keys:
                continue
            # "The heron" may be any bird; "the Heron" is somebody. An article's capital says nothing.
            matched = line.words[i : i + size]
            if not form.proper or any(w.capital for w in matched if size == 1 or w.key not in _ARTICLES):
                return form
        return None
