"""`kind_overlap`: two kinds of one name on the same units; precedence is the extractor's, so this only warns."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record that shares a unit with an earlier record of the same name and another kind."""
    spans: dict[str, list[tuple[int, int, str, int]]] = {}
    for item in view.items:
        record = item.record or {}
        for ref in record["source_refs"]:
            span = (ref["start_unit_id"], ref["end_unit_id"], record["kind"], item.index)
            spans.setdefault(record.get("location_id", record["name"]), []).append(span)
    flagged: dict[int, int] = {}
    for group in spans.values():
        group.sort()
        # the range that reaches furthest, per kind, is the only one a later range can still meet
        furthest: dict[str, tuple[int, int]] = {}
        for start, end, kind, index in group:
            for other, (reach, earlier) in furthest.items():
                if other != kind and reach >= start:
                    first, second = sorted((index, earlier))
                    flagged.setdefault(second, first)
            if kind not in furthest or furthest[kind][0] < end:
                furthest[kind] = (end, index)
    for index, overlapped in sorted(flagged.items()):
        yield Finding("kinds_overlap", index, f"with={overlapped}")


NORMALIZATION = Validator(
    "kind_overlap",
    Boundary.NORMALIZATION,
    Level.RECORD,
    Severity.WARN,
    "No two records of one name and different kinds cite the same unit. A hint; it never blocks.",
    check,
    of_kinds=True,
)
