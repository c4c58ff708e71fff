"""Where the registry's places stand in a window: names, declared aliases, labels; each sighting of one record alone."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from notarius_assets.campaign import KnownName
from notarius_assets.identity import comparison_name
from notarius_assets.models.rules import place_labels
from notarius_assets.models.rules.forms import Form, FormIndex, is_proper, keys_of
from notarius_assets.models.rules.place_labels import Label
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import Line, read
from notarius_assets.transcripts.model import Unit


@dataclass(frozen=True, slots=True)
class PlaceSighting:
    """A place in a line, words `first` to `last`; `sort` as in `place_labels.Label`, or "name"."""

    place: str
    line: int
    first: int
    last: int
    sort: str


def find(
    lines: Sequence[Line],
    registry: Sequence[Mapping[str, str]],
    known: Sequence[KnownName],
    rules: Ruleset,
    evidence: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> dict[str, list[PlaceSighting]]:
    """Return the sightings of every record of the registry, by its id and in order of lines.

    `known` are other forms of names; of two entries of one name the later holds. `evidence` has the unit ranges that
    identify each record: of several records of one name the nearest is meant.
    """
    named = _Names(registry, known, rules)
    found = named.sightings(lines, rules)
    if evidence is None:
        return _shared_out(found, registry)
    bearers: defaultdict[str, list[str]] = defaultdict(list)
    for record in registry:
        bearers[comparison_name(record["name"])].append(record["id"])
    out: dict[str, list[PlaceSighting]] = {}
    for sighting in found:
        unit = lines[sighting.line].unit_id
        out.setdefault(min(bearers[sighting.place], key=lambda i: _distance(evidence[i], unit)), []).append(sighting)
    return out


def _distance(ranges: Sequence[tuple[int, int]], unit: int) -> tuple[int, bool]:
    """Return how far a unit is from evidence; what was identified before goes before what comes later."""
    return min((max(start - unit, unit - end, 0), start > unit) for start, end in ranges)


class _Names:
    """The forms of the registry's names: comparison name of a record by form and by label."""

    def __init__(self, registry: Sequence[Mapping[str, str]], known: Sequence[KnownName], rules: Ruleset) -> None:
        aliases = {comparison_name(form): k.forms for k in known for form in k.forms}
        forms: list[Form] = []
        self.labels: dict[tuple[str, ...], str] = {}
        heads: defaultdict[str, list[str]] = defaultdict(list)
        parts: Counter[tuple[str, ...]] = Counter()
        wanted: list[tuple[tuple[str, ...], str]] = []
        for record in registry:
            place = comparison_name(record["name"])
            for text in (record["name"], *aliases.get(place, ())):
                keys = keys_of(text)
                while len(keys) > 1 and keys[0] in rules.table.articles:
                    keys = keys[1:]
                if not keys:
                    continue
                label = _label_key(text, rules)
                if label is not None and not is_proper(text.partition(" ")[2]):
                    self.labels.setdefault(label, place)
                else:
                    forms.append(Form(keys, place, is_proper(text)))
                    wanted.extend((part, place) for part in _parts(keys, rules))
            head = keys_of(record["name"])[-1:]
            if head and head[0] in rules.places.head_nouns:
                heads[rules.places.one_noun.get(head[0], head[0])].append(place)
        self.heads = {head: names[0] for head, names in heads.items() if len(set(names)) == 1}
        for part, _ in set(wanted):
            parts[part] += 1
        taken = {f.keys for f in forms}
        forms.extend(Form(part, place, True) for part, place in wanted if parts[part] == 1 and part not in taken)
        self.index = FormIndex(forms)

    def sightings(self, lines: Sequence[Line], rules: Ruleset) -> list[PlaceSighting]:
        """Return all sightings in order, `place` being the comparison name."""
        out = [PlaceSighting(h.name, h.line, h.first, h.last, "name") for h in self.index.hits(lines)]
        covered = {(s.line, k) for s in out for k in range(s.first, s.last + 1)}
        last_named: dict[str, list[int]] = defaultdict(list)
        for s in out:
            last_named[s.place].append(s.line)
        for label in place_labels.find(lines, rules.places, rules.table):
            if (label.line, label.last) in covered:
                continue
            place = self._place(label, last_named, rules)
            if place is not None:
                out.append(PlaceSighting(place, label.line, label.first, label.last, label.sort))
        return sorted(out, key=lambda s: (s.line, s.first))

    def _place(self, label: Label, named: Mapping[str, Sequence[int]], rules: Ruleset) -> str | None:
        """Return the place that a label means: its own record, that of its noun, or the only name with that noun."""
        if label.key in self.labels:
            return self.labels[label.key]
        if len(label.key) > 1:
            return None if label.sort in ("owner", "other") else self.labels.get(label.key[-1:])
        place = self.heads.get(label.key[-1])
        if place is None or place in self.labels.values():
            return place
        at = named.get(place, ())
        before = bisect_right(at, label.line) - 1
        near = before >= 0 and label.line - at[before] <= rules.stays.head_reach
        return place if near else None


def _label_key(text: str, rules: Ruleset) -> tuple[str, ...] | None:
    """Return the key of a registry name that is a label, or None."""
    lines = read([Unit(1, (), "in " + text)], frozenset(), True)
    size = len(lines[0].words)
    return next((x.key for x in place_labels.find(lines, rules.places, rules.table) if x.last == size - 1), None)


def _parts(keys: tuple[str, ...], rules: Ruleset) -> list[tuple[str, ...]]:
    """Return the telling first words of a name whose last word only says what it is."""
    if len(keys) < 2:
        return []
    out = []
    if keys[-1] in rules.places.last_nouns:
        out.append(keys[:-1])
    if keys[0] in rules.places.first_nouns:
        out.append(keys[1:])
    ordinary = rules.english.ordinary_words
    return [part for part in out if not all(k in ordinary for k in part)]


def _shared_out(
    found: Sequence[PlaceSighting], registry: Sequence[Mapping[str, str]]
) -> dict[str, list[PlaceSighting]]:
    """Give every sighting to one record: of records of one name to the last that is open by then."""
    bearers: defaultdict[str, list[int]] = defaultdict(list)
    for position, record in enumerate(registry):
        bearers[comparison_name(record["name"])].append(position)
    opened = _opened(found, bearers, len(registry))
    starts = {place: [opened[p] for p in positions] for place, positions in bearers.items()}
    out: dict[str, list[PlaceSighting]] = {}
    for sighting in found:
        positions = bearers[sighting.place]
        at = bisect_right(starts[sighting.place], sighting.line) - 1
        out.setdefault(registry[positions[max(0, at)]]["id"], []).append(sighting)
    return out


def _opened(found: Sequence[PlaceSighting], bearers: Mapping[str, Sequence[int]], size: int) -> list[float]:
    """Return from which line of the window on a sighting can be of the record at each position of the registry.

    The registry is in the order of first evidence, so a record begins where those before it have begun, as far as
    this window shows them by a name of their own; one behind a place not seen by the end of the window begins later.
    """
    first_seen: dict[int, int] = {}
    for sighting in found:
        if len(bearers[sighting.place]) == 1:
            first_seen.setdefault(bearers[sighting.place][0], sighting.line)
    alone = {positions[0] for positions in bearers.values() if len(positions) == 1}
    frontier = max(first_seen, default=size)
    out: list[float] = []
    latest: float = -1
    for position in range(size):
        if position in alone and position > frontier:
            latest = inf
        latest = max(latest, first_seen.get(position, -1))
        out.append(latest)
    return out
