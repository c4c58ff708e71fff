"""`source_ranges`: evidence is of this source, within its units, forward, and inside one chunk."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def _chunk_of(ref: Mapping[str, Any], starts: list[int], ends: list[int]) -> int | None:
    at = bisect_right(starts, ref["start_unit_id"]) - 1
    return at if at >= 0 and ref["end_unit_id"] <= ends[at] else None


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record with a range that can't be evidence here.

    A candidate's ranges must lie inside the chunk it was asked with. A record's ranges must each lie inside one chunk,
    and inside the same one where the lane says so.
    """
    spans = sorted(context.chunks.values())
    starts, ends = [s for s, _ in spans], [e for _, e in spans]
    for item in view.items:
        found = _problem(item.record or {}, item.chunk_id, context, starts, ends)
        if found:
            yield Finding(found.code, item.index, found.detail)


def _problem(
    record: Mapping[str, Any], asked: int | None, context: Context, starts: list[int], ends: list[int]
) -> Finding | None:
    seen: set[int] = set()
    for ref in record.get("source_refs", ()):
        start, end = ref["start_unit_id"], ref["end_unit_id"]
        where = f"units={start}-{end}"
        if ref["source_id"] != context.source_id:
            return Finding("other_source", detail=where)
        if start > end:
            return Finding("reversed_range", detail=where)
        if start < 1 or end > len(context.units):
            return Finding("range_outside_source", detail=where)
        if asked is not None:
            first, last = context.chunks[asked]
            if start < first or end > last:
                return Finding("range_outside_chunk", detail=f"{where} chunk={first}-{last}")
            continue
        chunk = _chunk_of(ref, starts, ends)
        if chunk is None:
            return Finding("range_across_chunks", detail=where)
        seen.add(chunk)
    if context.lane.one_chunk_a_record and len(seen) > 1:
        return Finding("evidence_in_several_chunks", detail=f"chunks={len(seen)}")
    return None


def _at(boundary: Boundary, level: Level, description: str) -> Validator:
    return Validator("source_ranges", boundary, level, Severity.ERROR, description, check, required=True)


EXTRACTION = _at(
    Boundary.EXTRACTION,
    Level.RECORD,
    "Every range of a candidate runs forward and lies inside the chunk that was asked.",
)
NORMALIZATION = _at(
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    "Every range cites this source, runs forward, lies within its units and inside one chunk.",
)
