"""Faults around a model at work: signals, foreign files, odd addresses; one line says what to do, nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from notarius_assets.models.answers import Answer, Answers
from notarius_assets.models.settings import KEY_VARIABLE
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.models import world
from tests.robustness.support import Ended, change, notarius, retell, run_steps

ANSWERS = 2
IN_FLIGHT = 2
REPLAY = "chunking: {max_units: 2, context_units: 0}\nmodel: {provider: replay}\n"
NPCS, DEEDS = "dnd/npcs", "dnd/npc-interactions"
PASSWORD = "hunter2-of-the-mill"


def only_line(said: Ended, code: int) -> str:
    """Return the one line that a command ended with."""
    assert (said.code, said.out, said.err.count("\n")) == (code, "", 1), said
    return said.err.rstrip("\n")


def test_being_told_to_end_is_like_an_interrupt(tmp_path: Path) -> None:
    late = {"on": True}

    def script(asked: Asked) -> Reply:
        held = late["on"] and asked.number > ANSWERS
        return world.answered(asked).after(600) if held else world.answered(asked)

    with ModelServer(script) as server:
        extra = world.model(server.url, windows=2, in_flight=IN_FLIGHT, timeout_seconds=700)
        c = write_campaign(tmp_path, sessions=2, extra=extra)
        process = world.begin(c, "run")
        world.until(lambda: len(world.kept(c)) == ANSWERS and server.in_flight > 0, "answers are kept, a call is open")
        open_calls = server.in_flight
        process.send_signal(signal.SIGTERM)
        said = world.end(process, 60)
        assert said.code == 130, said
        first, *rest = said.err.splitlines()
        assert first.startswith("[1/2] hill-road/session-01: interrupted (")
        assert rest == ["notarius: interrupted; what was accepted stays, run again to go on"]
        begun = len(server.asked)
        assert begun == ANSWERS + open_calls, "nothing is asked after it, of no session"
        assert [e["status"] for e in world.calls(c)] == ["answered"] * ANSWERS + ["interrupted"] * open_calls

        late["on"] = False
        again = world.program(c, "run")
        assert again.code == 0, again
        asked_first = [world.other_words(a) for a in server.asked[:ANSWERS]]
        asked_then = [world.other_words(a) for a in server.asked[begun:]]
        assert len(asked_then) == len(set(asked_then)) == 12 - ANSWERS
        assert set(asked_then).isdisjoint(asked_first)


def test_what_a_kill_during_the_first_start_leaves_is_named(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    runs = c.home / "dagster" / "history" / "runs"
    runs.mkdir(parents=True)
    (runs / "index.db").touch()
    said = only_line(world.program(c, "run", key=None), 1)
    assert said.startswith(f"notarius: {c.home / 'dagster'}: the Dagster instance can't be opened (")
    assert said.endswith("Next: move that folder away and run again; the lake is not touched by it")


def keep(campaign: Campaign, letter: str, source_id: str, lane: str) -> str:
    """Keep an answer that nobody asks for now; return its fingerprint."""
    fingerprint = letter * 64
    Answers(campaign.home / "answers").put(fingerprint, Answer({"npcs": []}, lane, source_id, "a-model"))
    return fingerprint


def test_prune_leaves_what_it_can_not_judge(campaign: CampaignFactory) -> None:
    c = campaign(sessions=2, extra=REPLAY)
    unused = keep(c, "a", "hill-road/session-01", NPCS)
    others = keep(c, "b", "other-road/session-01", NPCS)
    waiting = keep(c, "c", "hill-road/session-02", DEEDS)
    folder = c.home / "answers" / "dd" / f"{'d' * 64}.json"
    folder.mkdir(parents=True)

    transcript = c.transcript("session-02").read_bytes()
    c.transcript("session-02").write_bytes(b"\x00\xff" * 50)
    assert "hill-road/session-02: can't be read (" in only_line(notarius("prune", on=c), 1)
    assert world.kept(c) == {unused, others, waiting}
    c.transcript("session-02").write_bytes(transcript)

    said = notarius("prune", on=c)
    assert (said.code, said.err) == (0, ""), said
    assert world.kept(c) == {others, waiting}
    assert folder.is_dir()


def test_what_waits_for_its_registry_goes_when_the_registry_is_there(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=6))
        run_with_key(c)
    used = world.kept(c)
    assert len(used) == 2
    keep(c, "a", "hill-road/session-01", DEEDS)
    assert notarius("prune", on=c).code == 0
    assert world.kept(c) == used


def run_with_key(campaign: Campaign) -> None:
    """Make everything in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, world.KEY)
        run_steps(campaign)


@pytest.fixture
def exported(campaign: CampaignFactory, tmp_path: Path) -> tuple[Campaign, bytes]:
    """Return a campaign whose words need more than ASCII, and its requests."""
    c = campaign(sessions=1, extra=REPLAY)
    retell(c, "session-01", "The rain has stopped", "The café is shut, it’s late 😀")
    to = tmp_path / "requests.jsonl"
    assert notarius("requests", "export", "--to", str(to), on=c).code == 0
    return c, to.read_bytes()


def test_requests_go_into_a_pipe_and_through_a_link(exported: tuple[Campaign, bytes], tmp_path: Path) -> None:
    c, expected = exported
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert notarius("requests", "export", "--to", str(pipe), on=c).code == 0
    assert pipe.is_fifo()
    reader.join(10)
    assert came == [expected]

    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    assert notarius("requests", "export", "--to", str(link), on=c).code == 0
    assert link.is_symlink()
    assert target.read_bytes() == expected


def test_requests_are_utf_8_wherever_they_are_printed(exported: tuple[Campaign, bytes]) -> None:
    c, expected = exported
    assert "it’s late 😀".encode() in expected
    verb = ["requests", "export", "--to", "-", "--pipeline", str(c.pipeline), "--home", str(c.home)]
    said = run(
        [str(world.ENTRY), *verb], env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False
    )
    assert (said.returncode, said.stdout) == (0, expected)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_device_is_one_line(exported: tuple[Campaign, bytes]) -> None:
    said = only_line(notarius("requests", "export", "--to", "/dev/full", on=exported[0]), 1)
    assert said.startswith("notarius: /dev/full: can't be written (")


FOREIGN = (
    b"",
    b"null",
    b"5",
    b"{}",
    b"[]",
    b"\xff\xfe\x00binary",
    b"[" * 100_000,
    b'{"usage":' * 100_000,
    b'{"source_id": "hill-road/session-01", "usage": null}',
)
"""Lines that are no attempts."""

WRONG: tuple[Mapping[str, Any], ...] = (
    {"http_status": "two hundred"},
    {"latency_ms": 10**30},
    {"chunk_id": [1]},
    {"cost_usd": "much"},
    {"lane": {"a": 1}},
    {"usage": [1, 2]},
    {"usage": {"input": "many"}},
    {"usage": {"input": 2**63}},
    {"source_id": "a/b/c"},
    {"source_id": 5},
)
"""What no attempt has."""


def test_foreign_lines_and_files_in_the_ledger_are_passed_over(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=3))
        run_with_key(c)
        (npcs, _) = sorted((c.home / "lake" / "calls").glob("*/*/*/*.jsonl"), key=lambda p: "npcs" not in str(p))
        if "interaction" in npcs.parent.name:
            npcs = _
        good = npcs.read_bytes()
        line = json.loads(good.splitlines()[0])
        newer = {**line, "from_a_later_version": {"x": [1]}}
        older = {name: value for name, value in line.items() if name != "request_id"}
        odd = [json.dumps({**line, **wrong}).encode() for wrong in WRONG]
        kept = [json.dumps(entry).encode() for entry in (newer, older)]
        npcs.write_bytes(good + b"\n".join([*FOREIGN, *odd, *kept, good[:40]]))
        (npcs.parent / "1 (copy).jsonl").write_bytes(good)
        (npcs.parent / "notes.jsonl").write_text("x", encoding="utf-8")
        (npcs.parent / "000007.jsonl").mkdir()

        assert counted(c) == [(4 + 2, 4 + 1, 1)], "two windows a lane, and the two lines of other versions"
        run_again(c)
        assert len(server.asked) == 2 * 4
        assert counted(c) == [(2 * 4 + 2, 2 * 4 + 1, 2)]
