"""Jobs and sensors: a session, the history, new transcript files. No sensor here asks a model anything."""

from typing import Any

import dagster as dg

from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history
from notarius_assets.orchestration.names import HISTORY, Names


def session_job(names: Names, assets: list[dg.AssetsDefinition]) -> Any:
    """Return the job of one session: all its assets, one partition a run."""
    return dg.define_asset_job(
        names.own("session"),
        selection=dg.AssetSelection.assets(*(a.key for a in assets)),
        description="Everything of one session, from its transcript file to accepted records.",
        executor_def=dg.in_process_executor,
    )


def history_job(names: Names) -> Any:
    """Return the job that builds the history."""
    return dg.define_asset_job(
        names.own("history"),
        selection=dg.AssetSelection.assets(names.key(HISTORY)),
        description="Build the campaign's history anew from what is accepted.",
        executor_def=dg.in_process_executor,
    )


def new_transcripts(workspace: Workspace, names: Names) -> dg.SensorDefinition:
    """Return the sensor that gives every transcript file its partition; it starts nothing."""

    @dg.sensor(
        name=names.own("new_transcripts"),
        description="Adds a partition for every transcript file that the pipeline's globs find. Starts no run.",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def look(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        known = set(context.instance.get_dynamic_partitions(names.partitions.name or ""))
        found = [s.source_id for s in workspace.pipeline.sessions()]
        new = [source_id for source_id in found if source_id not in known]
        if not new:
            return dg.SkipReason(f"{len(found)} transcript files, no new one")
        return dg.SensorResult(dynamic_partitions_requests=[names.partitions.build_add_request(new)])

    return look


def history_sensors(workspace: Workspace, names: Names, job: Any) -> list[dg.SensorDefinition]:
    """Return the sensors that rebuild the history after a run that changed what is accepted."""
    lanes = workspace.pipeline.declared

    def after(status: dg.DagsterRunStatus, word: str) -> dg.SensorDefinition:
        @dg.run_status_sensor(
            run_status=status,
            name=names.own(f"history_after_{word}"),
            description=f"Builds the history anew after a run's {word}, if what is accepted has changed.",
            request_job=job,
            minimum_interval_seconds=10,
            default_status=dg.DefaultSensorStatus.RUNNING,
        )
        def sensor() -> dg.RunRequest | dg.SkipReason:
            if history.is_fresh(workspace.store, lanes):
                return dg.SkipReason("the history is fresh")
            return dg.RunRequest(run_key=history.input_fingerprint(workspace.store, lanes))

        return sensor

    return [after(dg.DagsterRunStatus.SUCCESS, "success"), after(dg.DagsterRunStatus.FAILURE, "failure")]
