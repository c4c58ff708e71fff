"""A small session, a campaign and good answers, from which the tests of lanes and validators start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.identity import location_id, npc_id
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.window import WindowRequest
from notarius_assets.references import Registry
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Context, WindowState

NPCS, INTERACTIONS, LOCATIONS, OCCURRENCES = BUILT_IN
SOURCE = "emberfall/s01"
CHUNKS = {1: (1, 10), 2: (11, 20), 3: (21, 30)}
SILENT = 30
"""The unit that says no name."""

SAID = "Old Marta, the barkeep and K'Varn are here in the tavern of Stennet."
UNITS = tuple(Unit(n, ("MATT",), "Nothing moves." if n == SILENT else SAID) for n in range(1, 31))
CAMPAIGN = CampaignReferences(
    dms=("MATT",), players={"INGRID": "Pim Tallowick"}, npcs=(KnownName("Old Marta", ("the Needle",)),)
)


def ranges(*spans: tuple[int, int]) -> list[dict[str, int]]:
    """Return spans as a private response has them."""
    return [{"start": a, "end": b} for a, b in spans]


def refs(*spans: tuple[int, int], source_id: str = SOURCE) -> list[dict[str, Any]]:
    """Return spans as a durable record has them."""
    return [{"source_id": source_id, "start_unit_id": a, "end_unit_id": b} for a, b in spans]


def npc(name: str, *spans: tuple[int, int], source_id: str = SOURCE) -> dict[str, Any]:
    """Return a durable NPC record."""
    return {"id": npc_id(name, source_id), "name": name, "source_refs": refs(*spans, source_id=source_id)}


def interaction(name: str, kind: str, *spans: tuple[int, int]) -> dict[str, Any]:
    """Return a durable interaction record."""
    return {"name": name, "kind": kind, "source_refs": refs(*spans)}


def place(name: str, *spans: tuple[int, int], source_id: str = SOURCE) -> dict[str, Any]:
    """Return a durable place, whose first span is its earliest evidence."""
    return {
        "id": location_id(name, source_id, *spans[0]),
        "name": name,
        "source_refs": refs(*spans, source_id=source_id),
    }


def occurrence(location: Mapping[str, Any], kind: str, *spans: tuple[int, int]) -> dict[str, Any]:
    """Return a durable occurrence of a place."""
    return {"location_id": location["id"], "name": location["name"], "kind": kind, "source_refs": refs(*spans)}


STENNET = place("Stennet", (2, 3), (5, 5))
TAVERN, OTHER_TAVERN = place("the tavern", (4, 4)), place("the tavern", (12, 12))

GOOD_ANSWERS: Mapping[str, Sequence[tuple[int, dict[str, Any]]]] = {
    NPCS.key: (
        (1, {"name": "Old Marta", "ranges": ranges((2, 3), (5, 5))}),
        (1, {"name": "the barkeep", "ranges": ranges((4, 4))}),
        (2, {"name": "old  marta", "ranges": ranges((12, 12))}),
        (2, {"name": "K'Varn", "ranges": ranges((15, 16))}),
    ),
    INTERACTIONS.key: (
        (1, {"name": "Old Marta", "kind": "mentioned", "ranges": ranges((2, 3))}),
        (1, {"name": "old marta", "kind": "dialogue", "ranges": ranges((4, 6), (8, 8))}),
        (2, {"name": "K’Varn", "kind": "combat_opponent", "ranges": ranges((15, 16))}),
        (2, {"name": "Old Marta", "kind": "combat_ally", "ranges": ranges((15, 16))}),
    ),
    LOCATIONS.key: (
        (1, {"name": "Stennet", "ranges": ranges((2, 3), (5, 5))}),
        (1, {"name": "the tavern", "ranges": ranges((4, 4))}),
        (2, {"name": " the  tavern", "ranges": ranges((12, 12))}),
    ),
    OCCURRENCES.key: (
        (1, {"location_id": STENNET["id"], "name": "stennet", "kind": "visited", "ranges": ranges((2, 3))}),
        (1, {"location_id": TAVERN["id"], "name": "the tavern", "kind": "planned", "ranges": ranges((4, 4), (6, 6))}),
        (2, {"location_id": OTHER_TAVERN["id"], "name": "THE TAVERN", "kind": "recalled", "ranges": ranges((12, 12))}),
        (2, {"location_id": TAVERN["id"], "name": "the tavern", "kind": "mentioned", "ranges": ranges((15, 16))}),
    ),
}
"""Answers, each with its chunk, that no validator objects to."""

GOOD_RECORDS: Mapping[str, Sequence[dict[str, Any]]] = {
    NPCS.key: (
        npc("Old Marta", (2, 3), (5, 5), (12, 12)),
        npc("the barkeep", (4, 4)),
        npc("K'Varn", (15, 16)),
    ),
    INTERACTIONS.key: (
        interaction("Old Marta", "mentioned", (2, 3)),
        interaction("Old Marta", "dialogue", (4, 6), (8, 8)),
        interaction("K'Varn", "combat_opponent", (15, 16)),
        interaction("Old Marta", "combat_ally", (15, 16)),
    ),
    LOCATIONS.key: (STENNET, TAVERN, OTHER_TAVERN),
    OCCURRENCES.key: (
        occurrence(STENNET, "visited", (2, 3)),
        occurrence(TAVERN, "planned", (4, 4), (6, 6)),
        occurrence(OTHER_TAVERN, "recalled", (12, 12)),
        occurrence(TAVERN, "mentioned", (15, 16)),
    ),
}
"""The documents that these answers give."""

REGISTRY = Registry(GOOD_RECORDS[NPCS.key], "0" * 64)
REGISTRIES = {"npcs": REGISTRY, "locations": Registry(GOOD_RECORDS[LOCATIONS.key], "1" * 64)}


def registries(lane: Lane) -> dict[str, Registry]:
    """Return what fills the lane's slots."""
    return {slot.name: REGISTRIES[slot.name] for slot in lane.slots}


def context(lane: Lane, **changes: Any) -> Context:
    """Return a context in which the good answers and records pass."""
    values: dict[str, Any] = {
        "lane": lane,
        "source_id": SOURCE,
        "units": UNITS,
        "chunks": CHUNKS,
        "campaign": CAMPAIGN,
        "registries": registries(lane),
        "windows": tuple(WindowState(n, "done", True) for n in CHUNKS),
        "proposed": len(GOOD_ANSWERS[lane.key]),
    }
    return Context(**(values | changes))


def candidates(lane: Lane) -> list[Candidate]:
    """Return the good answers as candidates."""
    return [Candidate(n, at, lane.to_record(a, SOURCE)) for at, (n, a) in enumerate(GOOD_ANSWERS[lane.key])]


def window(
    lane: Lane, units: Sequence[Unit] = UNITS[:10], before: Sequence[Unit] = (), after: Sequence[Unit] = ()
) -> WindowRequest:
    """Return the request of one chunk."""
    projection = lane.slots[0].project(REGISTRIES[lane.slots[0].name]) if lane.slots else None
    return WindowRequest(lane.key, SOURCE, 1, tuple(units), tuple(before), tuple(after), CAMPAIGN, projection)
