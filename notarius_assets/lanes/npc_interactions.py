"""`dnd/npc-interactions`: what an NPC of the registry did in one coherent passage; names, kinds, evidence, no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.identity import compact_json
from notarius_assets.lanes.base import Candidate, Lane, Profile, Record, ReferenceSlot, refs_key
from notarius_assets.lanes.records import (
    INTERACTION_KINDS,
    NpcInteractionCandidate,
    NpcInteractionRecord,
    NpcInteractionResponse,
)
from notarius_assets.models.rules import npc_interactions as rules
from notarius_assets.references import Registry
from notarius_assets.validators import (
    alignment_conflict,
    coverage,
    durable_schema,
    kind_overlap,
    order_and_duplicates,
    reference_membership,
    relatedness,
    shape,
    source_ranges,
)

_KIND_ORDER = {kind: n for n, kind in enumerate(INTERACTION_KINDS)}


def normalize(candidates: Sequence[Candidate], source_id: str, registries: Mapping[str, Registry]) -> list[Record]:
    """Write canonical names, order, and drop exact duplicates; nothing is merged by judgement."""
    unique: dict[str, Record] = {}
    for candidate in candidates:
        known = _find(candidate.record, registries["npcs"])
        record: Record = {
            "name": candidate.record["name"] if isinstance(known, str) else known["name"],
            "kind": candidate.record["kind"],
            "source_refs": [r.as_json() for r in candidate.refs],
        }
        unique.setdefault(compact_json(record), record)
    return sorted(unique.values(), key=order_key)


def order_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Earliest evidence, name, kind in vocabulary order, remaining evidence."""
    refs = refs_key(record)
    return (refs[0], record["name"], _KIND_ORDER.get(record["kind"], len(_KIND_ORDER)), refs[1:])


def _find(record: Mapping[str, Any], registry: Registry) -> Mapping[str, Any] | str:
    return registry.lookup(record["name"]) or "unknown_npc"


LANE = Lane(
    key="dnd/npc-interactions",
    version="1",
    title="NPC interactions",
    artifact_kind="dnd/npc-interaction-list",
    schema_id="notarius.dnd.npc_interactions",
    schema_name="notarius_dnd_npc_interactions_v1",
    root="interactions",
    table="npc_interactions",
    candidates_table="npc_interaction_candidates",
    table_comment="What NPCs did: one row an NPC, kind and coherent passage, with the units that prove both.",
    candidates_comment="Interactions as proposed window by window, after the record rules.",
    record=NpcInteractionRecord,
    response=NpcInteractionResponse,
    response_item=NpcInteractionCandidate,
    normalize=normalize,
    order_key=order_key,
    kinds=INTERACTION_KINDS,
    slots=(ReferenceSlot("npcs", "dnd/npc-list", _find, lambda registry: registry.names),),
    one_chunk_a_record=True,
    profile=Profile(rules=rules.RULE_FILES, propose=rules.propose),
    prompts=("shared/extraction.md", "dnd-npc-interactions/task.md"),
    extraction=(
        shape.EXTRACTION,
        source_ranges.EXTRACTION,
        reference_membership.EXTRACTION,
        alignment_conflict.EXTRACTION,
        coverage.COVERAGE,
        coverage.REJECT_SHARE,
        relatedness.EXTRACTION,
    ),
    normalization=(
        shape.NORMALIZATION,
        source_ranges.NORMALIZATION,
        reference_membership.NORMALIZATION,
        order_and_duplicates.NORMALIZATION,
        kind_overlap.NORMALIZATION,
        relatedness.NORMALIZATION,
        durable_schema.NORMALIZATION,
    ),
    docs="docs/integrations/npc-interactions.md",
    export_name="npc_interactions.json",
)
