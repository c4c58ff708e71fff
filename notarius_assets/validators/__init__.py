"""Validators: small functions, each with a key, a severity and a bounded list of findings."""

from __future__ import annotations

from notarius_assets.validators import (
    alignment_conflict,
    coverage,
    durable_schema,
    identity,
    kind_overlap,
    not_party,
    order_and_duplicates,
    reconciliation,
    reference_membership,
    relatedness,
    shape,
    source_ranges,
)
from notarius_assets.validators.base import Boundary, Validator

ALL: tuple[Validator, ...] = (
    shape.EXTRACTION,
    source_ranges.EXTRACTION,
    reference_membership.EXTRACTION,
    not_party.EXTRACTION,
    alignment_conflict.EXTRACTION,
    coverage.COVERAGE,
    coverage.REJECT_SHARE,
    relatedness.EXTRACTION,
    shape.NORMALIZATION,
    source_ranges.NORMALIZATION,
    reference_membership.NORMALIZATION,
    identity.NORMALIZATION,
    order_and_duplicates.NORMALIZATION,
    reconciliation.NORMALIZATION,
    relatedness.NORMALIZATION,
    kind_overlap.NORMALIZATION,
    durable_schema.NORMALIZATION,
)
"""Every validator that ships, extraction first, in the order of the default chains."""


def at(boundary: Boundary) -> dict[str, Validator]:
    """Return the shipped validators of one boundary by key."""
    return {v.key: v for v in ALL if v.boundary is boundary}
