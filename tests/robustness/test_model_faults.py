"""Faults around a model at work: signals, foreign files, odd addresses; one line says what to do, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from notarius_assets.models.answers import Answer, Answers
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.models import world
from tests.models.asking import quick
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
    with ModelServer(world.answered) as server, quick():
        c = campaign(sessions=1, extra=world.model(server.url, windows=6))
        run_steps(c)
    used = world.kept(c)
    assert len(used) == 2
    keep(c, "a", "hill-road/session-01", DEEDS)
    assert notarius("prune", on=c).code == 0
    assert world.kept(c) == used


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


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """Return a device that is always full: for root a copy, as a fault would replace the system's own by a file."""
    device = Path("/dev/full")
    if not device.is_char_device():
        pytest.skip("this system has no full device")
    if os.geteuid():
        return device
    copy = tmp_path / "full"
    try:
        os.mknod(copy, stat.S_IFCHR | 0o600, device.stat().st_rdev)
        copy.write_bytes(b"x")
    except PermissionError:
        pytest.skip("devices can't be made or used here")
    except OSError as error:
        assert error.errno == errno.ENOSPC  # noqa: PT017 - this is how it is known to work
    return copy


def test_a_full_device_is_one_line(exported: tuple[Campaign, bytes], full: Path) -> None:
    said = only_line(notarius("requests", "export", "--to", str(full), on=exported[0]), 1)
    assert said.startswith(f"notarius: {full}: can't be written (")
    assert full.is_char_device()


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
    {"ask": True},
    {"chunk_id": [1]},
    {"cost_usd": "much"},
    {"cost_usd": 10**400},
    {"cost_usd": float("nan")},
    {"model": "\ud800"},
    {"lane": {"a": 1}},
    {"usage": [1, 2]},
    {"usage": {"input": "many"}},
    {"usage": {"input": 2**63}},
    {"source_id": "a/b/c"},
    {"source_id": 5},
)
"""What no attempt has."""


def counted(campaign: Campaign) -> dict[str, int]:
    """Return how many calls `notarius sql` shows, by table and step."""
    said = notarius(
        "sql", "--json", "SELECT table_name, step, count(*) AS n FROM model_calls GROUP BY ALL", on=campaign
    )
    assert said.code == 0, said
    return {f"{row['table_name']} {row['step']}": row["n"] for row in json.loads(said.out)}


def test_foreign_lines_and_files_in_the_ledger_are_passed_over(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server, quick():
        c = campaign(sessions=1, extra=world.model(server.url, windows=3))
        run_steps(c)
        ledger = c.home / "lake/calls/campaign=hill-road/session=session-01/npc_candidates/000001.jsonl"
        good = ledger.read_bytes()
        entry = json.loads(good.splitlines()[0])
        newer = {**entry, "from_a_later_version": {"x": [1]}}
        older = {name: value for name, value in entry.items() if name != "request_id"}
        others = [json.dumps(e).encode() for e in (*({**entry, **wrong} for wrong in WRONG), newer, older)]
        ledger.write_bytes(good + b"\n".join([*FOREIGN, *others, good[:40]]))
        (ledger.parent / "1 (copy).jsonl").write_bytes(good)
        (ledger.parent / "notes.jsonl").write_text("x", encoding="utf-8")
        (ledger.parent / "000007.jsonl").mkdir()
        expected = {"npc_candidates 1": 2 + 2, "npc_interaction_candidates 1": 2}
        assert counted(c) == expected, "what was there, and the two lines of other versions"

        change(c, "provider: anthropic", "provider: anthropic\n  effort: high")
        assert all(ended.accepted for ended in run_steps(c))
        assert len(server.asked) == 2 * 4
        assert counted(c) == expected | {"npc_candidates 8": 2, "npc_interaction_candidates 2": 2}


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (f"http://table:{PASSWORD}@127.0.0.1:9", "a password does not belong"),
        ("127.0.0.1:9", "a server is written as http://HOST:PORT or https://HOST"),
        ("http://[::1", "a server is written as http://HOST:PORT or https://HOST"),
        ("http://127.0.0.1:99999999", "a server is written as http://HOST:PORT or https://HOST"),
        ("http://127.0.0.1:9/v1/", "leave out /v1; it is added"),
    ],
    ids=["with a password", "without a scheme", "half a bracket", "no such port", "with /v1"],
)
@pytest.mark.parametrize("place", ["environment", "file"])
def test_an_address_that_is_none_is_refused_in_one_line(
    address: str, reason: str, place: str, campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "ANTHROPIC_BASE_URL"
    if place == "environment":
        monkeypatch.setenv(where, address)
        c = campaign(sessions=1, extra="model: {provider: anthropic}\n")
    else:
        monkeypatch.delenv(where, raising=False)
        c, where = campaign(sessions=1, extra=f'model: {{provider: anthropic, base_url: "{address}"}}\n'), "base_url"
    line = only_line(notarius("run", on=c), 2)
    assert where in line
    assert reason in line
    assert PASSWORD not in line
    assert not (c.home / "lake" / "attempts").exists(), "nothing was run"


def test_a_speaker_is_missed_only_where_no_session_has_it(campaign: CampaignFactory) -> None:
    stories = {
        "session-01": "DM: The rain has stopped.\nANNA: Good evening, Orrick Thane!\n",
        "session-02": "DM: It is morning.\nBEN: Good morning, Captain Hestrel!\n",
    }
    c = campaign(sessions=0, stories=stories)
    change(c, "BEN: Ludo Marsh", "BEN: Ludo Marsh, BENN: Pip Alder")

    def missed(*sessions: str) -> list[str]:
        said = notarius("status", *sessions, on=c)
        assert said.code == 0, said
        return [line for line in said.err.splitlines() if "is in no transcript" in line]

    run_steps(c, "session-02")
    assert missed() == missed("session-02") == [], "one session was not read yet"
    run_steps(c)
    line = "notarius: speaker 'BENN' is in no transcript; there is 'BEN'. Next: correct `speakers:` in pipeline.yaml"
    assert missed() == missed("session-01") == missed("session-02") == [line]
