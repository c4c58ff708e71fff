"""Who has asked, whose request is open, who is held: the one place of the scripted server that threads share.

A client that has gone away is noticed while its request waits, so that a call that timed out does not count as open
when it is made again.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from notarius_assets.testing.asked import Asked

_TICK = 0.02
"""Seconds between two looks at whether a waiting client is still there."""


@dataclass(eq=False, slots=True)
class Visit:
    """One request under way. `releases` is how often the server had been released when it arrived."""

    asked: Asked
    connection: socket.socket
    releases: int
    held: bool


class Traffic:
    """Counts and gates. `lock` may be held over several calls that belong together."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self._asked: list[Asked] = []
        self._open: set[Visit] = set()
        self._most = 0
        self._limit: int | None = None
        self._releases = 0
        self._closed = False

    @property
    def asked(self) -> list[Asked]:
        """Every request so far, in order of arrival."""
        with self.lock:
            return list(self._asked)

    @property
    def open(self) -> int:
        """How many requests are open now."""
        with self.lock:
            return len(self._still_there())

    @property
    def held(self) -> int:
        """How many requests wait for a release because of `hold_after`."""
        with self.lock:
            return sum(visit.held for visit in self._still_there())

    @property
    def most(self) -> int:
        """The most requests that were open at once."""
        with self.lock:
            return self._most

    def next_number(self) -> int:
        """Return the number of the next request; hold the lock until it has arrived."""
        return len(self._asked) + 1

    def arrive(self, asked: Asked, connection: socket.socket) -> Visit:
        """Count a request in."""
        with self.lock:
            visit = Visit(asked, connection, self._releases, self._limit is not None and asked.number > self._limit)
            self._asked.append(asked)
            self._still_there().add(visit)
            self._most = max(self._most, len(self._open))
            self.lock.notify_all()
            return visit

    def leave(self, visit: Visit) -> None:
        """Count a request out, just before its client can know: what it does next is not at the same time."""
        with self.lock:
            self._open.discard(visit)
            self.lock.notify_all()

    def hold_after(self, n: int) -> None:
        """Hold every request from number `n + 1` on, those that arrive from now on, until `release`."""
        with self.lock:
            self._limit = n

    def release(self) -> None:
        """Let all go that wait, and hold nobody any more."""
        with self.lock:
            self._limit = None
            self._releases += 1
            for visit in self._open:
                visit.held = False
            self.lock.notify_all()

    def close(self) -> None:
        """End every wait."""
        with self.lock:
            self._closed = True
            self.lock.notify_all()

    def wait_for(self, n: int, timeout: float) -> None:
        """Wait until `n` requests have arrived; raises TimeoutError when they have not in that many seconds."""
        with self.lock:
            if not self.lock.wait_for(lambda: len(self._asked) >= n, timeout):
                raise TimeoutError(f"{len(self._asked)} of {n} requests arrived within {timeout} s")

    def until_released(self, visit: Visit) -> bool:
        """Wait for a release; False when the client or the server left first."""
        return self._wait(visit, lambda: self._releases > visit.releases)

    def pause(self, visit: Visit, seconds: float) -> bool:
        """Wait that long; False when the client or the server left first."""
        end = time.monotonic() + seconds
        return self._wait(visit, lambda: time.monotonic() >= end, end)

    def _wait(self, visit: Visit, over: Callable[[], bool], end: float | None = None) -> bool:
        with self.lock:
            while not over():
                if self._closed or _gone(visit.connection):
                    return False
                left = _TICK if end is None else end - time.monotonic()
                self.lock.wait(max(0.0, min(_TICK, left)))
            return not self._closed

    def _still_there(self) -> set[Visit]:
        self._open = {visit for visit in self._open if not _gone(visit.connection)}
        return self._open


def _gone(connection: socket.socket) -> bool:
    """Tell whether the other side has closed; what it may have sent stays unread."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
