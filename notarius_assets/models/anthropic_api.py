"""Claude, and servers that speak the same protocol: asynchronous calls, bounded, each attempt counted.

The SDK retries and knows which failures are worth it; what is added here stands in its middleware, once an attempt: a
time limit, one pause shared by all calls of the process, a cap on what a server may ask to wait, and the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.models.advice import FATAL, NO_KEY, NO_KEY_STEP
from notarius_assets.models.answers import Answer
from notarius_assets.models.calls import OF_END, Call, CallStatus, Watch
from notarius_assets.models.facts import facts
from notarius_assets.models.messages import NotAMessageError, Reading, read_message
from notarius_assets.models.pause import PAUSE
from notarius_assets.models.recorded import ReplayProvider
from notarius_assets.models.refusals import LIMITED, is_spent, reason_of, request_id, retry_after
from notarius_assets.models.request import ModelRequest, asked_again
from notarius_assets.models.settings import ATTEMPTS, KEY_VARIABLE
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd
from notarius_assets.prompting import reask_text

if TYPE_CHECKING:
    import anthropic
    import httpx2
    from anthropic import APIRequest
    from anthropic._response import AsyncAPIResponse

FIRST_WAIT = 0.5
"""Seconds before the second attempt where the server does not say; doubled before each later one."""

WARM_UP = 3.0
"""Seconds after which a server has begun its first answer, and with that can read the prefix from its cache."""


@dataclass
class _Ask:
    """One ask of one window while it is under way: what its attempts tell the ledger."""

    request: ModelRequest
    model: str
    ask: int
    watch: Watch
    attempt: int = 0
    asked_to_wait: float | None = None
    last: Call | None = field(default=None)

    def begin(self) -> Call:
        self.attempt += 1
        self.last = Call(
            source_id=self.request.source_id,
            chunk_id=self.request.chunk_id,
            fingerprint=self.request.fingerprint,
            ask=self.ask,
            attempt=self.attempt,
            model=self.model,
            status=CallStatus.NO_CONNECTION,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        return self.last


_ASK: ContextVar[_Ask] = ContextVar("ask")


class AnthropicProvider(ReplayProvider):
    """Answers by calls where nothing is kept; a usable answer is on disk before its window ends."""

    name = "anthropic"
    _disk: ThreadPoolExecutor
    _stopped: str | None = None
    """Why nobody else is asked any more."""

    @property
    def key(self) -> str | None:
        """The key as given, or from the environment."""
        return (self.access.key or os.environ.get(KEY_VARIABLE) or "").strip() or None

    def require_key(self) -> None:
        """Raise ConfigurationError where Anthropic's own server would be called without a key, or with what is none."""
        if not self.key and not self.access.base_url:
            raise ConfigurationError(NO_KEY, next_step=NO_KEY_STEP)
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise ConfigurationError(
                "the key for the model has a character that no key has", next_step=f"correct {KEY_VARIABLE}"
            )

    def ask(self, requests: Sequence[ModelRequest], watch: Watch) -> dict[str, WindowAnswer]:
        """Call for every request, at most `in_flight` at once; raises ConfigurationError before any call without a key.

        What goes wrong with one window ends that window; a failure that all would meet ends all that are left.
        """
        if not requests:
            return {}
        self.require_key()
        # what stopped an earlier session may have been mended since
        self._stopped = None
        try:
            return asyncio.run(self._ask_all(requests, watch))
        except ExceptionGroup as group:
            raise _first(group) from group

    async def _ask_all(self, requests: Sequence[ModelRequest], watch: Watch) -> dict[str, WindowAnswer]:
        free = asyncio.Semaphore(self.access.in_flight)
        warm = asyncio.Event()
        ended: dict[str, WindowAnswer] = {}

        async def one(request: ModelRequest) -> None:
            async with free:
                answer = await self._window(client, request, watch)
            warm.set()
            ended[request.fingerprint] = answer
            watch.window(answer)

        # Calls that go out together all pay for writing the same prefix into the server's cache. So the odd ones go
        # first, the others when the prefix can be read: that takes as many rounds as all at once.
        first = len(requests) % self.access.in_flight or self.access.in_flight
        # leaving it waits for what is being written, also when all this is interrupted
        with ThreadPoolExecutor(thread_name_prefix="answers") as self._disk:
            async with self._client() as client, asyncio.TaskGroup() as group:
                for n, request in enumerate(requests):
                    if n == first:
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(warm.wait(), WARM_UP)
                    group.create_task(one(request))
        return ended

    def _client(self) -> anthropic.AsyncAnthropic:
        import anthropic

        from notarius_assets.models.bounded import bound

        # at DEBUG the SDK logs requests, and with them the transcript
        logging.getLogger("anthropic").setLevel(logging.WARNING)
        # a redirect would take the transcript to another address than the one that was named
        http = anthropic.DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=self.access.timeout, event_hooks={"response": [bound]}
        )
        return anthropic.AsyncAnthropic(
            http_client=http,
            # a local server asks for no key, the SDK does
            api_key=self.key or "none",
            base_url=self.access.base_url,
            timeout=self.access.timeout,
            max_retries=ATTEMPTS - 1,
            middleware=[self._attempt],
        )

    async def _window(self, client: anthropic.AsyncAnthropic, request: ModelRequest, watch: Watch) -> WindowAnswer:
        """Ask, and ask once more where the answer can't be read."""
        params = request.params
        for ask in request.asks:
            if self._stopped:
                return self.failed(request, self._stopped)
            under_way = _Ask(request, self.settings.model, ask, watch)
            try:
                reading = await self._call(client, params, under_way)
            except _CallFailedError as error:
                reason = "no_key" if error.reason == "wrong_key" and not self.key else error.reason
                if reason in FATAL:
                    self._stopped = reason
                return self.failed(request, reason, asked_to_wait=under_way.asked_to_wait)
            except NotariusError:
                raise
            except Exception as error:
                # a fault of ours, or of the SDK: it ends this window, and the calls beside it are not thrown away
                return self.failed(request, f"unexpected_{type(error).__name__}")
            if reading.end.answered:
                return await self._keep(request, reading, under_way)
            if reading.end is not WindowEnd.INVALID:
                return self.failed(request, reading.reason or "", reading.end)
            params = asked_again(request.params, reask_text(request.root, reading.reason or ""))
        return self.failed(request, reading.reason or "", WindowEnd.INVALID)

    async def _keep(self, request: ModelRequest, reading: Reading, ask: _Ask) -> WindowAnswer:
        payload = reading.payload or {}
        answered_as = ask.last.request_id if ask.last else None
        asker, model = request.source_id, self.settings.model
        answer = Answer(payload, request.name, asker, model, reading.stop_reason, answered_as, reading.usage)
        # it waits for the disk, not in the way of the other calls; once begun nothing stops it
        written = self._disk.submit(self.answers.put, request.fingerprint, answer)
        try:
            await asyncio.shield(asyncio.wrap_future(written))
        except OSError as error:
            # going on would pay for more that can't be kept
            raise NotariusError(
                f"{self.answers.folder}: an answer can't be kept ({error.strerror})",
                next_step="look at that folder, make room, then run again",
            ) from error
        return WindowAnswer(reading.end, payload, None, None, AnsweredBy.CALL, request.fingerprint)

    async def _call(self, client: anthropic.AsyncAnthropic, params: dict[str, Any], ask: _Ask) -> Reading:
        """Make one call with its retries; the last attempt is entered in the ledger here, the others as they fail."""
        import anthropic

        _ASK.set(ask)
        try:
            response = await client.messages.with_raw_response.create(**params)
        except anthropic.APIStatusError as error:
            raise _CallFailedError(reason_of(error)) from None
        except anthropic.APITimeoutError:
            raise _CallFailedError("timeout") from None
        except anthropic.APIConnectionError:
            raise _CallFailedError("no_connection") from None
        call = replace(
            ask.last or ask.begin(),
            http_status=response.http_response.status_code,
            request_id=request_id(response.headers),
        )
        ask.last = call
        try:
            reading = read_message(response.http_response.json(), ask.request.root)
        except Exception as error:
            # whatever it was, it was called and may be charged for
            ask.watch.call(replace(call, status=CallStatus.BAD_RESPONSE))
            if isinstance(error, NotAMessageError | ValueError | RecursionError):
                raise _CallFailedError("bad_response") from None
            raise
        ask.watch.call(
            replace(
                call,
                status=OF_END[reading.end],
                stop_reason=reading.stop_reason,
                usage=reading.usage,
                cost_usd=facts().cost(self.settings.model, reading.usage),
            )
        )
        return reading

    async def _attempt(self, request: APIRequest, call_next: Any) -> AsyncAPIResponse[Any]:
        """Make one HTTP attempt; the SDK calls this for each."""
        import anthropic

        from notarius_assets.models.bounded import NO_MESSAGE

        await PAUSE.over()
        ask = _ASK.get()
        call = ask.begin()
        begun = time.monotonic()

        def failed(status: CallStatus, **rest: Any) -> None:
            ask.watch.call(replace(call, status=status, latency_ms=_milliseconds(begun), **rest))

        try:
            async with asyncio.timeout(self.access.timeout):
                response: AsyncAPIResponse[Any] = await call_next(request)
        except (TimeoutError, anthropic.APITimeoutError) as error:
            failed(CallStatus.TIMEOUT)
            if isinstance(error, anthropic.APITimeoutError):
                raise
            raise anthropic.APITimeoutError(_no_request(self.access.base_url)) from error
        except anthropic.APIConnectionError as error:
            if isinstance(error.__cause__, NO_MESSAGE):
                failed(CallStatus.BAD_RESPONSE)
                # not for the SDK to try again: the next answer would be no better
                raise _CallFailedError("bad_response") from None
            failed(CallStatus.NO_CONNECTION)
            raise
        except asyncio.CancelledError:
            # the server may go on, and charge for it
            failed(CallStatus.INTERRUPTED)
            raise
        ask.last = replace(call, latency_ms=_milliseconds(begun))
        http = response.http_response
        if http.is_success:
            return response
        status = CallStatus.RATE_LIMITED if http.status_code in LIMITED else CallStatus.NOT_ACCEPTED
        status = CallStatus.SERVER_ERROR if http.status_code >= 500 and http.status_code != 529 else status
        failed(status, http_status=http.status_code, request_id=request_id(http.headers))
        if is_spent(http):
            # the SDK would try again, and no wait mends this
            http.headers["x-should-retry"] = "false"
        else:
            self._wait(http, ask)
        return response

    def _wait(self, http: httpx2.Response, ask: _Ask) -> None:
        """Cap what the server asks to wait; where it limits the rate, everybody waits."""
        limited = http.status_code in LIMITED
        asked_to_wait = retry_after(http.headers)
        wanted = FIRST_WAIT * 2.0 ** (ask.attempt - 1) if asked_to_wait is None else asked_to_wait
        seconds = min(wanted, self.access.longest_wait)
        http.headers.pop("retry-after-ms", None)
        # the SDK obeys this header without a cap, and waits by a rule of its own where there is none
        http.headers["retry-after"] = f"{max(seconds, 0.001):.3f}"
        if limited:
            ask.asked_to_wait = asked_to_wait
            if ask.attempt < ATTEMPTS:
                PAUSE.extend(seconds)


class _CallFailedError(Exception):
    """A call that got no message; `reason` is a code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """Return what went wrong: one error, as a person can read it, of several that came together."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _milliseconds(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)


def _no_request(base_url: str | None) -> httpx2.Request:
    import httpx2

    # an error of the SDK needs a request; the real one holds the transcript
    return httpx2.Request("POST", base_url or "https://api.anthropic.com")
