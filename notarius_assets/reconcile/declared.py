"""What the campaign's owner decided: records that are one, and records that stay apart, whatever is proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from notarius_assets.identity import comparison_name
from notarius_assets.reconcile.nodes import Node


@dataclass(frozen=True, slots=True)
class Form:
    """A record as its owner points at it: by name, and where that is not enough by a unit that it cites."""

    name: str
    unit: int | None = None

    def fits(self, node: Node) -> bool:
        """Tell whether a node as proposed is meant."""
        return comparison_name(self.name) == node.comparison and (self.unit is None or node.covers(self.unit))


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the pipeline file's `reconciliation`, the number `entry` from 0; `session` None is every session."""

    lane: str
    forms: tuple[Form, ...]
    are_one: bool
    session: str | None = None
    entry: int = 0

    def applies(self, lane: str, source_id: str) -> bool:
        """Tell whether it is about this lane and session."""
        return self.lane == lane and self.session in (None, source_id.partition("/")[2])

    def as_json(self) -> list[Any]:
        """Return a JSON form; part of fingerprints."""
        return [self.lane, self.session, self.are_one, [[f.name, f.unit] for f in self.forms]]

    def members(self, nodes: Sequence[Node]) -> list[Node]:
        """Return the nodes that are meant, those of the first form first."""
        found = [node for form in self.forms for node in nodes if any(form.fits(atom) for atom in node.atoms)]
        return list(dict.fromkeys(found))


def apart(nodes: Sequence[Node], decisions: Sequence[Decision]) -> bool:
    """Tell whether a decision keeps two of these nodes apart."""
    return any(_separates(decision, nodes) for decision in decisions if not decision.are_one)


def _separates(decision: Decision, nodes: Sequence[Node]) -> bool:
    fits = [{n for n, form in enumerate(decision.forms) if any(form.fits(a) for a in node.atoms)} for node in nodes]
    return any(one != other for a, b in permutations(fits, 2) if a and b for one in a for other in b)
