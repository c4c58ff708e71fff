from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.evaluation.gold import load_gold
from tests.evaluation import reference
from tests.evaluation.builders import gold, interaction, npc

GOOD: dict[str, Any] = {
    "source": "T1",
    "range": [100, 199],
    "npcs": [{"name": "Odo", "aliases": ["the  Miller"], "refs": [[110, 112]], "note": "kept"}],
    "interactions": [{"name": "odo", "kind": "dialogue", "refs": [[110, 112]]}],
    "readers": 2,
    "notes": ["hard"],
    "label": 7,
}


def written(folder: Path, raw: Any) -> Path:
    path = folder / "evening.gold.json"
    path.write_text(raw if isinstance(raw, str) else json.dumps(raw))
    return path


def test_a_gold_file_is_read(tmp_path: Path) -> None:
    read = load_gold(written(tmp_path, GOOD))
    assert (read.label, read.source, read.first, read.length) == ("evening", "T1", 100, 100)
    odo = read.entities["npcs"][0]
    assert (odo.key, odo.name, odo.aliases, odo.refs, odo.optional) == (
        "odo",
        "Odo",
        ("the  Miller",),
        ((110, 112),),
        False,
    )
    assert read.events["interactions"][0].entity == "odo"
    assert "locations" not in read.entities
    assert read.remarks() == ()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("[", "no JSON"),
        ("[]", "valid dictionary"),
        ({"source": ""}, "source: "),
        ({"range": [9, 3]}, "range: the last turn stands before the first"),
        ({"range": [9]}, "range[1]: "),
        ({"range": [1, 10**30]}, "range: more than 1,000,000 turns are no transcript"),
        ({"npcs": {}}, "npcs: "),
        ({"npcs": ["Odo"]}, "npcs[0]: "),
        ({"npcs": [{"refs": [[1, 2]]}]}, "npcs[0].name: "),
        ({"npcs": [{"name": "Odo"}]}, "npcs[0].refs: "),
        ({"npcs": [{"name": "\u200b", "refs": []}]}, "npcs[0].name: "),
        ({"npcs": [{"name": "Odo", "refs": [[4, 2]]}]}, "npcs[0].refs: the range 4-2 ends before it starts"),
        ({"npcs": [{"name": "Odo", "refs": [[4, "5"]]}]}, "npcs[0].refs[0][1]: "),
        ({"interactions": [{"kind": "dialogue", "refs": []}]}, "interactions[0].name: "),
        (
            {"interactions": [{"name": "Odo", "kind": "visited", "refs": []}]},
            "interactions[0].kind: 'visited' is not one of mentioned, noncombat_presence",
        ),
        ({"occurrences": [{"kind": "visited", "refs": []}]}, "occurrences[0].location: "),
        ({"locations": [{"name": "the mill", "refs": []}]}, "locations[0].key: "),
    ],
)
def test_a_fault_is_one_line_with_file_place_and_next_step(tmp_path: Path, change: Any, line: str) -> None:
    path = written(tmp_path, change if isinstance(change, str) else {**GOOD, **change})
    with pytest.raises(ConfigurationError) as caught:
        load_gold(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert line in text
    assert "\n" not in text
    assert "docs/reference/evaluation.md" in text


def test_further_faults_are_counted(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"npcs\[0\].refs: .* \(and 1 more\)"):
        load_gold(written(tmp_path, {**GOOD, "npcs": [{"name": "Odo"}, {"name": "Ilse"}]}))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="give the path of a gold file"):
        load_gold(tmp_path / "none.gold.json")
    (tmp_path / "latin.gold.json").write_bytes(b'{"source": "\xe9"}')
    with pytest.raises(ConfigurationError, match="no JSON"):
        load_gold(tmp_path / "latin.gold.json")


def test_doubtful_records_are_remarked_and_kept() -> None:
    some = gold(
        [npc("Odo", (99, 100)), npc("odo", (110, 110)), npc("Ilse")],
        [interaction("Corvin", "dialogue", (190, 200))],
    )
    assert some.remarks() == (
        "npcs[0]: 99-100 lies outside 100-199",
        "npcs[1]: 'odo' is listed twice",
        "npcs[2]: no evidence",
        "interactions[0]: 190-200 lies outside 100-199",
        "interactions[0]: 'corvin' is not among the npcs",
    )


@reference.needs_folder
@pytest.mark.parametrize("name", [*reference.DEV, "session-C2E002.registry"])
def test_the_delivered_gold_files_are_read(name: str) -> None:
    read = load_gold(reference.FOLDER / f"{name}.gold.json")
    assert read.label == name
    assert read.length in (260, 2705)
    assert read.entities["npcs"]
