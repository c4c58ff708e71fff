"""`order_and_duplicates`: documents stand in canonical order, evidence too, and nothing is said twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.identity import compact_json
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record out of order, equal to an earlier one, or with evidence out of order."""
    seen: set[str] = set()
    before: Any = None
    for item in view.items:
        record = item.record or {}
        refs = tuple(SourceRef(**r) for r in record["source_refs"])
        if refs != canonical(refs):
            yield Finding("evidence_not_canonical", item.index)
            continue
        text = compact_json(record)
        if text in seen:
            yield Finding("duplicate_record", item.index)
            continue
        seen.add(text)
        key = context.lane.order_key(record)
        if before is not None and key < before:
            yield Finding("out_of_order", item.index)
        else:
            before = key


NORMALIZATION = Validator(
    "order_and_duplicates",
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    Severity.ERROR,
    "Records and their evidence stand in canonical order, without exact duplicates.",
    check,
)
