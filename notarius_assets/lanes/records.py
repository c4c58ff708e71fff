"""The shapes: durable records, closed to unknown fields, and the private responses of the extractors.

The durable shapes are contracts of the specifications. The private ones hold only names, kinds and unit ranges; they
are structural (types and required fields), so their schema is the same for every session.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1)]
InteractionKind = Literal["mentioned", "noncombat_presence", "dialogue", "combat_ally", "combat_opponent", "other"]
INTERACTION_KINDS: tuple[str, ...] = get_args(InteractionKind)
"""The closed vocabulary, in the order that breaks ties."""
OccurrenceKind = Literal["visited", "planned", "recalled", "mentioned"]
OCCURRENCE_KINDS: tuple[str, ...] = get_args(OccurrenceKind)
"""The closed vocabulary, in the order that breaks ties."""
LocationId = Annotated[str, Field(pattern=r"^location:sha256:[0-9a-f]{64}$")]


class Closed(BaseModel):
    """An object that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DurableSourceRef(Closed):
    """An inclusive range of units of one source; its bounds are the business of the rule `source_ranges`."""

    source_id: str
    start_unit_id: int
    end_unit_id: int


Refs = Annotated[list[DurableSourceRef], Field(min_length=1)]


class NpcRecord(Closed):
    """One non-player character of one session."""

    id: Annotated[str, Field(pattern=r"^npc:sha256:[0-9a-f]{64}$")]
    name: Name
    source_refs: Refs


class NpcInteractionRecord(Closed):
    """One NPC, one kind of interaction, one coherent passage."""

    name: Name
    kind: InteractionKind
    source_refs: Refs


class LocationRecord(Closed):
    """One place of one session; two places may share a name, never an id."""

    id: LocationId
    name: Name
    source_refs: Refs


class LocationOccurrenceRecord(Closed):
    """One place of the registry, one relation of the party to it, one coherent passage."""

    location_id: LocationId
    name: Name
    kind: OccurrenceKind
    source_refs: Refs


class UnitRange(Closed):
    """An inclusive range of unit numbers as the extractor cites them."""

    start: int
    end: int


class NpcCandidate(Closed):
    """An NPC as proposed."""

    name: str
    ranges: list[UnitRange]


class NpcResponse(Closed):
    """The private response of `dnd/npcs`."""

    npcs: list[NpcCandidate]


class NpcInteractionCandidate(Closed):
    """An interaction as proposed."""

    name: str
    kind: str
    ranges: list[UnitRange]


class NpcInteractionResponse(Closed):
    """The private response of `dnd/npc-interactions`."""

    interactions: list[NpcInteractionCandidate]


class LocationCandidate(Closed):
    """A place as proposed."""

    name: str
    ranges: list[UnitRange]


class LocationResponse(Closed):
    """The private response of `dnd/locations`."""

    locations: list[LocationCandidate]


class LocationOccurrenceCandidate(Closed):
    """An occurrence as proposed: id and name are copied from one entry of the registry's projection."""

    location_id: str
    name: str
    kind: str
    ranges: list[UnitRange]


class LocationOccurrenceResponse(Closed):
    """The private response of `dnd/location-occurrences`."""

    occurrences: list[LocationOccurrenceCandidate]
