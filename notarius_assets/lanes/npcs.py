"""`dnd/npcs`: who is in the session; one record a comparison name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.evidence import canonical
from notarius_assets.identity import comparison_name, display_name, npc_id
from notarius_assets.lanes.base import Candidate, Lane, Profile, Record, refs_key
from notarius_assets.lanes.records import NpcCandidate, NpcRecord, NpcResponse
from notarius_assets.models.rules import npcs as rules
from notarius_assets.references import Registry
from notarius_assets.validators import (
    coverage,
    durable_schema,
    identity,
    not_party,
    order_and_duplicates,
    relatedness,
    shape,
    source_ranges,
)


def normalize(candidates: Sequence[Candidate], source_id: str, registries: Mapping[str, Registry]) -> list[Record]:
    """Unite candidates of one comparison name; the name of the earliest evidence stands."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(comparison_name(candidate.record["name"]), []).append(candidate)
    records: list[Record] = []
    for members in groups.values():
        first = min(members, key=lambda c: (c.refs[0], c.chunk_id, c.position))
        name = display_name(first.record["name"])
        refs = canonical(ref for member in members for ref in member.refs)
        records.append({"id": npc_id(name, source_id), "name": name, "source_refs": [r.as_json() for r in refs]})
    return sorted(records, key=order_key)


def order_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Earliest evidence, comparison name, id."""
    return (refs_key(record)[0], comparison_name(record["name"]), record["id"])


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
    order_key=order_key,
    derive_id=_derive,
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
        relatedness.NORMALIZATION,
        durable_schema.NORMALIZATION,
    ),
    docs="docs/integrations/npcs.md",
    export_name="npcs.json",
)
