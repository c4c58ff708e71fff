"""`alignment_conflict`: nobody fights for and against the party in the same passage."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.identity import comparison_name
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View

_SIDES = {"combat_ally", "combat_opponent"}


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding for each of two candidates of one name and identical evidence on both sides of a fight."""
    sides: dict[tuple[str, tuple[SourceRef, ...]], set[str]] = {}
    keys: list[tuple[int, tuple[str, tuple[SourceRef, ...]]]] = []
    for item in view.items:
        if item.record and item.record["kind"] in _SIDES:
            refs = canonical(SourceRef(**r) for r in item.record["source_refs"])
            key = (comparison_name(item.record["name"]), refs)
            sides.setdefault(key, set()).add(item.record["kind"])
            keys.append((item.index, key))
    for index, key in keys:
        if sides[key] == _SIDES:
            yield Finding("both_sides", index)


EXTRACTION = Validator(
    "alignment_conflict",
    Boundary.EXTRACTION,
    Level.RECORD,
    Severity.ERROR,
    "No NPC is ally and opponent with identical evidence; of such a pair both are rejected.",
    check,
    of_kinds=True,
)
