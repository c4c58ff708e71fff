"""JSON as people have it: the quick way for good files, the thorough way to read or explain the others."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from notarius_assets.transcripts import codes
from notarius_assets.transcripts.model import TranscriptError
from notarius_assets.transcripts.shown import shown

NOT_JSON: Final = object()
"""What `quick` returns for what it can't read."""

_BLANK = "\0 \t\r\n"
_START = re.compile(r'\{\s{0,1000}(?:["}]|\Z)|\[\s{0,1000}(?:[\[{"\]]|\Z|-?\d[\d.eE+-]{0,30}\s{0,1000}[,\n])')
_NEXT_DOCUMENT = re.compile(r"\s{0,1000}[{\[]")
_CUT_LITERAL = re.compile(r"t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|-?[\d.eE+-]{0,40}")
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[{}\[\]]', re.DOTALL)
_EXPORT_AGAIN = "export the file again"


def quick(data: bytes | str) -> Any:
    """Return the document in strict JSON, or `NOT_JSON`."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return NOT_JSON


def looks_like_json(text: str) -> bool:
    """Tell whether text that may be broken begins like a JSON object or array, and not like `[A door opens]`."""
    return _START.match(text.lstrip(_BLANK)[:4_096]) is not None


def thorough(text: str, name: str) -> tuple[Any, int]:
    """Return the document in loosely written JSON and how many numbers in it were NaN or infinite, read as None.

    Raw control characters in strings and lone surrogates pass: who takes the text cleans it.
    Raises TranscriptError `json_truncated`, `json_too_deep`, `json_invalid` or `unknown_json_shape` (JSON Lines).
    """
    nans = 0

    def not_a_number(_: str) -> None:
        nonlocal nans
        nans += 1

    try:
        document = json.loads(text.strip(_BLANK), parse_constant=not_a_number, strict=False)
    except RecursionError:
        raise TranscriptError(
            codes.JSON_TOO_DEEP,
            f"{shown(name)}: the JSON is nested too deeply for a transcript",
            next_step=_EXPORT_AGAIN,
        ) from None
    except json.JSONDecodeError as error:
        raise _explained(text, error, name) from None
    except ValueError:
        # An integer of more digits than Python reads.
        raise TranscriptError(
            codes.JSON_INVALID, f"{shown(name)}: the JSON holds a number of too many digits", next_step=_EXPORT_AGAIN
        ) from None
    return document, nans


def _explained(text: str, error: json.JSONDecodeError, name: str) -> TranscriptError:
    """Return what is wrong with text that begins like JSON."""
    begin = len(text) - len(text.lstrip(_BLANK))
    end = len(text.rstrip(_BLANK))
    offset = begin + error.pos
    if error.msg == "Extra data" and _NEXT_DOCUMENT.match(text, offset):
        return TranscriptError(
            codes.UNKNOWN_JSON_SHAPE,
            f"{shown(name)}: several JSON documents in one file (JSON Lines, such as a Foundry database),"
            " which is not read yet",
            next_step="export the session as one of the formats in docs/reference/transcripts.md",
        )
    in_string, whole = _scan(text)
    cut_in_string = in_string >= 0 and (offset == in_string or offset >= end - 6)
    if cut_in_string or offset >= end or _CUT_LITERAL.fullmatch(text, offset, end):
        where = "inside a string" if cut_in_string else "before its last bracket"
        return TranscriptError(
            codes.JSON_TRUNCATED,
            f"{shown(name)}: the JSON ends {where}, at character {len(text):,}; {whole:,} records before it are whole",
            next_step=f"{_EXPORT_AGAIN}, it was cut",
            offset=len(text),
            recoverable_units=whole,
        )
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return TranscriptError(
        codes.JSON_INVALID,
        f"{shown(name)}: broken JSON at line {line:,}, column {column:,}: {error.msg}",
        next_step=f"repair that place, or {_EXPORT_AGAIN}",
        offset=offset,
    )


def _scan(text: str) -> tuple[int, int]:
    """Return where a string begins that is never closed, or -1, and how many records are whole.

    Records are the objects in a list inside the root, or inside the objects of a root list.
    """
    stack: list[str] = []
    whole = {"{[": 0, "[{[": 0, "[": 0}
    for token in _TOKEN.finditer(text):
        char = token[0][0]
        if char == '"':
            if not token[1]:
                return token.start(), whole["{["] or whole["[{["] or whole["["]
        elif char in "{[":
            stack.append(char)
        elif stack:
            stack.pop()
            if char == "}" and len(stack) < 4:
                shape = "".join(stack)
                if shape in whole:
                    whole[shape] += 1
    return -1, whole["{["] or whole["[{["] or whole["["]
