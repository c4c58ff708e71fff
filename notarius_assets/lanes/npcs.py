"""`dnd/npcs`: who is in the session; one record a comparison name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.identity import npc_id
from notarius_assets.lanes.base import Candidate, Lane, Profile, Reconciliation, Record, registry_order
from notarius_assets.lanes.records import NpcCandidate, NpcRecord, NpcResponse
from notarius_assets.models.rules import npcs as rules
from notarius_assets.models.rules import reconciliation as proposer
from notarius_assets.reconcile.nodes import Node, unite
from notarius_assets.references import Registry
from notarius_assets.validators import (
    coverage,
    durable_schema,
    identity,
    not_party,
    order_and_duplicates,
    reconciliation,
    relatedness,
    shape,
    source_ranges,
)
from notarius_assets.validators.base import Finding


def nodes(candidates: Sequence[Candidate]) -> list[Node]:
    """Unite candidates of one comparison name; the name of the earliest evidence stands."""
    groups: dict[str, list[Node]] = {}
    for candidate in candidates:
        node = Node.of(candidate.record["name"], candidate.refs, (candidate.chunk_id, candidate.position))
        groups.setdefault(node.comparison, []).append(node)
    return [unite(group, keep_parts=False) for group in groups.values()]


def records(left: Sequence[Node], source_id: str) -> tuple[list[Record], list[Finding]]:
    """Make durable records; names are unique already, so there is nothing to warn of."""
    made: list[Record] = [
        {"id": npc_id(n.name, source_id), "name": n.name, "source_refs": [r.as_json() for r in n.refs]} for n in left
    ]
    return sorted(made, key=registry_order), []


def normalize(candidates: Sequence[Candidate], source_id: str, registries: Mapping[str, Registry]) -> list[Record]:
    """Make records of candidates by the identity rules alone."""
    return records(nodes(candidates), source_id)[0]


def _derive(record: Mapping[str, Any], source_id: str) -> str | None:
    return npc_id(record["name"], source_id)


LANE = Lane(
    key="dnd/npcs",
    version="1",
    title="NPC registry",
    artifact_kind="dnd/npc-list",
    schema_id="notarius.dnd.npcs",
    schema_name="notarius_dnd_npcs_v1",
    root="npcs",
    table="npcs",
    candidates_table="npc_candidates",
    table_comment="Non-player characters of a session: one row a comparison name, with the units that identify it.",
    candidates_comment="NPCs as proposed window by window, after the record rules; united in npcs.",
    record=NpcRecord,
    response=NpcResponse,
    response_item=NpcCandidate,
    normalize=normalize,
    order_key=registry_order,
    derive_id=_derive,
    reconciliation=Reconciliation(
        nodes=nodes,
        records=records,
        one_a_name=True,
        task="dnd-npcs/reconciliation.md",
        rules=proposer.RULE_FILES,
        propose=proposer.propose_npcs,
    ),
    profile=Profile(rules=rules.RULE_FILES, propose=rules.propose),
    prompts=("shared/extraction.md", "dnd-npcs/task.md"),
    extraction=(
        shape.EXTRACTION,
        source_ranges.EXTRACTION,
        not_party.EXTRACTION,
        coverage.COVERAGE,
        coverage.REJECT_SHARE,
        relatedness.EXTRACTION,
    ),
    normalization=(
        shape.NORMALIZATION,
        source_ranges.NORMALIZATION,
        identity.NORMALIZATION,
        order_and_duplicates.NORMALIZATION,
        reconciliation.NORMALIZATION,
        relatedness.NORMALIZATION,
        durable_schema.NORMALIZATION,
    ),
    docs="docs/integrations/npcs.md",
    export_name="npcs.json",
)
