"""How well duplicates were told: records that unite several gold entities, and gold entities in several records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from notarius_assets.evaluation.matching import ENTITY_SLACK, SLACK, bare_name
from notarius_assets.evaluation.ranges import Ranges, near
from notarius_assets.evaluation.records import Entity

Member = tuple[str, Ranges]
"""A candidate of a registry: its name, and its evidence in turns of the whole episode."""


@dataclass(frozen=True, slots=True)
class Unions:
    """Counts of one registry.

    `wrong` counts the gold entities too many in one record, `missed` the records too many of one gold entity. `told`
    of `candidates` answer to exactly one gold entity; of the others nothing can be said.
    """

    wrong: int
    missed: int
    told: int
    candidates: int


def unions(records: Sequence[Sequence[Member]], gold: Sequence[Entity]) -> Unions:
    """Count the unions of a registry; `records` are its records as the candidates that went into each."""
    forms = [{bare_name(form) for form in (g.name, *g.aliases)} for g in gold]
    told = 0
    wrong = 0
    records_of: list[int] = [0] * len(gold)
    for members in records:
        met: set[int] = set()
        for name, refs in members:
            found = _entity(name, refs, gold, forms)
            if found is not None:
                told += 1
                met.add(found)
        wrong += max(0, len(met) - 1)
        for j in met:
            records_of[j] += 1
    missed = sum(count - 1 for count in records_of if count > 1)
    return Unions(wrong, missed, told, sum(map(len, records)))


def _entity(name: str, refs: Ranges, gold: Sequence[Entity], forms: Sequence[set[str]]) -> int | None:
    """Return the one gold entity of this name near this evidence; the nearer one of several."""
    named = [j for j, g in enumerate(gold) if bare_name(name) in forms[j]]
    for slack in (0, SLACK, ENTITY_SLACK + SLACK):
        close = [j for j in named if near(refs, gold[j].refs, slack)]
        if close:
            return close[0] if len(close) == 1 else None
    return None
