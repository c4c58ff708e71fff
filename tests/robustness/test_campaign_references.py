"""What the owner declares of a campaign: shown before the chunk, matched, never evidence, and in no diagnostic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, write_campaign
from tests.models import world
from tests.robustness.support import notarius

MARKER = "Zyxmarker"
STEPS = """\
steps:
  - name: registries
    lanes: [{lane: dnd/npcs}, {lane: dnd/locations}]
  - name: occurrences
    lanes:
      - {lane: dnd/npc-interactions, references: {npcs: dnd/npcs}}
      - {lane: dnd/location-occurrences, references: {locations: dnd/locations}}
"""
DECLARED = f"""\
gazetteer:
  npcs: [{{name: {MARKER} Nobody, aliases: [the {MARKER}]}}]
  locations: [{{name: {MARKER} Keep, aliases: [{MARKER} House]}}]
  glossary: {{{MARKER} stone: a {MARKER} of the old days}}
reconciliation:
  - {{lane: dnd/npcs, apart: [{MARKER} Nobody, {MARKER} Somebody]}}
  - {{lane: dnd/locations, session: session-01, one: [{MARKER} Keep, {MARKER} Hall]}}
"""
STORY = """\
DM: You come to Brackwater, and at the mill Orrick Thane waves at you.
ANNA: Good evening, Orrick! We sleep in the mill.
DM: "Old Tam also wants to see you," says Orrick Thane.
ANNA: We leave Brackwater in the morning and go to Fenwick.
"""


def made(root: Path, extra: str) -> Campaign:
    c = write_campaign(root, sessions=0, stories={"session-01": STORY}, steps=STEPS, extra=extra)
    text = c.pipeline.read_text(encoding="utf-8")
    c.pipeline.write_text(text.replace("speakers: {", f"speakers: {{party: [{MARKER} the Absent], "), encoding="utf-8")
    return c


def diagnostics(c: Campaign) -> str:
    said = [
        notarius(*words, on=c)
        for words in (
            ("run", "--force"),
            ("status",),
            ("status", "--json"),
            ("check",),
            ("show", "session-01"),
            ("show", "session-01", "--json"),
            ("sql", "FROM findings", "--json"),
            ("sql", "FROM lane_runs", "--json"),
            ("sql", "FROM merges", "--json"),
            ("sql", "FROM rejected_candidates", "--json"),
        )
    ]
    assert all(ended.code in (0, 1) for ended in said), said
    attempts = "".join(p.read_text(encoding="utf-8") for p in c.home.glob("lake/attempts/**/*.json"))
    return "".join(ended.out + ended.err for ended in said) + attempts


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return made(tmp_path_factory.mktemp("declared"), DECLARED)


def test_no_diagnostic_prints_what_is_declared(offline: Campaign) -> None:
    said = diagnostics(offline)

    assert "declared_record_not_found" in said, "the places that are one are in no transcript"
    assert MARKER not in said


def test_what_is_declared_alone_is_no_record(offline: Campaign) -> None:
    for view in ("npcs", "npc_interactions", "locations", "location_occurrences"):
        rows = json.loads(notarius("sql", f"SELECT name FROM {view}", "--json", on=offline).out)
        assert rows
        assert not any(MARKER in row["name"] for row in rows)


def test_the_model_sees_it_before_the_chunk_and_can_not_cite_it(tmp_path: Path) -> None:
    def answered(asked: Asked) -> replies.Reply:
        root = next(
            r for r in ("npcs", "locations", "groups", "interactions", "occurrences") if f'{{"{r}":[' in asked.text
        )
        if root != "locations":
            return replies.answer({root: []})
        item = {"name": f"{MARKER} Keep", "ranges": [{"start": 900, "end": 900}]}
        return replies.answer({"locations": [item, {"name": "Brackwater", "ranges": [{"start": 1, "end": 1}]}]})

    with ModelServer(answered) as server:
        c = made(tmp_path, DECLARED + world.model(server.url, windows=10))
        assert notarius("run", on=c).code == 0
        assert server.asked
        for asked in server.asked:
            declared = asked.text.index(f"{MARKER} stone")
            later = "<chunk>\n" if "<chunk>\n" in asked.text else "<candidates>\n"
            assert declared < asked.text.index(later)
            for what in (f"{MARKER} the Absent", f"the {MARKER}", f"{MARKER} House", f"a {MARKER} of the old days"):
                assert what in asked.text[: asked.text.index(later)]
        (rejected,) = json.loads(notarius("sql", "FROM rejected_candidates", "--json", on=c).out)
    assert (rejected["table_name"], rejected["code"]) == ("location_candidates", "range_outside_source")
    assert json.loads(notarius("sql", "SELECT name FROM locations", "--json", on=c).out) == [{"name": "Brackwater"}]


def test_a_declared_place_is_written_under_its_name_and_is_no_person(tmp_path: Path) -> None:
    extra = "gazetteer:\n  locations: [{name: Old Tam, aliases: [Tam]}, {name: Brackwater Mill, aliases: [the mill]}]\n"
    c = made(tmp_path, extra)
    assert notarius("run", on=c).code == 0
    people = {r["name"] for r in json.loads(notarius("sql", "SELECT name FROM npcs", "--json", on=c).out)}
    places = {r["name"] for r in json.loads(notarius("sql", "SELECT name FROM locations", "--json", on=c).out)}
    assert "Old Tam" not in people
    assert "Orrick Thane" in people
    assert {"Brackwater Mill", "Old Tam"} <= places
