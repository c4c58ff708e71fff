"""Benchmarks: each compares with a baseline of the same run and asserts a ratio, never a time.

`make bench` runs them; the figures are printed. NOTARIUS_BENCH_SESSIONS limits the sessions of the long run.
"""

from __future__ import annotations

import hashlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from notarius_assets.flow import steps
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.store import write_parquet
from notarius_assets.lake.tables import UNITS_TABLE, unit_rows
from notarius_assets.orchestration.runner import runner
from notarius_assets.transcripts.reader import read_bytes
from tests.benchmarks import corpus

pytestmark = pytest.mark.bench

MOST_DAGSTER_SHARE = 1.3
MOST_INGEST = 2.0
MOST_SECOND_RUN = 0.1
MOST_MEMORY = 1 << 30


def figure(name: str, value: str) -> None:
    print(f"\n  {name:<58}{value}", end="")


def timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def test_ingest_beside_a_plain_read_and_write(tmp_path: Path) -> None:
    files = corpus.files(tmp_path)

    def plain() -> None:
        for n, path in enumerate(files):
            turns = orjson.loads(path.read_bytes())["TURNS"]
            texts = [" ".join(" ".join(t["UTTERANCES"]).split()) for t in turns]
            count = len(turns)
            columns: list[Any] = [
                ["bench"] * count,
                [path.stem] * count,
                list(range(1, count + 1)),
                [t["NAMES"] for t in turns],
                texts,
                [None] * count,
                [None] * count,
                [str(t["NUMBER"]) for t in turns],
            ]
            arrays = [pa.array(c, type=f.type) for c, f in zip(columns, UNITS_TABLE.columns, strict=True)]
            table = pa.Table.from_arrays(arrays, schema=UNITS_TABLE.schema)
            pq.write_table(table, tmp_path / f"plain-{n}.parquet", compression="zstd")

    def ours() -> None:
        for n, path in enumerate(files):
            data = path.read_bytes()
            transcript = read_bytes(data, path.name)
            metadata = {"file": hashlib.sha256(data).hexdigest(), "digest": transcript.content_digest}
            rows = unit_rows(f"bench/{path.stem.lower()}", transcript.units)
            write_parquet(tmp_path / f"ours-{n}.parquet", rows, metadata)

    plain()
    pairs = [(timed(ours), timed(plain)) for _ in range(3)]
    ratio = statistics.median(a / b for a, b in pairs)
    figure(f"ingest of {len(files)} transcripts", f"{min(a for a, _ in pairs):.2f} s")
    figure("the same rows read with orjson, written with pyarrow", f"{min(b for _, b in pairs):.2f} s")
    figure("ratio", f"{ratio:.2f} (at most {MOST_INGEST})")
    assert ratio <= MOST_INGEST


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    files = corpus.files(tmp_path)[:8]
    return Workspace.open(corpus.pipeline(tmp_path, files), tmp_path / "home")


def empty(original: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """Return an asset of the same key, edges, partitions and checks whose body does nothing."""
    key = original.key

    @dg.asset(
        key=key,
        deps=list(original.asset_deps[key]),
        partitions_def=original.partitions_def,
        check_specs=list(original.check_specs),
        code_version="empty",
    )
    def body() -> Iterator[Any]:
        results = [dg.AssetCheckResult(passed=True, asset_key=key, check_name=c.name) for c in original.check_specs]
        yield dg.MaterializeResult(asset_key=key, check_results=results)

    return body


@pytest.mark.filterwarnings("ignore::dagster.PreviewWarning")
def test_dagsters_share_beside_empty_bodies(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from notarius_assets.orchestration import assets
    from notarius_assets.orchestration.names import QUIET, Names

    sessions = workspace.pipeline.sessions()
    inside = 0.0
    original = steps.run

    def measured(*arguments: Any, **named: Any) -> steps.Outcome:
        nonlocal inside
        begun = time.perf_counter()
        try:
            return original(*arguments, **named)
        finally:
            inside += time.perf_counter() - begun

    monkeypatch.setattr(steps, "run", measured)
    names = Names.of(workspace.pipeline)
    bodies = [empty(a) for a in assets.session_assets(workspace, names, lambda _: workspace)]
    selection = dg.AssetSelection.assets(*(b.key for b in bodies))
    job = dg.Definitions(
        assets=bodies,
        jobs=[dg.define_asset_job("empty", selection=selection)],
        executor=dg.in_process_executor,
    ).resolve_job_def("empty")
    shares: list[tuple[float, float]] = []
    with runner(workspace) as running:
        running.add_partitions(sessions)
        tables = [b.key.path[-1] for b in bodies]
        for session in sessions:
            inside = 0.0
            whole = timed(lambda s=session: running.run(s, tables))  # type: ignore[misc]
            baseline = timed(
                lambda s=session: job.execute_in_process(  # type: ignore[misc]
                    run_config=QUIET, instance=running._instance, partition_key=s.source_id
                )
            )
            shares.append((whole - inside, baseline))
    ratio = statistics.median(a / b for a, b in shares[1:])
    figure("Dagster's share of a session", f"{statistics.median(a for a, _ in shares):.2f} s")
    figure("the same job with empty bodies", f"{statistics.median(b for _, b in shares):.2f} s")
    figure("ratio", f"{ratio:.2f} (at most {MOST_DAGSTER_SHARE})")
    assert ratio <= MOST_DAGSTER_SHARE


def test_a_second_run_and_the_memory_of_the_first(tmp_path: Path) -> None:
    limit = int(os.environ.get("NOTARIUS_BENCH_SESSIONS", "141"))
    files = corpus.files(tmp_path)[:limit]
    pipeline = corpus.pipeline(tmp_path, files)
    command = [sys.executable, "-m", "notarius_assets", "run", "--quiet", "--pipeline", str(pipeline)]

    def run() -> None:
        subprocess.run(command, check=True, cwd=tmp_path, stderr=subprocess.DEVNULL)

    first = timed(run)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    second = timed(run)
    figure(f"run over {len(files)} sessions", f"{first:.1f} s, peak memory {memory / (1 << 20):.0f} MiB")
    figure("the same again, nothing changed", f"{second:.1f} s")
    figure("ratio", f"{second / first:.3f} (at most {MOST_SECOND_RUN})")
    assert memory < MOST_MEMORY
    assert second / first <= MOST_SECOND_RUN
