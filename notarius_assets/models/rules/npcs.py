"""The `rules` answer to a window of the lane `dnd/npcs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.identity import comparison_name, display_name
from notarius_assets.models.rules import labels, names, ranges, spans
from notarius_assets.models.rules.forms import Form, FormIndex, is_proper, keys_of
from notarius_assets.models.rules.roles import roles
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import Line, read
from notarius_assets.models.rules.variants import unify
from notarius_assets.models.window import WindowRequest

RULE_FILES = ("words", "common", "npcs")
"""What `propose` needs loaded."""


def propose(request: WindowRequest, rules: Ruleset) -> dict[str, Any]:
    """Answer one window: `{"npcs": [{"name": ..., "ranges": [{"start": ..., "end": ...}]}]}`, in order of appearance.

    Context units teach which words are ordinary here; names come from, and ranges lie in, the citable units alone.
    """
    who = roles(request, rules.table)
    context = [*read(request.before, who.dms, False), *read(request.after, who.dms, False)]
    lines = read(request.units, who.dms, True)
    words = spans.vocabulary([*lines, *context], who, rules)
    declared = _declared(request, lines, words.seated)
    covered = {keys for known in request.campaign.npcs for form in known.forms if (keys := keys_of(form))}
    nobody = _no_person(request)
    evidence = {
        key: e
        for key, e in names.gather(lines, spans.find(lines, words), words).items()
        if key not in nobody and not any(_within(key, known) for known in covered)
    }
    people = unify(names.accepted(evidence, rules.people), evidence, rules)
    found: dict[str, set[int]] = {name: set(at) for name, at in declared.items()}
    for person in people:
        found.setdefault(person.name, set()).update(person.lines)
    owners = {k: p.name for p in people for k in keys_of(p.name)[-1:]}
    owners |= {k: name for name in declared for k in keys_of(name)[:1]}
    titled = _titled(found, rules)
    for label in labels.find(lines, rules, owners):
        # "The watchman" of a chunk with one "Watchman Stone" is that one.
        name = titled.get(label.name.removeprefix("the "), label.name)
        found.setdefault(name, set()).update(label.lines)
    return {"npcs": _records(found, lines, rules)}


def _titled(found: Mapping[str, set[int]], rules: Ruleset) -> dict[str, str]:
    """Return the titles that exactly one name of the chunk has, with that name."""
    bearers: dict[str, list[str]] = {}
    for name in found:
        title = keys_of(name)[:1]
        if title and title[0] in rules.table.titles:
            bearers.setdefault(title[0], []).append(name)
    return {title: names[0] for title, names in bearers.items() if len(names) == 1}


def _no_person(request: WindowRequest) -> set[tuple[str, ...]]:
    """Return what the campaign declares to be a place, or a word of its own."""
    places = (form for known in request.campaign.locations for form in known.forms)
    return {keys_of(text) for text in (*places, *request.campaign.glossary)}


def _within(key: Sequence[str], known: Sequence[str]) -> bool:
    return set(key) <= set(known)


def _declared(request: WindowRequest, lines: Sequence[Line], seated: frozenset[str]) -> dict[str, set[int]]:
    """Return the gazetteer's names that the window has, with their lines."""
    forms = []
    for known in request.campaign.npcs:
        for form in known.forms:
            keys = keys_of(form)
            if keys and not set(keys) <= seated:
                forms.append(Form(keys, known.name, is_proper(form)))
    out: dict[str, set[int]] = {}
    for hit in FormIndex(forms).hits(lines):
        out.setdefault(hit.name, set()).add(hit.line)
    return out


def _records(found: Mapping[str, set[int]], lines: Sequence[Line], rules: Ruleset) -> list[dict[str, Any]]:
    people = rules.people
    records = []
    seen: set[str] = set()
    for name, at in sorted(found.items(), key=lambda item: (min(item[1]), item[0])):
        shown = display_name(name)
        comparison = comparison_name(shown)
        if not comparison or comparison in seen:
            continue
        seen.add(comparison)
        units = (lines[i].unit_id for i in at)
        cited = ranges.limited(ranges.collapse(units, people.range_gap), people.max_ranges)
        records.append({"name": shown, "ranges": ranges.as_json(cited)})
    return records
