"""Validators as asset checks: one a validator and boundary, with a result a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from notarius_assets.orchestration.metadata import findings, verdict_in_words
from notarius_assets.validators.base import Validator, Verdict


def specs(
    validators: Sequence[Validator], asset: dg.AssetKey, partitions: dg.PartitionsDefinition[str]
) -> list[dg.AssetCheckSpec]:
    """Return the check specs of an asset. Without `partitions_def` one flag would stand for all sessions."""
    return [
        dg.AssetCheckSpec(v.key, asset=asset, description=v.description, blocking=v.blocking, partitions_def=partitions)
        for v in validators
    ]


def result(verdict: Verdict, asset: dg.AssetKey) -> dg.AssetCheckResult:
    """Return what a validator said as a check result.

    ERROR is kept for what rejects the artifact: a candidate rejected by itself leaves the artifact good, and a red
    check on a good table would teach people to look away.
    """
    metadata: dict[str, Any] = {
        "looked_at": verdict.looked_at,
        "found": verdict.total,
    }
    if not verdict.passed:
        metadata["findings"] = dg.MetadataValue.md(findings(verdict))
    return dg.AssetCheckResult(
        passed=verdict.passed,
        asset_key=asset,
        check_name=verdict.validator.key,
        severity=dg.AssetCheckSeverity.ERROR if verdict.validator.blocking else dg.AssetCheckSeverity.WARN,
        description=verdict_in_words(verdict),
        metadata=metadata,
    )
