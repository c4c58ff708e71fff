"""Providers whose answers are kept: what was answered once is read, and only the rest is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from notarius_assets.identity import digest
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.schemas import response_schema
from notarius_assets.models.advice import advice
from notarius_assets.models.answers import Answers
from notarius_assets.models.calls import Call, Watch
from notarius_assets.models.provider import Proposal
from notarius_assets.models.request import PROPOSAL_ASKS, ModelRequest, model_request, proposal_requests
from notarius_assets.models.settings import Access, Settings
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd, WindowRequest
from notarius_assets.prompting import prompts_digest, reconciliation_digest
from notarius_assets.reconcile.assessment import assess
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.reconcile.response import groups_schema


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
        ended |= self.ask(list(missing.values()), watch)
        return [ended[request.fingerprint] for request in requests]

    def propose(self, lane: Lane, requests: Sequence[ReconcileRequest], watch: Watch) -> Sequence[Proposal]:
        """Read what is kept, ask for the rest, and once more where no answer could be used."""
        settled: dict[int, WindowAnswer] = {}
        begin: dict[int, int] = {}
        asks = {r.number: proposal_requests(lane, r, self.settings) for r in requests}
        for request in requests:
            begin[request.number], found = self._kept(request, asks[request.number])
            if found:
                settled[request.number] = found
        for ask in range(PROPOSAL_ASKS):
            left = {
                r.number: asks[r.number][ask] for r in requests if r.number not in settled and ask >= begin[r.number]
            }
            ended = self.ask(list({asked.fingerprint: asked for asked in left.values()}.values()), _Calls(watch))
            last = ask == PROPOSAL_ASKS - 1
            for request in requests:
                if request.number in left:
                    answer = ended[left[request.number].fingerprint]
                    if last or not _to_ask_again(answer, request):
                        settled[request.number] = answer
        for request in requests:
            watch.window(settled[request.number])
        return [Proposal(settled[request.number]) for request in requests]

    def next_ask(self, lane: Lane, request: ReconcileRequest) -> ModelRequest:
        """Return the call for duplicate groups whose kept answer is used, or that is to be made next.

        Where all were made and none could be used, that is the last.
        """
        asks = proposal_requests(lane, request, self.settings)
        return asks[self._kept(request, asks)[0]]

    def _kept(self, request: ReconcileRequest, asks: Sequence[ModelRequest]) -> tuple[int, WindowAnswer | None]:
        """Return the kept answer to use with its place among the asks, or the place of the ask to begin with.

        An ask that is kept and could not be used tells that those before it could not be, whether they are kept or not.
        """
        begin = 0
        for n, asked in enumerate(asks):
            found = self._recorded(asked)
            if found and (n == len(asks) - 1 or not _to_ask_again(found, request)):
                return n, found
            begin = n + 1 if found else begin
        return begin, None

    def ask(self, requests: Sequence[ModelRequest], watch: Watch) -> dict[str, WindowAnswer]:
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
            **self._who(),
            "prompts": prompts_digest(lane),
            "response schema": digest(response_schema(lane)),
        }

    def reconciliation_parts(self, lane: Lane) -> Mapping[str, str]:
        """What duplicate groups depend on: who proposes with which settings, the prompts, the private schema."""
        return {
            **self._who(),
            "reconciliation prompts": reconciliation_digest(lane),
            "reconciliation schema": digest(groups_schema()),
        }

    def _who(self) -> dict[str, str]:
        return {
            "provider": self.settings.provider,
            "model": self.settings.model,
            "effort": self.settings.effort or "none",
            "max_tokens": str(self.settings.max_tokens),
        }


def _to_ask_again(answer: WindowAnswer, request: ReconcileRequest) -> bool:
    """Tell whether an answer is no proposal, or one of which every group is refused."""
    if answer.payload is None:
        return answer.end is WindowEnd.INVALID
    return not assess(answer.payload, request).usable


class _Calls:
    """Passes attempts on; how a request ends is told once, however often it was asked."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def call(self, call: Call) -> None:
        self._watch.call(call)

    def window(self, answer: WindowAnswer) -> None:
        pass
