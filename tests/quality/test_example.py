"""The example campaign, run whole and offline: all four lanes, and every case that its page promises."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from notarius_assets.commands import evaluating
from notarius_assets.flow import steps
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history
from notarius_assets.lanes.base import Candidate

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "complete"
SESSIONS = tuple(f"fog-bells/session-0{n}" for n in range(1, 5))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("example") / "complete"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".notarius"))
    workspace = Workspace.open(folder / "pipeline.yaml", folder / "home")
    tables = ["transcript_units", "transcript_chunks"]
    tables += [t for lane in workspace.pipeline.declared for t in (lane.candidates_table, lane.table)]
    for source_id in SESSIONS:
        for table in tables:
            outcome = steps.run(workspace, table, source_id)
            assert outcome.accepted, outcome.message
    return workspace


def asked(workspace: Workspace, sql: str) -> list[tuple[Any, ...]]:
    path = history.refresh(workspace.store, workspace.pipeline.declared)
    with history.connect(path) as connection:
        return connection.execute(sql).fetchall()


def gold(session: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLE / "gold" / f"{session}.gold.json").read_text(encoding="utf-8"))
    return found


def test_all_four_lanes_find_something_and_no_check_fails(example: Workspace) -> None:
    for lane in example.pipeline.declared:
        counts = [example.store.manifest(s).published[lane.table].rows for s in SESSIONS]
        assert all(counts[:3]), (lane.key, counts)
    assert asked(example, "SELECT * FROM verdicts WHERE NOT passed AND severity = 'ERROR' AND level = 'artifact'") == []


def test_an_alias_of_each_registry_is_one_record_and_a_proposal_is_refused(example: Workspace) -> None:
    rows = asked(
        example,
        "SELECT session, table_name, outcome, rule, refused, name, [m.name for m in members] FROM merges ORDER BY ALL",
    )
    united = {(s, t, name): set(members) for s, t, outcome, rule, _, name, members in rows if "stated_alias" in rule}
    assert united["session-02", "npcs", "Hesper Vale"] == {"the Grey Widow", "Hesper Vale"}
    assert united["session-02", "locations", "Vessel Point Light"] == {"the Candle", "Vessel Point Light"}
    (kept,) = (row for row in rows if row[2] == "kept apart")
    assert kept[:2] == ("session-02", "locations")
    assert kept[4:] == ("declared_apart", None, ["Blue Heron", "Blue Heron"])
    inns = "SELECT count(DISTINCT id) FROM locations WHERE session = 'session-02' AND name = 'Blue Heron'"
    assert asked(example, inns) == [(2,)]


def test_every_union_names_a_record_of_the_published_registry(example: Workspace) -> None:
    orphans = asked(
        example,
        "SELECT m.* FROM merges AS m LEFT JOIN (FROM npcs SELECT id UNION ALL FROM locations SELECT id) AS r "
        "ON r.id = m.record_id WHERE m.outcome = 'united' AND r.id IS NULL",
    )
    assert orphans == []


def test_every_occurrence_resolves_to_a_place_of_its_session(example: Workspace) -> None:
    assert asked(
        example,
        "SELECT count(*) = count(l.id), count(*) > 50 FROM location_occurrences AS o LEFT JOIN locations AS l "
        "ON (l.campaign, l.session, l.id, l.name) = (o.campaign, o.session, o.location_id, o.name)",
    ) == [(True, True)]


def test_the_gold_holds_every_case_of_places() -> None:
    sessions = [gold(f"session-0{n}") for n in range(1, 4)]
    kinds = {o["kind"] for g in sessions for o in g["occurrences"]}
    assert kinds == {"visited", "planned", "recalled", "mentioned"}
    named = [p["name"] for p in sessions[1]["locations"]]
    assert named.count("the tavern") == 2, "two places with one name"
    both = {"Vessel Point Light", "the Candle"}
    assert any(both <= {p["name"], *p["aliases"]} for p in sessions[1]["locations"]), "a place with two names"
    place_of = {p["key"]: p["name"] for p in sessions[2]["locations"]}
    by_unit: dict[tuple[str, int], set[str]] = {}
    for o in sessions[2]["occurrences"]:
        for a, b in o["refs"]:
            for unit in range(a, b + 1):
                by_unit.setdefault((place_of[o["location"]], unit), set()).add(o["kind"])
    assert any({"recalled", "planned"} <= kinds for kinds in by_unit.values()), "recall and plan in one passage"


def test_two_places_of_one_name_are_two_whichever_is_listed_first(example: Workspace) -> None:
    lane = example.pipeline.bound("dnd/locations").lane
    proposed = [
        lane.to_record({"name": "the tavern", "ranges": [{"start": unit, "end": unit}]}, SESSIONS[1])
        for unit in (2, 220)
    ]
    one = [Candidate(1, 0, proposed[0]), Candidate(4, 0, proposed[1])]
    assert lane.normalize(one, SESSIONS[1], {}) == lane.normalize(one[::-1], SESSIONS[1], {})
    assert len(lane.normalize(one, SESSIONS[1], {})) == 2


def test_what_the_rules_find_in_the_example(example: Workspace, capfd: pytest.CaptureFixture[str]) -> None:
    files = [str(p) for p in sorted((EXAMPLE / "gold").glob("*.gold.json"))]
    evaluating.run(example, files, kinds=False, as_json=True)
    found = json.loads(capfd.readouterr().out)

    assert not [case for case in found["cases"] if not case["held"]]
    assert {"npcs", "interactions_kind", "locations", "occurrences_kind"} <= set(found["total"])
    assert sum(u["wrong"] for u in found["unions"]) == 0
    for layer in ("interactions_kind", "occurrences_kind"):
        assert found["total"][layer]["f1"] > found["total"][layer]["constant_kind_f1"]


def test_rules_find_a_record_under_every_name_that_was_united_in_it(example: Workspace) -> None:
    seen = asked(
        example,
        "SELECT DISTINCT unit_id FROM npc_interaction_evidence WHERE session = 'session-02' AND name = 'Hesper Vale'",
    )
    assert {(7,), (205,)} <= set(seen), "as the Grey Widow, and as Hesper Vale"
    planned = asked(
        example,
        "SELECT count(*) FROM location_occurrences WHERE session = 'session-02' AND name = 'Vessel Point Light' "
        "AND kind = 'planned'",
    )
    assert planned > [(0,)], "they plan to go to the Candle"


def test_of_two_places_of_one_name_the_nearest_is_meant(example: Workspace) -> None:
    far = asked(
        example,
        "SELECT o.session, o.name, o.first_unit_id FROM location_occurrences AS o JOIN locations AS mine "
        "ON (mine.campaign, mine.session, mine.id) = (o.campaign, o.session, o.location_id) "
        "JOIN locations AS other ON (other.campaign, other.session, other.comparison_name) "
        "= (o.campaign, o.session, o.comparison_name) AND other.id <> mine.id "
        "WHERE list_contains([r.start_unit_id for r in other.source_refs], o.first_unit_id) "
        "AND NOT list_contains([r.start_unit_id for r in mine.source_refs], o.first_unit_id)",
    )
    assert far == []
