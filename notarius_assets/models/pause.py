"""One pause for all calls of the process: when a server asks one of them to wait, all of them wait."""

from __future__ import annotations

import asyncio
import threading
import time


class SharedPause:
    """A moment before which nobody calls; it only ever moves forward."""

    def __init__(self) -> None:
        self._until = 0.0
        self._lock = threading.Lock()

    def extend(self, seconds: float) -> None:
        """Ask everybody to wait so long from now."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    async def over(self) -> None:
        """Wait until the pause is over, also if it grows meanwhile."""
        while (left := self._until - time.monotonic()) > 0:
            await asyncio.sleep(left)


PAUSE = SharedPause()
"""The pause of this process."""
