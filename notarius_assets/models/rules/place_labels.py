"""Generic labels of places: "the tavern", "this town", "Hilda's house", where they mean one specific place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from notarius_assets.models.rules.place_rules import PlaceRules
from notarius_assets.models.rules.ruleset import CommonRules
from notarius_assets.models.rules.text import Line, Word

_BEFORE = 30
"""So many characters before a label are read for a phrase that ends there."""

_OWNER_WORDS = 3
"""So many capitalised words may name an owner."""

_Place = tuple[int, tuple[str, ...]]
"""A group of lines, and the key of a label in it."""


@dataclass(frozen=True, slots=True)
class Label:
    """One use of a label: words `first` to `last` of a line.

    `key` is equal for uses that may mean one place: the telling words before the noun, and the noun (one noun for all
    of its meaning). `sort` tells how it points: definite, deictic ("this"), owned ("your house"), owner ("Hilda's
    house"), other ("another house"), indefinite ("a house" that the DM shows), bare ("in town"). `present`: the DM
    speaks of the party's being or coming somewhere in that line, `located`: a word such as "in" stands before.
    """

    line: int
    first: int
    last: int
    name: str
    key: tuple[str, ...]
    sort: str
    present: bool = False
    located: bool = False


def find(lines: Sequence[Line], places: PlaceRules, table: CommonRules) -> list[Label]:
    """Return every use of a label in order."""
    out: list[Label] = []
    for number, line in enumerate(lines):
        nouns = [i for i, word in enumerate(line.words) if word.key in places.head_nouns]
        if not nouns or table.out_of_game_pattern.search(line.lowered):
            continue
        idioms = [m.span() for m in places.idiom_pattern.finditer(line.lowered)]
        bare = [m.span() for m in places.bare_pattern.finditer(line.lowered)]
        present = line.by_dm and places.presence_pattern.search(line.unquoted) is not None
        for i in nouns:
            start = line.words[i].start
            if _covered(start, idioms):
                continue
            if _covered(start, bare):
                out.append(
                    Label(number, i, i, places.bare_label, (_one(line.words[i], places),), "bare", present, True)
                )
                continue
            label = _label(number, line, i, present and not line.quoted(start), places)
            if label is not None:
                out.append(label)
    return out


def _covered(position: int, stretches: Sequence[tuple[int, int]]) -> bool:
    i = bisect_right(stretches, (position, position)) - 1
    return any(start <= position < end for start, end in stretches[max(0, i) : i + 2])


def _one(noun: Word, places: PlaceRules) -> str:
    return places.one_noun.get(noun.key, noun.key)


def _label(number: int, line: Line, head: int, present: bool, places: PlaceRules) -> Label | None:
    words, noun = line.words, line.words[head]
    after = words[head + 1] if head + 1 < len(words) and words[head + 1].before == " " else None
    if after is not None and not noun.possessive and not ends_phrase(after, places):
        return None
    first = head
    while first and head - first < places.most_modifiers and _modifies(words[first - 1], words[first], places):
        first -= 1
    if not first or words[first].before not in (" ", "' "):
        return None
    pointer, modifiers = words[first - 1], words[first:head]
    telling = tuple(_shown(w) for w in modifiers if _tells(w, places))
    owned = words[first].before == "' " or pointer.possessive
    start, sort = first - 1, "owner" if owned else _sort(pointer.key, modifiers, places)
    if sort is None or not _specific(noun, sort, modifiers, telling, places):
        return None
    leading: tuple[str, ...] = ()
    shown = "the"
    if owned:
        owner = _owner(words, first - 1, places)
        if owner is None:
            return None
        start, shown = owner
        leading = (shown.casefold(),)
    elif sort == "other":
        other = next((w.key for w in (pointer, *modifiers) if w.key in places.other_words), pointer.key)
        shown = "another" if other == "another" else f"the {other}"
        leading = (other,)
    before = line.lowered[max(0, words[start].start - _BEFORE) : words[start].start].rstrip()
    if sort == "indefinite" and not (line.by_dm and places.introducing_ending.search(before)):
        return None
    return Label(
        line=number,
        first=start,
        last=head,
        name=" ".join((shown, *telling, _shown(noun))),
        key=(*leading, *(w.casefold() for w in telling), _one(noun, places)),
        sort=sort,
        present=present,
        located=places.locative_ending.search(before) is not None,
    )


def _sort(pointer: str, modifiers: Sequence[Word], places: PlaceRules) -> str | None:
    articles = places.definite | places.indefinite
    if pointer == "another" or (pointer in articles and any(w.key in places.other_words for w in modifiers)):
        return "other"
    if pointer in places.deictic:
        return "deictic"
    if pointer in places.definite:
        return "definite"
    if pointer in places.pronoun_owners:
        return "owned"
    return "indefinite" if pointer in places.indefinite else None


def _specific(noun: Word, sort: str, modifiers: Sequence[Word], telling: tuple[str, ...], places: PlaceRules) -> bool:
    """Tell whether the noun means a place in this use, not furniture, scenery or a verb."""
    if noun.key in places.lone_nouns and modifiers:
        return False
    if noun.key in places.weak_nouns:
        return bool(telling)
    return noun.key not in places.qualified_nouns or bool(telling) or sort in ("deictic", "owner", "other")


def _modifies(word: Word, after: Word, places: PlaceRules) -> bool:
    """Tell whether a word may stand between the pointer and the noun."""
    adjoins = after.before == " " or (after.before == ", " and not _tells(word, places))
    return (
        adjoins
        and not word.possessive
        and word.key not in places.pointers
        and word.key not in places.blocked_modifiers
        and word.base[:1].isalpha()
    )


def _tells(word: Word, places: PlaceRules) -> bool:
    """Tell whether a word before the noun belongs to the label and does not only describe."""
    return word.key not in places.plain_adjectives and not word.key.endswith(places.plain_endings)


def _shown(word: Word) -> str:
    """Return a word as a label shows it: with its capital only where the capital means something."""
    return word.base.casefold() if word.opens else word.base


def _owner(words: Sequence[Word], owner: int, places: PlaceRules) -> tuple[int, str] | None:
    """Return where an owner's words begin, and the owner with its ending: "Hilda Stone's", "the miller's"."""
    word, first = words[owner], owner
    ending = "'s" if word.possessive else "'"
    if word.key in places.not_owners:
        return None
    if not word.capital:
        if owner and words[owner - 1].key in places.definite and word.before == " ":
            return owner - 1, f"the {word.base}{ending}"
        return None
    while first and owner - first < _OWNER_WORDS - 1 and words[first].before == " " and not words[first].opens:
        if not words[first - 1].capital or words[first - 1].opens:
            break
        first -= 1
    return first, " ".join(w.base for w in words[first : owner + 1]) + ending


def ends_phrase(after: Word, places: PlaceRules) -> bool:
    """Tell whether a word behind a noun or name shows that the phrase ends there."""
    return after.key in places.noun_followers or after.key.endswith(("ing", "ed", "'s", "'re", "'ll"))


def score(uses: Iterable[Label], lines: Sequence[Line], places: PlaceRules) -> float:
    """Return what the uses of a label add up to."""
    return sum(_score(use, lines[use.line].words[use.last].key, places) for use in uses)


def _score(label: Label, noun: str, places: PlaceRules) -> float:
    weights = places.labels
    base = weights.sure if noun in places.sure_nouns else weights.plain if noun in places.plain_nouns else weights.weak
    value = weights.present * label.present
    if label.sort == "indefinite":
        return value + weights.introduced
    value += weights.locative * label.located
    if label.sort == "owned":
        return value + weights.owned
    if label.sort not in ("other", "owner"):
        value += weights.telling * (len(label.key) > 1)
    extra = {"deictic": weights.pointed, "owner": weights.telling, "other": weights.other}
    return value + base + extra.get(label.sort, 0.0)


def grouped(labels: Iterable[Label], groups: Sequence[int], places: PlaceRules) -> list[list[Label]]:
    """Return the uses of every label in order of first use; lines of different groups never share a label.

    "The house" joins the one longer label of that noun near it: "the miller's house". "Your house" counts where "the
    house" is near, or nobody says "the house".
    """
    uses_of: dict[_Place, list[Label]] = {}
    for label in labels:
        uses_of.setdefault((groups[label.line], label.key), []).append(label)
    out = {place: _known(uses, places.label_reach) for place, uses in uses_of.items()}
    longer: dict[tuple[int, str], list[_Place]] = {}
    for (group, key), uses in uses_of.items():
        if len(key) > 1 and uses[0].sort != "other":
            longer.setdefault((group, key[-1]), []).append((group, key))
    for group, key in uses_of:
        tops = longer.get((group, key[0]), []) if len(key) == 1 else []
        if len(tops) != 1:
            continue
        others = sorted({x.line for x in out[tops[0]]})
        if any(_near(x.line, others, places.label_reach) for x in out[group, key]):
            out[tops[0]] = sorted((*out[tops[0]], *out.pop((group, key))), key=lambda x: (x.line, x.first))
    return list(out.values())


def _known(uses: list[Label], reach: int) -> list[Label]:
    """Return the uses without "your house" far from "the house"."""
    others = sorted({x.line for x in uses if x.sort != "owned"})
    return [x for x in uses if x.sort != "owned" or _near(x.line, others, reach)] if others else uses


def _near(line: int, others: Sequence[int], reach: int) -> bool:
    """Tell whether one of the other lines, which are in order, is at most `reach` away."""
    return bisect_left(others, line - reach) < bisect_right(others, line + reach)
