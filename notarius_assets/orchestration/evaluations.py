"""Tell Dagster what validators say today of materializations of the past."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from notarius_assets.flow.audit import Audited
from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration import checks
from notarius_assets.orchestration.instance import open_instance
from notarius_assets.orchestration.names import Names


def report(workspace: Workspace, audited: Sequence[Audited]) -> None:
    """Report every verdict as a check evaluation of its partition; no run is started."""
    names = Names.of(workspace.pipeline)
    with open_instance(workspace.home) as instance:
        for one in audited:
            key = names.key(one.table)
            for verdict in one.verdicts:
                said = checks.result(verdict, key)
                instance.report_runless_asset_event(
                    dg.AssetCheckEvaluation(
                        asset_key=key,
                        check_name=verdict.validator.key,
                        passed=verdict.passed,
                        severity=said.severity,
                        description=said.description,
                        metadata=dict(said.metadata),
                        partition=one.source_id,
                        blocking=verdict.validator.blocking,
                    )
                )
