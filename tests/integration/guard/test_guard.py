"""The guard of child processes fires: else an empty record of refusals would prove nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from notarius_assets.models.settings import KEY_VARIABLE
from tests.conftest import write_campaign
from tests.integration.dev import Guard, notarius
from tests.integration.guard.sitecustomize import is_loopback
from tests.models.world import KEY, model


def tried(guard: Guard, lines: str) -> str:
    """Run lines of Python in a guarded child, and return the type of the error that ended them; empty for none."""
    code = f"import asyncio, socket, subprocess, sys, urllib.request\ntry:\n    {lines}\n"
    code += "except Exception as error:\n    print(type(error).__name__, end='')\n"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=guard.env(), check=True, timeout=60, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("lines", "event", "host"),
    [
        ("socket.create_connection(('192.0.2.1', 9), 1)", "socket.getaddrinfo", "192.0.2.1"),
        ("socket.socket().connect(('192.0.2.1', 9))", "socket.connect", "192.0.2.1"),
        ("socket.socket().connect_ex(('192.0.2.1', 9))", "socket.connect", "192.0.2.1"),
        ("socket.socket(socket.AF_INET6).connect(('2001:db8::1', 9))", "socket.connect", "2001:db8::1"),
        ("socket.socket().connect(('0.0.0.0', 9))", "socket.connect", "0.0.0.0"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))", "socket.sendto", "192.0.2.1"),
        (
            "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.1', 9))",
            "socket.sendmsg",
            "192.0.2.1",
        ),
        ("socket.getaddrinfo('model.invalid', 443)", "socket.getaddrinfo", "model.invalid"),
        ("socket.getaddrinfo(b'model.invalid', 443)", "socket.getaddrinfo", "model.invalid"),
        ("socket.gethostbyname('model.invalid')", "socket.gethostbyname", "model.invalid"),
        ("socket.gethostbyname_ex('model.invalid')", "socket.gethostbyname", "model.invalid"),
        ("socket.gethostbyaddr('192.0.2.1')", "socket.gethostbyaddr", "192.0.2.1"),
        ("socket.getnameinfo(('192.0.2.1', 9), 0)", "socket.getnameinfo", "192.0.2.1"),
        ("asyncio.run(asyncio.open_connection('model.invalid', 9))", "socket.getaddrinfo", "model.invalid"),
    ],
)
def test_what_would_leave_the_machine_is_refused_and_recorded(
    lines: str, event: str, host: str, tmp_path: Path
) -> None:
    guard = Guard.at(tmp_path)
    assert tried(guard, lines) == "LeavesTheMachineError"
    ((said, to, _),) = guard.refused()
    assert (said, to) == (event, host)


def test_a_child_of_the_child_is_guarded_too(tmp_path: Path) -> None:
    guard = Guard.at(tmp_path)
    grandchild = "import socket; socket.getaddrinfo('model.invalid', 443)"
    assert tried(guard, f"subprocess.run([sys.executable, '-c', {grandchild!r}], check=True)") == "CalledProcessError"
    assert [host for _, host, _ in guard.refused()] == ["model.invalid"]
    assert len({pid for event, _, pid in guard.seen() if event == "started"}) == 2


def test_loopback_and_unix_sockets_work_and_are_no_refusals(tmp_path: Path) -> None:
    guard = Guard.at(tmp_path)
    lines = f"""
    for family, at in ((socket.AF_INET, ("localhost", 0)), (socket.AF_UNIX, {str(tmp_path / "s")!r})):
        listener = socket.socket(family)
        listener.bind(at)
        listener.listen()
        with socket.socket(family) as talker:
            talker.connect(listener.getsockname())
            talker.sendmsg([b"x"])
    socket.getaddrinfo("127.0.0.1", 80)
    socket.getaddrinfo(None, 80)"""
    assert tried(guard, lines.strip()) == ""
    assert guard.refused() == []
    assert [e for e, _, _ in guard.seen() if e == "socket.connect"] == ["socket.connect"] * 2


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::1%lo", True),
        ("::ffff:127.0.0.1", True),
        (b"localhost", True),
        (None, True),
        ("::ffff:192.0.2.1", False),
        ("192.0.2.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
        (b"\xff", False),
        (2, False),
    ],
)
def test_loopback_is_loopback(host: object, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_program_that_asks_a_model_elsewhere_is_caught(tmp_path: Path) -> None:
    """The whole way of a call, through the SDK and its HTTP library, passes the guard."""
    guard = Guard.at(tmp_path)
    made = write_campaign(tmp_path / "campaign", sessions=1, extra=model("http://model.invalid", windows=6))
    ended = subprocess.run(
        notarius(made, "run"), env=guard.env(**{KEY_VARIABLE: KEY}), timeout=120, capture_output=True, text=True
    )
    assert ended.returncode == 1, ended.stderr
    assert "http://model.invalid can't be reached" in ended.stdout
    assert {(event, host) for event, host, _ in guard.refused()} == {("socket.getaddrinfo", "model.invalid")}
