"""Attempts at a model: one row for every HTTP call, whatever became of it, and who is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from notarius_assets.models.messages import NOTHING_USED, Usage
from notarius_assets.models.window import WindowAnswer, WindowEnd


class CallStatus(StrEnum):
    """What came of one attempt. `IMPORTED` is an answer made elsewhere and kept."""

    ANSWERED = "answered"
    INVALID = "invalid"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    STOPPED = "stopped"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    NO_CONNECTION = "no_connection"
    BAD_RESPONSE = "bad_response"
    NOT_ACCEPTED = "not_accepted"
    INTERRUPTED = "interrupted"
    IMPORTED = "imported"


OF_END = {
    WindowEnd.DONE: CallStatus.ANSWERED,
    WindowEnd.EMPTY: CallStatus.ANSWERED,
    WindowEnd.REFUSED: CallStatus.REFUSED,
    WindowEnd.TRUNCATED: CallStatus.TRUNCATED,
    WindowEnd.INVALID: CallStatus.INVALID,
    WindowEnd.FAILED: CallStatus.STOPPED,
}
"""What an attempt that got a message is, by how its window would end."""


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at a model.

    `ask` counts from 1 how often the same was asked, as no answer could be used; `attempt` counts the tries of one ask.
    `chunk_id` is None where duplicate groups of a registry were asked for.

    `latency_ms` has no pause in it. `cost_usd` is None where the prices are not known; nothing is charged for an
    attempt that got no message, as far as a client can tell.
    """

    source_id: str
    chunk_id: int | None
    fingerprint: str
    ask: int
    attempt: int
    model: str
    status: CallStatus
    http_status: int | None = None
    stop_reason: str | None = None
    usage: Usage = NOTHING_USED
    latency_ms: int = 0
    cost_usd: float | None = None
    request_id: str | None = None
    started_at: str = ""


class Watch(Protocol):
    """Who is told, while a provider works, what came of each attempt and how each window ended."""

    def call(self, call: Call) -> None:
        """Take note of one attempt; it is kept before its answer is."""
        ...

    def window(self, answer: WindowAnswer) -> None:
        """Take note of one window's end."""
        ...


class Unwatched:
    """Nobody is told."""

    def call(self, call: Call) -> None:
        """Forget it."""

    def window(self, answer: WindowAnswer) -> None:
        """Forget it."""


def cost(calls: Sequence[Call]) -> float | None:
    """Return the list price of several attempts in US dollars; None where one that used tokens has none.

    A sum with a gap in it would pass for the price.
    """
    prices = [c.cost_usd for c in calls if c.usage != NOTHING_USED]
    return None if None in prices else sum((p for p in prices if p is not None), 0.0)


def total(calls: Sequence[Call]) -> Usage:
    """Return the tokens of several attempts together."""
    used = [c.usage for c in calls]
    return Usage(
        sum(u.input for u in used),
        sum(u.cache_write for u in used),
        sum(u.cache_read for u in used),
        sum(u.output for u in used),
    )
