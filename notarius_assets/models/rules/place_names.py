"""Capitalised names of places: cues around every capitalised phrase, added up, against what speaks for a person."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from notarius_assets.models.rules import names, spans
from notarius_assets.models.rules.place_labels import ends_phrase
from notarius_assets.models.rules.place_rules import PlaceRules
from notarius_assets.models.rules.spans import Span, Vocabulary
from notarius_assets.models.rules.text import Line

_BEFORE = 40
"""So many characters before a name are read for a phrase that ends there, and behind it for one that begins there."""

_MOST_BEFORE = 4
"""So many ordinary words with a capital may belong to a name before its first unfamiliar one."""

_STRONG = frozenset(("settled", "travel", "inside"))
"""Cues that persons rarely have."""

_TELLING = _STRONG | {"noun", "belonging", "followed"}
"""Cues without which no name is a place's."""

Key = tuple[str, ...]
"""The folded words of a name."""


@dataclass(slots=True)
class PlaceName:
    """One name: cue sums, the lines it stands in, the forms it has.

    `at` is where its words stand, as (line, word); `stays` the lines where the DM's "you" is in it or comes to it.
    """

    key: Key
    ordinary: bool
    cues: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    forms: Counter[str] = field(default_factory=Counter)
    lines: set[int] = field(default_factory=set)
    at: set[tuple[int, int]] = field(default_factory=set)
    stays: set[int] = field(default_factory=set)

    def total(self, cap: int, only: frozenset[str] | None = None) -> float:
        """Return the sum, of every cue at most the `cap` strongest."""
        return sum(
            sum(sorted(values, key=abs, reverse=True)[:cap])
            for cue, values in self.cues.items()
            if only is None or cue in only
        )

    @property
    def name(self) -> str:
        """The form used most, the fullest of equals."""
        return min(self.forms, key=lambda f: (-self.forms[f], -len(f), f))

    @property
    def settlement(self) -> bool:
        """Whether it is said to be a town or a region."""
        return "settled" in self.cues or "followed" in self.cues


def find(lines: Sequence[Line], words: Vocabulary) -> dict[Key, PlaceName]:
    """Return the names of places by their folded words."""
    told = [_widened(span, lines, words) for span in spans.find(lines, words)]
    persons = names.gather(lines, told, words)
    claimed = frozenset(k for key in names.accepted(persons, words.rules.people) for k in key)
    found = _gather(lines, told, words)
    accepted = {key: place for key, place in found.items() if _accepted(place, persons.get(key), claimed, words)}
    return _united(accepted, found, words)


def sections(lines: Sequence[Line], found: Iterable[PlaceName]) -> list[int]:
    """Return a number per line that grows where the party has come from one settlement to another.

    Until the first settlement is known the number is that of the first one.
    """
    stays = sorted((i, place.key) for place in found if place.settlement for i in place.stays)
    out, number, current = [], 0, stays[0][1] if stays else ()
    arrivals = iter(stays)
    arrival = next(arrivals, None)
    for i in range(len(lines)):
        while arrival is not None and arrival[0] <= i:
            number += arrival[1] != current
            current = arrival[1]
            arrival = next(arrivals, None)
        out.append(number)
    return out


def _widened(span: Span, lines: Sequence[Line], words: Vocabulary) -> Span:
    """Return the phrase with the ordinary capitalised words before it, without articles: "North Ward"."""
    line, first = lines[span.line].words, span.first
    while first and span.first - first < _MOST_BEFORE and line[first].before == " ":
        before = line[first - 1]
        if not before.capital or before.opens or before.possessive or before.key in words.seated or before.key == "i":
            break
        first -= 1
    while first < span.last and line[first].key in words.rules.table.articles:
        first += 1
    if first == span.first:
        return span
    shown = (*(w.base for w in line[first : span.first]), *span.words[max(0, first - span.first) :])
    return replace(span, first=first, words=shown, opens=False)


def _gather(lines: Sequence[Line], told: Iterable[Span], words: Vocabulary) -> dict[Key, PlaceName]:
    offstage = {i for i, line in enumerate(lines) if words.rules.table.out_of_game_pattern.search(line.lowered)}
    found: dict[Key, PlaceName] = {}
    for span in told:
        line = lines[span.line]
        key = tuple(w.casefold() for w in span.words)
        if span.line in offstage or not _may_be_place(key, span, line, words):
            continue
        place = found.setdefault(key, PlaceName(key, _ordinary(key, words)))
        place.lines.add(span.line)
        place.at.update((span.line, k) for k in range(span.first, span.last + 1))
        place.forms[span.text] += 1
        _note(place, line, span, words.rules.places)
    return found


def _may_be_place(key: Key, span: Span, line: Line, words: Vocabulary) -> bool:
    """Tell whether a phrase can be a place's name at all."""
    places, name = words.rules.places, " ".join(key)
    if name in places.world_places:
        return True
    if name in places.real_places or all(len(k) < 2 for k in key):
        return False
    if key[-1] in places.group_words or key[-1] in words.rules.people.thing_nouns:
        return False
    if words.rules.places.naming_ending.search(_before(line, span)):
        return True
    if len(key) == 1:
        if key[0] in places.last_nouns or key[0] in places.head_nouns:
            return False
        if "-" in key[0] and words.ordinary(key[0].rpartition("-")[2]):
            return False
    # "Going to Scorching Stone", "through the Misty Door": a spell or a blow.
    if _ordinary(key, words) and any(k in words.rules.people.rules_words for k in key):
        return _says_place(key, places)
    # One ordinary word with a capital is any word; of two, the first may open the sentence.
    return not _ordinary(key, words) or len(key) - line.words[span.first].opens > 1 or _says_place(key, places)


def _ordinary(key: Key, words: Vocabulary) -> bool:
    table = words.rules.table
    return all(words.ordinary(k) or k in table.name_connectors or k in table.titles for k in key)


def _says_place(key: Key, places: PlaceRules) -> bool:
    """Tell whether a name says by itself that it is a place's: "Stone Manor", "Lake Stone", "Temple of Stone"."""
    if len(key) < 2:
        return False
    landmark = key[0] in places.landmark_nouns and key[1] == "of"
    return landmark or key[-1] in places.last_nouns or key[0] in places.first_nouns


def _note(place: PlaceName, line: Line, span: Span, places: PlaceRules) -> None:
    weights, share = places.weights, 1.0 if line.by_dm else places.player_share
    first, last = line.words[span.first], line.words[span.last]
    before = _before(line, span)
    after = line.lowered[last.base_end : last.base_end + _BEFORE]
    bare = before.removesuffix(" the").rstrip()
    following = line.words[span.last + 1] if span.last + 1 < len(line.words) else None
    # In "in Karrish leather" the name only describes.
    if following is not None and following.before == " " and not following.capital:
        share *= 1.0 if ends_phrase(following, places) else places.attribute_share

    def add(cue: str, value: float) -> None:
        place.cues[cue].append(value * share)

    add("bare", weights.bare)
    if _says_place(place.key, places):
        add("noun", weights.noun)
    if " ".join(place.key) in places.world_places:
        add("settled", weights.settled)
    if places.not_place_ending.search(bare):
        add("not_place", weights.not_place)
    elif last.possessive:
        # Neither "in Hilda's bag" nor "to Hilda's" is about a place called so; "Karrow's streets" is.
        if places.followed_beginning.match(line.lowered[last.end : last.end + _BEFORE]):
            add("followed", weights.followed)
    elif places.naming_ending.search(before) or places.settled_ending.search(before):
        add("settled", weights.settled)
    elif places.travel_ending.search(bare):
        add("travel", weights.travel)
    elif places.inside_ending.search(bare):
        add("inside", weights.inside)
    elif places.belonging_ending.search(bare):
        add("belonging", weights.belonging)
    elif places.near_ending.search(bare):
        add("near", weights.near)
    if places.not_place_beginning.match(after):
        add("not_place", weights.not_place)
    elif places.followed_beginning.match(after):
        add("followed", weights.followed)
    if line.by_dm and not line.quoted(first.start) and _arrives(before, places):
        place.stays.add(span.line)


def _before(line: Line, span: Span) -> str:
    start = line.words[span.first].start
    return line.lowered[max(0, start - _BEFORE) : start].rstrip()


def _arrives(before: str, places: PlaceRules) -> bool:
    """Tell whether the party is or comes there: "you reach", "you are in the city of"."""
    naming = places.naming_ending.search(before)
    bare = before[: naming.start()].rstrip() if naming else before
    bare = bare.removesuffix(" the").removesuffix(" a").rstrip()
    return places.arrival_ending.search(bare) is not None and places.presence_pattern.search(before) is not None


def _accepted(place: PlaceName, person: names.Evidence | None, claimed: frozenset[str], words: Vocabulary) -> bool:
    places = words.rules.places
    # "Near", "from" and "to" stand before anybody's name.
    if not _TELLING & place.cues.keys():
        return False
    total = place.total(places.cue_cap)
    if "noun" not in place.cues:
        # "A town called Rest" introduces no person.
        cues = names.PERSON_CUES - {"introduction"} if "settled" in place.cues else names.PERSON_CUES
        persons = 0.0 if person is None else person.total(words.rules.people.cue_cap, cues)
        strong = place.total(places.cue_cap, _STRONG)
        # What the rules take for a person is a place only when more says that one goes there.
        if not claimed.isdisjoint(place.key) and strong <= persons * places.person_share:
            return False
        total += places.weights.person * persons
    return total >= (places.plain_threshold if place.ordinary else places.threshold)


def _united(
    accepted: Mapping[Key, PlaceName], every: Mapping[Key, PlaceName], words: Vocabulary
) -> dict[Key, PlaceName]:
    """Join a short form to the one longer form that begins or ends with it: "Stone" to "Stone Harbor".

    What is a place only by its longer form ("Drowsy Heron" of "Drowsy Heron Inn") is that one where it begins it.
    """
    out = dict(accepted)
    by_start, by_end = _by_part(accepted, first=True), _by_part(accepted, first=False)
    for key in sorted(every, key=len):
        longer = by_start.get(key, []) + (by_end.get(key, []) if key in accepted else [])
        if len(set(longer)) != 1 or (key not in accepted and _ordinary(key, words)):
            continue
        top = accepted[longer[0]]
        top.lines |= every[key].lines
        top.at |= every[key].at
        out.pop(key, None)
    return out


def _by_part(accepted: Iterable[Key], *, first: bool) -> dict[Key, list[Key]]:
    """Return the names by every shorter beginning or ending of theirs."""
    out: dict[Key, list[Key]] = {}
    for key in accepted:
        for size in range(1, len(key)):
            out.setdefault(key[:size] if first else key[-size:], []).append(key)
    return out
