"""Write, audit, publish, through `notarius run`: a worse second version never replaces an accepted one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from dagster import AssetKey, DagsterEventType

from notarius_assets.orchestration.instance import open_instance
from tests.conftest import Campaign, CampaignFactory
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import documents, names, notarius, retell

STRICT_LANE = '''
"""The NPC registry of a table that has had enough of Thorins."""
from dataclasses import replace

from notarius_assets.lanes.npcs import LANE as NPCS
from notarius_assets.validators.base import Boundary, Finding, Level, Severity, Validator


def check(view, context):
    return (Finding("thorin", i.index) for i in view.items if "Thorin" in i.record["name"])


NO_THORINS = Validator("no_thorins", Boundary.NORMALIZATION, Level.ARTIFACT, Severity.ERROR, "No Thorins.", check)
STRICT = replace(NPCS, normalization=(*NPCS.normalization, NO_THORINS))
'''


def events(campaign: Campaign, kind: DagsterEventType) -> list[tuple[str, str, object]]:
    """Return (partition, check or asset, outcome or None) of every event of a kind in the home, oldest first."""
    found: list[tuple[str, str, object]] = []
    with open_instance(campaign.open().home) as instance:
        for run in sorted(instance.get_run_records(), key=lambda r: r.create_timestamp):
            for entry in instance.all_logs(run.dagster_run.run_id, of_type=kind):
                event = entry.get_dagster_event()
                if kind is DagsterEventType.ASSET_CHECK_EVALUATION:
                    said = event.asset_check_evaluation_data
                    found.append((str(said.partition), said.check_name, said.passed))
                else:
                    found.append((str(event.partition), str(event.asset_key), None))
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def numbers(campaign: Campaign, session: str) -> dict[str, int]:
    """Return the number of the newest try at each table."""
    folder = campaign.home / "lake" / "attempts" / "campaign=hill-road" / f"session={session}"
    return {p.name: len(names(p)) for p in folder.iterdir()}


def test_a_rejected_second_version_changes_nothing_that_was_accepted(campaign: CampaignFactory) -> None:
    c = campaign(sessions=3, extra="lane_modules: [lane_without_thorins]\n")
    (c.root / "lane_without_thorins.py").write_text(STRICT_LANE)
    first = notarius("run", on=c)
    assert first.code == 0, first
    assert first.out.startswith("3 sessions: 3 current. 3 run in ")
    store = c.open().store
    before = store.manifest("hill-road/session-01")
    files = {e.file: sha256(store.root / e.file) for e in before.published.values()}
    good, docs = c.transcript("session-01").read_text(), documents(c)
    seen = len(events(c, DagsterEventType.ASSET_MATERIALIZATION))
    assert seen == 18

    retell(c, "session-01", "Orrick", "Thorin")
    retell(c, "session-02", "without reading them", "unread")
    second = notarius("run", on=c)
    assert second.code == 1
    assert "3 sessions: 2 current, 1 rejected. 2 run in " in second.out
    line = second.out.splitlines()[-1]
    assert line.startswith("hill-road/session-01: rejected: npcs: no_thorins found 1 (thorin). Next: ")

    # what was accepted stands, byte for byte, and is what people see
    assert {f: sha256(store.root / f) for f in files} == files
    assert store.manifest("hill-road/session-01").published == before.published
    assert {k: v for k, v in documents(c).items() if "session-01" in k} == {
        k: v for k, v in docs.items() if "session-01" in k
    }
    assert_whole(c)

    # downstream of the rejected registry nothing was tried; the other sessions went on
    assert numbers(c, "session-01") == {
        "transcript_units": 2,
        "transcript_chunks": 2,
        "npc_candidates": 2,
        "npcs": 2,
        "npc_interaction_candidates": 1,
        "npc_interactions": 1,
    }
    assert set(numbers(c, "session-02").values()) == {2}
    assert set(numbers(c, "session-03").values()) == {1}
    made = events(c, DagsterEventType.ASSET_MATERIALIZATION)[seen:]
    of_first = {a for p, a, _ in made if p == "hill-road/session-01"}
    assert of_first == {str(AssetKey(t)) for t in ("transcript_units", "transcript_chunks", "npc_candidates")}
    assert len([a for p, a, _ in made if p == "hill-road/session-02"]) == 6

    # Dagster shows the check failed for this session alone
    latest = {
        partition: passed
        for partition, check, passed in events(c, DagsterEventType.ASSET_CHECK_EVALUATION)
        if check == "no_thorins"
    }
    assert latest == {"hill-road/session-01": False, "hill-road/session-02": True, "hill-road/session-03": True}

    # the findings are where people look
    shown = notarius("show", "session-01", on=c).out
    assert "latest try at npcs: rejected: no_thorins found 1 (thorin)" in shown
    assert "Orrick Thane" in shown
    aside = c.home / "lake/rejected/npcs/campaign=hill-road/session=session-01"
    assert names(aside) == ["findings.json", "npcs.parquet"]
    verdicts = {v["validator"]: v for v in json.loads((aside / "findings.json").read_bytes())["verdicts"]}
    assert verdicts["no_thorins"]["findings"] == [{"code": "thorin", "record_index": 0, "detail": ""}]
    asked = notarius(
        "sql",
        "SELECT session, check_name FROM (SELECT session, validator AS check_name FROM findings WHERE code = 'thorin')",
        "--csv",
        on=c,
    )
    assert asked.out == "session,check_name\nsession-01,no_thorins\n"

    # a third try with the same text is rejected again; with the old text it is as it was
    assert notarius("run", "--quiet", on=c).code == 1
    c.transcript("session-01").write_text(good)
    third = notarius("run", on=c)
    assert third.code == 0, third
    assert {k: v for k, v in documents(c).items() if "session-01" in k} == {
        k: v for k, v in docs.items() if "session-01" in k
    }
    assert not aside.exists()
    assert notarius("run", on=c).out.startswith("3 sessions: 3 current. 0 run in ")


def test_an_unreadable_file_is_counted_and_stops_nothing(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    (c.root / "transcripts" / "noise.txt").write_bytes(bytes(range(256)))
    ended = notarius("run", on=c)
    assert ended.code == 1
    assert "2 sessions: 1 current, 1 unreadable." in ended.out
    assert "hill-road/noise: unreadable: transcript_units: noise.txt: this is binary data" in ended.out
    assert ". Next: " in ended.out.splitlines()[-1]
    found = json.loads(notarius("run", "--json", on=c).out)["sessions"]
    assert {s["source_id"]: s["state"] for s in found} == {
        "hill-road/noise": "unreadable",
        "hill-road/session-01": "current",
    }
    with c.pipeline.open("a") as pipeline:
        pipeline.write("ignore: [noise.txt]\n")
    ended = notarius("run", "--quiet", on=c)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
