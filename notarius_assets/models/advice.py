"""Failures in words: what happened to a call, and what a person can do about it."""

from __future__ import annotations

from notarius_assets.models.settings import ATTEMPTS, KEY_VARIABLE, Access, Settings

FATAL = frozenset({"redirected", "no_key", "wrong_key", "not_allowed", "unknown_model", "no_credit", "schema_refused"})
"""Failures that every other window would meet too: nobody else is asked after one of them."""

NO_KEY = f"no key for the model: {KEY_VARIABLE} is not set"
NO_KEY_STEP = (
    f"export {KEY_VARIABLE}=…, or set `model.provider` to rules (offline) or replay (answers you import) in the "
    "pipeline file"
)


_ASKED_ALONE = "run again; nothing else is asked"
_NO_RESPONSE = frozenset({"no_answer", "no_object", "several_objects", "extra_field", "too_deep", "too_long"})
_UNREADABLE = ("asked twice, and no answer had the right form", _ASKED_ALONE)


def advice(reason: str, settings: Settings, access: Access, asked_to_wait: float | None = None) -> str:
    """Return one line for a failed window: what the server said, and the next step after `Next:`."""
    server = access.base_url or "the Anthropic API"
    said, step = {
        "wrong_key": (
            f"{server} refused the key",
            "correct the key that the model's resource gives" if access.key else f"correct {KEY_VARIABLE}",
        ),
        "no_key": (f"{server} wants a key, and {KEY_VARIABLE} is not set", f"export {KEY_VARIABLE}=…"),
        "not_allowed": (f"{server} does not allow this key to use {settings.model}", "use a key that may"),
        "unknown_model": (
            f"{server} knows no model {settings.model}",
            "correct `model.model` in the pipeline file, or `model.base_url`",
        ),
        "no_credit": (
            f"{server} says that the account has no credit, or has reached its spend limit",
            "add credit or raise the limit, then run again",
        ),
        "schema_refused": (
            f"{server} refused the answer's schema as too large or too complex",
            "choose another `model.model`; a server that ignores schemas works too",
        ),
        "prompt_too_long": (
            f"the request is longer than {settings.model} takes",
            "lower `chunking.max_units` or `chunking.max_characters`",
        ),
        "redirected": (f"{server} sends us to another address", "correct `model.base_url`: nothing is sent elsewhere"),
        "bad_request": (f"{server} refused the request as malformed", "check `model.base_url` and `model.effort`"),
        "rate_limited": (_rate_limited(server, access, asked_to_wait), "run again later; what was answered is kept"),
        "server_error": (f"{server} failed again and again", "run again later; what was answered is kept"),
        "timeout": (
            f"{server} did not answer within {access.timeout:g} s",
            "run again, or raise `model.timeout_seconds`",
        ),
        "no_connection": (f"{server} can't be reached", "check the network and `model.base_url`"),
        "bad_response": (f"{server} answered with something that is no message", "check `model.base_url`"),
        "no_recording": (
            "no answer is recorded for it",
            "notarius requests export --to FILE, have it answered, then notarius requests import",
        ),
        "max_tokens": ("the answer was cut off", "raise `model.max_tokens`, or lower `chunking.max_units`"),
        "model_context_window_exceeded": ("the model ran out of context", "lower `chunking.max_units`"),
        "refusal": (f"{settings.model} refused to answer", _ASKED_ALONE),
    }.get(reason, _UNREADABLE if reason in _NO_RESPONSE else (f"no usable answer ({reason})", _ASKED_ALONE))
    return f"{said}. Next: {step}"


def _rate_limited(server: str, access: Access, asked_to_wait: float | None) -> str:
    if asked_to_wait is not None and asked_to_wait > access.longest_wait:
        return f"{server} asked to wait {asked_to_wait:,.0f} s; at most {access.longest_wait:g} s are waited"
    wish = "" if asked_to_wait is None else f", and asked to wait {asked_to_wait:,.0f} s"
    return f"{server} limited the rate {ATTEMPTS} times in a row{wish}"
