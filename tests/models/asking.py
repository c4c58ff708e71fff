"""One lane of a few windows and a scripted server: what the tests of providers ask, and what they are told."""

from __future__ import annotations

import contextlib
import functools
import ssl
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import anyio

from notarius_assets import lanes
from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.lanes.base import Lane
from notarius_assets.models import anthropic_api
from notarius_assets.models.answers import Answers
from notarius_assets.models.anthropic_api import AnthropicProvider
from notarius_assets.models.calls import Call
from notarius_assets.models.pause import SharedPause
from notarius_assets.models.settings import Access, Settings
from notarius_assets.models.window import WindowAnswer, WindowEnd, WindowRequest
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from notarius_assets.transcripts.model import Unit
from tests.models.world import KEY

NPCS, DEEDS = lanes.BUILT_IN[:2]
SETTINGS = Settings("claude-haiku-5-5", "low", 1000)
CAMPAIGN = CampaignReferences(("DM",), {"ANNA": "Tib Farrow"}, (KnownName("Wenna"),))
GOOD = {"npcs": [{"name": "Wenna", "ranges": [{"start": 1, "end": 1}]}]}
NOTHING: dict[str, Any] = {"npcs": []}
SOON = {"retry-after": "0.01"}
"""A header that lets tests of repeated attempts end soon."""

# reading the certificates takes longer than a test, and nothing here is encrypted
_context = functools.cache(ssl.create_default_context)


class Told:
    """A watch that remembers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.ends: list[WindowAnswer] = []

    def call(self, call: Call) -> None:
        self.calls.append(call)

    def window(self, answer: WindowAnswer) -> None:
        self.ends.append(answer)

    @property
    def statuses(self) -> list[str]:
        """What came of each attempt, in order."""
        return [str(c.status) for c in self.calls]


_sleep = anyio.sleep


async def _short_sleep(seconds: float) -> None:
    """Fail at once where the SDK would sleep for as long as a server asks."""
    assert seconds < 10, f"a call waits for {seconds} s"
    await _sleep(seconds)


@contextlib.contextmanager
def quick(*, warm_up: float = 0.0) -> Iterator[None]:
    """Make the SDK's own waits short, long ones an error, and begin without a pause that another test has left."""
    with (
        mock.patch("anthropic._base_client.INITIAL_RETRY_DELAY", 0.01),
        mock.patch("anyio.sleep", _short_sleep),
        mock.patch("ssl.create_default_context", _context),
        mock.patch.object(anthropic_api, "PAUSE", SharedPause()),
        mock.patch.object(anthropic_api, "WARM_UP", warm_up),
    ):
        yield


def units(first: int, *texts: str) -> tuple[Unit, ...]:
    return tuple(Unit(n, ("DM",), text) for n, text in enumerate(texts, first))


def window(chunk_id: int = 1, text: str = "Wenna nods.", lane: Lane = NPCS, **rest: Any) -> WindowRequest:
    """Return a window of one unit, whose number is the chunk's."""
    told = {"units": units(chunk_id, text), "campaign": CAMPAIGN, "registry": ("Wenna",) if lane.slots else None}
    given: dict[str, Any] = {"before": (), "after": (), **told, **rest}
    return WindowRequest(lane.key, "hill-road/session-01", chunk_id, **given)


def windows(count: int, lane: Lane = NPCS) -> list[WindowRequest]:
    return [window(n, lane=lane) for n in range(1, count + 1)]


def provider(url: str | None, folder: Path, settings: Settings = SETTINGS, **access: Any) -> AnthropicProvider:
    """Return a provider whose server is at `url`; it has the patience of a test."""
    reached = {"base_url": url, "key": KEY, "timeout": 10.0, "longest_wait": 0.02, **access}
    return AnthropicProvider(settings, Answers(folder), Access(**reached))


def ask(
    asked: AnthropicProvider, given: Sequence[WindowRequest] | int = 1, lane: Lane = NPCS, warm_up: float = 0.0
) -> tuple[list[WindowAnswer], Told]:
    """Ask for windows; return their ends in order, and what the watch was told."""
    told = Told()
    with quick(warm_up=warm_up):
        ended = asked.answer(lane, windows(given, lane) if isinstance(given, int) else given, told)
    assert Counter(a.fingerprint for a in told.ends) == Counter({a.fingerprint for a in ended}), "one end a window"
    return list(ended), told


def outcome(
    script: Reply | Sequence[Reply], folder: Path, lane: Lane = NPCS, **access: Any
) -> tuple[WindowAnswer, Told, ModelServer]:
    """Ask for one window of a server that follows a script."""
    with ModelServer(script) as server:
        (ended,), told = ask(provider(server.url, folder, **access), lane=lane)
    return ended, told, server


def kept(folder: Path) -> list[Path]:
    """Return every file below the folder of the answers."""
    return sorted(p for p in folder.rglob("*") if p.is_file())


def end_of(answer: WindowAnswer) -> str:
    """Return an end as people say it: `done`, `failed: timeout`."""
    return f"{answer.end}: {answer.reason}" if answer.reason else str(answer.end)


def ends_of(answers: Sequence[WindowAnswer]) -> Counter[WindowEnd]:
    return Counter(a.end for a in answers)
