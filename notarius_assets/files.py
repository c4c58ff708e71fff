"""Files that are whole or not there: hidden temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

TEMPORARY_PREFIX = ".writing-"
"""Names of files that are not finished; what is left of them after a crash is swept."""


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Give a temporary path in the same folder; at the end of the block it is `path`, or nothing is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{TEMPORARY_PREFIX}{path.name}~", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or leave what was there."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove what a crash left unfinished in a folder, or of one file, that nobody else writes now."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}{f'{name}~' if name else ''}*"):
        leftover.unlink(missing_ok=True)
