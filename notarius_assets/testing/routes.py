"""The paths that the scripted server knows, in one table, and what of a request is refused before a script is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from notarius_assets.testing import replies, tokens
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.scripts import Script, ScriptError
from notarius_assets.testing.tokens import PromptCache, Usage

NOTHING = Usage(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Turn:
    """What is settled as a request arrives: how to get its reply, and what its prompt is billed for."""

    reply: Callable[[], Reply]
    usage: Usage = NOTHING


Found = re.Match[str]
Handler = Callable[[Asked, Found], Turn]


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the table: `path` is a pattern for the whole path, its groups are for the handler."""

    method: str
    path: str
    handler: Handler


class Routes:
    """Answers by method and path. Handlers run one at a time, in order of arrival, and must not block."""

    def __init__(self, script: Script, cache: PromptCache, key: str | None = None) -> None:
        self._script = script
        self._cache = cache
        self._key = key
        self.failures: list[str] = []
        self.table: tuple[Route, ...] = (
            Route("POST", r"/v1/messages", self._messages),
            Route("POST", r"/v1/messages/count_tokens", self._count_tokens),
        )

    def turn(self, asked: Asked) -> Turn:
        """Return what becomes of a request."""
        found = [(r, m) for r in self.table if (m := re.fullmatch(r.path, asked.path))]
        if not found:
            return _told(replies.error(404, "not_found_error", f"Not found: {asked.path}"))
        if self._key is not None and asked.key != self._key:
            return _told(replies.wrong_key())
        for route, match in found:
            if route.method == asked.method:
                return route.handler(asked, match)
        return _told(replies.error(405, "invalid_request_error", "Method Not Allowed"))

    def failed(self, reason: str) -> Reply:
        """Take note that the script has no reply, and return one that says so and that no client tries again."""
        self.failures.append(reason)
        return replies.error(400, "invalid_request_error", f"script: {reason}")

    def _messages(self, asked: Asked, match: Found) -> Turn:
        if reason := _malformed(asked.body, ("model", "max_tokens", "messages")):
            return _told(replies.error(400, "invalid_request_error", reason))
        usage = self._cache.usage(asked.body)
        try:
            return Turn(self._script.pick(asked), usage)
        except ScriptError as error:
            return _told(self.failed(str(error)))

    def _count_tokens(self, asked: Asked, match: Found) -> Turn:
        if reason := _malformed(asked.body, ("model", "messages")):
            return _told(replies.error(400, "invalid_request_error", reason))
        return _told(replies.document({"input_tokens": tokens.input_tokens(asked.body)}))


def _told(reply: Reply) -> Turn:
    return Turn(lambda: reply)


def _malformed(body: object, required: tuple[str, ...]) -> str | None:
    """Return what the API would refuse a request for before a model sees it."""
    if not isinstance(body, dict):
        return "The request body is not valid JSON"
    for name in required:
        if not body.get(name):
            return f"{name}: Field required"
    if body.get("stream"):
        return "stream: this server does not stream"
    marks = len(tokens.breakpoints(body))
    if marks > tokens.MOST_BREAKPOINTS:
        most = tokens.MOST_BREAKPOINTS
        return f"A maximum of {most} blocks with cache_control may be provided. Found {marks}."
    return None
