"""What a speaker label tells: a name, a group, a number of a recogniser, nobody; and which labels look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import combinations

from notarius_assets.transcripts.wordlist import words

_GROUPS = words(
    "all audience both cast chat crew crowd everybody everyone group offscreen others party players several"
    " various table"
)
_NOBODY = frozenset(("", "?", "unknown", "unknown speaker", "unidentified", "unidentified speaker", "none", "null"))
_ANONYMOUS = re.compile(r"(?:speaker|spk|voice)[ _-]?\d{1,4}|\d{1,4}", re.IGNORECASE)

MAX_LABEL = 200
"""Characters of a label that are compared with others."""

MAX_COMPARED = 2_000
"""Labels compared with each other; a session has dozens."""

MAX_PAIRS = 50
"""Pairs suggested at most."""


def is_group(label: str) -> bool:
    """Tell whether a label names several people at once."""
    return label.casefold() in _GROUPS


def is_nobody(label: str) -> bool:
    """Tell whether a label says that the speaker is not known; such a label is no speaker."""
    return label.casefold() in _NOBODY


def is_anonymous(label: str) -> bool:
    """Tell whether a label is a recogniser's number, such as SPEAKER_00."""
    return _ANONYMOUS.fullmatch(label) is not None


def fold(label: str) -> str:
    """Return the label's letters and digits only, without marks and case; labels equal under it look the same."""
    if label.isascii():
        return "".join(filter(str.isalnum, label)).lower()
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", label))).casefold()


def variants(labels: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of different labels that may be one person: equal folded, or one letter or swap apart.

    One letter apart counts from four letters on, and never when it is a digit. At most `MAX_PAIRS` pairs, in order
    of first appearance. The work grows with the labels, not with their pairs: labels are compared only where
    leaving one letter out makes them equal.
    """
    order: dict[str, list[str]] = {}
    for label in list(dict.fromkeys(labels))[:MAX_COMPARED]:
        key = fold(label[:MAX_LABEL])
        if key:
            order.setdefault(key, []).append(label)
    pairs = [(same[0], other) for same in order.values() for other in same[1:]]

    by_hole: dict[str, list[str]] = {}
    for key in order:
        if len(key) >= 4:
            for hole in {key, *(key[:n] + key[n + 1 :] for n in range(len(key)) if not key[n].isdigit())}:
                by_hole.setdefault(hole, []).append(key)
    near: dict[tuple[str, str], None] = {}
    for keys in by_hole.values():
        for one, two in combinations(keys[:MAX_PAIRS], 2):
            if _one_step(one, two):
                near[one, two] = None
    place = {key: n for n, key in enumerate(order)}
    pairs += [(order[a][0], order[b][0]) for a, b in sorted(near, key=lambda pair: (place[pair[0]], place[pair[1]]))]
    return tuple(pairs[:MAX_PAIRS])


def _one_step(one: str, two: str) -> bool:
    """Tell whether two folded labels differ by one letter put in, left out or changed, or by a swapped pair."""
    if len(one) > len(two):
        one, two = two, one
    start = 0
    while start < len(one) and one[start] == two[start]:
        start += 1
    rest_one, rest_two = one[start:], two[start:]
    if len(one) < len(two):
        return rest_one == rest_two[1:]
    return rest_one[1:] == rest_two[1:] or (rest_one[:2] == rest_two[1::-1] and rest_one[2:] == rest_two[2:])


def pairs_note(pairs: Sequence[tuple[str, str]]) -> str:
    """Return pairs of labels as one line for people."""
    return "; ".join(f"{one} / {two}" for one, two in pairs) + ": suggested, not merged"
