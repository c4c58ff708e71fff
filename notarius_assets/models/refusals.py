"""What a server's answer says that is no message: wait, no credit, another address, or which mistake it sees."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anthropic
    import httpx2

LIMITED = (429, 529)
"""Statuses of a server that has more to do than it can, or than it lets us ask."""

MAX_REQUEST_ID = 200
"""Characters of a server's id of a call that are kept."""

_BY_STATUS = {401: "wrong_key", 402: "no_credit", 403: "not_allowed", 404: "unknown_model", 413: "prompt_too_long"}


def retry_after(headers: httpx2.Headers) -> float | None:
    """Return the seconds a server asks to wait, in whichever of the header's forms."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def request_id(headers: httpx2.Headers) -> str | None:
    """Return the server's id of a call, if it gave one, at a length that a table can hold."""
    found = headers.get("request-id")
    return found[:MAX_REQUEST_ID] if found else None


def is_spent(http: httpx2.Response) -> bool:
    """Tell whether a rate limit is really one of spending."""
    if http.status_code != 429:
        return False
    try:
        details = http.json()["error"]["details"]
        return "spend_limit" in details["error_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def reason_of(error: anthropic.APIStatusError) -> str:
    """Return the code of an error answer. The API has no finer code for these than its message's words."""
    status = error.status_code
    if is_spent(error.response):
        return "no_credit"
    if status in LIMITED:
        return "rate_limited"
    if status >= 500:
        return "server_error"
    if status < 400:
        return "redirected"
    # the SDK passes on whatever a server puts there
    message: object = error.api_message
    said = message.lower() if isinstance(message, str) else ""
    if error.type == "billing_error" or "credit balance" in said:
        return "no_credit"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if "prompt is too long" in said or "context window" in said or "context length" in said:
        return "prompt_too_long"
    if "schema" in said or "grammar" in said:
        return "schema_refused"
    return "bad_request"
