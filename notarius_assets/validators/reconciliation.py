"""`reconciliation`: what the normalizer of a registry warns of; it never blocks."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield what the normalizer noted: sets that were cut, requests without a usable proposal, refused groups."""
    yield from context.warnings


NORMALIZATION = Validator(
    "reconciliation",
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    Severity.WARN,
    "Every request for duplicate groups was answered, and every proposed group could be applied. A hint; without a "
    "proposal the records stay apart, and it never blocks.",
    check,
)
