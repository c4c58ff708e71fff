"""The `rules` answer to a window of the lane `dnd/locations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from notarius_assets.campaign import KnownName
from notarius_assets.identity import display_name
from notarius_assets.models.rules import place_labels, place_names, ranges, spans
from notarius_assets.models.rules.forms import Form, FormIndex, is_proper, keys_of
from notarius_assets.models.rules.place_labels import Label
from notarius_assets.models.rules.place_names import Key, PlaceName
from notarius_assets.models.rules.place_rules import PlaceRules
from notarius_assets.models.rules.roles import roles
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import Line, read
from notarius_assets.models.window import WindowRequest

RULE_FILES = ("words", "common", "npcs", "locations")
"""What `propose` needs loaded: a name that the rules for NPCs take for a person is no place."""

_Found = list[tuple[str, set[int]]]
"""Names as shown, with their lines; a name may stand for several places."""


def propose(request: WindowRequest, rules: Ruleset) -> dict[str, Any]:
    """Answer one window: `{"locations": [{"name": ..., "ranges": [{"start": ..., "end": ...}]}]}`, by earliest unit.

    Context units teach which words are ordinary here; places come from, and ranges lie in, the citable units alone.
    """
    campaign = request.campaign
    who = roles(request, rules.table)
    context = [*read(request.before, who.dms, False), *read(request.after, who.dms, False)]
    lines = read(request.units, who.dms, True)
    words = spans.vocabulary([*lines, *context], who, rules)
    declared, declared_at = _declared(campaign.locations, lines)
    no_places = _keys((*campaign.glossary, *(form for known in campaign.npcs for form in known.forms)))
    names = {
        key: place
        for key, place in place_names.find(lines, words).items()
        if key not in no_places and place.at.isdisjoint(declared_at)
    }
    covered = declared_at.union(*(place.at for place in names.values()))
    labels = [
        label
        for label in place_labels.find(lines, rules.places, rules.table)
        if (label.line, label.last) not in covered and not _keys((label.name,)) & no_places
    ]
    found = [*declared, *_named(names, labels, lines, rules.places)]
    return {"locations": _records(found, lines, rules.places)}


def _keys(texts: Iterable[str]) -> set[Key]:
    """Return the folded words of texts, without articles."""
    return {keys[1:] if keys[0] in ("the", "a", "an") else keys for text in texts if (keys := keys_of(text))}


def _declared(known_places: Sequence[KnownName], lines: Sequence[Line]) -> tuple[_Found, set[tuple[int, int]]]:
    """Return the gazetteer's places that the window has, and where (line, word) their words stand."""
    forms = [
        Form(keys, known.name, is_proper(form))
        for known in known_places
        for form in known.forms
        if (keys := keys_of(form))
    ]
    found: dict[str, set[int]] = {}
    at: set[tuple[int, int]] = set()
    for hit in FormIndex(forms).hits(lines):
        found.setdefault(hit.name, set()).add(hit.line)
        at.update((hit.line, k) for k in range(hit.first, hit.last + 1))
    return list(found.items()), at


def _named(
    names: Mapping[Key, PlaceName], labels: Sequence[Label], lines: Sequence[Line], places: PlaceRules
) -> _Found:
    """Return capitalised names and labels; "the inn" of a chunk with one "Stone Inn" is that one."""
    proper = {key: set(place.lines) for key, place in names.items()}
    by_noun: dict[str, list[Key]] = {}
    for key in names:
        by_noun.setdefault(places.one_noun.get(key[-1], key[-1]), []).append(key)
    generic: _Found = []
    # A label means another place where the party has come to another town.
    sections = place_names.sections(lines, names.values())
    for uses in place_labels.grouped(labels, sections, places):
        key = max((use.key for use in uses), key=len)
        if place_labels.score(uses, lines, places) < places.labels.minimum_score:
            continue
        at = {use.line for use in uses}
        bearers = by_noun.get(key[-1], []) if len(key) == 1 else []
        if key[:-1] in proper:
            proper[key[:-1]] |= at
        elif len(bearers) == 1:
            proper[bearers[0]] |= at
        else:
            generic.append((_commonest(uses), at))
    return [*((names[key].name, at) for key, at in proper.items()), *generic]


def _commonest(uses: Sequence[Label]) -> str:
    """Return the name that most uses give; what "your house" shows is nobody's own label."""
    names = [use.name for use in uses if use.sort != "owned"] or [use.name for use in uses]
    return min(dict.fromkeys(names), key=lambda n: (-names.count(n), names.index(n)))


def _records(found: _Found, lines: Sequence[Line], places: PlaceRules) -> list[dict[str, Any]]:
    records = []
    for name, at in sorted(found, key=lambda item: (min(item[1]), item[0], sorted(item[1]))):
        units = (lines[i].unit_id for i in at)
        cited = ranges.limited(ranges.collapse(units, places.range_gap), places.max_ranges)
        records.append({"name": display_name(name), "ranges": ranges.as_json(cited)})
    return records
