"""One `Definitions` of one pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import dagster as dg

from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration import assets, jobs
from notarius_assets.orchestration.names import Names
from notarius_assets.orchestration.resources import LakeResource, ModelResource, bound, on_lake


def definitions(
    workspace: Workspace,
    key_prefix: Sequence[str] = (),
    *,
    lake: LakeResource | None = None,
    model: ModelResource | None = None,
    executor: dg.ExecutorDefinition | None = dg.in_process_executor,
) -> dg.Definitions:
    """Return the code location of a pipeline: one run is one session, executed in process.

    `executor` is for runs that no job of the pipeline starts; None leaves it to what the definitions are merged with.
    `lake` and `model` are the resources of its assets, by default the workspace's home and what its pipeline file says.
    """
    # Partitioned checks are a preview in the pinned version; said once here instead of once a check.
    warnings.filterwarnings("ignore", category=dg.PreviewWarning)
    names = Names.of(workspace.pipeline, key_prefix)
    given = lake or LakeResource(home=str(workspace.home.root))
    workspace = on_lake(workspace, given)

    def bind(resources: Any) -> Workspace:
        # only what may ask a model has its resource
        return bound(workspace, getattr(resources, names.lake), getattr(resources, names.model, None))

    of_sessions = assets.session_assets(workspace, names, bind)
    history_job = jobs.history_job(names)
    return dg.Definitions(
        assets=[*of_sessions, assets.history_asset(workspace, names, bind)],
        jobs=[jobs.session_job(names, of_sessions), history_job],
        sensors=[jobs.new_transcripts(workspace, names), *jobs.history_sensors(workspace, names, history_job)],
        resources={names.lake: given, names.model: model or ModelResource()},
        executor=executor,
    )
