"""How one request is answered: a function for each way a call to the Messages API can end, good and bad.

    replies.answer({"records": []})          replies.rate_limited("2").after(0.5)

The wording of errors is what the API is known to say, where programs are known to look at it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from notarius_assets.testing.tokens import Usage, estimate

JSON_TYPE = {"content-type": "application/json"}

TOO_LARGE = (
    "The compiled grammar is too large, which would cause performance issues. "
    "Simplify your tool schemas or reduce the number of strict tools."
)
NO_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)


class Way(StrEnum):
    """How much of a reply is sent before the connection is left or closed."""

    WHOLE = "whole"
    HALF = "half"
    CLOSE = "close"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer. What needs the request to be complete (`id`, `model`, `usage`, `request_id`) is filled in later.

    `document` is the JSON answered, `body` the bytes where there is none. `delay` is waited before anything is sent.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    document: Mapping[str, Any] | None = None
    body: bytes = b""
    way: Way = Way.WHOLE
    delay: float = 0.0

    def after(self, seconds: float) -> Reply:
        """Return the same reply, sent that many seconds later."""
        return replace(self, delay=seconds)

    @property
    def is_message(self) -> bool:
        """Whether a model answered, which is what is billed and cached."""
        return self.document is not None and self.document.get("type") == "message"

    def filled(self, number: int, model: str, usage: Usage) -> dict[str, Any] | None:
        """Return the JSON answered to request `number`, or None where the answer is plain bytes."""
        if self.document is None:
            return None
        if self.is_message:
            counted = usage.as_json(estimate(_characters(self.document["content"])))
            return {**self.document, "id": f"msg_{number:06d}", "model": model, "usage": counted}
        own = {"request_id": request_id(number)} if self.document.get("type") == "error" else {}
        return {**self.document, **own}


def request_id(number: int) -> str:
    """Return the `request-id` of the request with that number."""
    return f"req_{number:06d}"


def answer(payload: object) -> Reply:
    """Answer with a payload as compact JSON, the way a model asked for JSON does."""
    return text(compact(payload))


def text(text: str) -> Reply:
    """Answer with a text as it is."""
    return _message([_text(text)])


def prose(payload: object) -> Reply:
    """Answer with the payload's JSON inside sentences."""
    return text(f"I read the chunk closely. Here is what I found: {compact(payload)} I hope this helps.")


def fenced(payload: object) -> Reply:
    """Answer with the payload's JSON in a code fence."""
    return text(f"```json\n{json.dumps(payload, ensure_ascii=False, indent=2)}\n```")


def truncated(text: str) -> Reply:
    """Answer with a text that ends where the tokens did."""
    return stopped("max_tokens", text)


def refusal(text: str = "") -> Reply:
    """Decline, with or without a text."""
    reply = stopped("refusal", text)
    details = {"type": "refusal", "category": None, "explanation": None}
    return replace(reply, document={**(reply.document or {}), "stop_details": details})


def stopped(stop_reason: str | None, text: str = "") -> Reply:
    """Answer with any stop reason; no text is no content block."""
    return _message([_text(text)] if text else [], stop_reason)


def thinking_first(payload: object, thinking: str = "The chunk names nobody twice.") -> Reply:
    """Answer with a thinking block before the payload's JSON."""
    return _message([{"type": "thinking", "thinking": thinking, "signature": "c2lnbmVk"}, _text(compact(payload))])


def no_content() -> Reply:
    """Answer with a message that holds nothing at all."""
    return _message([])


def error(
    status: int, type: str, message: str, headers: Mapping[str, str] | None = None, error_code: str | None = None
) -> Reply:
    """Answer with an error in the API's shape. `error_code` is the finer code in the error's details."""
    told: dict[str, Any] = {"type": type, "message": message}
    if error_code is not None:
        told["details"] = {"error_code": error_code}
    return document({"type": "error", "error": told}, status, headers)


def rate_limited(retry_after: str | None = None) -> Reply:
    """429, with a `retry-after` header as given: seconds or an HTTP date."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return error(429, "rate_limit_error", "This request would exceed your organization's rate limit.", headers)


def spend_limit() -> Reply:
    """429 of a kind that waiting does not mend: the month's spend limit is reached."""
    words = "Your organization has reached its monthly spend limit."
    return error(429, "rate_limit_error", words, error_code="enforced_spend_limit_reached")


def overloaded() -> Reply:
    """529: the service has too much to do."""
    return error(529, "overloaded_error", "Overloaded")


def server_error() -> Reply:
    """500: the service failed."""
    return error(500, "api_error", "Internal server error")


def wrong_key() -> Reply:
    """401: the key is not known."""
    return error(401, "authentication_error", "invalid x-api-key")


def not_allowed() -> Reply:
    """403: the key is known and may not do this."""
    return error(403, "permission_error", "Your API key does not have permission to use the specified resource.")


def unknown_model(model: str = "as asked") -> Reply:
    """404: there is no such model."""
    return error(404, "not_found_error", f"model: {model}")


def schema_too_large() -> Reply:
    """400: the schema of the answer is more than the API compiles."""
    return error(400, "invalid_request_error", TOO_LARGE)


def prompt_too_long() -> Reply:
    """400: the prompt is more than the model can read."""
    return error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")


def no_credit(status: int = 400) -> Reply:
    """400 as the API says it, or 402 with an error type of its own."""
    return error(status, "billing_error" if status == 402 else "invalid_request_error", NO_CREDIT)


def hang() -> Reply:
    """Send nothing; the connection is closed when the server is released or closed."""
    return Reply(way=Way.HANG)


def close() -> Reply:
    """Close the connection without a byte."""
    return Reply(way=Way.CLOSE)


def half(payload: object = None) -> Reply:
    """Close the connection in the middle of an answer's body."""
    return replace(answer({"records": []} if payload is None else payload), way=Way.HALF)


def not_json() -> Reply:
    """200 with a page of HTML, as proxies send it."""
    return raw(200, {"content-type": "text/html"}, b"<html><body><h1>Please sign in</h1></body></html>")


def not_json_as_json() -> Reply:
    """200 that says it is JSON and is not."""
    return raw(200, JSON_TYPE, b'{"id":"msg_')


def empty_body() -> Reply:
    """200 that says it is JSON and is empty."""
    return raw(200, JSON_TYPE, b"")


def raw(status: int, headers: Mapping[str, str], body: bytes | str) -> Reply:
    """Answer with exactly these headers and bytes; only length, date, server and request id are added."""
    return Reply(status, dict(headers), body=body.encode() if isinstance(body, str) else body)


def document(content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Answer with a JSON object of any shape."""
    return Reply(status, {**JSON_TYPE, **(headers or {})}, document=dict(content))


def compact(payload: object) -> str:
    """Return JSON without spaces."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _message(content: list[dict[str, Any]], stop_reason: str | None = "end_turn") -> Reply:
    return document(
        {
            "id": "",
            "type": "message",
            "role": "assistant",
            "model": "",
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
        }
    )


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _characters(content: list[dict[str, Any]]) -> int:
    return sum(len(block.get("text", "")) + len(block.get("thinking", "")) for block in content)
