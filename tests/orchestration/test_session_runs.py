"""Runs of the session job in process: write, audit, publish; one session's trouble stays its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import dagster as dg
import pytest

from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import State
from notarius_assets.models.window import WindowAnswer, WindowEnd
from notarius_assets.orchestration import assets
from notarius_assets.orchestration.names import HISTORY
from tests.conftest import TABLES, CampaignFactory
from tests.orchestration.world import Location, Scripted, failure, metadata, opened

ONE, TWO = "hill-road/session-01", "hill-road/session-02"
OUT_OF_BOUNDS = WindowAnswer(
    WindowEnd.DONE,
    {
        "npcs": [
            {"name": "Orrick Thane", "ranges": [{"start": 1, "end": 2}]},
            {"name": "Nobody", "ranges": [{"start": 900, "end": 901}]},
        ]
    },
)
REFUSED = WindowAnswer(WindowEnd.REFUSED, None, "policy")


@pytest.fixture
def locate() -> Iterator[Callable[[Workspace], Location]]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield lambda workspace: Location(workspace, instance)


Locate = Callable[[Workspace], Location]


def test_an_accepted_run_records_digest_checks_and_counts(campaign: CampaignFactory, locate: Locate) -> None:
    there = locate(opened(campaign()))
    result = there.run(ONE)
    assert result.success
    accepted = there.workspace.store.manifest(ONE).accepted
    assert set(accepted) == set(TABLES)
    for table in TABLES:
        (event,) = result.asset_materializations_for_node(table)
        assert event.partition == ONE
        assert (event.tags or {})["dagster/data_version"] == accepted[table].content_digest
        assert metadata(result, table)["dagster/partition_row_count"] == accepted[table].rows
        assert there.materialized(table) == {ONE}
    checks = there.defs.get_repository_def().asset_graph.asset_check_keys
    assert set(there.check_records(ONE).values()) == {"SUCCEEDED"}
    assert len(there.check_records(ONE)) == len(checks)
    assert there.check_records(TWO) == {}
    assert metadata(result, "npc_candidates")["windows_done"] == 1
    assert metadata(result, "transcript_units")["format"] == "name-colon-script"
    # what proves a record is the players' own words: shown only where the pipeline file says so
    assert metadata(result, "npcs")["preview"].splitlines()[2:] == ["| Orrick Thane | 1–4 |"]


def test_a_preview_shows_words_only_where_the_pipeline_file_says_so(campaign: CampaignFactory, locate: Locate) -> None:
    result = locate(opened(campaign(extra="preview_evidence: true\n"))).run(ONE)
    assert metadata(result, "npc_interactions")["preview"].splitlines() == [
        "| name | kind | units | words |",
        "|---|---|---|---|",
        "| Orrick Thane | dialogue | 1–5 | 1: The rain has stopped, and the road ends at a mill with its door open."
        " A miller named Orrick Thane steps out. |",
        "|  |  |  | 2: I wave. Good evening, Orrick\\! Is there a bed for two tired people? |",
        '|  |  |  | 3: "There\'s a bed," Orrick says, "and there\'s a rat. You may have both." |',
        "|  |  |  | 4: Thank you, Orrick. We'll take the bed and be polite about the rat. |",
        "|  |  |  | 5: He laughs and lets you in. It smells of flour and of wet dog. |",
    ]


def test_a_rejected_lane_is_red_for_its_session_only(campaign: CampaignFactory, locate: Locate) -> None:
    there = locate(opened(campaign(), npcs={ONE}))
    rejected, other = there.run(ONE), there.run(TWO)
    assert not rejected.success
    assert other.success
    assert failure(rejected, "npcs") == (
        f"{ONE}: npcs rejected: refusing found 1 (refused_by_the_test). "
        "Next: notarius show session-01 prints the findings"
    )
    assert there.materialized("npcs") == {TWO}
    assert there.materialized("npc_candidates") == {ONE, TWO}
    status = there.check_records(ONE)
    assert status["npcs", "refusing"] == "FAILED"
    assert status["npcs", "identity"] == status["npc_candidates", "coverage"] == "SUCCEEDED"
    assert set(there.check_records(TWO).values()) == {"SUCCEEDED"}
    # nothing after it ran: not tried, not recorded
    assert there.workspace.store.latest_attempt(ONE, "npc_interaction_candidates") is None
    assert set(there.workspace.store.manifest(TWO).published) == set(TABLES)


def test_unanswered_windows_reject_candidates(campaign: CampaignFactory, locate: Locate) -> None:
    there = locate(opened(campaign(), Scripted(answers={("dnd/npcs", ONE): REFUSED})))
    assert "coverage found 1 (unanswered_windows)" in failure(there.run(ONE), "npc_candidates")
    assert there.check_records(ONE)["npc_candidates", "coverage"] == "FAILED"
    assert there.materialized("npc_candidates") == frozenset()


def test_a_rejected_candidate_warns_and_the_rest_goes_on(campaign: CampaignFactory, locate: Locate) -> None:
    there = locate(opened(campaign(), Scripted(answers={("dnd/npcs", ONE): OUT_OF_BOUNDS})))
    result = there.run(ONE)
    assert result.success
    said = {
        e.check_name: e for e in result.get_asset_check_evaluations() if e.asset_key == dg.AssetKey("npc_candidates")
    }
    assert not said["source_ranges"].passed
    assert said["source_ranges"].severity is dg.AssetCheckSeverity.WARN
    assert "these candidates are rejected, the rest goes on" in (said["source_ranges"].description or "")
    assert metadata(result, "npc_candidates")["rejected_candidates"] == 1
    assert "Nobody" not in metadata(result, "npcs")["preview"]


def test_a_lane_alone_reads_no_registry_whose_latest_attempt_was_rejected(
    campaign: CampaignFactory, locate: Locate
) -> None:
    """Dagster lets a later run of the downstream alone start; the lake says no, and no retry can help."""
    refused: set[str] = set()
    model = Scripted()
    there = locate(opened(campaign(), model, npcs=refused))
    assert there.run(ONE).success
    refused.add(ONE)
    assert not there.run(ONE, "npcs").success
    asked = len(model.asked)
    again = dg.define_asset_job("again", op_retry_policy=dg.RetryPolicy(max_retries=2))
    defs = dg.Definitions.merge(there.defs, dg.Definitions(jobs=[again]))
    for table in ("npc_interaction_candidates", "npc_interactions"):
        result = there.run(ONE, table, job="again", defs=defs)
        assert failure(result, table) == (
            f"{ONE}: {table} blocked: reference 'npcs' (npcs) was rejected in its latest attempt."
            " Next: correct npcs, then run again"
        )
        assert not [e for e in result.all_events if e.is_step_restarted or e.is_step_up_for_retry]
        attempt = there.workspace.store.latest_attempt(ONE, table)
        assert attempt is not None
        assert (attempt.state, attempt.number) == (State.BLOCKED, 2)
    assert len(model.asked) == asked, "a blocked lane asks nothing"


def test_an_unreadable_transcript_fails_in_one_line(campaign: CampaignFactory, locate: Locate) -> None:
    there = locate(opened(campaign(stories={"session-02": ""}, extra="preview_evidence: true\n")))
    said = failure(there.run(TWO), "transcript_units")
    assert said.startswith(f"{TWO}: transcript_units unreadable: session-02.txt: ")
    assert "Next: " in said


def test_the_history_asset_counts_what_is_published(campaign: CampaignFactory, locate: Locate) -> None:
    there = locate(opened(campaign(sessions=3)))
    for source_id in (ONE, TWO):
        assert there.run(source_id).success
    result = there.defs.resolve_job_def("history").execute_in_process(instance=there.instance)
    found = metadata(result, HISTORY)
    database = there.workspace.home.history
    assert {k: found[k] for k in ("sessions", "units", "npcs", "npc_interactions")} == {
        "sessions": 2,
        "units": 12,
        "npcs": 2,
        "npc_interactions": 2,
    }
    assert found["database"] == str(database)
    assert found["bytes"] == database.stat().st_size
    (event,) = result.asset_materializations_for_node(HISTORY)
    assert (event.tags or {})["dagster/data_version"] == assets.build_history(there.workspace)[1]
