"""Requests as the SDK makes them, and the errors it makes of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import pytest

MODEL = "claude-test-1"


@contextmanager
def client(url: str, timeout: float = 10.0, key: str = "k") -> Iterator[anthropic.Anthropic]:
    # reading the certificates takes longer than a test, and nothing here is encrypted
    http = anthropic.DefaultHttpxClient(verify=False)
    with anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, timeout=timeout, http_client=http) as made:
        yield made


def block(text: str, *, cached: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": text} | ({"cache_control": {"type": "ephemeral"}} if cached else {})


def params(*user: str | dict[str, Any], system: Any = "You read.", model: str = MODEL) -> Any:
    content = [block(u) if isinstance(u, str) else u for u in user or ("Chunk 1",)]
    return {
        "model": model,
        "max_tokens": 100,
        "system": system,
        "messages": [{"role": "user", "content": content}],
    }


def ask(url: str, *user: str | dict[str, Any], timeout: float = 10.0, key: str = "k", **rest: Any) -> Any:
    """Make one call with a client of its own; return what the SDK returns."""
    with client(url, timeout, key) as made:
        return made.messages.create(**params(*user, **rest))


def refused(kind: type[anthropic.APIError], url: str, *user: str, **rest: Any) -> Any:
    """Make one call that must fail this way; return the error."""
    with pytest.raises(kind) as raised:
        ask(url, *user, **rest)
    return raised.value


def text_of(message: Any) -> str:
    return "".join(b.text for b in message.content if b.type == "text")
