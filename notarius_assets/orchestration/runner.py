"""Execute the session job in this process, one session after another: Dagster's own machinery, no daemon needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import RunsFilter
from sqlalchemy.exc import OperationalError

from notarius_assets.errors import NotariusError, SessionBusyError
from notarius_assets.flow.currency import SessionState, SessionStatus, TableStatus, status
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.locks import left_by_killed, session_lock
from notarius_assets.orchestration.assets import build_history
from notarius_assets.orchestration.build import definitions
from notarius_assets.orchestration.instance import open_instance
from notarius_assets.orchestration.names import HISTORY, LAUNCHER_TAG, QUIET, Names
from notarius_assets.transcripts.sessions import SessionFile

_UNFINISHED = [
    # killed between the two, a run stands as one that nobody has begun
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True, slots=True)
class SessionRun:
    """One session run: its status afterwards and the Dagster run's id."""

    status: SessionStatus
    run_id: str


class Runner:
    """Runs sessions of one workspace on its home's instance."""

    def __init__(self, workspace: Workspace, instance: dg.DagsterInstance) -> None:
        self.workspace = workspace
        self.names = Names.of(workspace.pipeline)
        self._instance = instance
        self._job = definitions(workspace).resolve_job_def(self.names.own("session"))

    def add_partitions(self, sessions: Sequence[SessionFile]) -> None:
        """Give sessions their partitions."""
        name = self.names.partitions.name or ""
        known = set(self._instance.get_dynamic_partitions(name))
        new = [s.source_id for s in sessions if s.source_id not in known]
        if new:
            self._instance.add_dynamic_partitions(name, new)

    def run(self, session: SessionFile, tables: Sequence[str]) -> SessionRun:
        """Run the named tables of a session; never raises for what went wrong inside it."""
        source_id = session.source_id
        try:
            with session_lock(self.workspace.home.locks, source_id):
                self._end_killed_runs(source_id)
                result = self._job.execute_in_process(
                    run_config=QUIET,
                    instance=self._instance,
                    partition_key=source_id,
                    asset_selection=[self.names.key(t) for t in tables],
                    tags={LAUNCHER_TAG: "cli"},
                    raise_on_error=False,
                )
        except SessionBusyError as error:
            held = TableStatus("session", SessionState.FAILED, (), error.message, error.next_step)
            return SessionRun(SessionStatus(source_id, (held,)), "")
        return SessionRun(status(self.workspace, session), result.run_id)

    def build_history(self) -> None:
        """Build the history and tell the instance; without that the UI shows it as never materialized."""
        metadata, version = build_history(self.workspace)
        self._instance.report_runless_asset_event(
            dg.AssetMaterialization(self.names.key(HISTORY), metadata=metadata, tags={"dagster/data_version": version})
        )

    def _end_killed_runs(self, source_id: str) -> None:
        """End the runs of processes that are gone, and give back the places in pools that they held.

        Gone is who left the session's lock: ours, which we hold, or another's that was killed. Also a place that the
        run of another session held would keep this one waiting.
        """
        for run in self._instance.get_runs(RunsFilter(statuses=_UNFINISHED, tags={LAUNCHER_TAG: "cli"})):
            session = run.tags.get("dagster/partition", source_id)
            if session == source_id or left_by_killed(self.workspace.home.locks, session):
                self._instance.report_run_failed(run, "The process ended before the run did.")
                self._instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


@contextlib.contextmanager
def runner(workspace: Workspace) -> Iterator[Runner]:
    """Open the home's instance and give a runner on it; at the end of the block the history is built."""
    try:
        with open_instance(workspace.home) as instance:
            running = Runner(workspace, instance)
            yield running
            running.build_history()
    except OperationalError as error:
        raise NotariusError(
            f"{workspace.home.dagster}: Dagster's database can't be used ({error.orig})",
            next_step="make room or check the folder's rights, then run again; what was accepted stays",
        ) from error
