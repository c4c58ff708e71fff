"""`kill -9` at any moment: nothing half-made is ever seen, and one more run gives what an undisturbed one gives."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

from dagster import DagsterRunStatus, RunsFilter

from notarius_assets.orchestration.instance import open_instance
from tests.conftest import write_campaign
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import SMALL_CHUNKS, documents, notarius, start

KILLS = 20
UNFINISHED = [DagsterRunStatus.STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.NOT_STARTED]


def test_killed_twenty_times_the_lake_is_whole_and_the_next_run_makes_it_good(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    undisturbed = write_campaign(tmp_path / "undisturbed", sessions=2, extra=SMALL_CHUNKS)
    warm = start(undisturbed, "status")
    warm.join(120)
    begun = time.monotonic()
    whole = start(undisturbed, "run")
    whole.join(120)
    assert whole.exitcode == 0, (undisturbed.root / "output").read_text()
    took = time.monotonic() - begun
    c = write_campaign(tmp_path / "disturbed", sessions=2, extra=SMALL_CHUNKS)
    killed = 0
    for n in range(KILLS):
        if n % 5 == 0:
            shutil.rmtree(c.home, ignore_errors=True)
        process = start(c, "run", *(("--force",) if n % 5 > 2 else ()))
        process.join((n + rng.random()) / KILLS * took)
        process.kill()
        process.join(60)
        killed += process.exitcode != 0
        assert_whole(c)
    assert killed >= KILLS // 2, f"seed {seed}: only {killed} runs were stopped before their end"
    last = notarius("run", on=c)
    assert last.code == 0, last
    assert documents(c) == documents(undisturbed)
    assert_whole(c)
    with open_instance(c.open().home) as instance:
        assert instance.get_runs(RunsFilter(statuses=UNFINISHED)) == [], "runs of killed processes are ended"
    store = c.open().store
    recorded = {(a.source_id, a.table, a.content_digest) for a in store.attempts()}
    for manifest in store.manifests():
        assert manifest.held_back == ()
        for table, entry in manifest.published.items():
            assert (manifest.source_id, table, entry.content_digest) in recorded
