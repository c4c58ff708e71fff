"""`dnd/location-occurrences`: how the party related to a place of the registry in one coherent passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.identity import compact_json, comparison_name
from notarius_assets.lanes.base import Candidate, Lane, Profile, Record, ReferenceSlot, refs_key
from notarius_assets.lanes.records import (
    OCCURRENCE_KINDS,
    LocationOccurrenceCandidate,
    LocationOccurrenceRecord,
    LocationOccurrenceResponse,
)
from notarius_assets.models.rules import location_occurrences as rules
from notarius_assets.references import Registry
from notarius_assets.validators import (
    coverage,
    durable_schema,
    kind_overlap,
    order_and_duplicates,
    reference_membership,
    relatedness,
    shape,
    source_ranges,
)

_KIND_ORDER = {kind: n for n, kind in enumerate(OCCURRENCE_KINDS)}


def normalize(candidates: Sequence[Candidate], source_id: str, registries: Mapping[str, Registry]) -> list[Record]:
    """Write canonical names by id, order, and drop exact duplicates; nothing is merged or moved by judgement."""
    unique: dict[str, Record] = {}
    for candidate in candidates:
        known = _find(candidate.record, registries["locations"])
        record: Record = {
            "location_id": candidate.record["location_id"],
            "name": candidate.record["name"] if isinstance(known, str) else known["name"],
            "kind": candidate.record["kind"],
            "source_refs": [r.as_json() for r in candidate.refs],
        }
        unique.setdefault(compact_json(record), record)
    return sorted(unique.values(), key=order_key)


def order_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Earliest evidence, location_id, name, kind in vocabulary order, remaining evidence."""
    refs = refs_key(record)
    kind = _KIND_ORDER.get(record["kind"], len(_KIND_ORDER))
    return (refs[0], record["location_id"], record["name"], kind, refs[1:])


def _find(record: Mapping[str, Any], registry: Registry) -> Mapping[str, Any] | str:
    """Look up by id alone; the name only has to be that place's."""
    known = registry.by_id(record["location_id"])
    if known is None:
        return "unknown_location_id"
    return known if comparison_name(known["name"]) == comparison_name(record["name"]) else "id_name_mismatch"


LANE = Lane(
    key="dnd/location-occurrences",
    version="1",
    title="Location occurrences",
    artifact_kind="dnd/location-occurrence-list",
    schema_id="notarius.dnd.location_occurrences",
    schema_name="notarius_dnd_location_occurrences_v1",
    root="occurrences",
    table="location_occurrences",
    candidates_table="location_occurrence_candidates",
    table_comment="Where the party is, plans to go, was or speaks of: one row a place, kind and coherent passage.",
    candidates_comment="Occurrences as proposed window by window, after the record rules.",
    record=LocationOccurrenceRecord,
    response=LocationOccurrenceResponse,
    response_item=LocationOccurrenceCandidate,
    normalize=normalize,
    order_key=order_key,
    kinds=OCCURRENCE_KINDS,
    slots=(ReferenceSlot("locations", "dnd/location-list", _find, lambda registry: registry.pairs),),
    one_chunk_a_record=True,
    profile=Profile(rules=rules.RULE_FILES, propose=rules.propose),
    prompts=("shared/extraction.md", "dnd-location-occurrences/task.md"),
    extraction=(
        shape.EXTRACTION,
        reference_membership.EXTRACTION,
        source_ranges.EXTRACTION,
        coverage.COVERAGE,
        coverage.REJECT_SHARE,
        relatedness.EXTRACTION,
    ),
    normalization=(
        shape.NORMALIZATION,
        reference_membership.NORMALIZATION,
        order_and_duplicates.NORMALIZATION,
        source_ranges.NORMALIZATION,
        kind_overlap.NORMALIZATION,
        relatedness.NORMALIZATION,
        durable_schema.NORMALIZATION,
    ),
    docs="docs/integrations/location-occurrences.md",
    export_name="location_occurrences.json",
)
