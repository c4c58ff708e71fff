"""Windows answered elsewhere: requests as lines of the Message Batches shape, and results read back.

A request's `custom_id` is its fingerprint, so a result finds its window whatever the order, the time or the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from notarius_assets.identity import compact_json
from notarius_assets.models.answers import Answer, Answers
from notarius_assets.models.messages import NotAMessageError, Reading, read_message
from notarius_assets.models.request import ModelRequest

REQUEST_LINE = "a request, not a result"
"""Why a line of an exported file is no result line."""


class Imported(StrEnum):
    """What became of one line of a result file."""

    KEPT = "kept"
    ALREADY_ANSWERED = "already answered"
    NOT_ASKED = "not asked by this pipeline"
    NO_RESULT = "without a usable answer"
    UNREADABLE = "no result line"


@dataclass(frozen=True, slots=True)
class LineEnd:
    """One line: its number from 1, what became of it, and why, as a code or a few words of ours."""

    line: int
    end: Imported
    reason: str = ""
    request: ModelRequest | None = None
    reading: Reading | None = None


def request_line(request: ModelRequest) -> str:
    """Return a request as one line: `{"custom_id", "params"}`."""
    return compact_json({"custom_id": request.fingerprint, "params": request.params}) + "\n"


def import_lines(
    lines: Iterable[bytes], asked: Mapping[str, ModelRequest], answers: Answers, model: str
) -> list[LineEnd]:
    """Keep the answers of result lines `{"custom_id", "result"}`; every line that is not blank ends in a counted state.

    `asked` maps fingerprints to the requests that may be answered now.
    """
    return [
        _import(number, line, asked, answers, model)
        for number, line in enumerate(lines, 1)
        if line.strip(b"\xef\xbb\xbf \t\r\n")
    ]


def _import(number: int, line: bytes, asked: Mapping[str, ModelRequest], answers: Answers, model: str) -> LineEnd:
    try:
        custom_id, result = _result(line)
    except ValueError as error:
        return LineEnd(number, Imported.UNREADABLE, str(error))
    if custom_id not in asked:
        return LineEnd(number, Imported.NOT_ASKED)
    request = asked[custom_id]
    if result.get("type") != "succeeded":
        return LineEnd(number, Imported.NO_RESULT, _word(result.get("type")), request)
    try:
        reading = read_message(_with_stop_reason(result.get("message")), request.root)
    except NotAMessageError:
        return LineEnd(number, Imported.NO_RESULT, "no message", request)
    if not reading.end.answered:
        return LineEnd(number, Imported.NO_RESULT, f"{reading.end}: {reading.reason}", request, reading)
    if answers.get(custom_id, request.root):
        return LineEnd(number, Imported.ALREADY_ANSWERED, "", request)
    asker = request.source_id
    answers.put(
        custom_id, Answer(reading.payload or {}, request.name, asker, model, reading.stop_reason, None, reading.usage)
    )
    return LineEnd(number, Imported.KEPT, "", request, reading)


def _result(line: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(found, dict):
        raise ValueError("not an object")
    custom_id, result = found.get("custom_id"), found.get("result")
    if not isinstance(custom_id, str):
        raise ValueError("no custom_id")
    if not isinstance(result, dict):
        raise ValueError(REQUEST_LINE if "params" in found else "no result")
    return custom_id, result


def _with_stop_reason(message: object) -> object:
    """Return a message; one that was written by other means than the API's may not say why it ends."""
    if isinstance(message, dict) and message.get("stop_reason") is None:
        return {**message, "stop_reason": "end_turn"}
    return message


def _word(value: object) -> str:
    return value if isinstance(value, str) and value in ("errored", "canceled", "expired") else "unknown result type"
