"""Groups that rules propose, with why; a model proposes the same groups and gives no reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """Which rule proposes a group, and the unit that states it, if one does."""

    rule: str
    unit_id: int | None = None


@dataclass(frozen=True, slots=True)
class ProposedGroup:
    """Keys of a request that are one, the key whose name stands, and why."""

    members: tuple[str, ...]
    canonical: str
    reason: Reason
