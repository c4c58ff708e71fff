"""`notarius run` executes the same job on the home's instance, so that the UI shows it."""

from __future__ import annotations

import fcntl

import dagster as dg

from notarius_assets.flow.audit import audit_session
from notarius_assets.flow.currency import SessionState
from notarius_assets.lake.locks import session_lock
from notarius_assets.orchestration.evaluations import report
from notarius_assets.orchestration.instance import open_instance
from notarius_assets.orchestration.names import HISTORY, LAUNCHER_TAG
from notarius_assets.orchestration.runner import runner
from tests.conftest import TABLES, CampaignFactory
from tests.orchestration.world import opened


def test_runs_and_history_stand_in_the_instance_of_the_home(campaign: CampaignFactory) -> None:
    workspace = opened(campaign())
    sessions = workspace.pipeline.sessions()
    with runner(workspace) as running:
        running.add_partitions(sessions)
        first = running.run(sessions[0], TABLES)
        assert first.status.state is SessionState.CURRENT
    with open_instance(workspace.home) as instance:
        (run,) = instance.get_runs()
        assert (run.run_id, run.job_name, run.is_success) == (first.run_id, "session", True)
        assert instance.get_dynamic_partitions("sessions_of_hill-road") == [s.source_id for s in sessions]
        told = instance.get_latest_materialization_event(dg.AssetKey(HISTORY))
    assert told is not None
    assert told.asset_materialization is not None
    assert told.asset_materialization.metadata["sessions"].value == 1


def test_a_run_whose_process_was_killed_is_ended_by_the_next(campaign: CampaignFactory) -> None:
    workspace = opened(campaign(sessions=1))
    (session,) = workspace.pipeline.sessions()
    with runner(workspace) as running, open_instance(workspace.home) as instance:
        running.add_partitions([session])
        tags = {LAUNCHER_TAG: "cli", "dagster/partition": session.source_id}
        job = running._job.get_subset()
        killed = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)
        running.run(session, TABLES)
        ended = instance.get_run_by_id(killed.run_id)
    assert ended is not None
    assert ended.status is dg.DagsterRunStatus.FAILURE


def test_a_session_in_other_hands_is_reported_not_run(campaign: CampaignFactory) -> None:
    workspace = opened(campaign(sessions=1))
    (session,) = workspace.pipeline.sessions()
    lock = workspace.home.locks / f"{session.source_id}.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write("4711")
        other.flush()
        with runner(workspace) as running:
            busy = running.run(session, TABLES)
    assert busy.run_id == ""
    assert busy.status.state is SessionState.FAILED
    assert "process 4711" in (busy.status.tables[0].reason or "")
    assert workspace.store.latest_attempt(session.source_id, "transcript_units") is None
    with session_lock(workspace.home.locks, session.source_id):
        pass


def test_what_validators_say_today_is_told_of_materializations_of_the_past(campaign: CampaignFactory) -> None:
    made = campaign()
    before = opened(made)
    sessions = before.pipeline.sessions()
    with runner(before) as running:
        running.add_partitions(sessions)
        for session in sessions:
            running.run(session, TABLES)
    refused, fine = (s.source_id for s in sessions)
    today = opened(made, npcs={refused})
    report(today, [a for s in sessions for a in audit_session(today, s.source_id)])
    with open_instance(today.home) as instance:
        found = instance.event_log_storage.get_asset_check_partition_info(
            [dg.AssetCheckKey(dg.AssetKey("npcs"), "refusing")]
        )
        runs = instance.get_runs_count()
    assert {i.partition_key: i.latest_execution_status.value for i in found} == {refused: "FAILED", fine: "SUCCEEDED"}
    assert runs == len(sessions) + 1, "one run tells of all of them"
