"""Run validators in order; each sees only the records that no earlier ERROR condemned.

So one broken rule gives one validator's findings, and a rule may rely on those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from notarius_assets.validators.base import MAX_FINDINGS, Context, Finding, Severity, Validator, Verdict, View


@dataclass(frozen=True, slots=True)
class ChainResult:
    """Verdicts in chain order and, per condemned record index, the validator's key and the finding."""

    verdicts: tuple[Verdict, ...]
    condemned: dict[int, tuple[str, Finding]]

    @property
    def rejects(self) -> bool:
        """Whether any verdict rejects the artifact."""
        return any(v.rejects for v in self.verdicts)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The keys of the validators that reject the artifact."""
        return tuple(v.validator.key for v in self.verdicts if v.rejects)


def run(validators: Sequence[Validator], view: View, context: Context) -> ChainResult:
    """Run a chain over a frozen artifact."""
    condemned: dict[int, tuple[str, Finding]] = {}
    verdicts: list[Verdict] = []
    for validator in validators:
        counted = replace(context, rejected=len(condemned)) if condemned else context
        kept: list[Finding] = []
        total = 0
        fallen: dict[int, tuple[str, Finding]] = {}
        for finding in validator.check(view, counted):
            total += 1
            if len(kept) < MAX_FINDINGS:
                kept.append(finding)
            if validator.severity is Severity.ERROR and finding.record_index is not None:
                fallen.setdefault(finding.record_index, (validator.key, finding))
        verdicts.append(Verdict(validator, tuple(kept), total, len(view.items)))
        if fallen:
            condemned.update(fallen)
            view = View(tuple(i for i in view.items if i.index not in fallen), view.document)
    return ChainResult(tuple(verdicts), condemned)
