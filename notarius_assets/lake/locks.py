"""One process at a time works on a session; the second is told who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from notarius_assets.errors import SessionBusyError

_held: dict[Path, int] = {}
"""Locks of this process, counted: the steps of a run lie inside the run's own lock."""


@contextlib.contextmanager
def exclusive(path: Path, what: str) -> Iterator[None]:
    """Hold a lock file for the block; it falls with the process, also by kill -9.

    Raises SessionBusyError that names the holder's process id.
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
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read(20).strip() or "unknown"
            raise SessionBusyError(
                f"{what} is being worked on by process {holder}", next_step="wait for it to end, then run again"
            ) from None
        handle.seek(0)
        handle.truncate()
        handle.write(f"{os.getpid()}\n")
        handle.flush()
        _held[path] = 1
        try:
            yield
        finally:
            del _held[path]
            handle.seek(0)
            handle.truncate()


def session_lock(locks: Path, source_id: str) -> contextlib.AbstractContextManager[None]:
    """Hold one session."""
    return exclusive(_session_path(locks, source_id), f"session {source_id}")


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
