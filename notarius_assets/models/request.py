"""A window as the body of a Messages API call, and the fingerprint its answer is kept under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from notarius_assets.identity import digest
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.schemas import response_schema
from notarius_assets.models.settings import Settings
from notarius_assets.models.window import WindowRequest
from notarius_assets.prompting import Message, assemble

_POLICY = "notarius.answer.v1"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One window as it is sent: `params` is the body in the shape of the Messages API."""

    window: WindowRequest
    root: str
    fingerprint: str
    params: dict[str, Any]


def model_request(lane: Lane, window: WindowRequest, settings: Settings) -> ModelRequest:
    """Return a window's call."""
    messages = assemble(lane, window)
    schema = response_schema(lane)
    return ModelRequest(window, lane.root, fingerprint(messages, schema, settings), _params(messages, schema, settings))


def fingerprint(messages: Sequence[Message], schema: dict[str, Any], settings: Settings) -> str:
    """Return the SHA-256 over all an answer depends on: provider, model, settings, messages, schema.

    Where a server may cache the messages changes the price, not the answer, so it is left out.
    """
    asked = [[m.role, m.text] for m in messages]
    who = [settings.provider, settings.model, settings.effort, settings.max_tokens]
    return digest([_POLICY, who, asked, schema])


def _params(messages: Sequence[Message], schema: dict[str, Any], settings: Settings) -> dict[str, Any]:
    config: dict[str, Any] = {"format": {"type": "json_schema", "schema": schema}}
    if settings.effort:
        config["effort"] = settings.effort
    return {
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "system": [_block(m) for m in messages if m.role == "system"],
        "messages": [{"role": "user", "content": [_block(m) for m in messages if m.role == "user"]}],
        "output_config": config,
    }


def _block(message: Message) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": message.text}
    if message.cache_breakpoint:
        block["cache_control"] = {"type": "ephemeral"}
    return block


def asked_again(params: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the same call with one more sentence at its end; what a server has cached of it stays usable."""
    user = params["messages"][0]
    content = [*user["content"], {"type": "text", "text": text}]
    return {**params, "messages": [{**user, "content": content}]}
