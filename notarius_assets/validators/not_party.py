"""`not_party`: players and their characters are no NPCs."""

from __future__ import annotations

from collections.abc import Iterator

from notarius_assets.identity import comparison_name
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per candidate that bears the name of a declared player, DM or character."""
    campaign = context.campaign
    party = {comparison_name(n) for n in (*campaign.players, *campaign.characters, *campaign.dms)} - {""}
    for item in view.items:
        if item.record and comparison_name(item.record["name"]) in party:
            yield Finding("party_member", item.index)


EXTRACTION = Validator(
    "not_party",
    Boundary.EXTRACTION,
    Level.RECORD,
    Severity.ERROR,
    "No candidate is a declared player, Dungeon Master or player character.",
    check,
)
