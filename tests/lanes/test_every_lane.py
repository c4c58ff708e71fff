"""Everything a lane declares, held against the contract; a new lane of `BUILT_IN` is tested by a row in `CONTRACTS`."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from notarius_assets import validators
from notarius_assets.evidence import EvidenceLine
from notarius_assets.flow.normalize import audit, normalize
from notarius_assets.lake.tables import candidates_table, lane_table
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.lanes.schemas import durable_schema, files, response_schema, shared_files
from notarius_assets.models.rules import ruleset
from notarius_assets.resources import read_text, resource
from notarius_assets.validators.base import Boundary, Level, Severity
from tests.lanes import world
from tests.lanes.world import CHUNKS, SOURCE, UNITS, registries

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Contract:
    """One row of the contracts' table, written out."""

    key: str
    tables: tuple[str, str]
    artifact_kind: str
    schema_id: str
    schema_name: str
    root: str
    record: tuple[str, ...]
    answer: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    slots: tuple[tuple[str, str], ...] = ()
    has_id: bool = False
    one_chunk_a_record: bool = False
    reconciled: bool = False
    candidate_id: bool = False
    extraction: tuple[str, ...] = ()
    normalization: tuple[str, ...] = ()


CONTRACTS = (
    Contract(
        key="dnd/npcs",
        tables=("npcs", "npc_candidates"),
        artifact_kind="dnd/npc-list",
        schema_id="notarius.dnd.npcs",
        schema_name="notarius_dnd_npcs_v1",
        root="npcs",
        record=("id", "name", "source_refs"),
        answer=("name", "ranges"),
        has_id=True,
        extraction=("shape", "source_ranges", "not_party", "coverage", "reject_share", "relatedness"),
        normalization=(
            "shape",
            "source_ranges",
            "identity",
            "order_and_duplicates",
            "reconciliation",
            "relatedness",
            "durable_schema",
        ),
        reconciled=True,
    ),
    Contract(
        key="dnd/npc-interactions",
        tables=("npc_interactions", "npc_interaction_candidates"),
        artifact_kind="dnd/npc-interaction-list",
        schema_id="notarius.dnd.npc_interactions",
        schema_name="notarius_dnd_npc_interactions_v1",
        root="interactions",
        record=("name", "kind", "source_refs"),
        answer=("name", "kind", "ranges"),
        kinds=("mentioned", "noncombat_presence", "dialogue", "combat_ally", "combat_opponent", "other"),
        slots=(("npcs", "dnd/npc-list"),),
        one_chunk_a_record=True,
        extraction=(
            "shape",
            "source_ranges",
            "reference_membership",
            "alignment_conflict",
            "coverage",
            "reject_share",
            "relatedness",
        ),
        normalization=(
            "shape",
            "source_ranges",
            "reference_membership",
            "order_and_duplicates",
            "kind_overlap",
            "relatedness",
            "durable_schema",
        ),
    ),
    Contract(
        key="dnd/locations",
        tables=("locations", "location_candidates"),
        artifact_kind="dnd/location-list",
        schema_id="notarius.dnd.locations",
        schema_name="notarius_dnd_locations_v1",
        root="locations",
        record=("id", "name", "source_refs"),
        answer=("name", "ranges"),
        has_id=True,
        reconciled=True,
        candidate_id=True,
        extraction=("shape", "source_ranges", "coverage", "reject_share", "relatedness"),
        normalization=(
            "shape",
            "source_ranges",
            "identity",
            "order_and_duplicates",
            "reconciliation",
            "relatedness",
            "durable_schema",
        ),
    ),
    Contract(
        key="dnd/location-occurrences",
        tables=("location_occurrences", "location_occurrence_candidates"),
        artifact_kind="dnd/location-occurrence-list",
        schema_id="notarius.dnd.location_occurrences",
        schema_name="notarius_dnd_location_occurrences_v1",
        root="occurrences",
        record=("location_id", "name", "kind", "source_refs"),
        answer=("location_id", "name", "kind", "ranges"),
        kinds=("visited", "planned", "recalled", "mentioned"),
        slots=(("locations", "dnd/location-list"),),
        one_chunk_a_record=True,
        extraction=("shape", "reference_membership", "source_ranges", "coverage", "reject_share", "relatedness"),
        normalization=(
            "shape",
            "reference_membership",
            "order_and_duplicates",
            "source_ranges",
            "kind_overlap",
            "relatedness",
            "durable_schema",
        ),
    ),
)

every_lane = pytest.mark.parametrize(
    ("lane", "contract"), list(zip(BUILT_IN, CONTRACTS, strict=True)), ids=[lane.table for lane in BUILT_IN]
)
STRUCTURAL = {
    "$defs",
    "$ref",
    "additionalProperties",
    "description",
    "items",
    "properties",
    "required",
    "title",
    "type",
}
"""All that a private response's schema may be made of: no enum, pattern, const, length, default or format."""


@every_lane
def test_everything_declared_is_the_contract(lane: Lane, contract: Contract) -> None:
    assert lane.key == contract.key
    assert (lane.table, lane.candidates_table) == contract.tables
    assert lane.artifact_kind == contract.artifact_kind
    assert (lane.schema_id, lane.schema_name, lane.root) == (contract.schema_id, contract.schema_name, contract.root)
    assert lane.media_type == "application/json"
    assert tuple(lane.record.model_fields) == contract.record
    assert tuple(lane.response_item.model_fields) == contract.answer
    assert list(lane.response.model_fields) == [lane.root]
    assert lane.kinds == contract.kinds
    assert tuple((s.name, s.artifact_kind) for s in lane.slots) == contract.slots
    assert (lane.derive_id is not None) is contract.has_id
    assert lane.one_chunk_a_record is contract.one_chunk_a_record
    assert (lane.reconciliation is not None) is contract.reconciled
    assert lane.candidates_have_ids is contract.candidate_id
    assert lane.version
    assert all((lane.title, lane.table_comment, lane.candidates_comment))
    assert lane.export_name == f"{lane.table}.json"


@every_lane
def test_tables_hold_what_the_record_holds(lane: Lane, contract: Contract) -> None:
    durable = [c.name for c in lane_table(lane).columns]
    proposed = [c.name for c in candidates_table(lane).columns]

    assert lane_table(lane).name == contract.tables[0]
    assert candidates_table(lane).name == contract.tables[1]
    assert [c for c in durable if c in contract.record] == list(contract.record)
    assert [c for c in proposed if c in contract.answer] == [f for f in contract.answer if f != "ranges"]
    assert ("id" in proposed) is contract.candidate_id
    assert durable[-1] == proposed[-1] == "source_refs"


@every_lane
def test_the_profile_names_rules_that_load_and_a_function(lane: Lane, contract: Contract) -> None:
    assert ruleset.load(lane.profile.rules).digest
    assert list(inspect.signature(lane.profile.propose).parameters) == ["request", "rules"]

    payload = lane.profile.propose(world.window(lane), ruleset.load(lane.profile.rules))

    assert list(payload) == [lane.root]
    lane.response.model_validate(payload, strict=True)


@every_lane
def test_prompts_are_there_and_say_something(lane: Lane, contract: Contract) -> None:
    assert lane.prompts[0] == "shared/extraction.md"
    for path in lane.prompts:
        text = read_text("prompts", path)
        assert text.strip()
        assert text.endswith("\n")


@every_lane
def test_the_private_response_is_structural_and_the_same_for_every_session(lane: Lane, contract: Contract) -> None:
    schema = response_schema(lane)

    assert schema == response_schema(lane)
    assert [key for key in _keywords(schema) if key not in STRUCTURAL] == []
    objects = list(_objects(schema))
    assert len(objects) == 3
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


@every_lane
def test_the_durable_schema_is_closed_at_every_object(lane: Lane, contract: Contract) -> None:
    schema = durable_schema(lane)

    assert schema["$id"] == contract.schema_id
    assert schema["title"] == contract.schema_name
    assert schema["required"] == [contract.root]
    objects = list(_objects(schema))
    assert len(objects) == 3
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for value in node.values():
            yield from _objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _objects(value)


def _keywords(schema: dict[str, Any]) -> Iterator[str]:
    for key, value in schema.items():
        yield key
        if key in ("properties", "$defs"):
            for inner in value.values():
                yield from _keywords(inner)
        elif isinstance(value, dict):
            yield from _keywords(value)


@every_lane
def test_schema_files_are_what_the_code_gives(lane: Lane, contract: Contract) -> None:
    written = files(lane)

    assert sorted(written) == [
        f"{contract.schema_name}.json",
        f"private/{contract.key.replace('/', '-')}.response.json",
    ]
    for path, text in written.items():
        assert resource("schemas", path).read_text(encoding="utf-8") == text


def test_no_schema_file_is_left_over() -> None:
    there = {p.relative_to(resource("schemas")).as_posix() for p in resource("schemas").rglob("*.json")}

    assert there == {path for lane in BUILT_IN for path in files(lane)} | set(shared_files())


@every_lane
def test_the_default_chains_are_the_contract(lane: Lane, contract: Contract) -> None:
    assert tuple(v.key for v in lane.extraction) == contract.extraction
    assert tuple(v.key for v in lane.normalization) == contract.normalization
    assert lane.normalization[-1].key == "durable_schema"
    for boundary, chain in ((Boundary.EXTRACTION, lane.extraction), (Boundary.NORMALIZATION, lane.normalization)):
        for validator in chain:
            assert validator.boundary is boundary
            assert validator is validators.at(boundary)[validator.key]
            assert validator.description.endswith(".")
            warns = validator.key in ("relatedness", "kind_overlap", "reconciliation")
            assert validator.severity is (Severity.WARN if warns else Severity.ERROR)
            of_artifact = boundary is Boundary.NORMALIZATION or validator.key in ("coverage", "reject_share")
            assert validator.blocking is (of_artifact and not warns)
            if boundary is Boundary.EXTRACTION and not of_artifact:
                assert validator.level is Level.RECORD


@every_lane
def test_the_slots_project_the_registry_in_its_order(lane: Lane, contract: Contract) -> None:
    for slot in lane.slots:
        registry = world.REGISTRIES[slot.name]
        if slot.name == "npcs":
            assert slot.project(registry) == ("Old Marta", "the barkeep", "K'Varn")
            assert slot.find({"name": " OLD  marta"}, registry) is registry.records[0]
            assert slot.find({"name": "Marta"}, registry) == "unknown_npc"
        else:
            ids = [r["id"] for r in registry.records]
            pairs = zip(ids, ("Stennet", "the tavern", "the tavern"), strict=True)
            assert slot.project(registry) == tuple({"id": i, "name": n} for i, n in pairs)
            assert slot.find({"location_id": ids[2], "name": "The  tavern"}, registry) is registry.records[2]
            assert slot.find({"location_id": ids[2], "name": "Stennet"}, registry) == "id_name_mismatch"
            assert slot.find({"location_id": "location:sha256:0", "name": "Stennet"}, registry) == "unknown_location_id"


@every_lane
def test_the_good_answers_give_the_good_document(lane: Lane, contract: Contract) -> None:
    made = normalize(lane, world.candidates(lane), SOURCE, registries(lane))

    assert list(made.records) == list(world.GOOD_RECORDS[lane.key])
    for record in made.records:
        assert list(record) == list(contract.record)
        assert isinstance(lane.record.model_validate(record, strict=True), BaseModel)


@every_lane
def test_an_answer_gets_its_source_here(lane: Lane, contract: Contract) -> None:
    answer = {
        **{f: "dialogue" if f == "kind" else "Old Marta" for f in contract.answer[:-1]},
        "ranges": [{"start": 4, "end": 9}],
    }

    record = lane.to_record(answer, SOURCE)

    assert list(record) == [f for f in contract.record if f != "id" or contract.candidate_id]
    assert record["source_refs"] == [{"source_id": SOURCE, "start_unit_id": 4, "end_unit_id": 9}]


@every_lane
def test_nothing_gives_an_empty_document(lane: Lane, contract: Contract) -> None:
    assert normalize(lane, [], SOURCE, registries(lane)).document == f'{{"{contract.root}":[]}}\n'.encode()


NAMES = st.sampled_from(["Old Marta", "old marta", " Old\tMarta", "K'Varn", "K’Varn", "the barkeep", "The Barkeep"])
PLACES = st.sampled_from([world.STENNET, world.TAVERN, world.OTHER_TAVERN])


@st.composite
def candidate_lists(draw: st.DrawFn, lane: Lane) -> list[Candidate]:
    """Return candidates as merge gives them to a normalizer: valid, each at a position of its chunk."""
    found = []
    for chunk_id, (first, last) in CHUNKS.items():
        for position in range(draw(st.integers(0, 4))):
            spans = draw(
                st.lists(st.tuples(st.integers(first, last), st.integers(first, last)), min_size=1, max_size=3)
            )
            if lane is world.OCCURRENCES:
                place = draw(PLACES)
                record = {"location_id": place["id"], "name": draw(st.sampled_from([place["name"].upper()]))}
            else:
                record = {"name": draw(NAMES)}
            if lane.kinds:
                record["kind"] = draw(st.sampled_from(lane.kinds))
            record["source_refs"] = world.refs(*((min(s), max(s)) for s in spans))
            found.append(Candidate(chunk_id, position, record))
    return found


@every_lane
@given(data=st.data(), seed=st.integers())
@settings(max_examples=80, deadline=None)
def test_order_of_arrival_never_matters(lane: Lane, contract: Contract, data: st.DataObject, seed: int) -> None:
    found = data.draw(candidate_lists(lane))
    shuffled = list(found)
    random.Random(seed).shuffle(shuffled)

    made = normalize(lane, found, SOURCE, registries(lane))

    assert [(c.chunk_id, c.position) for c in lane.merge(shuffled)] == [(c.chunk_id, c.position) for c in found]
    assert normalize(lane, shuffled, SOURCE, registries(lane)).document == made.document


@every_lane
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_normalized_document_passes_every_blocking_validator(
    lane: Lane, contract: Contract, data: st.DataObject
) -> None:
    made = normalize(lane, data.draw(candidate_lists(lane)), SOURCE, registries(lane))

    result = audit(lane.normalization, {lane.root: list(made.records)}, world.context(lane))

    assert result.reasons == ()
    keys = [lane.order_key(r) for r in made.records]
    assert keys == sorted(keys)


@every_lane
def test_the_projector_shows_proof_and_its_neighbours(lane: Lane, contract: Contract) -> None:
    record = {"name": "Old Marta", "source_refs": world.refs((2, 3), (29, 30))}

    lines = lane.project(record, UNITS)

    assert [(line.unit_id, line.cited) for line in lines] == [
        (1, False),
        (2, True),
        (3, True),
        (4, False),
        (5, False),
        (27, False),
        (28, False),
        (29, True),
        (30, True),
    ]
    assert lines[1] == EvidenceLine(2, None, ("MATT",), UNITS[1].text, True)
    assert [line.unit_id for line in lane.project(record, UNITS, context=0)] == [2, 3, 29, 30]


@every_lane
def test_the_page_names_the_lane(lane: Lane, contract: Contract) -> None:
    text = (REPOSITORY / lane.docs).read_text(encoding="utf-8")

    for word in (contract.key, *contract.tables, contract.artifact_kind, contract.schema_id, contract.schema_name):
        assert f"`{word}`" in text
