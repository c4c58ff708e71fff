"""`reference_membership`: a consuming lane names only what its bound registry holds."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check_candidates(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per candidate that is about no record of the registry, by the lookup rule of its slot."""
    for item in view.items:
        for slot in context.lane.slots:
            found = slot.find(item.record or {}, context.registries[slot.name])
            if isinstance(found, str):
                yield Finding(found, item.index)


def check_records(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record that does not carry a registry record's canonical form."""
    for item in view.items:
        for slot in context.lane.slots:
            record = item.record or {}
            found = slot.find(record, context.registries[slot.name])
            if isinstance(found, str):
                yield Finding(found, item.index)
            elif found["name"] != record["name"]:
                yield Finding("name_not_canonical", item.index)


EXTRACTION = Validator(
    "reference_membership",
    Boundary.EXTRACTION,
    Level.RECORD,
    Severity.ERROR,
    "Every candidate names a record of the bound registry.",
    check_candidates,
    required=True,
)
NORMALIZATION = Validator(
    "reference_membership",
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    Severity.ERROR,
    "Every record carries the canonical name of a record of the bound registry.",
    check_records,
    required=True,
)
