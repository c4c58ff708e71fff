"""One pause for everybody: it only grows, and who waits sees it grow."""

from __future__ import annotations

import asyncio
import time

from notarius_assets.models.pause import SharedPause


def test_a_pause_only_grows() -> None:
    async def waited(pause: SharedPause) -> float:
        begun = time.monotonic()
        await pause.over()
        return time.monotonic() - begun

    pause = SharedPause()
    assert asyncio.run(waited(pause)) < 0.2
    pause.extend(0.1)
    pause.extend(0.01)
    assert 0.05 <= asyncio.run(waited(pause)) < 5


def test_who_waits_also_waits_for_what_is_added_meanwhile() -> None:
    async def waited(pause: SharedPause) -> float:
        begun = time.monotonic()
        asyncio.get_running_loop().call_later(0.02, pause.extend, 0.1)
        await pause.over()
        return time.monotonic() - begun

    pause = SharedPause()
    pause.extend(0.05)
    assert asyncio.run(waited(pause)) >= 0.11
