"""Assets made from the pipeline's lanes. Each body runs one step and tells Dagster how it ended.

Accepted: one `MaterializeResult` with all check results. Not accepted: the check results, then a `Failure`, so that no
materialization is recorded and nothing downstream of this session starts: write, audit, publish.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from notarius_assets.errors import SessionBusyError
from notarius_assets.flow import fingerprints, steps
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history
from notarius_assets.lake.locks import session_lock
from notarius_assets.lake.tables import CHUNKS, CHUNKS_TABLE, UNITS, UNITS_TABLE, Table, candidates_table, lane_table
from notarius_assets.lanes.base import Lane
from notarius_assets.orchestration import checks
from notarius_assets.orchestration.metadata import column_schema, of_outcome
from notarius_assets.orchestration.names import HISTORY, Names
from notarius_assets.pipeline import BoundLane, Pipeline
from notarius_assets.validators.base import Validator


@dataclass(frozen=True)
class _Spec:
    """What Dagster is told of one table."""

    table: Table
    description: str
    group: str
    kinds: frozenset[str]
    deps: tuple[str, ...]
    code: Mapping[str, str]
    validators: tuple[Validator, ...] = ()


Bind = Callable[[Any], Workspace]
"""Gives the workspace of a run from its resources."""


def session_assets(workspace: Workspace, names: Names, bind: Bind) -> list[dg.AssetsDefinition]:
    """Return the partitioned assets of a pipeline, in the order of the data's way."""
    return [_asset(workspace, names, spec, bind) for spec in _specs(workspace)]


def history_asset(workspace: Workspace, names: Names, bind: Bind) -> dg.AssetsDefinition:
    """Return the unpartitioned history: the database that people query."""
    lanes = workspace.pipeline.declared
    deps = [names.key(t) for t in (UNITS, CHUNKS, *(lane.table for lane in lanes))]

    @dg.asset(
        key=names.key(HISTORY),
        deps=deps,
        description="The campaign's history: one read-only DuckDB database with documented views, built from what the "
        "sessions' manifests name. Swapped in behind a symlink, so an open shell never blocks it.",
        group_name="history",
        kinds={"duckdb"},
        owners=workspace.pipeline.file.owners,
        metadata={"dagster/uri": workspace.home.history.as_uri()},
        pool="history_writer",
        required_resource_keys={names.lake},
    )
    def build(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        metadata, version = build_history(bind(context.resources))
        return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(version))

    return build


def build_history(workspace: Workspace) -> tuple[dict[str, Any], str]:
    """Build the history if it is not fresh; return what Dagster is told of it, and its data version."""
    lanes = workspace.pipeline.declared
    path = history.refresh(workspace.store, lanes)
    with history.connect(path) as connection:
        # a lane of one's own has a table below `lake` and no view
        asked = {"sessions": "sessions", "units": "units", **{lane.table: f"lake.{lane.table}" for lane in lanes}}
        counted = {
            name: connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - names of ours
            for name, table in asked.items()
        }
    metadata = {
        "database": dg.MetadataValue.path(path),
        "bytes": path.stat().st_size,
        **{name: row[0] for name, row in counted.items() if row},
    }
    return metadata, history.input_fingerprint(workspace.store, lanes)


def _specs(workspace: Workspace) -> Iterator[_Spec]:
    pipeline = workspace.pipeline
    yield _Spec(
        UNITS_TABLE,
        UNITS_TABLE.comment,
        "transcripts",
        frozenset({"parquet"}),
        (),
        fingerprints.units_code(),
    )
    yield _Spec(
        CHUNKS_TABLE,
        CHUNKS_TABLE.comment,
        "transcripts",
        frozenset({"parquet"}),
        (UNITS,),
        fingerprints.chunks_code(pipeline),
    )
    for bound in pipeline.lanes:
        yield from _lane_specs(workspace, bound)


def asking_tables(pipeline: Pipeline) -> frozenset[str]:
    """Return the tables whose steps may ask a model: candidates, and registries for their duplicates."""
    registries = {lane.table for lane in pipeline.declared if lane.reconciliation}
    return frozenset({lane.candidates_table for lane in pipeline.declared} | registries)


def _lane_specs(workspace: Workspace, bound: BoundLane) -> Iterator[_Spec]:
    lane = bound.lane
    registries = tuple(source.table for source in bound.bindings.values() if isinstance(source, Lane))
    group = lane.table
    contract = f"\n\nContract: `{lane.docs}`."
    yield _Spec(
        candidates_table(lane),
        lane.candidates_comment + contract,
        group,
        frozenset({"parquet", workspace.model.name}),
        (UNITS, CHUNKS, *registries),
        fingerprints.candidates_code(workspace.pipeline, bound, workspace.model),
        bound.extraction,
    )
    yield _Spec(
        lane_table(lane),
        lane.table_comment + contract,
        group,
        # a registry has its duplicates proposed
        frozenset({"parquet", *([workspace.model.name] if lane.reconciliation else [])}),
        (UNITS, CHUNKS, *registries, lane.candidates_table),
        fingerprints.lane_code(workspace.pipeline, bound, workspace.model),
        bound.normalization,
    )


def _asset(workspace: Workspace, names: Names, spec: _Spec, bind: Bind) -> dg.AssetsDefinition:
    table = spec.table.name
    key = names.key(table)
    partitions = names.partitions
    evidence = workspace.pipeline.file.preview_evidence
    asks = table in asking_tables(workspace.pipeline)

    @dg.asset(
        key=key,
        deps=[names.key(d) for d in spec.deps],
        partitions_def=partitions,
        description=spec.description,
        group_name=spec.group,
        kinds=set(spec.kinds),
        owners=workspace.pipeline.file.owners,
        code_version=fingerprints.fingerprint(spec.code),
        check_specs=checks.specs(spec.validators, key, partitions),
        metadata={"dagster/column_schema": column_schema(spec.table), "dagster/table_name": f"lake.{table}"},
        # who asks nobody needs no key either
        required_resource_keys={names.lake, names.model} if asks else {names.lake},
        # rules ask nobody; what does ask is bounded across runs too
        pool="llm" if asks and workspace.model.name != "rules" else None,
    )
    def step(context: dg.AssetExecutionContext) -> Iterator[Any]:
        source_id = context.partition_key
        here = bind(context.resources)
        try:
            with session_lock(here.home.locks, source_id, context.run.run_id):
                outcome = steps.run(here, table, source_id, context.run.run_id)
                entry = here.store.manifest(source_id).accepted.get(UNITS) if evidence else None
                units = here.store.units(entry) if entry else ()
        except SessionBusyError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        yield from _events(outcome, key, of_outcome(outcome, units))

    return step


def _events(outcome: steps.Outcome, key: dg.AssetKey, metadata: Mapping[str, Any]) -> Iterator[Any]:
    results: Sequence[dg.AssetCheckResult] = [checks.result(v, key) for v in outcome.verdicts]
    if outcome.accepted:
        yield dg.MaterializeResult(
            asset_key=key,
            metadata=metadata,
            check_results=results,
            data_version=dg.DataVersion(outcome.attempt.content_digest or ""),
        )
        return
    yield from results
    raise dg.Failure(description=outcome.message, metadata=metadata, allow_retries=False)
