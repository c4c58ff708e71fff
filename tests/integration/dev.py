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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.conftest import Campaign

_T = TypeVar("_T")

_WATCH = """\
import json, os, sys

def _note(event, host):
    with open(os.environ["WATCHED_CONNECTIONS"], "a") as file:
        file.write(json.dumps([event, str(host), os.getpid()]) + "\\n")

def _watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto"):
        address = args[0] if event == "socket.getaddrinfo" else args[1]
        _note(event, address[0] if isinstance(address, tuple) else address)

_note("started", "localhost")
sys.addaudithook(_watch)
"""
"""A `sitecustomize` for every Python process of the tree: each address that is connected to or looked up, a line."""


@dataclass(frozen=True)
class Watched:
    """One use of a socket: the audit event, the host or path, the process; or that a process started."""

    event: str
    host: str
    pid: int


@dataclass(frozen=True)
class Ui:
    """A running `notarius ui`."""

    campaign: Campaign
    url: str
    log: Path
    connections: Path

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
        return [Watched(*json.loads(line)) for line in self.connections.read_text().splitlines()]


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
def running(campaign: Campaign, scratch: Path) -> Iterator[Ui]:
    """Start `notarius ui` and wait for its code location; at the end no process of it is left."""
    (scratch / "sitecustomize.py").write_text(_WATCH)
    connections = scratch / "connections.jsonl"
    connections.touch()
    env = {**os.environ, "PYTHONPATH": str(scratch), "WATCHED_CONNECTIONS": str(connections)}
    del env["DAGSTER_DISABLE_TELEMETRY"]  # it is the home's own dagster.yaml that has to keep things here
    port = _free_port()
    log = scratch / "ui.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            notarius(campaign, "ui", "--port", str(port)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )
    ui = Ui(campaign, f"http://127.0.0.1:{port}", log, connections)
    try:
        eventually(f"no code location; log {log}", 100, lambda: _loaded(ui, process))
        yield ui
    finally:
        _end(process)


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
