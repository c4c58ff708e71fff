"""A campaign as a Dagster code location on an ephemeral instance, and a model that answers what a test says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import dagster as dg

from notarius_assets.flow.workspace import Workspace
from notarius_assets.lanes.base import Lane
from notarius_assets.models.calls import Watch
from notarius_assets.models.provider import Provider, RulesProvider
from notarius_assets.models.window import WindowAnswer, WindowRequest
from notarius_assets.orchestration.build import definitions
from notarius_assets.orchestration.names import Names
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View
from tests.conftest import Campaign


@dataclass
class Scripted(RulesProvider):
    """The rules, but for the lanes and sessions a test scripts; entries may be changed between runs."""

    answers: dict[tuple[str, str], WindowAnswer] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, lane: Lane, windows: Sequence[WindowRequest], watch: Watch) -> Sequence[WindowAnswer]:
        self.asked.extend((lane.key, window.source_id) for window in windows)
        answers = super().answer(lane, windows, watch)
        return [self.answers.get((lane.key, w.source_id), a) for w, a in zip(windows, answers, strict=True)]


class Location:
    """One code location: its definitions, an instance, and runs on it."""

    def __init__(self, workspace: Workspace, instance: dg.DagsterInstance) -> None:
        self.workspace = workspace
        self.instance = instance
        self.defs = definitions(workspace)
        self.names = Names.of(workspace.pipeline)
        instance.add_dynamic_partitions(
            self.names.partitions.name or "", [s.source_id for s in workspace.pipeline.sessions()]
        )

    def run(
        self, source_id: str, *tables: str, job: str = "session", defs: dg.Definitions | None = None
    ) -> dg.ExecuteInProcessResult:
        """Run a session's tables, by default all, as the UI and the command line do: the job of one partition."""
        keys = [dg.AssetKey(t) for t in tables] or None
        found = (defs or self.defs).resolve_job_def(job)
        return found.execute_in_process(
            instance=self.instance, partition_key=source_id, asset_selection=keys, raise_on_error=False
        )

    def check_records(self, source_id: str) -> dict[tuple[str, str], str]:
        """Return the latest status of every check of a session that has one: (table, check) → status."""
        keys = list(self.defs.get_repository_def().asset_graph.asset_check_keys)
        return {
            (i.check_key.asset_key.to_user_string(), i.check_key.name): i.latest_execution_status.value
            for i in self.instance.event_log_storage.get_asset_check_partition_info(keys)
            if i.partition_key == source_id
        }

    def materialized(self, table: str) -> frozenset[str]:
        """Return the sessions of which a table has a materialization."""
        return frozenset(self.instance.get_materialized_partitions(dg.AssetKey(table)))


def opened(campaign: Campaign, model: Provider | None = None, **strict: Iterable[str]) -> Workspace:
    """Open a campaign's workspace; `model` answers instead of the rules.

    `strict` maps the table of a lane to the sessions in which a blocking validator of its normalization fails; the
    validator's sessions are read at every run, so a test may change them.
    """
    workspace = campaign.open()
    if strict:
        lanes = tuple(
            replace(b, normalization=(*b.normalization, _refusing(strict[b.lane.table])))
            if b.lane.table in strict
            else b
            for b in workspace.pipeline.lanes
        )
        workspace = replace(workspace, pipeline=replace(workspace.pipeline, lanes=lanes))
    if model is not None:
        workspace.__dict__["model"] = model
    return workspace


def _refusing(sessions: Iterable[str]) -> Validator:
    def check(view: View, context: Context) -> Iterator[Finding]:
        if context.source_id in sessions:
            yield Finding("refused_by_the_test", 0, "a | pipe and <b>")

    return Validator(
        "refusing", Boundary.NORMALIZATION, Level.ARTIFACT, Severity.ERROR, "Refuses what a test says.", check
    )


def metadata(result: dg.ExecuteInProcessResult, table: str) -> Mapping[str, Any]:
    """Return the metadata of the one materialization of a table, values unwrapped."""
    (event,) = result.asset_materializations_for_node(table)
    return {k: v.value for k, v in event.metadata.items()}


def failure(result: dg.ExecuteInProcessResult, table: str) -> str:
    """Return what a failed step said to people."""
    data = result.failure_data_for_node(table)
    assert data is not None, f"{table} did not fail"
    assert data.user_failure_data is not None, f"{table} did not end with a Failure: {data.error}"
    return data.user_failure_data.description or ""
