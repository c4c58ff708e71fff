"""`relatedness`: does a cited unit say the name at all? A hint for people; it never blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.identity import comparison_name
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_TOO_COMMON = frozenset({"the", "a", "an", "of", "and", "to", "in", "on", "at", "his", "her", "their", "my", "our"})


def tokens(text: str) -> frozenset[str]:
    """Return the words of a text in comparison form, possessive `'s` off, articles and the like out."""
    words = {w.removesuffix("'s") for w in _TOKEN.findall(comparison_name(text))}
    return frozenset(words - _TOO_COMMON)


def is_named(forms: Iterable[str], texts: Iterable[str]) -> bool:
    """Tell whether a word of one of the forms of a name stands in one of the texts."""
    wanted = frozenset(token for form in forms for token in tokens(form))
    return any(wanted & tokens(text) for text in texts)


def _forms(name: str, campaign: CampaignReferences) -> Iterator[str]:
    wanted = comparison_name(name)
    yield name
    for known in (*campaign.npcs, *campaign.locations):
        if any(comparison_name(form) == wanted for form in known.forms):
            yield from known.forms


def is_related(record: Mapping[str, Any], units: Sequence[Unit], campaign: CampaignReferences) -> bool:
    """Tell whether a word of the record's name or of a declared alias stands in a unit it cites."""
    # where a list of checks puts this one first, ranges may still lie anywhere
    cited = {
        n
        for r in record["source_refs"]
        for n in range(max(1, r["start_unit_id"]), min(len(units), r["end_unit_id"]) + 1)
    }
    return is_named(_forms(record["name"], campaign), (units[n - 1].text for n in sorted(cited)))


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record whose cited units hold no word of its name."""
    for item in view.items:
        if item.record and not is_related(item.record, context.units, context.campaign):
            yield Finding("name_not_in_evidence", item.index)


def _at(boundary: Boundary) -> Validator:
    return Validator(
        "relatedness",
        boundary,
        Level.RECORD,
        Severity.WARN,
        "A word of the name, or of a declared alias, stands in a cited unit. A hint; it never blocks.",
        check,
    )


EXTRACTION = _at(Boundary.EXTRACTION)
NORMALIZATION = _at(Boundary.NORMALIZATION)
