"""References are guarded: whatever is wrong with one is said in a line, before a run or by a blocked session."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from notarius_assets.flow import steps
from notarius_assets.flow.pending import asking_model, planned
from notarius_assets.lake.manifest import Entry
from notarius_assets.lanes.codec import encode
from notarius_assets.models.answers import Answer
from notarius_assets.orchestration.runner import runner
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign
from tests.four_lanes import LOCATIONS, STEPS, STORIES, TABLES, document, honest, lane_of, person, place
from tests.four_lanes import NPCS as NPC_LANE
from tests.four_lanes import write_four as write
from tests.models.asking import quick
from tests.models.world import model, program
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import Ended, change, documents, names, notarius, retell, run_steps

LIMIT = 1_048_576
ONE, TWO = "hill-road/session-01", "hill-road/session-02"
SECRET = "Xanadu Vault"
"""A name in static files, which no message may repeat."""

REFUSING = '''
"""Registries of a table that has names it does not want to read."""
from dataclasses import replace

from notarius_assets.lanes.locations import LANE as LOCATIONS
from notarius_assets.lanes.npcs import LANE as NPCS
from notarius_assets.validators.base import Boundary, Finding, Level, Severity, Validator


def check(view, context):
    return (Finding("unwanted", i.index) for i in view.items if "Unwanted" in i.record["name"])


NONE = Validator("no_unwanted", Boundary.NORMALIZATION, Level.ARTIFACT, Severity.ERROR, "No unwanted names.", check)
PEOPLE, PLACES = (replace(lane, normalization=(*lane.normalization, NONE)) for lane in (NPCS, LOCATIONS))
'''
KNOWN = (
    "gazetteer: {npcs: [{name: Captain Unwanted}],"
    " locations: [{name: Greywater Mill}, {name: Cold Ferry}, {name: Unwanted Ferry}, {name: Lantern Inn}]}\n"
)


@dataclass(frozen=True)
class Slot:
    """A slot with its registry, the lane that reads it, and a name that can be made one nobody wants."""

    name: str
    registry: str
    candidates: str
    table: str
    lane: str
    was: str
    unwanted: str

    @property
    def what(self) -> str:
        return f"reference {self.name!r} ({self.registry})"


PLACES = Slot(
    "locations",
    "locations",
    "location_occurrence_candidates",
    "location_occurrences",
    "dnd/locations",
    "Cold Ferry",
    "Unwanted Ferry",
)
PEOPLE = Slot(
    "npcs",
    "npcs",
    "npc_interaction_candidates",
    "npc_interactions",
    "dnd/npcs",
    "Captain Hestrel",
    "Captain Unwanted",
)
BOTH = pytest.mark.parametrize("slot", [PLACES, PEOPLE], ids=lambda slot: str(slot.name))


def assert_one_line(ended: Ended, code: int, *said: str) -> None:
    """It ended with a code and one line that says all that was expected, a next step, and nothing of a reference."""
    assert ended.code == code, ended
    assert ended.err.count("\n") == 1, ended
    assert ended.err.startswith("notarius: ")
    assert ". Next: " in ended.err
    assert "Traceback" not in ended.err
    for part in said:
        assert part in ended.err
    assert SECRET not in ended.err


# --- before a run ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unmade(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign that nothing is ever made of; every test writes its own steps."""
    return write(tmp_path_factory.mktemp("unmade"))


def rewrite(campaign: Campaign, written: str) -> None:
    """Give the pipeline file these steps."""
    text = campaign.pipeline.read_text(encoding="utf-8")
    campaign.pipeline.write_text(text[: text.index("steps:\n")] + written, encoding="utf-8")


def refused(campaign: Campaign, written: str, *said: str) -> Ended:
    """Run a campaign whose steps are these; see that it says so in one line and has made nothing."""
    rewrite(campaign, written)
    ended = notarius("run", on=campaign)
    assert_one_line(ended, 2, f"{campaign.pipeline}:", *said)
    assert ended.out == ""
    assert not campaign.home.exists() or names(campaign.home / "lake") == []
    return ended


LEFT_OUT = ("      - lane: dnd/locations\n", "")
LATER = (
    "locations: dnd/locations\n",
    "locations: dnd/locations\n  - name: later\n    lanes: [{lane: dnd/locations}]\n",
)
BINDINGS = {
    "another kind": (
        ("locations: dnd/locations", "locations: dnd/npcs"),
        "references.locations: the slot takes dnd/location-list, but 'dnd/npcs' makes dnd/npc-list",
    ),
    "another kind, the other way round": (
        ("npcs: dnd/npcs", "npcs: dnd/locations"),
        "references.npcs: the slot takes dnd/npc-list, but 'dnd/locations' makes dnd/location-list",
    ),
    "a lane of the same step": (
        (*LEFT_OUT, "      - lane: dnd/location-occ", "      - lane: dnd/locations\n      - lane: dnd/location-occ"),
        "references.locations: 'dnd/locations' is no lane of an earlier step. Next: move that lane to an earlier step",
    ),
    "a lane of a later step": (
        (*LEFT_OUT, *LATER),
        "references.locations: 'dnd/locations' is no lane of an earlier step. Next: move that lane to an earlier step",
    ),
    "itself": (
        ("locations: dnd/locations", "locations: dnd/location-occurrences"),
        "references.locations: 'dnd/location-occurrences' is no lane of an earlier step",
    ),
    "a lane that is not in the pipeline": (
        LEFT_OUT,
        "references.locations: 'dnd/locations' is no lane of an earlier step",
    ),
    "a lane that nobody knows": (
        ("locations: dnd/locations", "locations: dnd/places"),
        "references.locations: 'dnd/places' is no lane of an earlier step. Next: use one of dnd/location-occurrences, ",
    ),
    "nothing": (
        ("        references:\n          locations: dnd/locations\n", ""),
        "references.locations: the slot is not bound. Next: bind a lane of an earlier step that makes dnd/loc",
    ),
    "a slot that is not there": (
        ("locations: dnd/locations", "locations: dnd/locations\n          npcs: dnd/npcs"),
        "references.npcs: 'dnd/location-occurrences' has no such reference slot. Next: its slots are: locations",
    ),
}


@pytest.mark.parametrize(("edits", "said"), BINDINGS.values(), ids=BINDINGS)
def test_a_binding_that_can_not_be_is_refused_before_a_run(unmade: Campaign, edits: Sequence[str], said: str) -> None:
    written = STEPS
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in written
        written = written.replace(old, new)
    refused(unmade, written, said)


STATIC = """\
steps:
  - name: occurrences
    lanes:
      - lane: dnd/location-occurrences
        references:
          locations: {file: places.json}
"""
WHERE = "pipeline.yaml:10: steps[0].lanes[0].references.locations: "


def static(campaign: Campaign, data: bytes) -> Path:
    """Write the static registry that `STATIC` binds."""
    path = campaign.root / "places.json"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("gone.json", "gone.json can't be read (No such file or directory). Next: correct the path"),
        ("transcripts", "transcripts is not a file. Next: correct the path"),
        ("/dev/null", "/dev/null is not a file. Next: correct the path"),
        (f"{'x' * 300}.json", "can't be read (File name too long). Next: correct the path"),
        ('"a\\0b.json"', "b.json can't be the name of a file. Next: correct the path"),
    ],
    ids=["absent", "a directory", "a device", "a name that can't be", "a name with a NUL"],
)
def test_a_static_registry_that_is_no_file_is_refused(unmade: Campaign, file: str, said: str) -> None:
    refused(unmade, STATIC.replace("places.json", file), WHERE, said)


def test_a_static_registry_is_measured_on_disk_and_before_it_is_read(
    unmade: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = document(place(SECRET, 1))
    path = static(unmade, small + b" " * (LIMIT + 1 - len(small)))
    assert path.stat().st_size == 1_048_577
    read = Path.read_bytes

    def counted(self: Path) -> bytes:
        assert self.name != "places.json", "it was read"
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", counted)
    said = "places.json has 1,048,577 bytes, at most 1,048,576 are taken. Next: bind a smaller file, or a lane"
    refused(unmade, STATIC, WHERE, said)
    monkeypatch.undo()
    static(unmade, small + b" " * (LIMIT - len(small)))
    assert notarius("run", "--dry-run", on=unmade).code == 0


def long_name(written: bytes) -> str:
    """Return the name to stand for the X in a document, so that the document is as large as may be."""
    return "X" * (LIMIT - len(written) + 1)


def test_a_registry_of_exactly_the_limit_is_read_and_consumed(tmp_path: Path) -> None:
    c = write(tmp_path, steps=STATIC, stories={"session-01": STORIES["session-01"]})
    mill = place("Greywater Mill", 1)
    static(c, document(mill, place(long_name(document(mill, place("X", 2))), 2)))
    assert (c.root / "places.json").stat().st_size == 1_048_576
    assert all(o.accepted for o in run_steps(c))
    assert {r["location_id"] for r in occurrences(c)} == {mill["id"]}


GOOD = document(place(SECRET, 2, 3), place("the tavern", 4), place("the tavern", 9))
OTHER = "hill-road/session-02"

MALFORMED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "places.json: not JSON ("),
    "not JSON": (GOOD[:-3], "places.json: not JSON ("),
    "not UTF-8": (GOOD.replace(b"tavern", b"t\xffvern"), "places.json: not JSON ("),
    "depth": (b'{"locations":' + b"[" * 9_000, "places.json: not JSON ("),
    "a list": (b"[]", "places.json: not a dnd/location-list document"),
    "another root": (GOOD.replace(b'"locations"', b'"places"'), "places.json: not a dnd/location-list document"),
    "no root": (b"{}", "places.json: not a dnd/location-list document"),
    "a root key too many": (GOOD.replace(b"]}\n", b'],"version":1}\n'), "not a dnd/location-list document"),
    "a root that is no list": (b'{"locations":{}}', "places.json: not a dnd/location-list document"),
    "a document of NPCs": (
        b'{"npcs":[' + json.dumps(person(SECRET, 1)).encode() + b"]}",
        "places.json: not a dnd/location-list document",
    ),
    "NPCs under the right root": (
        b'{"locations":[' + json.dumps(person(SECRET, 1)).encode() + b"]}",
        "places.json: record 0 is no dnd/location-list record (string_pattern_mismatch)",
    ),
    "a record that is none": (b'{"locations":[null]}', "record 0 is no dnd/location-list record"),
    "a field too many": (
        GOOD.replace(b'"name":"the tavern"', b'"name":"the tavern","type":"inn"', 1),
        "places.json: record 1 is no dnd/location-list record (extra_forbidden)",
    ),
    "a field too few": (
        GOOD.replace(b'"name":"the tavern",', b"", 1),
        "record 1 is no dnd/location-list record (missing",
    ),
    "a number as text": (GOOD.replace(b":9,", b':"9",'), "record 2 is no dnd/location-list record (int_type)"),
    "an id of another form": (
        GOOD.replace(b"location:sha256:", b"location:sha512:", 1),
        "record 0 is no dnd/location-list record (string_pattern_mismatch)",
    ),
    "an id in capitals": (
        document({**place(SECRET, 1), "id": "location:sha256:" + "A" * 64}),
        "record 0 is no dnd/location-list record (string_pattern_mismatch)",
    ),
    "no evidence": (
        document({**place(SECRET, 1), "source_refs": []}),
        "record 0 is no dnd/location-list record (too_short)",
    ),
    "no name": (
        document({**place(SECRET, 1), "name": ""}),
        "record 0 is no dnd/location-list record (string_too_short)",
    ),
    "a blank name": (document({**place(SECRET, 1), "name": " \u200b"}), "places.json: record 0 has a blank name"),
    "a name with white space": (
        document(place(SECRET, 1), place("the  tavern", 2)),
        "record 1 has a name with white space",
    ),
    "an id twice": (document(place(SECRET, 1), place(SECRET, 1)), "places.json: record 1 repeats an id"),
    "an id of another name": (
        document(place("the tavern", 2), {**place("the tavern", 3), "name": SECRET}),
        "places.json: record 1 has an id that does not follow from it",
    ),
    "an id of other evidence": (
        document({**place(SECRET, 1), "source_refs": place(SECRET, 2)["source_refs"]}),
        "places.json: record 0 has an id that does not follow from it",
    ),
    "an id of another source": (
        document({**place(SECRET, 1), "source_refs": place(SECRET, 1, source_id=OTHER)["source_refs"]}),
        "places.json: record 0 has an id that does not follow from it",
    ),
    "a range that runs backwards": (
        document(place(SECRET, 3, 2)),
        "places.json: record 0 cites units that are no range",
    ),
    "a unit before the first": (document(place(SECRET, 0)), "places.json: record 0 cites units that are no range"),
    "records of two sources": (
        document(place(SECRET, 1), place("the tavern", 1, source_id=OTHER)),
        "places.json: record 1 is of another source than those before it (other_source)",
    ),
    "a record of two sources": (
        document(
            {**place(SECRET, 1), "source_refs": [place(SECRET, 1, source_id=s)["source_refs"][0] for s in (ONE, OTHER)]}
        ),
        "places.json: record 0 is of another source than those before it (other_source)",
    ),
}


@pytest.mark.parametrize(("data", "said"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_static_registry_is_refused(unmade: Campaign, data: bytes, said: str) -> None:
    static(unmade, data)
    refused(unmade, STATIC, WHERE, said)


def test_the_registry_that_the_malformed_ones_are_made_of_is_taken(unmade: Campaign) -> None:
    """Two places of one name are two places."""
    static(unmade, GOOD)
    rewrite(unmade, STATIC)
    assert notarius("run", "--dry-run", on=unmade).code == 0


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([person(SECRET, 1), person(SECRET, 3)], "record 1 repeats an id"),
        ([{**person(SECRET, 1), "name": "Wenna"}], "record 0 has an id that does not follow from it"),
        ([person(SECRET, 1), person("Wenna", 1, OTHER)], "record 1 is of another source"),
    ],
    ids=["one name twice", "an id of another name", "two sources"],
)
def test_a_static_registry_of_npcs_is_guarded_in_the_same_way(
    unmade: Campaign, records: list[dict[str, Any]], said: str
) -> None:
    (unmade.root / "npcs.json").write_text(json.dumps({"npcs": records}), encoding="utf-8")
    written = STATIC.replace("location-occurrences", "npc-interactions").replace("locations: {", "npcs: {")
    refused(unmade, written.replace("places.json", "npcs.json"), "references.npcs: ", said)


# --- static registries that are good ------------------------------------------------------------------------------


def occurrences(campaign: Campaign, session: str = "session-01") -> list[dict[str, Any]]:
    """Return the occurrences that `notarius show` shows of a session."""
    said = notarius("show", session, "--lane", "dnd/location-occurrences", "--json", on=campaign)
    records: list[dict[str, Any]] = json.loads(said.out)["lanes"][0]["records"]
    return records


def test_a_static_registry_with_two_places_of_one_name_serves_every_session(tmp_path: Path) -> None:
    c = write(tmp_path, steps=STATIC)
    ferries = [place("Cold Ferry", 1, source_id="elsewhere/s01"), place("Cold Ferry", 7, source_id="elsewhere/s01")]
    static(c, document(*ferries))
    ended = notarius("run", on=c)
    assert ended.code == 0, ended
    assert {r["location_id"] for s in c.sessions for r in occurrences(c, s)} <= {f["id"] for f in ferries}
    assert all(occurrences(c, s) for s in c.sessions)


def test_a_registry_as_it_was_exported_is_a_static_one(made: Campaign) -> None:
    assert notarius("export", "session-01", "--to", str(made.root / "out"), on=made).code == 0
    change(made, "locations: dnd/locations", "locations: {file: out/locations.json}")
    before = documents(made)
    assert all(o.accepted for o in run_steps(made, "session-01"))
    after = documents(made)
    assert after[f"{ONE}/location_occurrences.json"] == before[f"{ONE}/location_occurrences.json"]


def test_an_empty_registry_is_a_registry(tmp_path: Path) -> None:
    """Of a file or of a lane: nothing is asked about it, and the list is empty."""
    nowhere = "DM: Wenna nods.\nANNA: Hello, Wenna!\n"
    with ModelServer(honest) as server, quick():
        asks = model(server.url, windows=6)
        c = write(tmp_path / "static", steps=STATIC, stories={"session-01": nowhere}, extra=asks)
        static(c, document())
        other = write(tmp_path / "lane", stories={"session-01": nowhere}, extra=asks)
        for campaign in (c, other):
            assert all(o.accepted for o in run_steps(campaign))
            assert documents(campaign)[f"{ONE}/location_occurrences.json"] == b'{"occurrences":[]}\n'
            assert notarius("status", on=campaign).out.endswith("1 current\n")
        assert [lane_of(asked) for asked in server.asked] == ["dnd/npcs", "dnd/locations", "dnd/npc-interactions"]
        assert documents(other)[f"{ONE}/locations.json"] == b'{"locations":[]}\n'


# --- at run -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Two sessions, all made."""
    folder = tmp_path_factory.mktemp("template")
    c = write(folder / "campaign", extra=f"lane_modules: [lanes_without_unwanted]\n{KNOWN}")
    (c.root / "lanes_without_unwanted.py").write_text(REFUSING, encoding="utf-8")
    assert len(run_steps(c)) == 2 * len(TABLES)
    return c


@pytest.fixture
def made(template: Campaign, tmp_path: Path) -> Campaign:
    """A copy of the campaign of which all is made."""
    shutil.copytree(template.root, tmp_path / "campaign")
    return Campaign(tmp_path / "campaign", template.sessions)


def tables(campaign: Campaign, session: str = "session-01") -> dict[str, dict[str, Any]]:
    """Return what `notarius status --json` says of every table of a session."""
    (found,) = json.loads(notarius("status", session, "--json", on=campaign).out)["sessions"]
    return {table["table"]: table for table in found["tables"]}


def states(campaign: Campaign, session: str = "session-01") -> dict[str, str]:
    """Return the tables of a session that are not current."""
    return {name: t["state"] for name, t in tables(campaign, session).items() if t["state"] != "current"}


def materialize(campaign: Campaign, slot: Slot, *chosen: str) -> None:
    """Make some tables of the first session alone: those of places in Dagster, as somebody does in its UI."""
    workspace = campaign.open()
    session = workspace.pipeline.sessions()[0]
    if slot is PEOPLE:
        for table in chosen:
            steps.run(workspace, table, session.source_id)
        return
    with runner(workspace) as running:
        running.add_partitions([session])
        running.run(session, chosen)


def assert_blocked(campaign: Campaign, table: str, reason: str, step: str) -> None:
    """The status of a table says so, and `notarius show` does."""
    found = tables(campaign)[table]
    assert (found["state"], found["reason"], found["next_step"]) == ("blocked", reason, step)
    shown = notarius("show", "session-01", on=campaign)
    assert f"latest try at {table}: blocked: {reason}\n" in shown.out


def made_good(campaign: Campaign, *run: str) -> None:
    """Run as it is said, or make what is not current; a run of the same sessions has nothing to do then."""
    if run:
        ended = notarius("run", *run, on=campaign)
        assert ended.code == 0, ended
    else:
        run_steps(campaign)
    assert_whole(campaign)
    said = notarius("run", *(word for word in run if word != "--force"), on=campaign)
    assert said.code == 0, said
    assert " 0 run in" in said.out


def last_line(ended: Ended) -> str:
    """Return the line on the one session that is not current."""
    assert ended.code == 1, ended
    (line,) = [line for line in ended.out.splitlines() if line.startswith("hill-road/")]
    return line


def test_rejected(made: Campaign) -> None:
    slot, before = PLACES, documents(made)
    retell(made, "session-01", slot.was, slot.unwanted)
    ended = notarius("run", on=made)
    assert "2 sessions: 1 current, 1 rejected. 1 run" in ended.out
    assert last_line(ended) == (
        f"{ONE}: rejected: {slot.registry}: no_unwanted found 1 (unwanted). "
        "Next: notarius show session-01 prints the findings"
    )
    # the lane that reads it is blocked, the others are not
    assert states(made) == {slot.registry: "rejected", slot.candidates: "blocked", slot.table: "blocked"}
    found = tables(made)[slot.candidates]
    assert (found["because"], found["reason"]) == ([slot.registry], f"{slot.registry} is rejected")
    assert found["next_step"] == f"correct {slot.registry}, then run again"
    assert documents(made) == before, "what was published stands as it is"
    assert_whole(made)
    # where it is tried all the same it says why not
    materialize(made, slot, slot.candidates)
    shown = notarius("show", "session-01", on=made)
    assert f"latest try at {slot.candidates}: blocked: {slot.what} was rejected in its latest attempt\n" in shown.out
    assert documents(made) == before
    retell(made, "session-01", slot.unwanted, slot.was)
    made_good(made, "session-01")
    assert documents(made) == before


def test_failed(made: Campaign) -> None:
    """What cannot be read is said with the session, though no history can be built either."""
    before = documents(made)
    path = made.home / "lake" / accepted(made, "location_candidates").file
    path.write_bytes(path.read_bytes()[:-20])
    decide(made, PLACES)
    ended = notarius("run", "session-01", on=made)
    file = path.relative_to(made.home / "lake")
    assert last_line(ended) == (
        f"{ONE}: failed: locations: {file} can't be read. Next: run the session again with --force, which makes it anew"
    )
    assert "notarius: the history can't be built: " in ended.err
    assert states(made) == {
        "locations": "failed",
        "location_occurrence_candidates": "blocked",
        "location_occurrences": "blocked",
    }
    assert tables(made)[PLACES.candidates]["reason"] == "locations is failed"
    assert documents(made) == before
    tried = steps.run(made.open(), PLACES.candidates, ONE)
    assert tried.message == (
        f"{ONE}: location_occurrence_candidates blocked: {PLACES.what} was failed in its latest attempt. "
        "Next: correct locations, then run again"
    )
    made_good(made, "--force", ONE)


def accepted(campaign: Campaign, table: str, source_id: str = ONE) -> Entry:
    return campaign.open().store.manifest(source_id).accepted[table]


def decide(campaign: Campaign, slot: Slot) -> None:
    """Have the owner declare two records of a registry to be one: that makes another registry."""
    names_of_two = {"locations": "Greywater Mill, Cold Ferry", "npcs": "Orrick Thane, Captain Hestrel"}[slot.name]
    entry = f"{{lane: {slot.lane}, session: session-01, one: [{names_of_two}]}}"
    change(campaign, "steps:\n", f"reconciliation: [{entry}]\nsteps:\n")


@BOTH
def test_missing(tmp_path: Path, slot: Slot) -> None:
    c = write(tmp_path, stories={"session-01": STORIES["session-01"]})
    materialize(c, slot, "transcript_units", "transcript_chunks", slot.candidates)
    assert_blocked(c, slot.candidates, f"{slot.what} is missing", f"materialize {slot.registry} for {ONE} first")
    made_good(c)


@BOTH
def test_outdated(made: Campaign, slot: Slot) -> None:
    before = documents(made)
    retell(made, "session-01", "two tired people", "three tired people")
    materialize(made, slot, "transcript_units", "transcript_chunks", slot.candidates)
    reason = f"{slot.what} is outdated: it was made from an earlier transcript"
    assert_blocked(made, slot.candidates, reason, f"materialize {slot.registry} again")
    assert documents(made) == before
    made_good(made)


@BOTH
def test_changed(made: Campaign, slot: Slot) -> None:
    """The registry moves on between what is asked and what is made of the answers."""
    before = documents(made)
    decide(made, slot)
    materialize(made, slot, slot.registry, slot.table)
    reason = f"reference_changed: reference {slot.name!r} is not the one the candidates were asked with"
    assert_blocked(made, slot.table, reason, "materialize the candidates again")
    assert documents(made) == before
    made_good(made)
    assert documents(made) != before


def ask_anew(campaign: Campaign) -> None:
    """Make what reads the registries stale, and nothing else."""
    for lane in ("npc-interactions", "location-occurrences"):
        change(campaign, f"- lane: dnd/{lane}\n", f"- lane: dnd/{lane}\n        allow: {{rejected_share: 0.4}}\n")


@BOTH
def test_a_registry_of_another_session_is_no_reference(made: Campaign, slot: Slot) -> None:
    before = documents(made)
    mine, other = (made.home / "lake" / accepted(made, slot.registry, s).file for s in (ONE, TWO))
    shutil.copy(other, mine)
    said = f"other_source: {slot.what} holds records of another session. Next: notarius run --force {ONE} makes it anew"
    ask_anew(made)
    tried = steps.run(made.open(), slot.candidates, ONE)
    assert tried.message == f"{ONE}: {slot.candidates} blocked: {said}"
    if slot is PLACES:
        ended = notarius("run", "session-01", on=made)
        assert last_line(ended) == f"{ONE}: blocked: location_occurrence_candidates: {said}"
        assert states(made) == {slot.candidates: "blocked", slot.table: "blocked"}
        made_good(made, "--force", ONE)
        assert documents(made) == before


def test_a_registry_whose_file_was_edited_is_no_reference(made: Campaign) -> None:
    path = made.home / "lake" / accepted(made, "locations").file
    pq.write_table(pq.read_table(path, partitioning=None).slice(0, 1), path)
    ask_anew(made)
    assert last_line(notarius("run", "session-01", on=made)) == (
        f"{ONE}: blocked: location_occurrence_candidates: {PLACES.what} is changed: its file is not what was accepted. "
        f"Next: notarius run --force {ONE} makes it anew"
    )


@BOTH
def test_a_generated_registry_may_have_as_many_bytes_as_a_static_one(tmp_path: Path, slot: Slot) -> None:
    """By its canonical JSON; one that has more is waited for like one that is not there."""
    one = {"session-01": "DM: Hm.\nANNA: Hm?\n"}
    c = write(tmp_path, stories=one, extra="model: {provider: replay}\n")
    lane = LOCATIONS if slot is PLACES else NPC_LANE
    name = long_name(encode(lane, [(place if slot is PLACES else person)("X", 1)]))
    recorded(c, lane.key, {lane.root: [{"name": name, "ranges": [{"start": 1, "end": 1}]}]})
    run_steps(c)
    assert accepted(c, slot.registry).rows == 1
    assert len(documents(c)[f"{ONE}/{slot.registry}.json"]) == 1_048_576
    assert tables(c)[slot.candidates]["state"] == "rejected", "it was asked about; nobody has answered"
    recorded(c, lane.key, {lane.root: [{"name": f"{name}X", "ranges": [{"start": 1, "end": 1}]}]})
    lane_tables = (f"{slot.registry.removesuffix('s')}_candidates", slot.registry, slot.candidates)
    materialize(c, slot, *lane_tables)
    said = f"{slot.what} has 1,048,577 bytes, at most 1,048,576 are taken"
    assert_blocked(c, slot.candidates, said, "split the session into smaller transcripts")
    exported = notarius("requests", "export", "--to", str(tmp_path / "requests.jsonl"), on=c)
    assert exported.code == 0, exported
    assert f"waits for {slot.registry} of 1 session" in exported.err


def recorded(campaign: Campaign, lane: str, payload: dict[str, Any]) -> None:
    """Keep an answer to every window of a lane."""
    workspace = campaign.open()
    for found in planned(workspace, asking_model(workspace), workspace.pipeline.sessions(), [lane]).lanes:
        for request in () if found.reconciles else found.requests:
            workspace.answers.put(request.fingerprint, Answer(payload, lane, found.source_id, "somebody"))


# --- the installed program ----------------------------------------------------------------------------------------


def test_the_program_refuses_a_binding(made: Campaign) -> None:
    change(made, "locations: dnd/locations", "locations: dnd/npcs")
    assert_one_line(program(made, "run"), 2, "references.locations: the slot takes dnd/location-list")


def test_the_program_says_which_registry_is_rejected(made: Campaign) -> None:
    retell(made, "session-01", PLACES.was, PLACES.unwanted)
    ended = program(made, "run")
    assert last_line(ended).startswith(f"{ONE}: rejected: locations: no_unwanted found 1 (unwanted). Next: ")
    assert states(made) == {PLACES.registry: "rejected", PLACES.candidates: "blocked", PLACES.table: "blocked"}
