"""Read a message of the Messages API: how the window ended, what was answered, what it used.

The same for a live call, an imported result and a batch: whoever answered, the ends mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from notarius_assets.models.parsing import UnreadableError, private_response
from notarius_assets.models.window import WindowEnd

_CUT = ("max_tokens", "model_context_window_exceeded")
_MOST_TOKENS = 10**12
"""A server that counts more than this counts nothing that anybody could add up or store."""


class NotAMessageError(ValueError):
    """JSON that is no message of the API."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the server counts them; `input` is what neither went into its prompt cache nor came out."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        """All input, from wherever it was read."""
        return self.input + self.cache_write + self.cache_read


NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as read. `payload` is there when the end is an answer, `reason` is a code when it is none."""

    end: WindowEnd
    payload: Mapping[str, Any] | None
    reason: str | None
    stop_reason: str | None
    usage: Usage


def read_message(message: object, root: str) -> Reading:
    """Return how a message ends the window of a lane whose answers have `root`.

    Raises NotAMessageError when it has no content. Blocks that are no text, such as thinking, are passed over.
    """
    if not isinstance(message, dict) or not isinstance(message.get("content"), list | str):
        raise NotAMessageError("no message")
    stop = message.get("stop_reason")
    usage = _usage(message.get("usage"))
    if stop == "refusal":
        return Reading(WindowEnd.REFUSED, None, "refusal", stop, usage)
    if stop in _CUT:
        return Reading(WindowEnd.TRUNCATED, None, str(stop), stop, usage)
    if stop != "end_turn":
        return Reading(WindowEnd.FAILED, None, f"stop_reason_{_code(stop)}", _code(stop), usage)
    try:
        payload = private_response(_text(message["content"]), root)
    except UnreadableError as error:
        return Reading(WindowEnd.INVALID, None, str(error), stop, usage)
    return Reading(WindowEnd.of(payload[root]), payload, None, stop, usage)


def _text(content: list[Any] | str) -> str:
    if isinstance(content, str):
        return content
    texts = [b.get("text") for b in content if isinstance(b, dict) and b.get("type") == "text"]
    return "".join(t for t in texts if isinstance(t, str))


def _usage(usage: object) -> Usage:
    given = usage if isinstance(usage, dict) else {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return Usage(*(_count(given.get(name)) for name in names))


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS else 0


def _code(value: object) -> str:
    """Return a server's word as a code that may stand in a table: short, and nothing but letters and underscores."""
    word = "".join(c for c in str(value).lower() if c.isascii() and (c.isalpha() or c == "_"))
    return word[:40] or "unknown"
