"""Capitalised phrases: where a name may stand, before anybody asks whose it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from notarius_assets.models.rules.roles import Roles
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import Line, Word

_MAX_WORDS = 6
"""A longer run of capitals is a headline or a shout."""


@dataclass(frozen=True, slots=True)
class Span:
    """A capitalised phrase: words `first` to `last` of a line, `core` without its title."""

    line: int
    first: int
    last: int
    words: tuple[str, ...]
    core: tuple[str, ...]
    titled: bool
    opens: bool

    @property
    def text(self) -> str:
        """The phrase as it stands, without a possessive ending."""
        return " ".join(self.words)

    @property
    def key(self) -> tuple[str, ...]:
        """The core, for comparing."""
        return tuple(w.casefold() for w in self.core)


@dataclass(frozen=True)
class Vocabulary:
    """Which words are no names in this window: ordinary ones, the rules' ones, the table's own."""

    rules: Ruleset
    roles: Roles
    common_here: frozenset[str]
    seated: frozenset[str]

    def ordinary(self, key: str) -> bool:
        """Tell whether a folded word is no name by itself."""
        people = self.rules.people
        return (
            key in self.rules.english.ordinary_words
            or key in self.common_here
            or key in people.rules_words
            or key in people.table_words
            or ("-" in key and all(self.ordinary(part) for part in key.split("-") if part))
            or ("'" in key and key.split("'", 1)[1] in self.rules.english.contractions)
        )


def vocabulary(lines: Sequence[Line], roles: Roles, rules: Ruleset) -> Vocabulary:
    """Learn the window's own ordinary words: those it writes in lower case at least as often as with a capital."""
    low: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for line in lines:
        for word in line.words:
            if not word.capital:
                low[word.key] += 1
            elif not word.opens:
                capital[word.key] += 1
    return Vocabulary(
        rules=rules,
        roles=roles,
        common_here=frozenset(k for k, n in low.items() if n >= max(1, capital[k])),
        seated=seated(lines, roles),
    )


def seated(lines: Sequence[Line], roles: Roles) -> frozenset[str]:
    """Return the capitalised words of the lines that mean a player or a party character."""
    known = {w.key for line in lines for w in line.words if w.capital}
    return frozenset(k for k in known if roles.at_table(k))


def find(lines: Sequence[Line], words: Vocabulary) -> Iterable[Span]:
    """Give every capitalised phrase that may be a name, in order."""
    for number, line in enumerate(lines):
        i, size = 0, len(line.words)
        while i < size:
            if not _starts(line.words[i]):
                i += 1
                continue
            last = _end(line.words, i, words)
            span = _span(number, line.words, i, last, words)
            if span is not None:
                yield span
            i = last + 1


def _starts(word: Word) -> bool:
    return word.capital and word.key not in ("i", "i'm") and not word.key.startswith("i'") and not _shouted(word)


def _shouted(word: Word) -> bool:
    return len(word.base) > 1 and word.base.isupper()


def _end(line: Sequence[Word], first: int, words: Vocabulary) -> int:
    """Return the last word of the phrase that begins at `first`."""
    connectors, people = words.rules.table.name_connectors, words.rules.people
    last = first
    while last + 1 < len(line) and last - first < _MAX_WORDS:
        here, after = line[last], line[last + 1]
        if here.possessive or not _follows(here, after, words):
            break
        if _starts(after):
            last += 1
            continue
        # "Bo the Breaker", "Queen of the Hill": one or two small words between capitals.
        step = 1
        while last + step < len(line) and step <= 2 and line[last + step].key in connectors:
            step += 1
        if step == 1 or last + step >= len(line) or (here.opens and words.ordinary(here.key)):
            break
        beyond = line[last + step]
        between = all(line[k + 1].before == " " for k in range(last, last + step))
        if not (between and _starts(beyond)) or beyond.key in people.thing_nouns or beyond.key in people.rules_words:
            break
        last += step
    return last


def _follows(here: Word, after: Word, words: Vocabulary) -> bool:
    return after.before == " " or (after.before == ". " and here.key in words.rules.table.abbreviations)


def _span(number: int, line: Sequence[Word], first: int, last: int, words: Vocabulary) -> Span | None:
    table = words.rules.table
    # "House Stone" stays whole, for its first word says what it is.
    kept = words.rules.people.place_nouns if not line[first].opens else frozenset()
    opens = line[first].opens
    # "Then Hilda", "Sorry Hilda": an ordinary word with the capital of a sentence start is not part of the name.
    while first < last and words.ordinary(line[first].key) and line[first].key not in table.titles | kept:
        if line[first].key in table.name_adjectives and not line[first].opens:
            break
        first += 1
        opens = False
        while first < last and not line[first].capital:
            first += 1
    chosen = line[first : last + 1]
    if any(w.key in words.seated for w in chosen):
        return None
    core = list(chosen)
    titled = False
    while core and (core[0].key in table.titles or core[0].key in table.name_adjectives):
        titled = titled or core[0].key in table.titles
        core.pop(0)
    if not core or not core[0].capital:
        return None
    # A title in lower case belongs to the cue, not to the name; so does one that opens the sentence.
    return Span(
        line=number,
        first=first,
        last=last,
        words=tuple(w.base for w in chosen),
        core=tuple(w.base for w in core),
        titled=titled,
        opens=opens and len(core) == len(chosen),
    )
