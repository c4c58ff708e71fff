"""A campaign whose lanes are answered by a scripted server: what a simple, honest model would say of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply

KEY = "test-key-that-is-in-no-file"
NAMES = ("Orrick Thane", "Captain Hestrel", "Wenna", "Dunstan")
"""Who occurs in the stories of `tests.conftest`."""

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
    """Return which lane asks."""
    return "interactions" if '{"interactions":[...]}' in asked.text else "npcs"


def window_of(asked: Asked) -> tuple[str, int]:
    """Return lane and first unit of a request: enough to tell the windows of one session apart."""
    return lane_of(asked), min(chunk_of(asked))


def honest(asked: Asked) -> dict[str, Any]:
    """Return the private response of somebody who finds every name in the units that hold it."""
    lane = lane_of(asked)
    found: dict[str, list[dict[str, int]]] = {}
    for number, line in chunk_of(asked).items():
        for name in NAMES:
            if name in line or name.split()[0] in line:
                found.setdefault(name, []).append({"start": number, "end": number})
    if lane == "npcs":
        return {"npcs": [{"name": name, "ranges": ranges} for name, ranges in found.items()]}
    return {
        "interactions": [{"name": name, "kind": "dialogue", "ranges": ranges} for name, ranges in found.items()]
    }


def answered(asked: Asked) -> Reply:
    """Answer honestly."""
    return replies.answer(honest(asked))


def but(exceptions: dict[tuple[str, int], Reply]) -> Callable[[Asked], Reply]:
    """Return a script that answers honestly, but for the windows named by lane and first unit."""
    return lambda asked: exceptions.get(window_of(asked)) or answered(asked)
