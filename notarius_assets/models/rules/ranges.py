"""Unit ids to ranges: adjacent ones collapsed, the number limited."""

from __future__ import annotations

from collections.abc import Iterable


def collapse(units: Iterable[int], gap: int) -> list[tuple[int, int]]:
    """Return sorted ranges; units at most `gap` apart share one."""
    out: list[tuple[int, int]] = []
    for unit in sorted(set(units)):
        if out and unit - out[-1][1] <= gap:
            out[-1] = (out[-1][0], unit)
        else:
            out.append((unit, unit))
    return out


def limited(ranges: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Return at most `most` ranges: the first, the last, and evenly chosen ones between."""
    if len(ranges) <= most:
        return ranges
    if most <= 1:
        return ranges[:1]
    step = (len(ranges) - 1) / (most - 1)
    return [ranges[i] for i in sorted({round(k * step) for k in range(most)})]


def as_json(ranges: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    """Return ranges in the shape of the private response."""
    return [{"start": start, "end": end} for start, end in ranges]
