"""What is asked as the body of a Messages API call, and the fingerprint its answer is kept under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from notarius_assets.identity import digest
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.schemas import response_schema
from notarius_assets.models.settings import Settings
from notarius_assets.models.window import WindowRequest
from notarius_assets.prompting import Message, assemble, assemble_reconciliation
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.reconcile.response import ROOT, groups_schema

_POLICY = "notarius.answer.v1"


PROPOSAL_ASKS = 3
"""How often duplicate groups are asked for: once, and twice more where no answer could be used."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request as it is sent: `params` is the body in the shape of the Messages API.

    `chunk_id` is None where no chunk is asked about. An answer that can't be read is asked for again as long as `asks`
    numbers are left, of which a request for duplicate groups has one.
    """

    lane: str
    source_id: str
    chunk_id: int | None
    root: str
    fingerprint: str
    params: dict[str, Any]
    asks: tuple[int, ...] = (1, 2)

    @property
    def name(self) -> str:
        """Who asks: the lane, or what else of it is asked for."""
        return self.lane if self.chunk_id is not None else duplicates_of(self.lane)


def duplicates_of(lane_key: str) -> str:
    """Return how people are told that a lane asks for duplicate groups."""
    return f"{lane_key} duplicates"


def model_request(lane: Lane, window: WindowRequest, settings: Settings) -> ModelRequest:
    """Return a window's call."""
    messages = assemble(lane, window)
    schema = response_schema(lane)
    return ModelRequest(
        lane.key,
        window.source_id,
        window.chunk_id,
        lane.root,
        fingerprint(messages, schema, settings),
        _params(messages, schema, settings),
    )


def proposal_requests(lane: Lane, request: ReconcileRequest, settings: Settings) -> tuple[ModelRequest, ...]:
    """Return the calls for duplicate groups, in the order in which they are made as long as no answer can be used.

    What a later one says depends on nothing that was answered, so that all answers are found again by what was asked.
    """
    schema = groups_schema()
    found = []
    for ask in range(1, PROPOSAL_ASKS + 1):
        messages = assemble_reconciliation(lane, request, ask)
        found.append(
            ModelRequest(
                lane.key,
                request.source_id,
                None,
                ROOT,
                fingerprint(messages, schema, settings),
                _params(messages, schema, settings),
                (ask,),
            )
        )
    return tuple(found)


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
