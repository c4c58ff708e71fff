"""The ledger: every attempt at a model, one line each, written as it ends; a killed run loses none of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from notarius_assets.errors import NotariusError
from notarius_assets.lake.store import Store, part
from notarius_assets.models.calls import Call


class Ledger:
    """The attempts of one step: a file of JSON lines below `calls/`, which only ever grows."""

    def __init__(self, store: Store, source_id: str, table: str, step: Mapping[str, str]) -> None:
        self._folder = store.root / "calls" / part(source_id) / table
        self._step = dict(step)
        self._path: Path | None = None

    def enter(self, call: Call) -> None:
        """Write one attempt; what kills this process from here on leaves it."""
        entry = {**self._step, **asdict(call), "status": str(call.status)}
        try:
            self._path = self._path or self._next()
            # one write of one line: a crash leaves a line or, at worst, its beginning at the end of the file
            with self._path.open("ab") as file:
                file.write((json.dumps(entry) + "\n").encode())
        except OSError as error:
            raise NotariusError(
                f"{self._folder}: the ledger can't be written ({error.strerror})", next_step="make room, then run again"
            ) from error

    def _next(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        number = max((int(p.stem) for p in self._folder.glob("[0-9]*.jsonl")), default=0) + 1
        return self._folder / f"{number:06d}.jsonl"


def ledger_paths(store: Store) -> list[Path]:
    """Return the files of all ledgers, sorted."""
    return sorted(store.root.glob("calls/campaign=*/session=*/*/*.jsonl"))


def entries(store: Store) -> Iterator[tuple[str, int, int, Mapping[str, Any]]]:
    """Yield table, number of the step, number of the call in it (from 1), and the attempt, in order."""
    for path in ledger_paths(store):
        number = 0
        for line in path.read_bytes().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                # what a crash cut off
                continue
            number += 1
            yield path.parent.name, int(path.stem), number, entry
