from __future__ import annotations

from typing import Any

import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.evaluation.prediction import from_documents, from_gold_form

REFS = [{"source_id": "c/s", "start_unit_id": 1, "end_unit_id": 3}]
NPCS = {"npcs": [{"id": "npc:sha256:0", "name": "Odo", "source_refs": REFS}]}
INTERACTIONS = {"interactions": [{"name": "Odo", "kind": "dialogue", "source_refs": REFS}]}
PLACES = {"locations": [{"id": "loc:1", "name": "the Mill", "source_refs": REFS}]}
STAYS = {"occurrences": [{"location_id": "loc:1", "name": "the Mill", "kind": "visited", "source_refs": REFS}]}


@pytest.mark.parametrize("keys", [("npcs", "interactions"), ("npcs.json", "npc_interactions.json")])
def test_unit_one_is_the_first_turn(keys: tuple[str, str]) -> None:
    read = from_documents({keys[0]: NPCS, keys[1]: INTERACTIONS, "manifest.json": b"?"}, 300)
    assert read.first == 300
    assert (read.entities["npcs"][0].key, read.entities["npcs"][0].refs) == ("odo", ((300, 302),))
    assert (read.events["interactions"][0].entity, read.events["interactions"][0].refs) == ("odo", ((300, 302),))
    assert list(read.entities) == ["npcs"]
    assert list(read.events) == ["interactions"]


def test_bytes_and_other_layers_are_read() -> None:
    read = from_documents({"npcs.json": b'{"npcs":[]}\n', "locations": PLACES, "location_occurrences": STAYS}, 0)
    assert read.entities["npcs"] == ()
    assert read.entities["locations"][0].key == read.events["occurrences"][0].entity == "loc:1"
    assert read.entities["locations"][0].refs == ((0, 2),)


def test_a_lane_that_published_nothing_can_be_held_against_the_run() -> None:
    assert "interactions" not in from_documents({"npcs": NPCS}, 1).events
    read = from_documents({"npcs": NPCS}, 1, empty_if_absent=("npcs", "interactions"))
    assert read.events["interactions"] == ()
    assert len(read.entities["npcs"]) == 1
    assert "locations" not in read.entities


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (b"[", "npc_interactions.json: no JSON"),
        ({"npcs": []}, "npc_interactions.json: no object with a list 'interactions'"),
        (b"[]", "npc_interactions.json: no object with a list 'interactions'"),
        ({"interactions": ["Odo"]}, "interactions[0]: not a record of the contract"),
        ({"interactions": [{"kind": "dialogue", "source_refs": REFS}]}, "interactions[0]: no 'name'"),
        ({"interactions": [{"name": "Odo", "kind": "dialogue"}]}, "interactions[0]: no 'source_refs'"),
        ({"interactions": [{"name": "Odo", "kind": "x", "source_refs": REFS}]}, "interactions[0].kind: 'x' is not"),
        ({"interactions": [{"name": 1, "kind": "other", "source_refs": REFS}]}, "interactions[0].name: "),
    ],
)
def test_a_document_of_another_shape_is_one_line(document: Any, line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        from_documents({"npc_interactions.json": document}, 1)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_second_reader_is_a_prediction() -> None:
    read = from_gold_form({"npcs": [{"name": "Odo", "refs": [[3, 4]]}], "notes": [], "range": "?"})
    assert read.entities["npcs"][0].name == "Odo"
    assert read.events == {}
    with pytest.raises(ConfigurationError, match=r"prediction: npcs\[0\].refs"):
        from_gold_form({"npcs": [{"name": "Odo"}]})
