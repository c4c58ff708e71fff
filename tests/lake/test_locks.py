"""One process a session; the second is told which process has it; a killed holder leaves a trace, not a lock."""

from __future__ import annotations

import os
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from notarius_assets.errors import SessionBusyError
from notarius_assets.lake.locks import left_by_killed, mark_unfinished, session_lock
from tests.robustness.support import in_process


def _hold(locks: Path, source_id: str, held: Connection, run: str = "") -> None:
    with session_lock(locks, source_id, run):
        held.send(os.getpid())
        held.recv()


def held_elsewhere(locks: Path, source_id: str, run: str = "") -> tuple[ForkServerProcess, Connection]:
    ours, theirs = Pipe()
    process = in_process(_hold, locks, source_id, theirs, run)
    assert ours.recv() == process.pid
    return process, ours


def test_the_second_process_is_told_who_holds_the_session(tmp_path: Path) -> None:
    process, held = held_elsewhere(tmp_path, "c/one")
    with (
        pytest.raises(SessionBusyError, match=f"session c/one is being worked on by process {process.pid}[.]"),
        session_lock(tmp_path, "c/one"),
    ):
        pass
    with session_lock(tmp_path, "c/two"):
        pass
    assert not left_by_killed(tmp_path, "c/one"), "it is held, not left"
    held.send("enough")
    process.join(60)
    with session_lock(tmp_path, "c/one"):
        pass
    assert not left_by_killed(tmp_path, "c/one")


def test_processes_of_one_run_wait_for_each_other(tmp_path: Path) -> None:
    """An executor that gives every step a process runs the lanes of a session at once."""
    process, held = held_elsewhere(tmp_path, "c/one", "run-1")
    for other in ("", "run-2"):
        with pytest.raises(SessionBusyError, match=f"process {process.pid}[.]"), session_lock(tmp_path, "c/one", other):
            pass
    end = threading.Timer(0.3, held.send, ["enough"])
    end.start()
    with session_lock(tmp_path, "c/one", "run-1"):
        assert end.finished.is_set(), "it has not waited"
    end.join()
    process.join(60)


def test_a_killed_holder_frees_the_session_and_is_noticed(tmp_path: Path) -> None:
    process, _ = held_elsewhere(tmp_path, "c/one")
    process.kill()
    process.join(60)
    assert left_by_killed(tmp_path, "c/one")
    with session_lock(tmp_path, "c/one"):
        pass
    assert not left_by_killed(tmp_path, "c/one")
    assert not left_by_killed(tmp_path, "c/never")


def test_the_holder_may_lock_again_and_gives_back_once(tmp_path: Path) -> None:
    with session_lock(tmp_path, "c/one"):
        with session_lock(tmp_path, "c/one"):
            pass
        process = in_process(_fails_to_lock, tmp_path, "c/one")
        process.join(60)
        assert process.exitcode == 0
    with pytest.raises(ValueError, match="inside"), session_lock(tmp_path, "c/one"):
        raise ValueError("inside")
    held_elsewhere(tmp_path, "c/one")[0].kill()


def _fails_to_lock(locks: Path, source_id: str) -> None:
    with pytest.raises(SessionBusyError), session_lock(locks, source_id):
        pass


def test_a_session_can_be_left_as_if_killed(tmp_path: Path) -> None:
    mark_unfinished(tmp_path, "c/one")
    assert left_by_killed(tmp_path, "c/one")
    with session_lock(tmp_path, "c/one"):
        pass
    assert not left_by_killed(tmp_path, "c/one")
