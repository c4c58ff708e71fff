"""Ctrl-C while a model is asked: the program ends at once and says so, what was answered is kept."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from dagster import DagsterRunStatus, RunsFilter

from notarius_assets.orchestration.instance import open_instance
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.models import world
from tests.robustness.lake_state import assert_whole

ANSWERS = 4
IN_FLIGHT = 3
PROMPTLY = 20.0
"""Seconds; a call is held for minutes. Two are usual, more on a machine that has much else to do."""


@pytest.mark.parametrize("waiting", ["for answers", "for the rate limit"])
def test_an_interrupt_keeps_what_was_answered_and_the_next_run_asks_the_rest(tmp_path: Path, waiting: str) -> None:
    disturbed = {"on": True}

    def script(asked: Asked) -> Reply:
        late = disturbed["on"] and asked.number > ANSWERS
        if not late:
            return world.answered(asked)
        return replies.rate_limited("50") if waiting == "for the rate limit" else world.answered(asked).after(600)

    with ModelServer(script, key=world.KEY) as server:
        c = world.twelve(tmp_path, server.url, IN_FLIGHT, max_wait_seconds=60, timeout_seconds=700)
        process = world.begin(c, "run")
        world.until(lambda: len(world.kept(c)) == ANSWERS and len(server.asked) > ANSWERS, "the answers are kept")
        if waiting == "for answers":
            world.until(lambda: server.in_flight == IN_FLIGHT, "as many calls as may be are open")
        else:
            world.until(lambda: server.in_flight == 0, "all wait")
        time.sleep(0.3)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = world.end(process)
        took = time.monotonic() - begun
        first = [world.window_of(a) for a in server.asked[:ANSWERS]]
        assert said.code == 130, said
        assert took < PROMPTLY, f"{took:.1f} s"
        lines = [line for line in said.err.splitlines() if "rate" not in line]
        assert lines[0].startswith("[1/1] hill-road/session-01: interrupted (")
        assert lines[1:] == ["notarius: interrupted; what was accepted stays, run again to go on"]
        assert "4 windows: " in said.out, "what was paid for is told"
        assert len(world.kept(c)) == ANSWERS
        assert_whole(c)
        disturbed["on"] = False
        again = len(server.asked)
        last = world.program(c, "run")
        assert last.code == 0, last
        world.assert_the_rest(first, [world.window_of(a) for a in server.asked[again:]])
    world.assert_paid_once(c)
    with open_instance(c.open().home) as instance:
        assert instance.get_runs(RunsFilter(statuses=[DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING])) == []
        assert instance.event_log_storage.get_concurrency_info("llm").claimed_slots == []
