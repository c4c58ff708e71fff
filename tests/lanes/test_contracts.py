"""The values of tests/vectors/contracts.json: names, ids, order, bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.flow.normalize import normalize
from notarius_assets.identity import comparison_name, display_name, location_id, npc_id, slug
from notarius_assets.lanes.base import Candidate
from notarius_assets.lanes.codec import encode
from notarius_assets.lanes.records import INTERACTION_KINDS, OCCURRENCE_KINDS
from notarius_assets.references import Registry
from notarius_assets.validators.base import Item, View
from notarius_assets.validators.chain import run
from tests.lanes.world import INTERACTIONS, LOCATIONS, NPCS, OCCURRENCES, SOURCE, context, npc, ranges

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "vectors" / "contracts.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("vector", VECTORS["display_and_comparison"], ids=lambda v: ascii(v["input"]))
def test_display_and_comparison_names(vector: dict[str, str]) -> None:
    assert display_name(vector["input"]) == vector["display"]
    assert comparison_name(vector["input"]) == vector["comparison"]


@pytest.mark.parametrize("vector", VECTORS["npc_ids"], ids=lambda v: ascii([v["name"], v["source_id"]]))
def test_npc_ids(vector: dict[str, str]) -> None:
    digest = hashlib.sha256(vector["digest_input"].encode()).hexdigest()

    assert npc_id(vector["name"], vector["source_id"]) == vector["id"] == f"npc:sha256:{digest}"


@pytest.mark.parametrize("vector", VECTORS["location_ids"], ids=lambda v: ascii([v["name"], v["start_unit_id"]]))
def test_location_ids(vector: dict[str, Any]) -> None:
    digest = hashlib.sha256(vector["digest_input"].encode()).hexdigest()
    anchor = (vector["source_id"], vector["start_unit_id"], vector["end_unit_id"])

    assert location_id(vector["name"], *anchor) == vector["id"] == f"location:sha256:{digest}"


@pytest.mark.parametrize("backwards", [False, True])
def test_one_anchor_is_one_place_and_one_name_alone_is_not(backwards: bool) -> None:
    vector = VECTORS["same_anchor"]
    given = _candidates(vector["candidates"])

    assert list(normalize(LOCATIONS, given[::-1] if backwards else given, SOURCE, {}).records) == vector["records"]


@pytest.mark.parametrize("backwards", [False, True])
def test_order_of_occurrences(backwards: bool) -> None:
    vector = VECTORS["location_occurrence_ordering"]
    given = vector["input"][::-1] if backwards else vector["input"]
    registry = Registry([{"id": r["location_id"], "name": r["name"]} for r in vector["output"]], "0" * 64)

    made = normalize(OCCURRENCES, _candidates(given), SOURCE, {"locations": registry})

    assert list(made.records) == vector["output"]
    assert list(OCCURRENCE_KINDS) == vector["kind_order"]


@pytest.mark.parametrize("vector", VECTORS["no_id"], ids=lambda v: ascii(v["name"]))
def test_blank_names_have_no_id_and_are_rejected(vector: dict[str, str]) -> None:
    assert npc_id(vector["name"], SOURCE) is None
    assert location_id(vector["name"], SOURCE, 2, 2) is None

    answer = {"name": vector["name"], "ranges": ranges((2, 2))}
    for lane in (NPCS, LOCATIONS):
        item = Item(0, lane.to_record(answer, SOURCE), answer, 1, 0)
        result = run(lane.extraction, View((item,)), context(lane))

        assert [(key, finding.code) for key, finding in result.condemned.values()] == [("shape", vector["code"])]


@pytest.mark.parametrize("vector", VECTORS["reference_canonicalisation"], ids=lambda v: v["why"])
def test_references_in_canonical_order(vector: dict[str, Any]) -> None:
    found = canonical(SourceRef(**r) for r in vector["input"])

    assert [r.as_json() for r in found] == vector["output"]
    assert list(found[0].as_json()) == ["source_id", "start_unit_id", "end_unit_id"]


def _candidates(records: list[dict[str, Any]]) -> list[Candidate]:
    return [Candidate(1, position, record) for position, record in enumerate(records)]


@pytest.mark.parametrize("backwards", [False, True])
def test_order_of_the_npc_registry(backwards: bool) -> None:
    vector = VECTORS["npc_registry_ordering"]
    given = vector["input"][::-1] if backwards else vector["input"]

    assert list(normalize(NPCS, _candidates(given), SOURCE, {}).records) == vector["output"]


@pytest.mark.parametrize("backwards", [False, True])
def test_order_of_interactions(backwards: bool) -> None:
    vector = VECTORS["npc_interaction_ordering"]
    given = vector["input"][::-1] if backwards else vector["input"]
    registry = Registry([npc("Old Marta", (4, 4)), npc("Ash", (5, 5))], "0" * 64)

    made = normalize(INTERACTIONS, _candidates(given), SOURCE, {"npcs": registry})

    assert list(made.records) == vector["output"]
    assert list(INTERACTION_KINDS) == vector["kind_order"]


def test_canonical_bytes_of_a_document() -> None:
    vector = VECTORS["canonical_document"]

    assert encode(INTERACTIONS, vector["records"]) == vector["bytes_utf8"].encode()


@pytest.mark.parametrize("vector", VECTORS["slugs"], ids=lambda v: ascii(v["stem"]))
def test_slugs(vector: dict[str, str | None]) -> None:
    assert slug(vector["stem"] or "") == vector["slug"]


def test_the_name_of_the_earliest_evidence_stands_then_of_the_lower_chunk_then_of_the_earlier_position() -> None:
    def candidate(name: str, chunk_id: int, position: int, unit: int) -> Candidate:
        return Candidate(chunk_id, position, NPCS.to_record({"name": name, "ranges": ranges((unit, unit))}, SOURCE))

    found = [
        candidate("OLD MARTA", 2, 0, 12),
        candidate("old marta", 1, 1, 4),
        candidate("Old  Marta", 1, 0, 4),
    ]

    (record,) = normalize(NPCS, found, SOURCE, {}).records

    assert record["name"] == "Old Marta"
    assert [r["start_unit_id"] for r in record["source_refs"]] == [4, 12]


def test_code_keeps_both_kinds_of_one_passage_and_writes_the_canonical_name() -> None:
    registry = Registry([npc("K’Varn", (1, 1))], "0" * 64)
    answers = [
        {"name": "k'varn", "kind": kind, "ranges": ranges((2, 3))} for kind in ("dialogue", "mentioned", "dialogue")
    ]

    made = normalize(
        INTERACTIONS, _candidates([INTERACTIONS.to_record(a, SOURCE) for a in answers]), SOURCE, {"npcs": registry}
    )

    assert [(r["name"], r["kind"]) for r in made.records] == [("K’Varn", "mentioned"), ("K’Varn", "dialogue")]
