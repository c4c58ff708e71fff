"""Every reply arrives at the SDK as what it was meant to be."""

from __future__ import annotations

import json
import time
from typing import Any

import anthropic
import pytest

from notarius_assets.testing import replies
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.testing.asking import MODEL, ask, client, params, text_of

PAYLOAD = {"records": [{"name": "Orrick — “the miller”", "units": [1, 2]}]}
COMPACT = '{"records":[{"name":"Orrick — “the miller”","units":[1,2]}]}'


def got(reply: Reply, timeout: float = 10.0) -> Any:
    with ModelServer(reply) as server:
        return ask(server.url, timeout=timeout)


def test_an_answer_has_the_shape_of_the_api() -> None:
    message = got(replies.answer(PAYLOAD))
    assert message.to_dict() == {
        "id": "msg_000001",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": COMPACT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 5,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": -(-len(COMPACT) * 2 // 7),
        },
    }
    assert message._request_id == "req_000001"


@pytest.mark.parametrize(
    ("reply", "stop_reason", "text"),
    [
        (replies.text("as it is"), "end_turn", "as it is"),
        (replies.truncated('{"records":[{"na'), "max_tokens", '{"records":[{"na'),
        (replies.refusal(), "refusal", ""),
        (replies.refusal("I'd rather not."), "refusal", "I'd rather not."),
        (replies.stopped("pause_turn"), "pause_turn", ""),
        (replies.stopped("model_context_window_exceeded", "half"), "model_context_window_exceeded", "half"),
        (replies.stopped("a_new_one", "x"), "a_new_one", "x"),
        (replies.stopped(None), None, ""),
        (replies.no_content(), "end_turn", ""),
        (replies.thinking_first(PAYLOAD), "end_turn", COMPACT),
    ],
)
def test_messages(reply: Reply, stop_reason: str | None, text: str) -> None:
    message = got(reply)
    assert (message.stop_reason, text_of(message)) == (stop_reason, text)
    assert (message.stop_details is not None) == (stop_reason == "refusal")


def test_the_payload_is_in_prose_fences_and_after_thinking() -> None:
    prose, fenced = (text_of(got(reply(PAYLOAD))) for reply in (replies.prose, replies.fenced))
    assert COMPACT in prose
    assert prose != COMPACT
    assert fenced.startswith("```json\n")
    assert json.loads(fenced.removeprefix("```json").removesuffix("```")) == PAYLOAD
    assert [b.type for b in got(replies.thinking_first(PAYLOAD)).content] == ["thinking", "text"]


ERRORS = [
    (replies.rate_limited("7"), 429, anthropic.RateLimitError, "rate_limit_error"),
    (replies.spend_limit(), 429, anthropic.RateLimitError, "rate_limit_error"),
    (replies.overloaded(), 529, anthropic.APIStatusError, "overloaded_error"),
    (replies.server_error(), 500, anthropic.InternalServerError, "api_error"),
    (replies.wrong_key(), 401, anthropic.AuthenticationError, "authentication_error"),
    (replies.not_allowed(), 403, anthropic.PermissionDeniedError, "permission_error"),
    (replies.unknown_model(), 404, anthropic.NotFoundError, "not_found_error"),
    (replies.schema_too_large(), 400, anthropic.BadRequestError, "invalid_request_error"),
    (replies.prompt_too_long(), 400, anthropic.BadRequestError, "invalid_request_error"),
    (replies.no_credit(), 400, anthropic.BadRequestError, "invalid_request_error"),
    (replies.no_credit(402), 402, anthropic.APIStatusError, "billing_error"),
]


@pytest.mark.parametrize(("reply", "status", "kind", "type_"), ERRORS)
def test_errors(reply: Reply, status: int, kind: type[anthropic.APIStatusError], type_: str) -> None:
    with pytest.raises(kind) as raised:
        got(reply)
    error = raised.value
    assert (error.status_code, error.type, error.request_id) == (status, type_, "req_000001")
    assert error.body == {
        "type": "error",
        "error": dict(error.body["error"]),  # type: ignore[index]
        "request_id": "req_000001",
    }


def test_what_an_error_says_beside_its_type() -> None:
    with pytest.raises(anthropic.RateLimitError) as raised:
        got(replies.rate_limited("7"))
    assert raised.value.response.headers["retry-after"] == "7"
    with pytest.raises(anthropic.RateLimitError) as raised:
        got(replies.rate_limited())
    assert "retry-after" not in raised.value.response.headers
    with pytest.raises(anthropic.RateLimitError) as raised:
        got(replies.spend_limit())
    assert raised.value.error_code == "enforced_spend_limit_reached"
    with pytest.raises(anthropic.BadRequestError, match="credit balance is too low"):
        got(replies.no_credit())
    with pytest.raises(anthropic.APIStatusError) as other:
        got(replies.error(418, "api_error", "no tea", {"x-should-retry": "false"}))
    assert (other.value.status_code, other.value.api_message) == (418, "no tea")
    assert other.value.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("reply", [replies.close(), replies.half(), replies.half(PAYLOAD)])
def test_a_connection_that_breaks(reply: Reply) -> None:
    with pytest.raises(anthropic.APIConnectionError) as raised:
        got(reply)
    assert not isinstance(raised.value, anthropic.APITimeoutError)


def test_a_server_that_hangs() -> None:
    with ModelServer([replies.hang(), replies.answer({})]) as server:
        with pytest.raises(anthropic.APITimeoutError):
            ask(server.url, timeout=0.1)
        assert text_of(ask(server.url)) == "{}"
        assert server.most_in_flight == 1, "the call that timed out is no longer open"


def test_bodies_that_are_no_message() -> None:
    with ModelServer([replies.not_json(), replies.not_json_as_json(), replies.empty_body()]) as server:
        page = ask(server.url)
        assert isinstance(page, str)
        assert page.startswith("<html>"), "the SDK hands out what is not JSON as a text"
        for _ in range(2):
            with client(server.url) as made:
                response = made.messages.with_raw_response.create(**params())
            assert response.headers["content-type"] == "application/json"
            with pytest.raises(ValueError, match=r"Expecting value|Unterminated"):
                response.http_response.json()


def test_raw_is_sent_as_it_is() -> None:
    with ModelServer(replies.raw(202, {"Content-Type": "text/plain", "X-Own": "1"}, "so so")) as server:
        with client(server.url) as made:
            response = made.messages.with_raw_response.create(**params())
        http = response.http_response
        assert (http.status_code, http.text, http.headers["x-own"]) == (202, "so so", "1")
        assert http.headers["request-id"] == "req_000001"


def test_a_reply_can_take_its_time() -> None:
    begun = time.monotonic()
    got(replies.answer({}).after(0.15))
    assert time.monotonic() - begun >= 0.15
    with pytest.raises(anthropic.APITimeoutError):
        got(replies.answer({}).after(30), timeout=0.1)
