"""Arithmetic on evidence: inclusive ranges of turns or units, never expanded into single numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Inclusive `(start, end)` pairs with start <= end; they may overlap and stand in any order."""


def near(left: Ranges, right: Ranges, slack: int) -> bool:
    """Tell whether a range of one comes within `slack` of a range of the other; 1 is next to each other."""
    return any(a - slack <= d and c - slack <= b for a, b in left for c, d in right)


def disjoint(ranges: Ranges) -> Ranges:
    """Return the same numbers as sorted ranges that neither overlap nor touch."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return tuple(out)


def size(ranges: Ranges) -> int:
    """Return how many different numbers the ranges hold."""
    return sum(end - start + 1 for start, end in disjoint(ranges))


def iou(left: Ranges, right: Ranges) -> float:
    """Return shared numbers divided by all numbers of both; 0.0 when both are empty."""
    shared = _shared(disjoint(left), disjoint(right))
    total = size(left) + size(right) - shared
    return shared / total if total else 0.0


def _shared(left: Ranges, right: Ranges) -> int:
    total = i = j = 0
    while i < len(left) and j < len(right):
        total += max(0, min(left[i][1], right[j][1]) - max(left[i][0], right[j][0]) + 1)
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return total


class RangeIndex:
    """Finds which of many records have evidence near some ranges, without looking at all of them."""

    def __init__(self, evidence: Sequence[tuple[int, Ranges]]) -> None:
        """Index `(position, ranges)` pairs; `position` is what the search gives back."""
        self._spans = sorted((start, end, position) for position, ranges in evidence for start, end in ranges)
        self._starts = [start for start, _, _ in self._spans]
        # Never falls, so the first span that can still reach a number is found by bisection.
        self._reach = list(accumulate((end for _, end, _ in self._spans), max))

    def within(self, ranges: Ranges, slack: int) -> list[int]:
        """Return the positions that are `near` the ranges, ascending, each once."""
        found: set[int] = set()
        for start, end in ranges:
            first = bisect_left(self._reach, start - slack)
            last = bisect_right(self._starts, end + slack)
            found.update(position for _, reach, position in self._spans[first:last] if reach >= start - slack)
        return sorted(found)
