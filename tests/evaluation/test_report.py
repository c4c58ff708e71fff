from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from notarius_assets.evaluation.cases import cases
from notarius_assets.evaluation.evaluation import Evaluation, evaluate
from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.evaluation.report import CASE_COLUMNS, COLUMNS, as_json, case_rows, lacking_lines, rows
from tests.evaluation.builders import gold, interaction, npc, prediction

ODO = npc("Odo", (150, 150))
SAID = interaction("Odo", "dialogue", (150, 151))
SEEN = interaction("Odo", "noncombat_presence", (150, 151))


def evaluated(files: int) -> Evaluation:
    pairs = [(gold([ODO], [SAID], source="T1"), prediction([ODO], [SAID]))]
    pairs += [(gold([ODO], [SAID], source="T2"), prediction([ODO], [SEEN]))]
    return evaluate(pairs[:files])


def test_a_row_per_file_and_layer_and_the_sum_last() -> None:
    table = rows(evaluated(2))
    assert [(r["gold"], r["layer"]) for r in table] == [
        (label, layer) for label in ("T1", "T2", "all") for layer in ("npcs", "interactions", "interactions_kind")
    ]
    assert all(tuple(r) == COLUMNS for r in table)
    assert table[-1] == {
        "gold": "all",
        "layer": "interactions_kind",
        "kind": "",
        "precision": "0.500",
        "recall": "0.500",
        "f1": "0.500",
        "hits": "1",
        "predicted": "2",
        "expected": "2",
        "iou": "",
        "baseline": "1.000",
    }
    assert table[1]["iou"] == "1.000"
    assert table[2]["baseline"] == "1.000 (dialogue)"


def test_one_file_needs_no_sum_and_kinds_follow_their_layer() -> None:
    table = rows(evaluated(1), kinds=True)
    assert [(r["layer"], r["kind"]) for r in table] == [
        ("npcs", ""),
        ("interactions", ""),
        ("interactions_kind", ""),
        ("interactions_kind", "dialogue"),
    ]


def test_json_holds_the_same_numbers_and_survives_a_round_trip() -> None:
    data = as_json(evaluated(2))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [f["gold"] for f in data["files"]] == ["T1", "T2"]
    assert data["total"]["interactions_kind"] == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "hits": 1,
        "predicted": 2,
        "gold": 2,
        "constant_kind": None,
        "constant_kind_f1": 1.0,
        "kinds": {
            "noncombat_presence": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "hits": 0, "predicted": 1, "gold": 0},
            "dialogue": {"precision": 1.0, "recall": 0.5, "f1": 0.667, "hits": 1, "predicted": 1, "gold": 2},
        },
    }
    assert data["cases"][0]["name"] == "kind_mentioned"


def test_what_is_lacking_is_said_in_lines() -> None:
    evaluation = evaluated(1)
    held = {r["case"]: r["held"] for r in case_rows(evaluation)}
    assert held["kind_dialogue"] == "yes"
    assert held["kind_other"] == "no"
    assert held["empty_output"] == "not known"
    assert all(tuple(r) == CASE_COLUMNS for r in case_rows(evaluation))
    lines = lacking_lines(evaluation)
    assert len(lines) == 11
    assert "kind_other: an interaction of kind other" in lines
    assert "empty_output: a gold file or a chunk without any NPC (not decidable without chunks)" in lines


def test_the_room_draws_no_tables_itself() -> None:
    code = "import sys, notarius_assets.evaluation.report; print({'rich', 'dagster'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_reference_page_names_every_column_layer_and_case() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "evaluation.md").read_text()
    names = {*COLUMNS, *(case.name for case in cases([]))}
    for layer in LAYERS:
        names |= {layer.entities, layer.events, layer.events_with_kind, *layer.kinds}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
