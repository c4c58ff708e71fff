"""One `Definitions` of one pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import dagster as dg

from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration import assets, jobs
from notarius_assets.orchestration.names import Names


def definitions(workspace: Workspace, key_prefix: Sequence[str] = ()) -> dg.Definitions:
    """Return the code location of a pipeline: one run is one session, executed in process."""
    # Partitioned checks are a preview in the pinned version; said once here instead of once a check.
    warnings.filterwarnings("ignore", category=dg.PreviewWarning)
    names = Names.of(workspace.pipeline, key_prefix)
    of_sessions = assets.session_assets(workspace, names)
    history_job = jobs.history_job(names)
    return dg.Definitions(
        assets=[*of_sessions, assets.history_asset(workspace, names)],
        jobs=[jobs.session_job(names, of_sessions), history_job],
        sensors=[jobs.new_transcripts(workspace, names), *jobs.history_sensors(workspace, names, history_job)],
        executor=dg.in_process_executor,
    )
