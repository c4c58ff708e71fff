"""The `rules` answer to a window of the lane `dnd/npc-interactions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from notarius_assets.models.rules import passages, ranges, scenes, sides, sightings, spans
from notarius_assets.models.rules.passages import Passage
from notarius_assets.models.rules.roles import roles
from notarius_assets.models.rules.ruleset import InteractionRules, Ruleset
from notarius_assets.models.rules.text import Line, read
from notarius_assets.models.window import WindowRequest

RULE_FILES = ("words", "common", "npc_interactions")
"""What `propose` needs loaded."""


def propose(request: WindowRequest, rules: Ruleset) -> dict[str, Any]:
    """Answer one window: `{"interactions": [{"name": ..., "kind": ..., "ranges": [...]}]}`, by earliest unit.

    Names are the registry's own spellings; every range lies in the citable units and at least one cited unit of a
    record names the NPC.
    """
    registry = tuple(name for name in request.registry or () if isinstance(name, str))
    known = (*request.campaign.npcs, *(request.bound.united if request.bound else ()))
    deeds = rules.deeds
    who = roles(request, rules.table)
    lines = read(request.units, who.dms, True)
    seated = spans.seated(lines, who)
    stage = scenes.stage(lines, rules.table, deeds)
    seen = sightings.find(lines, registry, known, seated, rules)
    found = passages.moments(seen, lines, stage, deeds)
    divided = {name: passages.divide(found[name], stage, deeds) for name in registry if name in seen}
    fighters = sides.weigh(divided, lines, deeds)
    records = []
    for position, name in enumerate(registry):
        for passage in divided.get(name, ()):
            kind = fighters.kind(name, passage) if passage.kind == "combat" else passage.kind
            cited = _cited(passage, lines, deeds)
            records.append((cited, position, {"name": name, "kind": kind, "ranges": ranges.as_json(cited)}))
    records.sort(key=lambda r: (r[0][0], r[1], r[2]["kind"], r[0]))
    return {"interactions": [record for _, _, record in records]}


def _cited(passage: Passage, lines: Sequence[Line], deeds: InteractionRules) -> list[tuple[int, int]]:
    """Return the passage's ranges; the one that names the NPC first is always among them."""
    spanned = ranges.collapse((lines[i].unit_id for i in passage.lines), deeds.range_gap)
    chosen = ranges.limited(spanned, deeds.max_ranges)
    named = next(lines[m.line].unit_id for m in passage.moments if m.named)
    if not any(start <= named <= end for start, end in chosen):
        keep = next(r for r in spanned if r[0] <= named <= r[1])
        chosen = sorted([keep, *chosen[1:]])
    return chosen
