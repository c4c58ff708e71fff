"""Source references: which units of the transcript prove a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from notarius_assets.transcripts.model import Unit

MAX_LISTED_REFS = 200
"""Cited ranges a projection expands at most; more are counted, not shown."""


class SourceRef(NamedTuple):
    """One inclusive range of units of one source; its tuple order is the canonical order."""

    source_id: str
    start_unit_id: int
    end_unit_id: int

    def as_json(self) -> dict[str, str | int]:
        """Return the durable form, keys in contract order."""
        return {
            "source_id": self.source_id,
            "start_unit_id": self.start_unit_id,
            "end_unit_id": self.end_unit_id,
        }


def canonical(refs: Iterable[SourceRef]) -> tuple[SourceRef, ...]:
    """Return the refs sorted, exact duplicates dropped; overlapping ranges stay."""
    return tuple(sorted(set(refs)))


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """One unit as shown beside a record; `cited` tells proof from context."""

    unit_id: int
    label: str | None
    speakers: tuple[str, ...]
    text: str
    cited: bool


def project(refs: Sequence[SourceRef], units: Sequence[Unit], context: int = 2) -> list[EvidenceLine]:
    """Return the cited units and `context` units around each range, each once, in transcript order.

    `units` are all units of the session, so that unit n stands at index n - 1. Ranges outside are cut.
    """
    cited: set[int] = set()
    shown: set[int] = set()
    for ref in refs[:MAX_LISTED_REFS]:
        first, last = max(1, ref.start_unit_id), min(len(units), ref.end_unit_id)
        cited.update(range(first, last + 1))
        if first <= last:
            shown.update(range(max(1, first - context), min(len(units), last + context) + 1))
    return [
        EvidenceLine(u.unit_id, u.label, u.speakers, u.text, u.unit_id in cited)
        for u in (units[n - 1] for n in sorted(shown))
    ]
