"""Providers whose answers are kept: what was answered once is read, and only the rest is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from notarius_assets.identity import digest
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.schemas import response_schema
from notarius_assets.models.advice import advice
from notarius_assets.models.answers import Answers
from notarius_assets.models.calls import Watch
from notarius_assets.models.request import ModelRequest, model_request
from notarius_assets.models.settings import Access, Settings
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd, WindowRequest
from notarius_assets.prompting import prompts_digest


class ReplayProvider:
    """Answers from the cache alone; a window without a recording ends as `failed: no_recording`.

    It stands for the provider that recorded: its fingerprints are the same, so that a session answered by one is
    current under the other.
    """

    name = "replay"

    def __init__(self, settings: Settings, answers: Answers, access: Access | None = None) -> None:
        self.settings = settings
        self.answers = answers
        self.access = access or Access()

    def answer(self, lane: Lane, windows: Sequence[WindowRequest], watch: Watch) -> Sequence[WindowAnswer]:
        """Read what is kept, ask for the rest."""
        requests = [model_request(lane, window, self.settings) for window in windows]
        ended: dict[str, WindowAnswer] = {}
        for request in requests:
            if request.fingerprint not in ended and (found := self._recorded(request)):
                ended[request.fingerprint] = found
                watch.window(found)
        missing = {r.fingerprint: r for r in requests if r.fingerprint not in ended}
        ended |= self.ask(lane, list(missing.values()), watch)
        return [ended[request.fingerprint] for request in requests]

    def ask(self, lane: Lane, requests: Sequence[ModelRequest], watch: Watch) -> dict[str, WindowAnswer]:
        """End the windows that have no recording; by fingerprint."""
        ended = {}
        for request in requests:
            ended[request.fingerprint] = self.failed(request, "no_recording")
            watch.window(ended[request.fingerprint])
        return ended

    def failed(
        self, request: ModelRequest, reason: str, end: WindowEnd = WindowEnd.FAILED, asked_to_wait: float | None = None
    ) -> WindowAnswer:
        """Return the end of a window without a usable answer."""
        said = advice(reason, self.settings, self.access, asked_to_wait)
        return WindowAnswer(end, None, reason, said, None, request.fingerprint)

    def _recorded(self, request: ModelRequest) -> WindowAnswer | None:
        kept = self.answers.get(request.fingerprint, request.root)
        if kept is None:
            return None
        end = WindowEnd.of(kept.payload[request.root])
        return WindowAnswer(end, kept.payload, None, None, AnsweredBy.CACHE, request.fingerprint)

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """What an answer depends on: who answers with which settings, the prompts, the private schema."""
        return {
            "provider": self.settings.provider,
            "model": self.settings.model,
            "effort": self.settings.effort or "none",
            "max_tokens": str(self.settings.max_tokens),
            "prompts": prompts_digest(lane),
            "response schema": digest(response_schema(lane)),
        }
