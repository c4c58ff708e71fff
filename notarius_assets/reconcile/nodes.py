"""Records of a registry before and while they are united."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.identity import comparison_name, display_name


@dataclass(frozen=True, slots=True)
class Node:
    """One record-to-be: display name, evidence in canonical order, and where it was proposed first.

    `order` is chunk and position, which break ties. `parts` are the nodes as proposed of which it was united, however
    often; none for one that stands as it was proposed.
    """

    name: str
    refs: tuple[SourceRef, ...]
    order: tuple[int, int]
    parts: tuple[Node, ...] = ()

    @classmethod
    def of(cls, name: str, refs: Sequence[SourceRef], order: tuple[int, int]) -> Node:
        """Return a node as proposed."""
        return cls(display_name(name), canonical(refs), order)

    @property
    def atoms(self) -> tuple[Node, ...]:
        """The nodes as proposed of which this one is made."""
        return self.parts or (self,)

    @property
    def comparison(self) -> str:
        """The name as names are compared."""
        return comparison_name(self.name)

    @property
    def registry_key(self) -> tuple[SourceRef, str, tuple[int, int]]:
        """Registry order: earliest evidence, comparison name, where it was proposed."""
        return (self.refs[0], self.comparison, self.order)

    def covers(self, unit_id: int) -> bool:
        """Tell whether its evidence holds a unit."""
        return any(r.start_unit_id <= unit_id <= r.end_unit_id for r in self.refs)


def unite(nodes: Sequence[Node], named: Node | None = None, *, keep_parts: bool = True) -> Node:
    """Return one node with the evidence of all; the name is that of `named`, or of the earliest evidence.

    `keep_parts` False is for nodes that are one record by the identity rules: that is no merge anybody decided.
    """
    first = min(nodes, key=lambda n: (n.refs[0], n.order))
    refs = canonical(ref for node in nodes for ref in node.refs)
    # all on one level: decisions may chain without end
    parts = tuple(atom for node in nodes for atom in node.atoms) if keep_parts and len(nodes) > 1 else ()
    return Node((named or first).name, refs, first.order, parts)


def in_registry_order(nodes: Sequence[Node]) -> list[Node]:
    """Return nodes as a registry lists them."""
    return sorted(nodes, key=lambda n: n.registry_key)
