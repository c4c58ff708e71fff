"""`identity`: every id is derived from its record, and unique."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record whose id is not the derived one, or was seen before."""
    derive = context.lane.derive_id
    if derive is None:
        return
    seen: dict[str, int] = {}
    for item in view.items:
        record = item.record or {}
        if record["id"] in seen:
            yield Finding("duplicate_id", item.index, f"first={seen[record['id']]}")
            continue
        seen[record["id"]] = item.index
        if derive(record, context.source_id) != record["id"]:
            yield Finding("id_not_derived", item.index)


NORMALIZATION = Validator(
    "identity",
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    Severity.ERROR,
    "Every id follows from the record by the identity policy, and no two records share one.",
    check,
)
