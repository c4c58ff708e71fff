"""One request as the scripted server got it: what scripts decide by and what tests look at afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `number` counts all requests of a server from 1; header names are in lower case.

    `body` is the parsed JSON; None where there was no body, or none that is JSON.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    number: int
    method: str = "POST"
    query: str = ""
    text: str = field(init=False, repr=False)
    """All system and user text, one block a line; what the assistant is quoted with is not in it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "\n".join(texts(self.body)))

    @property
    def model(self) -> str:
        """The model as asked for; empty where none was named."""
        model = self.body.get("model") if isinstance(self.body, dict) else None
        return model if isinstance(model, str) else ""

    @property
    def key(self) -> str | None:
        """The key it came with: `x-api-key`, or `authorization` without `Bearer`, as clients differ."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return self.headers.get("x-api-key") or (token if scheme.lower() == "bearer" else None)


@dataclass(frozen=True, slots=True)
class Block:
    """One content block of a prompt with the role that says it: `system`, `user` or `assistant`."""

    role: str
    content: Mapping[str, Any]
    message: int = -1
    """Which message it is part of; -1 is the system prompt."""

    @property
    def text(self) -> str | None:
        """The text, or None where the block is none."""
        text = self.content.get("text") if self.content.get("type") == "text" else None
        return text if isinstance(text, str) else None


def blocks(body: object) -> list[Block]:
    """Return the blocks of a request body in the order a model reads them; what is malformed is passed over."""
    if not isinstance(body, dict):
        return []
    found = [Block("system", content) for content in _contents(body.get("system"))]
    messages = body.get("messages")
    for n, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            found += [Block(str(message.get("role")), content, n) for content in _contents(message.get("content"))]
    return found


def texts(body: object) -> Iterator[str]:
    """Yield the system and user texts of a request body."""
    for block in blocks(body):
        if block.role != "assistant" and block.text is not None:
            yield block.text


def _contents(content: object) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [c for c in content if isinstance(c, dict)] if isinstance(content, list) else []
