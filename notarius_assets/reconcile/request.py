"""What is asked of a proposer: candidates under opaque keys, and the words around their evidence, once each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from notarius_assets.campaign import CampaignReferences
from notarius_assets.evidence import SourceRef
from notarius_assets.framing import framed_json, said
from notarius_assets.reconcile.nodes import Node, in_registry_order
from notarius_assets.transcripts.model import Unit

MAX_CANDIDATES = 200
"""Candidates in one request."""

MAX_CHARACTERS = 60_000
"""Characters of candidates and evidence in one request."""

SHOWN_REFS = 3
"""Ranges of a candidate whose words are shown; all are listed by number."""

WINDOW = 2
"""Units shown before and after each of them."""

LONGEST_RANGE = 6
"""Units of one range that are shown; of a longer one the first and the last half."""

LONGEST_UNIT = 900
"""Characters of one unit that are shown."""

LISTED_REFS = 12
"""Ranges of a candidate that are listed by number; more are counted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate in a request. The key means nothing outside of it."""

    key: str
    node: Node

    @property
    def line(self) -> str:
        """The candidate as shown: key, name, the units that identify it."""
        listed = "; ".join(_range(r) for r in self.node.refs[:LISTED_REFS])
        more = len(self.node.refs) - LISTED_REFS
        return f"{self.key} | {framed_json(self.node.name)} | units {listed}{f' and {more} more' if more > 0 else ''}"


@dataclass(frozen=True)
class ReconcileRequest:
    """One request for duplicate groups. `number` counts the requests of a lane in a session from 1.

    `units` are all units of the session, unit n at index n - 1; a model sees the excerpt alone.
    """

    lane: str
    source_id: str
    number: int
    entries: tuple[Entry, ...]
    units: tuple[Unit, ...] = field(repr=False)
    campaign: CampaignReferences = field(default_factory=CampaignReferences, repr=False)

    @cached_property
    def by_key(self) -> dict[str, Node]:
        """The candidates by key."""
        return {entry.key: entry.node for entry in self.entries}

    @property
    def candidate_lines(self) -> str:
        """The candidates, one a line."""
        return "\n".join(entry.line for entry in self.entries)

    @property
    def evidence_lines(self) -> str:
        """The words around the candidates' evidence, each unit once and in order; `…` where units are left out."""
        lines: list[str] = []
        last = 0
        for n in sorted({n for entry in self.entries for n in _shown(entry.node, len(self.units))}):
            if last and n != last + 1:
                lines.append("…")
            lines.append(_unit_line(self.units[n - 1]))
            last = n
        return "\n".join(lines)


def requests(
    lane: str, source_id: str, nodes: Sequence[Node], units: tuple[Unit, ...], campaign: CampaignReferences
) -> list[ReconcileRequest]:
    """Return the requests for the eligible nodes: one, or as many as the limits need; none for fewer than two nodes.

    A set that is too large is cut in registry order; equal comparison names, and the forms of one declared name, stay
    together as long as a request holds them.
    """
    out: list[ReconcileRequest] = []
    for part in _parts(eligible(nodes, source_id, units), units, _declared_name(campaign)):
        if len(part) < 2:
            continue
        entries = tuple(Entry(f"c{n:03d}", node) for n, node in enumerate(in_registry_order(part), 1))
        out.append(ReconcileRequest(lane, source_id, len(out) + 1, entries, units, campaign))
    return out


def eligible(nodes: Sequence[Node], source_id: str, units: tuple[Unit, ...]) -> list[Node]:
    """Return the nodes that may be asked about, in registry order: those with a name and valid evidence."""
    return in_registry_order([n for n in nodes if _is_eligible(n, source_id, len(units))])


def _is_eligible(node: Node, source_id: str, units: int) -> bool:
    return bool(node.comparison and node.refs) and all(
        r.source_id == source_id and 1 <= r.start_unit_id <= r.end_unit_id <= units for r in node.refs
    )


def _parts(nodes: Sequence[Node], units: tuple[Unit, ...], name_of: Callable[[Node], str]) -> Iterator[list[Node]]:
    together: dict[str, list[Node]] = {}
    for node in nodes:
        together.setdefault(name_of(node), []).append(node)
    part = _Part(units)
    for group in together.values():
        whole = _Part(units)
        if part.nodes and not (part.takes(group) or not whole.takes(group)):
            yield part.nodes
            part = whole
        for node in group:
            if part.nodes and not part.takes([node]):
                yield part.nodes
                part = _Part(units)
            part.add(node)
    if part.nodes:
        yield part.nodes


class _Part:
    """A request that is being filled; what a unit costs is counted once."""

    def __init__(self, units: tuple[Unit, ...]) -> None:
        self.nodes: list[Node] = []
        self._units = units
        self._shown: set[int] = set()
        self._characters = 0

    def takes(self, nodes: Sequence[Node]) -> bool:
        if len(self.nodes) + len(nodes) > MAX_CANDIDATES:
            return False
        new = {n for node in nodes for n in _shown(node, len(self._units))} - self._shown
        return self._characters + self._cost(nodes, new) <= MAX_CHARACTERS

    def add(self, node: Node) -> None:
        new = set(_shown(node, len(self._units))) - self._shown
        self._characters += self._cost([node], new)
        self._shown |= new
        self.nodes.append(node)

    def _cost(self, nodes: Sequence[Node], new: set[int]) -> int:
        # a line end each, and for each unit the line that says that others before it are left out
        lines = sum(len(Entry("c000", node).line) + 1 for node in nodes)
        return lines + sum(len(_unit_line(self._units[n - 1])) + 3 for n in new)


def _declared_name(campaign: CampaignReferences) -> Callable[[Node], str]:
    declared = campaign.declared_names
    return lambda node: declared.get(node.comparison, node.comparison)


def _shown(node: Node, units: int) -> Iterator[int]:
    half = LONGEST_RANGE // 2
    for ref in node.refs[:SHOWN_REFS]:
        first, last = max(1, ref.start_unit_id - WINDOW), min(units, ref.end_unit_id + WINDOW)
        if ref.end_unit_id - ref.start_unit_id < LONGEST_RANGE:
            yield from range(first, last + 1)
        else:
            yield from range(first, ref.start_unit_id + half)
            yield from range(ref.end_unit_id - half + 1, last + 1)


def _unit_line(unit: Unit) -> str:
    return f"[{unit.unit_id}] {said(unit, LONGEST_UNIT)}"


def _range(ref: SourceRef) -> str:
    start, end = ref.start_unit_id, ref.end_unit_id
    return str(start) if start == end else f"{start}-{end}"
