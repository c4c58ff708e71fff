"""Reader of CRD3: turns of one session, as published (cleaned), in aligned chunks, or bare.

Cleaned is `{"METADATA": {...}, "TURNS": [{"NAMES": [str], "UTTERANCES": [str], "NUMBER": int}]}`, bare has no
`METADATA`. Aligned is `[{"CHUNK": str, "ALIGNMENT": {...}, "TURNS": [...]}]`: the turns at the border of two chunks
stand in both. `METADATA` and `CHUNK` are summaries and never become units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from notarius_assets.transcripts import codes
from notarius_assets.transcripts.base import Reader, Reading
from notarius_assets.transcripts.cleaning import tidy
from notarius_assets.transcripts.content import Content
from notarius_assets.transcripts.intake import Intake


def takes(content: Content) -> bool:
    """Tell whether a file is CRD3: `TURNS` is a list, in the root or in some object of a root list."""
    if not content.is_json:
        return False
    root = content.document
    if isinstance(root, list):
        return any(_has_turns(chunk) for chunk in root)
    return _has_turns(root)


def read(content: Content, intake: Intake) -> Reading:
    """Take every turn: one unit a turn, its utterances joined by a space, its NUMBER as the unit's label."""
    root = content.document
    if isinstance(root, list):
        seen = sum(len(chunk["TURNS"]) if _has_turns(chunk) else 1 for chunk in root)
        _take(_by_number(root, intake), intake)
        return Reading("crd3-aligned", seen)
    _take(root["TURNS"], intake)
    return Reading("crd3-cleaned", len(root["TURNS"]))


def _has_turns(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("TURNS"), list)


def _take(turns: Iterable[Any], intake: Intake) -> None:
    labels_of: dict[str, tuple[str, ...]] = {}
    add = intake.add
    for turn in turns:
        try:
            names, utterances, number = turn["NAMES"], turn["UTTERANCES"], turn["NUMBER"]
            if type(names) is not list or type(utterances) is not list:
                raise TypeError
            if len(names) == 1:
                name = names[0]
                labels = labels_of.get(name)
                if labels is None:
                    labels = labels_of[name] = _labels(names)
            else:
                labels = _labels(names)
            text = " ".join(utterances)
        except (TypeError, KeyError, AttributeError):
            _take_odd(turn, intake)
        else:
            add(labels, text, str(number) if type(number) is int else _number(number))


def _take_odd(turn: Any, intake: Intake) -> None:
    """Take a turn that lacks something: without names or number it is still speech, without text it is none."""
    if isinstance(turn, dict):
        names, utterances = turn.get("NAMES"), turn.get("UTTERANCES")
        if _is_texts(utterances) and (names is None or _is_texts(names)):
            intake.add(_labels(names or ()), " ".join(utterances), _number(turn.get("NUMBER")))
            return
    intake.drop(codes.RECORD_MALFORMED_SKIPPED)


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a turn: `ALL - BRAM - INES` is three."""
    return tuple(label for name in names for label in name.split(" - "))


def _number(value: Any) -> str | None:
    """Return a turn's number as a label; a missing or odd one is no reason to lose the turn."""
    if isinstance(value, str):
        return tidy(value)[0] or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _by_number(chunks: list[Any], intake: Intake) -> Iterator[Any]:
    """Return the turns of all chunks in the order of their numbers, each once.

    A turn is left out only where an equal one with its number came before; an unequal one stays beside it.
    """
    kept: set[tuple[int, tuple[str, ...], tuple[str, ...]]] = set()
    out: list[tuple[int, Any]] = []
    last = -1
    in_order = True
    for chunk in chunks:
        if not _has_turns(chunk):
            intake.drop(codes.RECORD_MALFORMED_SKIPPED)
            continue
        for turn in chunk["TURNS"]:
            number = turn.get("NUMBER") if isinstance(turn, dict) else None
            if type(number) is not int:
                out.append((last, turn))
                continue
            names, utterances = turn.get("NAMES"), turn.get("UTTERANCES")
            if _is_texts(names) and _is_texts(utterances):
                key = (number, tuple(names), tuple(utterances))
                if key in kept:
                    intake.drop(codes.DUPLICATE_RECORD_DROPPED)
                    continue
                kept.add(key)
            in_order &= number >= last
            out.append((number, turn))
            last = number
    if not in_order:
        intake.note(codes.RECORDS_REORDERED, "the chunks were not in the order of their turns: sorted by NUMBER")
        out.sort(key=lambda item: item[0])
    return (turn for _, turn in out)


READER = Reader("crd3", "1", frozenset((".json",)), takes, read)
