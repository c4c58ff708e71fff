"""Mistakes in a pipeline file: one line with file, line and key, exit 2, and nothing was run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.identity import npc_id
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.codec import encode
from notarius_assets.pipeline import load
from notarius_assets.references import MAX_REFERENCE_BYTES, Registry
from tests.conftest import STEPS, CampaignFactory
from tests.robustness.support import names, notarius

GOOD = (
    """\
campaign: Hill Road
transcripts: [transcripts/*.txt]
speakers:
  dm: [DM]
"""
    + STEPS
)
STATIC = ("npcs: dnd/npcs", "npcs: {file: npcs.json}")

MISTAKES = {
    "nothing at all": ((GOOD, ""), "pipeline.yaml:1: campaign: required, but not there"),
    "comments alone": ((GOOD, "# campaign: x\n"), "pipeline.yaml:1: campaign: required, but not there"),
    "a list": ((GOOD, "- a\n"), "pipeline.yaml:1: the file:"),
    "unknown key": (("speakers:", "speekers:"), "pipeline.yaml:3: speekers: unknown key"),
    "unknown key below": (("dm: [DM]", "dms: [DM]"), "pipeline.yaml:4: speakers.dms: unknown key"),
    "missing key": (("campaign: Hill Road", ""), "pipeline.yaml:1: campaign: required, but not there"),
    "missing lane": (("- lane: dnd/npcs", "- allow: {}"), "pipeline.yaml:8: steps[0].lanes[0].lane: required"),
    "wrong type": (("[transcripts/*.txt]", "transcripts"), "pipeline.yaml:2: transcripts: Input should be"),
    "text for a number": (("steps:", "chunking: {max_units: four}\nsteps:"), "pipeline.yaml:5: chunking.max_units:"),
    "number out of range": (("steps:", "allow: {rejected_share: 7}\nsteps:"), "pipeline.yaml:5: allow.rejected_share:"),
    "key given twice": (("steps:", "campaign: Two\nsteps:"), "pipeline.yaml:5: campaign is given twice"),
    "a key that is a list": (("dm: [DM]", "? [dm]\n  : [DM]"), "pipeline.yaml:4: a key must be text"),
    "a tab": (("  dm: [DM]", "\tdm: [DM]"), "pipeline.yaml:4: not YAML"),
    "an open bracket": (("[DM]", "[DM"), "pipeline.yaml:5: not YAML"),
    "two documents": ((GOOD, GOOD + "---\na: b\n"), "pipeline.yaml:14: not YAML"),
    "a control character": (("[DM]", "[D\x1bM]"), "not YAML"),
    "an anchor in itself": (("[DM]", "&a [*a]"), "nested too deeply"),
    "depth": (("[DM]", "[" * 9000), "nested too deeply"),
    "no slug": (("Hill Road", "'???'"), "pipeline.yaml:1: campaign: '???' gives no slug"),
    "unknown lane": (("lane: dnd/npcs", "lane: dnd/npc"), "pipeline.yaml:8: steps[0].lanes[0].lane: unknown lane"),
    "a lane twice": (
        ("  - name: occurrences", "      - lane: dnd/npcs\n  - name: occurrences"),
        "pipeline.yaml:9: steps[0].lanes[1].lane: 'dnd/npcs' makes table npcs",
    ),
    "slot not bound": (
        ("        references:\n          npcs: dnd/npcs\n", ""),
        "pipeline.yaml:11: steps[1].lanes[0].references.npcs: the slot is not bound",
    ),
    "slot bound to the same step": (
        ("  - name: occurrences\n    lanes:\n", ""),
        "pipeline.yaml:11: steps[0].lanes[1].references.npcs: 'dnd/npcs' is no lane of an earlier step",
    ),
    "slot bound to nothing known": (("npcs: dnd/npcs", "npcs: dnd/places"), "pipeline.yaml:13: steps[1]"),
    "unknown slot": (
        ("npcs: dnd/npcs", "npcs: dnd/npcs\n          places: dnd/npcs"),
        "pipeline.yaml:14: steps[1].lanes[0].references.places:",
    ),
    "binding of no kind": (("npcs: dnd/npcs", "npcs: [a]"), "pipeline.yaml:13: steps[1].lanes[0].references.npcs:"),
    "file absent": (("npcs: dnd/npcs", "npcs: {file: gone.json}"), "gone.json can't be read (No such file"),
    "a folder for a file": (("npcs: dnd/npcs", "npcs: {file: .}"), "pipeline.yaml:13: steps[1].lanes[0].references"),
    "a device for a file": (("npcs: dnd/npcs", "npcs: {file: /dev/zero}"), "/dev/zero is not a file"),
    "unknown validator": (
        ("lane: dnd/npcs\n", "lane: dnd/npcs\n        validators: {extraction: [shape, spelling]}\n"),
        "pipeline.yaml:9: steps[0].lanes[0].validators.extraction",
    ),
    "a validator of the other boundary": (
        ("lane: dnd/npcs\n", "lane: dnd/npcs\n        validators: {extraction: [shape, durable_schema]}\n"),
        "unknown extraction validator 'durable_schema'",
    ),
    "a required validator left out": (
        ("lane: dnd/npcs\n", "lane: dnd/npcs\n        validators: {extraction: [shape]}\n"),
        "pipeline.yaml:9: steps[0].lanes[0].validators.extraction",
    ),
    "a validator twice": (
        ("lane: dnd/npcs\n", "lane: dnd/npcs\n        validators: {extraction: [shape, shape, source_ranges]}\n"),
        "twice",
    ),
    "a lane module that is not there": (("steps:", "lane_modules: [nowhere]\nsteps:"), "lane_modules[0]: 'nowhere'"),
    "a lane module without a lane": (("steps:", "lane_modules: [json]\nsteps:"), "'json' declares no Lane"),
    "a lane module that fails": (("steps:", "lane_modules: [fails]\nsteps:"), "ZeroDivisionError"),
    "a lane module with a relative name": (("steps:", "lane_modules: [.fails]\nsteps:"), "lane_modules[0]: '.fails'"),
    "a slug that is none": (("steps:", "sessions: {a.txt: ../up}\nsteps:"), "'a.txt' has the slug '../up'"),
}


@pytest.mark.parametrize(("change", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_nothing_runs(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    (tmp_path / "fails.py").write_text("1 / 0\n")
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "transcripts" / "a.txt").write_text("DM: Hello.\nANNA: Hello, you.\n")
    assert change[0] in GOOD
    path = tmp_path / "pipeline.yaml"
    path.write_text(GOOD.replace(*change, 1), encoding="utf-8")
    ended = notarius("run", "--pipeline", str(path), "--home", str(tmp_path / "home"))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert "Next: " in ended.err
    assert str(path) in ended.err, "the file is named"
    home = tmp_path / "home"
    assert not home.exists() or names(home) == ["lake", "lake.json"]
    assert not home.exists() or names(home / "lake") == []


def test_no_file_and_no_text(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    assert notarius("run", "--pipeline", str(path)).code == 2
    path.write_bytes(b"campaign: caf\xe9\n")
    ended = notarius("run", "--pipeline", str(path))
    assert ended.code == 2
    assert "not UTF-8" in ended.err


def test_what_looks_like_a_number_a_date_or_a_boolean_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        GOOD.replace("Hill Road", "2024").replace("dm: [DM]", "dm: [no]\n  players: {on: 2024-01-05, 7: null}")
    )
    pipeline = load(path)
    assert pipeline.campaign == "2024"
    assert pipeline.references.dms == ("no",)
    assert dict(pipeline.references.players) == {"on": "2024-01-05", "7": "null"}


def test_a_section_with_everything_commented_out_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(GOOD + "gazetteer:\n  # npcs: []\nallow:\nchunking:\nmodel:\nignore:\n")
    plain = tmp_path / "plain.yaml"
    plain.write_text(GOOD)
    assert load(path).file == load(plain).file


def registry(size: int) -> bytes:
    """Return an NPC registry of exactly so many bytes."""
    record = {"id": npc_id("A", "x/y"), "source_refs": [{"source_id": "x/y", "start_unit_id": 1, "end_unit_id": 1}]}
    empty = len(encode(BUILT_IN[0], [{**record, "name": ""}]))
    name = "A" * (size - empty)
    return encode(BUILT_IN[0], [{**record, "id": npc_id(name, "x/y"), "name": name}])


def test_a_static_registry_may_have_1_048_576_bytes_and_no_more(tmp_path: Path) -> None:
    path, static = tmp_path / "pipeline.yaml", tmp_path / "npcs.json"
    path.write_text(GOOD.replace(*STATIC))
    static.write_bytes(registry(MAX_REFERENCE_BYTES))
    assert static.stat().st_size == 1_048_576
    bound = load(path).bound("dnd/npc-interactions").bindings["npcs"]
    assert isinstance(bound, Registry)
    assert len(bound.records) == 1
    static.write_bytes(registry(MAX_REFERENCE_BYTES + 1))
    ended = notarius("run", "--pipeline", str(path))
    assert ended.code == 2
    assert "pipeline.yaml:13: steps[1].lanes[0].references.npcs:" in ended.err
    assert "has 1,048,577 bytes, at most 1,048,576 are taken" in ended.err


MALFORMED: dict[str, Callable[[bytes], bytes]] = {
    "not JSON": lambda good: good[:-3],
    "not UTF-8": lambda good: good.replace(b"AAA", b"A\xffA"),
    "empty": lambda good: b"",
    "another root": lambda good: good.replace(b'"npcs"', b'"people"'),
    "a second root": lambda good: good.replace(b"]}\n", b'],"more":1}\n'),
    "a bare list": lambda good: b"[]",
    "an extra field": lambda good: good.replace(b'"name":', b'"age":7,"name":'),
    "a bad id": lambda good: good.replace(b"npc:sha256:", b"npc:md5:"),
    "a blank name": lambda good: good.replace(b"AAAA", b" "),
    "no evidence": lambda good: good[: good.index(b'"source_refs":')] + b'"source_refs":[]}]}\n',
}


@pytest.mark.parametrize("malform", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_static_registry_is_refused_at_load(tmp_path: Path, malform: Callable[[bytes], bytes]) -> None:
    path, static = tmp_path / "pipeline.yaml", tmp_path / "npcs.json"
    path.write_text(GOOD.replace(*STATIC))
    good = registry(232)
    assert b'"AAAA"' in good or b"AAAA" in good
    static.write_bytes(good)
    load(path)
    static.write_bytes(malform(good))
    ended = notarius("run", "--pipeline", str(path))
    assert ended.code == 2
    assert "pipeline.yaml:13: steps[1].lanes[0].references.npcs:" in ended.err
    assert "npcs.json" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("lane", "boundary", "keys", "key"),
    [
        ("dnd/locations", "extraction", "shape, source_ranges, coverage, alignment_conflict", "alignment_conflict"),
        ("dnd/locations", "normalization", "shape, source_ranges, kind_overlap", "kind_overlap"),
        ("dnd/npcs", "extraction", "shape, source_ranges, coverage, alignment_conflict", "alignment_conflict"),
    ],
)
def test_a_validator_of_kinds_is_for_lanes_that_have_some(
    lane: str, boundary: str, keys: str, key: str, campaign: CampaignFactory
) -> None:
    steps = f"steps: [{{name: one, lanes: [{{lane: {lane}, validators: {{{boundary}: [{keys}]}}}}]}}]\n"

    with pytest.raises(ConfigurationError, match=f"'{key}' compares kinds, which records of '{lane}' have not"):
        campaign(steps=steps).open()


@pytest.mark.parametrize(
    "blank",
    ["gazetteer: {locations: [{name: ' '}]}", "gazetteer: {glossary: {'\\u200b': x}}", "speakers: {party: ['']}"],
)
def test_a_blank_name_is_no_declaration(blank: str, campaign: CampaignFactory) -> None:
    made = campaign()
    text = made.pipeline.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(blank.partition(":")[0] + ":")]
    quoted = blank.replace("'\\u200b'", '"\\u200b"')
    made.pipeline.write_text("\n".join([*lines, quoted, ""]), encoding="utf-8")

    with pytest.raises(ConfigurationError):
        made.open()
