"""Documents: bytes to records and back, and what is no document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.errors import NotariusError
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.codec import content_digest, decode, encode
from tests.lanes.world import GOOD_RECORDS, INTERACTIONS, NPCS, interaction, npc, refs

lanes = pytest.mark.parametrize("lane", BUILT_IN, ids=lambda lane: lane.table)


@lanes
def test_records_survive_the_way_out_and_in(lane: Lane) -> None:
    document = encode(lane, GOOD_RECORDS[lane.key])

    assert decode(lane, document, "x.json") == list(GOOD_RECORDS[lane.key])
    assert encode(lane, decode(lane, document, "x.json")) == document
    assert document.endswith(b"]}\n")
    assert document.count(b"\n") == 1


@given(
    records=st.lists(
        st.builds(
            interaction,
            st.text(st.characters(codec="utf-8"), min_size=1),
            st.sampled_from(INTERACTIONS.kinds),
            st.tuples(st.integers(-(2**53), 2**53), st.integers(0, 2**53)),
        )
    )
)
@settings(max_examples=80, deadline=None)
def test_any_name_survives(records: list[dict[str, Any]]) -> None:
    document = encode(INTERACTIONS, records)

    assert decode(INTERACTIONS, document, "x.json") == records
    assert json.loads(document) == {"interactions": records}


def test_keys_stand_in_contract_order_however_the_record_was_built() -> None:
    record = npc("Old Marta", (2, 3))
    mixed = {"source_refs": [dict(reversed(r.items())) for r in record["source_refs"]], **record}
    mixed = {k: mixed[k] for k in ("source_refs", "name", "id")}

    assert encode(NPCS, [mixed]) == encode(NPCS, [record])


def test_the_digest_is_of_the_bytes() -> None:
    assert content_digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


NO_DOCUMENT: list[tuple[str, bytes, str]] = [
    ("no_json", b"{", "not JSON"),
    ("no_utf8", b'{"npcs":["\xff"]}', "not JSON"),
    ("nothing", b"", "not JSON"),
    ("list", b"[]", "not a dnd/npc-list document"),
    ("other_root", b'{"interactions":[]}', "not a dnd/npc-list document"),
    ("second_root", b'{"npcs":[],"note":"SECRET"}', "not a dnd/npc-list document"),
    ("no_list", b'{"npcs":{}}', "not a dnd/npc-list document"),
]


@pytest.mark.parametrize(("data", "message"), [c[1:] for c in NO_DOCUMENT], ids=[c[0] for c in NO_DOCUMENT])
def test_what_is_no_document_is_said_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(NotariusError) as caught:
        decode(NPCS, data, "people.json")

    assert str(caught.value).startswith(f"people.json: {message}")
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_RECORDS: list[tuple[str, dict[str, Any], str]] = [
    ("missing", {"name": "SECRET", "source_refs": refs((1, 1))}, "missing"),
    ("extra", {**npc("SECRET", (1, 1)), "mood": "SECRET"}, "extra_forbidden"),
    ("type", {**npc("SECRET", (1, 1)), "name": 7}, "string_type"),
    ("id", {**npc("SECRET", (1, 1)), "id": "SECRET"}, "string_pattern_mismatch"),
    ("evidence", {**npc("SECRET"), "source_refs": []}, "too_short"),
    ("bound", {**npc("SECRET"), "source_refs": [{**refs((1, 1))[0], "end_unit_id": "1"}]}, "int_type"),
]


@pytest.mark.parametrize(("record", "kind"), [c[1:] for c in BAD_RECORDS], ids=[c[0] for c in BAD_RECORDS])
def test_a_bad_record_is_named_by_its_index_and_not_repeated(record: dict[str, Any], kind: str) -> None:
    data = json.dumps({"npcs": [npc("Old Marta", (1, 1)), record]}).encode()

    with pytest.raises(NotariusError) as caught:
        decode(NPCS, data, "people.json")

    assert str(caught.value) == f"people.json: record 1 is no dnd/npc-list record ({kind})"


def test_an_unknown_kind_is_no_record() -> None:
    data = json.dumps({"interactions": [interaction("Old Marta", "friend", (1, 1))]}).encode()

    with pytest.raises(NotariusError, match=r"record 0 is no dnd/npc-interaction-list record \(literal_error\)"):
        decode(INTERACTIONS, data, "deeds.json")
