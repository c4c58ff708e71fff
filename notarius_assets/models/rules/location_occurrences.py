"""The `rules` answer to a window of the lane `dnd/location-occurrences`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from notarius_assets.models.rules import place_sightings, ranges, spans, stays
from notarius_assets.models.rules.roles import roles
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import read
from notarius_assets.models.window import WindowRequest

RULE_FILES = ("words", "common", "locations", "location_occurrences")
"""What `propose` needs loaded."""


def propose(request: WindowRequest, rules: Ruleset) -> dict[str, Any]:
    """Answer one window: `{"occurrences": [{"location_id", "name", "kind", "ranges"}]}`, by earliest unit.

    Id and name are copied from one record of the registry; every range lies in the citable units.
    """
    registry = tuple(r for r in request.registry or () if isinstance(r, Mapping) and _complete(r))
    who = roles(request, rules.table)
    lines = read(request.units, who.dms, True)
    reader = stays.Reader(lines, spans.seated(lines, who), rules.table, rules.stays)
    bound = request.bound
    known = (*request.campaign.locations, *(bound.united if bound else ()))
    evidence = {r["id"]: refs_of(r) for r in bound.records} if bound else None
    found = place_sightings.find(lines, registry, known, rules, evidence)
    records = []
    for position, record in enumerate(registry):
        for stay in stays.divide(found.get(record["id"], ()), reader):
            units = (lines[i].unit_id for i in stay.lines)
            cited = ranges.limited(ranges.collapse(units, rules.stays.range_gap), rules.stays.max_ranges)
            answer = {
                "location_id": record["id"],
                "name": record["name"],
                "kind": stay.kind,
                "ranges": ranges.as_json(cited),
            }
            records.append((cited, position, stays.KINDS.index(stay.kind), answer))
    records.sort(key=lambda r: (r[0][0], r[1], r[2], r[0]))
    return {"occurrences": [answer for *_, answer in records]}


def refs_of(record: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the unit ranges of a durable record."""
    return [(ref["start_unit_id"], ref["end_unit_id"]) for ref in record["source_refs"]]


def _complete(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("id"), str) and isinstance(record.get("name"), str)
