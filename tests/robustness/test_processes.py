"""Several processes on one home, an interrupt, and the same input in two homes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing.context import ForkServerProcess

from dagster import DagsterRunStatus, RunsFilter

from notarius_assets.lake import history
from notarius_assets.lake.locks import session_lock
from notarius_assets.orchestration.instance import open_instance
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import SMALL_CHUNKS, ask, documents, notarius, run_steps, start, status_of

MADE = "SELECT session, table_name, content_digest, code_fingerprint, input_fingerprint FROM lane_runs ORDER BY ALL"


def said(campaign: Campaign, output: str = "output") -> str:
    path = campaign.root / output
    return path.read_text(encoding="utf-8") if path.exists() else ""


def ended(campaign: Campaign, process: ForkServerProcess, output: str = "output") -> int:
    process.join(180)
    assert process.exitcode is not None, said(campaign, output)
    assert "Traceback" not in said(campaign, output), said(campaign, output)
    return process.exitcode


def test_two_processes_run_two_sessions_of_a_new_home_at_once(campaign: CampaignFactory) -> None:
    c = campaign(sessions=2)
    both = [start(c, "run", s, output=s) for s in c.sessions]
    assert [ended(c, p, s) for p, s in zip(both, c.sessions, strict=True)] == [0, 0], [said(c, s) for s in c.sessions]
    assert_whole(c)
    workspace = c.open()
    assert history.is_fresh(workspace.store, [b.lane for b in workspace.pipeline.lanes])
    assert ask(c, "SELECT session FROM sessions ORDER BY session") == [(s,) for s in c.sessions]


def test_a_session_that_another_process_has_fails_at_once_and_the_others_go_on(campaign: CampaignFactory) -> None:
    c = campaign(sessions=2)
    with session_lock(c.open().home.locks, c.source_ids[0]):
        assert ended(c, start(c, "run")) == 1
    assert f"session {c.source_ids[0]} is being worked on by process {os.getpid()}" in said(c)
    assert "wait for it to end, then run again" in said(c)
    assert status_of(c, c.sessions[0]).state == "new"
    assert status_of(c, c.sessions[1]).state == "current"


def test_an_open_history_blocks_no_run(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    with history.connect(c.home / "history.duckdb") as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchall() == [(1,)]
        write_campaign(c.root, sessions=2)
        assert ended(c, start(c, "run")) == 0
        assert connection.execute("SELECT count(*) FROM sessions").fetchall() == [(1,)]
    assert ask(c, "SELECT count(*) FROM sessions") == [(2,)]


def test_an_interrupt_ends_with_130_and_the_next_run_goes_on(campaign: CampaignFactory) -> None:
    c = campaign(sessions=3)
    process = start(c, "run")
    until = time.monotonic() + 120
    while "[1/3]" not in said(c) and process.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    assert ended(c, process) == 130, said(c)
    assert "[3/3]" not in said(c), "the session after the interrupted one is not started"
    assert "interrupted; what was accepted stays, run again to go on" in said(c)
    assert_whole(c)
    assert "[2/3] hill-road/session-02: interrupted" in said(c)
    assert "1 run in" in said(c), "only what was run to its end counts"
    assert "Traceback" not in said(c)
    assert status_of(c, "session-01").state == "current"
    again = notarius("run", on=c)
    assert again.code == 0, again
    assert "3 sessions: 3 current. 2 run" in again.out, "also where every table had been accepted before Ctrl-C"
    with open_instance(c.open().home) as instance:
        assert instance.get_runs(RunsFilter(statuses=[DagsterRunStatus.STARTED])) == []


def test_an_interrupted_query_ends_with_130(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    endless = "SELECT sum(range % 7) FROM range(100000000000000)"
    with subprocess.Popen(
        [sys.executable, "-m", "notarius_assets", "sql", endless, "--pipeline", str(c.pipeline)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err.strip()) == (130, "", "")


def test_the_same_input_gives_the_same_bytes_in_every_home_and_with_every_hash_seed(campaign: CampaignFactory) -> None:
    c = campaign(sessions=2, extra=SMALL_CHUNKS)
    run_steps(c)
    found = documents(c)
    digests = ask(c, MADE)
    assert len(found) == 4
    for seed in ("1", "4242"):
        home = c.root / f"home-{seed}"
        given = ("--pipeline", str(c.pipeline), "--home", str(home))
        done = subprocess.run(
            [sys.executable, "-m", "notarius_assets", "run", "--quiet", *given],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        for session in c.sessions:
            to = c.root / f"out-{seed}" / session
            assert notarius("export", session, "--to", str(to), *given).code == 0
            for path in to.iterdir():
                assert path.read_bytes() == found[f"hill-road/{session}/{path.name}"]
        with history.connect(home / "history.duckdb") as connection:
            assert connection.execute(MADE).fetchall() == digests
