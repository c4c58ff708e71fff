"""`kill -9` while a model is asked: what was answered is paid for once, the next run asks the rest and makes the same.

Most kills hit a process that makes the steps as the program does, without Dagster, which costs seconds a time; some
hit whole runs of the installed program. `make bench` does it a thousand times.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from notarius_assets.orchestration.instance import open_instance
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import CampaignFactory
from tests.models import world
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import documents, notarius, run_steps

SEED = 20
STEPS_KILLED = 16
WHOLE_RUNS_KILLED = ((3, 2), (9, 8), (12, 5), (20, 4))
"""Answers on disk at the kill, and calls at once: two in the first lane, two in the second."""

UNFINISHED = [DagsterRunStatus.STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.NOT_STARTED]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(world.answered) as server:
        yield server


@pytest.fixture(scope="module")
def undisturbed(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The documents of a whole run that nobody disturbed."""
    server.release()
    root = tmp_path_factory.mktemp("undisturbed")
    c = world.twelve(root / "campaign", server.url, 8)
    begun = len(server.asked)
    said = world.program(c, "run")
    assert said.code == 0, said
    assert sorted(map(world.window_of, server.asked[begun:])) == sorted(world.WINDOWS)
    exported = world.exported(c, root / "out")
    assert {name: path.count(b'"source_refs"') for name, path in exported.items()} == {
        "hill-road/session-01/npcs.json": 4,
        "hill-road/session-01/npc_interactions.json": 8,
    }
    assert exported == documents(c)
    return exported


def drawn(seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    # evenly over both lanes, with the borders; calls at once at random
    return [(n * 23 // (STEPS_KILLED - 1), rng.randint(1, 12)) for n in range(STEPS_KILLED)]


@pytest.mark.parametrize(("answers", "in_flight"), drawn(SEED))
def test_killed_steps_ask_for_the_rest(
    server: ModelServer, undisturbed: dict[str, bytes], tmp_path: Path, answers: int, in_flight: int
) -> None:
    c = world.killed_and_made_good(tmp_path, server, answers, in_flight)
    assert documents(c) == undisturbed
    assert_whole(c)


@pytest.mark.parametrize(("answers", "in_flight"), WHOLE_RUNS_KILLED)
def test_a_killed_run_is_made_good_by_the_next(
    server: ModelServer, undisturbed: dict[str, bytes], tmp_path: Path, answers: int, in_flight: int
) -> None:
    c = world.twelve(tmp_path / "campaign", server.url, in_flight)
    begun = len(server.asked)
    server.hold_after(begun + answers)
    process = world.begin(c, "run")
    world.kill_at(server, c, answers, in_flight, process.kill)
    assert process.wait(60) == -9
    process.communicate()
    assert_whole(c)
    first = [world.window_of(a) for a in server.asked[begun : begun + answers]]
    server.release()
    again = len(server.asked)
    said = notarius("run", on=c)
    assert said.code == 0, said
    assert f"; {answers} answers were there before." in said.out
    world.assert_the_rest(first, [world.window_of(a) for a in server.asked[again:]])
    world.assert_paid_once(c)
    assert world.exported(c, tmp_path / "out") == undisturbed
    assert_whole(c)
    with open_instance(c.open().home) as instance:
        assert instance.get_runs(RunsFilter(statuses=UNFINISHED)) == []
        assert taken(instance) == []


def taken(instance: DagsterInstance) -> list[str]:
    """Return the runs that hold a place in a pool, or wait for one."""
    info = instance.event_log_storage.get_concurrency_info("llm")
    return [s.run_id for s in info.claimed_slots] + [s.run_id for s in info.pending_steps]


@pytest.mark.parametrize("instance", ["as written now", "as written before"])
def test_a_killed_run_keeps_no_place_from_other_sessions(campaign: CampaignFactory, instance: str) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=2, extra=world.model(server.url, windows=3, in_flight=2))
        with open_instance(c.open().home):
            pass
        settings = c.home / "dagster" / "dagster.yaml"
        if instance == "as written before":
            # a home that exists keeps its file; there each step takes a place
            text = settings.read_text(encoding="utf-8")
            assert "    granularity: run\n" in text
            settings.write_text(text.replace("    granularity: run\n", ""), encoding="utf-8")
        server.hold_after(1)
        process = world.begin(c, "run")
        world.until(lambda: server.held == 1 and len(world.kept(c)) == 1, "one kept, one held")
        process.kill()
        process.communicate()
        with open_instance(c.open().home) as opened:
            assert len(taken(opened)) == (2 if instance == "as written before" else 0), "slot, and place in the queue"
        server.release()
        # a run that waits for the killed one's place waits for ever
        other = world.end(world.begin(c, "run", "session-02"), seconds=150)
        assert (other.code, "1 session: 1 current. 1 run in" in other.out) == (0, True), other
        last = notarius("run", on=c)
        assert last.code == 0, last
        assert "2 sessions: 2 current. 1 run in" in last.out, "the killed session is still run again in full"
        with open_instance(c.open().home) as opened:
            assert taken(opened) == []
            assert opened.get_runs(RunsFilter(statuses=UNFINISHED)) == []


def test_killed_while_an_unreadable_answer_is_asked_for_again(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    unreadable = {("npcs", 5)}

    def script(asked: Asked) -> Reply:
        if world.window_of(asked) not in unreadable:
            return world.answered(asked)
        return world.answered(asked).after(600) if world.asked_again(asked) else replies.text("As you wish.")

    with ModelServer(script) as server:
        c = world.twelve(tmp_path, server.url, 3)
        process = world.forked(c)
        world.until(lambda: len(world.kept(c)) == 11 and server.in_flight == 1, "all answered but the one asked again")
        process.kill()
        process.join(60)
        assert [world.window_of(a) for a in server.asked if world.asked_again(a)] == [("npcs", 5)]
        assert [e["status"] for e in world.calls(c)].count("invalid") == 1
        unreadable.clear()
        again = len(server.asked)
        run_steps(c)
        second = server.asked[again:]
    first = [w for w in world.WINDOWS if w[0] == "npcs" and w[1] != 5]
    world.assert_the_rest(first, [world.window_of(a) for a in second])
    assert not any(map(world.asked_again, second)), "a window is asked from its beginning"
    world.assert_paid_once(c)
    assert documents(c) == undisturbed


def test_killed_while_everybody_waits_for_the_rate_limit(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    limited = {"on": True}

    def script(asked: Asked) -> Reply:
        return replies.rate_limited("30") if limited["on"] and asked.number > 5 else world.answered(asked)

    with ModelServer(script) as server:
        c = world.twelve(tmp_path, server.url, 4, max_wait_seconds=60)
        process = world.forked(c)
        world.until(
            lambda: server.in_flight == 0 and any(e["status"] == "rate_limited" for e in world.calls(c)), "pause"
        )
        world.until(lambda: server.in_flight == 0 and len(world.kept(c)) == 5, "the answers so far are kept")
        process.join(0.5)
        assert process.exitcode is None
        asked = len(server.asked)
        assert asked < 12, "the pause holds all calls back, not only those that were refused"
        process.kill()
        process.join(60)
        first = [world.window_of(a) for a in server.asked[:5]]
        limited["on"] = False
        run_steps(c)
        world.assert_the_rest(first, [world.window_of(a) for a in server.asked[asked:]])
    world.assert_paid_once(c)
    assert documents(c) == undisturbed
