"""Tell Dagster what validators say today of materializations of the past."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg

from notarius_assets.flow.audit import Audited
from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration import checks
from notarius_assets.orchestration.instance import open_instance
from notarius_assets.orchestration.names import LAUNCHER_TAG, QUIET, Names


def report(workspace: Workspace, audited: Sequence[Audited]) -> None:
    """Report every verdict as a check evaluation of its partition, as one run that makes nothing.

    A run of its own, because Dagster keeps but one evaluation without a run for a check and partition.
    """
    names = Names.of(workspace.pipeline)
    said = list(_evaluations(names, audited))
    if not said:
        return

    @dg.op(name="apply_todays_validators")
    def apply(context) -> None:  # type: ignore[no-untyped-def]
        for evaluation in said:
            context.log_event(evaluation)

    @dg.job(name=names.own("check"), executor_def=dg.in_process_executor)
    def job() -> None:
        apply()

    with open_instance(workspace.home) as instance:
        job.execute_in_process(run_config=QUIET, instance=instance, tags={LAUNCHER_TAG: "cli"})


def _evaluations(names: Names, audited: Sequence[Audited]) -> Iterator[dg.AssetCheckEvaluation]:
    for one in audited:
        key = names.key(one.table)
        for verdict in one.verdicts:
            result = checks.result(verdict, key)
            yield dg.AssetCheckEvaluation(
                asset_key=key,
                check_name=verdict.validator.key,
                passed=verdict.passed,
                severity=result.severity,
                description=result.description,
                metadata=dict(result.metadata),
                partition=one.source_id,
                blocking=verdict.validator.blocking,
            )
