"""One process at a time works on a session; the second is told who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from notarius_assets.errors import SessionBusyError

_held: dict[Path, int] = {}
"""Locks of this process, counted: the steps of a run lie inside the run's own lock."""


@contextlib.contextmanager
def exclusive(path: Path, what: str, run: str = "") -> Iterator[None]:
    """Hold a lock file for the block; it falls with the process, also by kill -9.

    Processes that name the same run wait for each other: its steps, where an executor gives each a process. Raises
    SessionBusyError that names the holder's process id.
    """
    path = path.absolute()
    if path in _held:
        _held[path] += 1
        try:
            yield
        finally:
            _held[path] -= 1
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="ascii") as handle:
        if holder := _refused(handle, path, run):
            raise SessionBusyError(
                f"{what} is being worked on by process {holder}", next_step="wait for it to end, then run again"
            )
        handle.seek(0)
        handle.truncate()
        handle.write(f"{os.getpid()} {run}\n")
        handle.flush()
        _held[path] = 1
        try:
            yield
        finally:
            del _held[path]
            handle.seek(0)
            handle.truncate()


def _refused(handle: TextIO, path: Path, run: str) -> str | None:
    """Take the lock, or return the process that has it; of a process of the same run, wait for it."""
    unnamed = 0
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process, _, its_run = path.read_text(encoding="ascii").strip().partition(" ")
            # who takes it or gives it back has no name in it for a moment
            unnamed += not process
            if not run or (unnamed > 20 if not process else its_run != run):
                return process or "unknown"
            time.sleep(0.05)
        else:
            return None


def session_lock(locks: Path, source_id: str, run: str = "") -> contextlib.AbstractContextManager[None]:
    """Hold one session; steps of one run wait for each other."""
    return exclusive(_session_path(locks, source_id), f"session {source_id}", run)


def left_by_killed(locks: Path, source_id: str) -> bool:
    """Tell whether the process that last held a session ended without giving it back."""
    try:
        with _session_path(locks, source_id).open("rb") as handle:
            if not handle.read(1):
                return False
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
    except (FileNotFoundError, BlockingIOError):
        return False


def mark_unfinished(locks: Path, source_id: str) -> None:
    """Leave a session as a killed process leaves it: to be run again in full; not one that another process holds."""
    with contextlib.suppress(SessionBusyError):
        with session_lock(locks, source_id):
            pass
        _session_path(locks, source_id).write_text("interrupted\n", encoding="ascii")


def _session_path(locks: Path, source_id: str) -> Path:
    return locks / f"{source_id}.lock"
