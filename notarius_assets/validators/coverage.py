"""`coverage` and `reject_share`: was the whole transcript answered, and was enough of the answer usable?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View

FEWEST_CANDIDATES = 10
"""Below this many candidates the rejected share says nothing."""


def check_coverage(view: View, context: Context) -> Iterator[Finding]:
    """Yield one finding per way of not answering when more windows than allowed have no answer."""
    missing = [w for w in context.windows if not w.answered]
    planned = len(context.windows)
    if not planned or len(missing) / planned <= context.allow.unanswered_share:
        return
    for end, count in sorted(Counter(w.end for w in missing).items()):
        chunks = ",".join(str(w.chunk_id) for w in missing if w.end == end)
        yield Finding("unanswered_windows", detail=f"end={end} windows={count} of={planned} chunks={chunks}")


def check_reject_share(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding when more than the allowed share of candidates was rejected record by record."""
    if context.proposed < FEWEST_CANDIDATES:
        return
    if context.rejected / context.proposed > context.allow.rejected_share:
        yield Finding("too_many_rejected", detail=f"rejected={context.rejected} of={context.proposed}")


COVERAGE = Validator(
    "coverage",
    Boundary.EXTRACTION,
    Level.ARTIFACT,
    Severity.ERROR,
    "Every planned window was answered, save the share the pipeline file allows.",
    check_coverage,
    required=True,
)
REJECT_SHARE = Validator(
    "reject_share",
    Boundary.EXTRACTION,
    Level.ARTIFACT,
    Severity.ERROR,
    "Of ten or more candidates, no more than the allowed share was rejected.",
    check_reject_share,
)
