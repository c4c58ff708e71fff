"""`notarius ui` as a process: started, asked over GraphQL, watched for connections, ended with all it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.conftest import Campaign

_T = TypeVar("_T")

_GUARD = Path(__file__).parent / "guard"
"""The folder of the `sitecustomize` that every Python process of a tree imports."""


@dataclass(frozen=True)
class Guard:
    """Keeps processes and their children on this machine, and tells what they tried; see `guard/sitecustomize.py`."""

    refusals: Path
    uses: Path

    @classmethod
    def at(cls, scratch: Path) -> Guard:
        """A guard whose records are in a folder."""
        guard = cls(scratch / "refused.jsonl", scratch / "connections.jsonl")
        for record in (guard.refusals, guard.uses):
            record.touch()
        return guard

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment of guarded processes: ours, without settings of a model, and what is given."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
        path = os.pathsep.join(filter(None, (str(_GUARD), ours.get("PYTHONPATH"))))
        return {**ours, "PYTHONPATH": path, "GUARD_REFUSED": str(self.refusals), "GUARD_SEEN": str(self.uses), **more}

    def refused(self) -> list[tuple[str, str, int]]:
        """Return what was refused so far: audit event, host, process."""
        return _entries(self.refusals)

    def seen(self) -> list[tuple[str, str, int]]:
        """Return every use of a socket and every start of a process so far."""
        return _entries(self.uses)


def _entries(record: Path) -> list[tuple[str, str, int]]:
    entries = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return [(event, host, pid) for event, host, pid in entries]


@dataclass(frozen=True)
class Watched:
    """One use of a socket: the audit event, the host or path, the process; or that a process started."""

    event: str
    host: str
    pid: int


@dataclass(frozen=True)
class Ui:
    """A running `notarius ui`, or a `dagster dev` of another kind on the same campaign."""

    campaign: Campaign
    url: str
    log: Path
    guard: Guard

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return the data of a GraphQL answer."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = json.load(answer)
        assert "errors" not in said, said["errors"]
        data: dict[str, Any] = said["data"]
        return data

    def watched(self) -> list[Watched]:
        """Return every use of a socket so far, of all processes."""
        return [Watched(*entry) for entry in self.guard.seen()]

    def materialize(self, source_ids: Sequence[str], tables: Sequence[str], seconds: float = 120) -> str:
        """Launch a backfill of sessions, wait for its end, and return its status."""
        launched = self.ask(
            "mutation($p: LaunchBackfillParams!){launchPartitionBackfill(backfillParams: $p)"
            "{__typename ... on LaunchBackfillSuccess{backfillId} ... on PythonError{message}}}",
            p={"partitionNames": list(source_ids), "assetSelection": [{"path": [t]} for t in tables]},
        )["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        ask = "query($id: String!){partitionBackfillOrError(backfillId: $id){... on PartitionBackfill{status}}}"

        def ended() -> str | None:
            status: str = self.ask(ask, id=launched["backfillId"])["partitionBackfillOrError"]["status"]
            return None if status in ("REQUESTED", "COMPLETING", "FAILING") else status

        return eventually("the backfill has not ended", seconds, ended)


def eventually(what: str, seconds: float, look: Callable[[], _T | None]) -> _T:
    """Return the first true answer of `look`, or fail with the last one."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"after {seconds:.0f} s: {what}; last seen: {found!r}"
        time.sleep(0.5)


def notarius(campaign: Campaign, *arguments: str) -> list[str]:
    """Return the command line of a verb on a campaign."""
    where = ["--pipeline", str(campaign.pipeline), "--home", str(campaign.home)]
    return [sys.executable, "-m", "notarius_assets", *arguments, *where]


@contextlib.contextmanager
def running(
    campaign: Campaign,
    scratch: Path,
    *,
    start: Callable[[int], Sequence[str]] | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[Ui]:
    """Start `notarius ui`, or what `start` says for a port, and wait for its code location.

    At the end no process of it is left, and none of them has tried to leave the machine.
    """
    guard = Guard.at(scratch)
    given = guard.env(**(env or {}))
    given.pop("DAGSTER_DISABLE_TELEMETRY", None)  # it is the home's own dagster.yaml that has to keep things here
    port = _free_port()
    log = scratch / "ui.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            start(port) if start else notarius(campaign, "ui", "--port", str(port)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=given,
            start_new_session=True,
        )
    ui = Ui(campaign, f"http://127.0.0.1:{port}", log, guard)
    try:
        eventually(f"no code location; log {log}", 100, lambda: _loaded(ui, process))
        yield ui
    finally:
        _end(process)
    assert guard.refused() == [], "a process of it tried to leave the machine"


def _loaded(ui: Ui, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, ui.log.read_text()
    try:
        data = ui.ask(
            "{workspaceOrError{... on Workspace{locationEntries{loadStatus locationOrLoadError{__typename}}}}}"
        )
    except OSError:
        return False
    entries = data["workspaceOrError"].get("locationEntries", [])
    return [e["locationOrLoadError"] for e in entries] == [{"__typename": "RepositoryLocation"}]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it as Ctrl-C does; what is left of its group after that is killed."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=25)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=10)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
