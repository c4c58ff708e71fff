"""`reference_membership`: a consuming lane names only what its bound registry holds."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check_candidates(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per candidate whose name the registry does not hold under the lookup rule."""
    for item in view.items:
        for slot in context.lane.slots:
            code = slot.mismatch(item.record or {}, context.registries[slot.name])
            if code:
                yield Finding(code, item.index)


def check_records(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record that does not carry a registry record's canonical form."""
    for item in view.items:
        for slot in context.lane.slots:
            registry = context.registries[slot.name]
            code = slot.mismatch(item.record or {}, registry)
            if code is None and item.record is not None:
                canonical = registry.lookup(item.record["name"])
                if canonical is None or canonical["name"] != item.record["name"]:
                    code = "name_not_canonical"
            if code:
                yield Finding(code, item.index)


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
