"""A campaign whose lanes are answered by a scripted server: what a simple, honest model would say of it."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

from notarius_assets.lake.ledger import entries
from notarius_assets.models.answers import Answers
from notarius_assets.models.settings import KEY_VARIABLE
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, write_campaign
from tests.robustness.support import Ended, notarius, run_steps

KEY = "test-key-that-is-in-no-file"
NAMES = ("Orrick Thane", "Captain Hestrel", "Wenna", "Dunstan")
"""Who occurs in the stories of `tests.conftest`."""

DUPLICATES = "duplicates"
_UNIT = re.compile(r"^\[(\d+)\] (.*)$", re.M)


def model(url: str, *, windows: int = 1, **rest: object) -> str:
    """Return the lines of a pipeline file that ask the server at `url`; chunks hold `windows` units."""
    settings = {"provider": "anthropic", "base_url": url, "max_wait_seconds": 0.05, "timeout_seconds": 20, **rest}
    lines = "".join(f"  {key}: {value}\n" for key, value in settings.items())
    return f"chunking: {{max_units: {windows}, context_units: 0}}\nmodel:\n{lines}"


def chunk_of(asked: Asked) -> dict[int, str]:
    """Return the citable units of a request: number to line."""
    inside = asked.text.rpartition("<chunk>\n")[2].partition("\n</chunk>")[0]
    return {int(number): line for number, line in _UNIT.findall(inside)}


def lane_of(asked: Asked) -> str:
    """Return which lane asks, or that duplicates of the registry are asked for."""
    if '{"groups":[...]}' in asked.text:
        return DUPLICATES
    return "interactions" if '{"interactions":[...]}' in asked.text else "npcs"


def window_of(asked: Asked) -> tuple[str, int]:
    """Return lane and first unit of a request: enough to tell the windows of one session apart."""
    lane = lane_of(asked)
    return lane, 0 if lane == DUPLICATES else min(chunk_of(asked))


def honest(asked: Asked) -> dict[str, Any]:
    """Return the private response of somebody who finds every name in the units that hold it."""
    lane = lane_of(asked)
    if lane == DUPLICATES:
        return {"groups": []}
    found: dict[str, list[dict[str, int]]] = {}
    for number, line in chunk_of(asked).items():
        for name in NAMES:
            if name in line or name.split()[0] in line:
                found.setdefault(name, []).append({"start": number, "end": number})
    if lane == "npcs":
        return {"npcs": [{"name": name, "ranges": ranges} for name, ranges in found.items()]}
    return {"interactions": [{"name": name, "kind": "dialogue", "ranges": ranges} for name, ranges in found.items()]}


def answered(asked: Asked) -> Reply:
    """Answer honestly."""
    return replies.answer(honest(asked))


def but(exceptions: dict[tuple[str, int], Reply]) -> Callable[[Asked], Reply]:
    """Return a script that answers honestly, but for the windows named by lane and first unit."""
    return lambda asked: exceptions.get(window_of(asked)) or answered(asked)


def other_words(asked: Asked) -> tuple[str, tuple[str, ...]]:
    """Return lane and words of a request's chunk: enough to tell windows of several sessions apart."""
    return lane_of(asked), tuple(chunk_of(asked).values())


STORY = """\
DM: The ferry is late. Orrick Thane sits on a barrel and counts gulls.
ANNA: Good morning, Orrick! How many gulls?
DM: The wind turns. Nobody says anything for a while.
BEN: I look for a captain.
DM: "Here I am," says Captain Hestrel, and steps off a heap of rope.
ANNA: Captain Hestrel, is there room for two?
DM: She looks at your boots and holds out her hand.
BEN: I put a coin into it.
DM: Wenna leans out of a window above the quay. "Don't pay her twice," Wenna calls.
ANNA: Thank you, Wenna!
DM: "Dunstan paid twice," says Captain Hestrel. "Dunstan is a happy man."
BEN: We go aboard.
"""
"""A session of twelve units; with chunks of one unit that is twelve windows a lane."""

PHASES = (
    tuple(("npcs", unit) for unit in range(1, 13)),
    (("duplicates", 0),),
    tuple(("interactions", unit) for unit in range(1, 13)),
)
"""What is asked of `STORY`, a step after the other."""

WINDOWS = tuple(window for phase in PHASES for window in phase)
"""All requests of `STORY`, in the order of the steps and chunks."""

ENTRY = Path(sys.executable).with_name("notarius")
"""The program as it is installed."""


def begin(campaign: Campaign, *arguments: str, key: str | None = KEY, prompts: Path | None = None) -> Popen[str]:
    """Start the installed program; the key, where there is one, is in its environment alone.

    `prompts` is a folder to read prompts, schemas and SQL from, instead of the repository.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    # nothing listens there: a call that would leave the machine fails
    env |= {"HTTPS_PROXY": "http://127.0.0.1:9", **({KEY_VARIABLE: key} if key else {})}
    program = [str(ENTRY)] if prompts is None else [sys.executable, "-c", _OTHER_PROMPTS, str(prompts)]
    where = ["--pipeline", str(campaign.pipeline), "--home", str(campaign.home)]
    return Popen([*program, *arguments, *where], env=env, stdout=PIPE, stderr=PIPE, text=True)


_OTHER_PROMPTS = """
import sys
from pathlib import Path
from notarius_assets import cli, resources
resources.ROOT = Path(sys.argv.pop(1))
cli.main()
"""


def end(process: Popen[str], seconds: float = 240) -> Ended:
    """Wait for the program and return how it ended; one that hangs fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"did not end in {seconds:g} s\n{out}\n{err}") from None
    said = Ended(process.returncode, out, err)
    assert "Traceback" not in err, said
    return said


def program(campaign: Campaign, *arguments: str, **named: Any) -> Ended:
    """Run the installed program to its end."""
    return end(begin(campaign, *arguments, **named))


def kept(campaign: Campaign) -> set[str]:
    """Return the fingerprints of the answers on disk."""
    return {fingerprint for fingerprint, _ in Answers(campaign.home / "answers").kept()}


def exported(campaign: Campaign, to: Path) -> dict[str, bytes]:
    """Return what `notarius export` writes for every session, by source_id and file name."""
    found: dict[str, bytes] = {}
    for session in campaign.sessions:
        said = notarius("export", session, "--to", str(to / session), on=campaign)
        assert said.code == 0, said
        found |= {f"hill-road/{session}/{p.name}": p.read_bytes() for p in sorted((to / session).iterdir())}
    return found


def until(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Wait until something is so; fail where it is not in time."""
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, f"not within {seconds:g} s: {what}"
        time.sleep(0.005)


def calls(campaign: Campaign) -> list[Mapping[str, Any]]:
    """Return the ledger: every attempt at the model that was entered."""
    return [entry for _, _, _, entry in entries(campaign.open().store)]


def twelve(root: Path, url: str, in_flight: int, **rest: Any) -> Campaign:
    """Write a campaign of one session, `STORY`, asked with one unit a window."""
    extra = model(url, in_flight=in_flight, **rest)
    return write_campaign(root, sessions=0, stories={"session-01": STORY}, extra=extra)


def make_all(campaign: Campaign) -> None:
    """Run every step that is not current, as the program does, without Dagster; for a process of its own."""
    run_steps(campaign)


def forked(campaign: Campaign) -> ForkServerProcess:
    """Start `make_all` in a process that begins with everything imported."""
    context = multiprocessing.get_context("forkserver")
    # where nobody has started it for something else before
    imported = ["notarius_assets.cli", "notarius_assets.orchestration.runner", "tests.models.world"]
    context.set_forkserver_preload([*imported, "anthropic", "anthropic.resources.messages"])
    process = context.Process(target=make_all, args=(campaign,))
    process.start()
    return process


def kill_at(server: ModelServer, campaign: Campaign, answers: int, in_flight: int, kill: Callable[[], object]) -> None:
    """Kill a process that makes `STORY` when exactly so many answers are on disk and the calls after them wait.

    The server has been told to hold what comes after those answers.
    """
    before = 0
    for phase in PHASES:
        if answers < before + len(phase):
            break
        before += len(phase)
    left = before + len(phase) - answers
    # a step begins with the odd ones; the others go when the first answer has come
    waiting = min(in_flight, left) if left < len(phase) else len(phase) % in_flight or min(in_flight, len(phase))
    until(lambda: len(kept(campaign)) == answers and server.held >= waiting, f"{answers} kept, {waiting} held")
    kill()
    assert len(kept(campaign)) == answers


def killed_and_made_good(root: Path, server: ModelServer, answers: int, in_flight: int) -> Campaign:
    """Kill the steps after so many answers, make them again, and see that exactly the others were asked."""
    campaign = twelve(root, server.url, in_flight)
    begun = len(server.asked)
    server.hold_after(begun + answers)
    process = forked(campaign)

    def kill() -> None:
        process.kill()
        process.join(60)

    kill_at(server, campaign, answers, in_flight, kill)
    assert process.exitcode == -9
    answered_first = [window_of(a) for a in server.asked[begun : begun + answers]]
    server.release()
    again = len(server.asked)
    run_steps(campaign)
    assert_the_rest(answered_first, [window_of(a) for a in server.asked[again:]])
    assert_paid_once(campaign)
    return campaign


def assert_the_rest(first: Sequence[tuple[str, int]], second: Sequence[tuple[str, int]]) -> None:
    """The second run asked every window of `STORY` that the first has no answer of, once, and no other."""
    assert sorted(second) == sorted(set(WINDOWS) - set(first)), (first, second)


def assert_paid_once(campaign: Campaign) -> None:
    """Every window of `STORY` was answered by one call in all runs together."""
    counted = Counter((c["lane"], c["chunk_id"]) for c in calls(campaign) if c["status"] == "answered")
    assert set(counted.values()) == {1}
    assert len(counted) == len(WINDOWS)


def asked_again(asked: Asked) -> bool:
    """Tell whether a request asks once more for what could not be read."""
    return "could not be read" in asked.body["messages"][0]["content"][-1]["text"]
