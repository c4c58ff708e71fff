"""Find the private response in what a model wrote: pure JSON, in a fence, or between sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

MAX_DEPTH = 50
"""Levels of lists and objects in a response; what is nested deeper could be read here and not be written again."""


MAX_CHARACTERS = 1_000_000
"""Longest text that is looked at: more than any model's longest answer."""

MAX_READ_AGAIN = 3_000_000
"""Characters that may be read for objects that begin and do not end: each may take the whole rest of the text."""


class UnreadableError(ValueError):
    """A text that does not hold exactly one private response; the message is a code."""


class _NotStrictJsonError(ValueError):
    pass


def private_response(text: str, root: str) -> dict[str, Any]:
    """Return the one object `{"<root>": [...]}` of a text.

    A fence or sentences around it are passed over. Raises UnreadableError: `no_answer`, `no_object`, `extra_field`,
    `several_objects`, `too_deep`, `too_long`. The list's items are judged later, one by one.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableError("too_long")
    if not text.strip():
        raise UnreadableError("no_answer")
    shaped = [found for found in _objects(text) if isinstance(found.get(root), list)]
    if not shaped:
        raise UnreadableError("no_object")
    if len(shaped) > 1:
        raise UnreadableError("several_objects")
    if list(shaped[0]) != [root]:
        raise UnreadableError("extra_field")
    if _depth(shaped[0]) > MAX_DEPTH:
        raise UnreadableError("too_deep")
    return shaped[0]


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while nested := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [child for v in nested for child in (v.values() if isinstance(v, dict) else v)]
    return depth


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=refuse_constant, parse_float=_finite)
    at = text.find("{")
    left = MAX_READ_AGAIN
    while at != -1 and left > 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError as error:
            end = at + 1
            left -= max(1, getattr(error, "pos", len(text)) - at)
        except RecursionError:
            # it would be met again at each of its braces
            raise UnreadableError("too_deep") from None
        else:
            yield found
        at = text.find("{", end)


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotStrictJsonError("a key is given twice")
    return found


def _finite(number: str) -> float:
    found = float(number)
    if math.isinf(found):
        raise _NotStrictJsonError(f"{number} is out of range")
    return found


def refuse_constant(constant: str) -> None:
    """Raise ValueError for what Python's decoder takes and JSON has not: NaN and the infinities."""
    raise _NotStrictJsonError(f"{constant} is no JSON")
