"""The ledger: every attempt at a model, one line each, written as it ends; a killed run loses none of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from notarius_assets.errors import NotariusError
from notarius_assets.lake.store import Store, part
from notarius_assets.models.calls import Call
from notarius_assets.models.messages import Usage

_NAME = re.compile(r"\d{6}\.jsonl")
_TOKENS = tuple(f.name for f in fields(Usage))
_NUMBERS = ("chunk_id", "ask", "attempt", "http_status", "latency_ms")
_TEXTS = (
    *("source_id", "lane", "fingerprint", "model", "prompts", "status"),
    *("stop_reason", "request_id", "started_at", "run_id"),
)
_TOO_LARGE = 2**63


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
        number = max((int(p.stem) for p in self._folder.glob("*.jsonl") if _NAME.fullmatch(p.name)), default=0) + 1
        return self._folder / f"{number:06d}.jsonl"


def ledger_paths(store: Store) -> list[Path]:
    """Return the files of all ledgers, sorted."""
    found = store.root.glob("calls/campaign=*/session=*/*/*.jsonl")
    return sorted(p for p in found if _NAME.fullmatch(p.name) and p.is_file())


def entries(store: Store) -> Iterator[tuple[str, int, int, Mapping[str, Any]]]:
    """Yield table, number of the step, number of the call in it (from 1), and the attempt, in order.

    Lines that are no attempts are passed over: what a crash cut off, and what others wrote.
    """
    for path in ledger_paths(store):
        number = 0
        for line in path.read_bytes().splitlines():
            entry = _entry(line)
            if entry is not None:
                number += 1
                yield path.parent.name, int(path.stem), number, entry


def _entry(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
        used = found["usage"]
        texts = [found.get(name) for name in _TEXTS]
        numbers = [found.get(name) for name in _NUMBERS] + [used.get(name) for name in _TOKENS]
        cost = found.get("cost_usd")
        whole = str(found["source_id"]).count("/") == 1
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not whole or not all(t is None or _is_text(t) for t in texts):
        return None
    if not all(n is None or (type(n) is int and abs(n) < _TOO_LARGE) for n in numbers):
        return None
    # also what is no number compares as false
    if not (cost is None or (type(cost) in (int, float) and abs(cost) < _TOO_LARGE)):
        return None
    # a field that this version does not know is passed over, one that an older one did not have is empty
    known = {name: found.get(name) for name in (*_TEXTS, *_NUMBERS, "cost_usd")}
    return {**known, "usage": {name: used.get(name) for name in _TOKENS}}


def _is_text(value: object) -> bool:
    """Tell whether a value is text that can be written: JSON has an escape for half a surrogate pair, UTF-8 none."""
    return isinstance(value, str) and value == value.encode(errors="ignore").decode()
