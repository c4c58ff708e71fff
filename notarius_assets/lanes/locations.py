"""`dnd/locations`: which places are in the session; places of one name stay apart unless they are shown to be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.identity import location_id
from notarius_assets.lanes.base import Candidate, Lane, Profile, Reconciliation, Record, registry_order
from notarius_assets.lanes.records import LocationCandidate, LocationRecord, LocationResponse
from notarius_assets.models.rules import locations as rules
from notarius_assets.models.rules import reconciliation as proposer
from notarius_assets.reconcile.nodes import Node, in_registry_order, unite
from notarius_assets.references import Registry
from notarius_assets.validators import (
    coverage,
    durable_schema,
    identity,
    order_and_duplicates,
    reconciliation,
    relatedness,
    shape,
    source_ranges,
)
from notarius_assets.validators.base import Finding


def nodes(candidates: Sequence[Candidate]) -> list[Node]:
    """Return a node a candidate; an equal name alone makes no two of them one."""
    return [Node.of(c.record["name"], c.refs, (c.chunk_id, c.position)) for c in candidates]


def records(left: Sequence[Node], source_id: str) -> tuple[list[Record], list[Finding]]:
    """Make durable records. Equal comparison name and equal earliest evidence is one place: their id is the same."""
    anchored: dict[tuple[str, SourceRef], list[Node]] = {}
    for node in in_registry_order(left):
        anchored.setdefault((node.comparison, node.refs[0]), []).append(node)
    made: list[Record] = []
    united: list[tuple[Record, int]] = []
    for group in anchored.values():
        node = unite(group, keep_parts=False)
        record = _record(node, source_id)
        made.append(record)
        if len(group) > 1:
            united.append((record, len(group)))
    ordered = sorted(made, key=registry_order)
    findings = [Finding("same_anchor_united", ordered.index(record), f"members={count}") for record, count in united]
    return ordered, findings


def _record(node: Node, source_id: str) -> Record:
    refs = [r.as_json() for r in node.refs]
    return {"id": derive({"name": node.name, "source_refs": refs}, source_id), "name": node.name, "source_refs": refs}


def normalize(candidates: Sequence[Candidate], source_id: str, registries: Mapping[str, Registry]) -> list[Record]:
    """Make records of candidates by the identity rules alone."""
    return records(nodes(candidates), source_id)[0]


def derive(record: Mapping[str, Any], source_id: str) -> str | None:
    """Return the id that follows from a record's name and its earliest evidence."""
    first = canonical(SourceRef(**r) for r in record["source_refs"])[0]
    return location_id(record["name"], source_id, first.start_unit_id, first.end_unit_id)


LANE = Lane(
    key="dnd/locations",
    version="1",
    title="Location registry",
    artifact_kind="dnd/location-list",
    schema_id="notarius.dnd.locations",
    schema_name="notarius_dnd_locations_v1",
    root="locations",
    table="locations",
    candidates_table="location_candidates",
    table_comment="Places of a session: one row a place, also where two share a name, with the units that identify it.",
    candidates_comment="Places as proposed window by window, after the record rules; reconciled in locations.",
    record=LocationRecord,
    response=LocationResponse,
    response_item=LocationCandidate,
    normalize=normalize,
    order_key=registry_order,
    derive_id=derive,
    candidates_have_ids=True,
    reconciliation=Reconciliation(
        nodes=nodes,
        records=records,
        one_a_name=False,
        task="dnd-locations/reconciliation.md",
        rules=proposer.RULE_FILES,
        propose=proposer.propose_locations,
    ),
    profile=Profile(rules=rules.RULE_FILES, propose=rules.propose),
    prompts=("shared/extraction.md", "dnd-locations/task.md"),
    extraction=(
        shape.EXTRACTION,
        source_ranges.EXTRACTION,
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
    docs="docs/integrations/locations.md",
    export_name="locations.json",
)
