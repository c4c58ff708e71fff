"""Nodes, units and requests by a few words, from which the tests of reconciliation start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.evidence import SourceRef
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Candidate, Lane, Reconciliation
from notarius_assets.reconcile.assessment import Assessment, assess
from notarius_assets.reconcile.declared import Decision, Form
from notarius_assets.reconcile.nodes import Node
from notarius_assets.reconcile.request import ReconcileRequest, requests
from notarius_assets.transcripts.model import Unit

NPCS, INTERACTIONS, LOCATIONS, _ = BUILT_IN
SOURCE = "emberfall/s01"
NOBODY = CampaignReferences()

Span = tuple[int, int] | int


def span(given: Span) -> tuple[int, int]:
    """Return a range; a number is the range of one unit."""
    return (given, given) if isinstance(given, int) else given


def node(name: str, *spans: Span, at: tuple[int, int] = (1, 0), source_id: str = SOURCE) -> Node:
    """Return a node as proposed; `at` is chunk and position."""
    return Node.of(name, [SourceRef(source_id, *span(s)) for s in spans], at)


def nodes(*named: tuple[str, Span]) -> list[Node]:
    """Return nodes of one range each, at consecutive positions of one chunk."""
    return [node(name, where, at=(1, position)) for position, (name, where) in enumerate(named)]


def candidate(name: str, *spans: Span, at: tuple[int, int] = (1, 0)) -> Candidate:
    """Return a candidate of a registry."""
    refs = [SourceRef(SOURCE, *span(s)).as_json() for s in spans]
    return Candidate(*at, {"name": name, "source_refs": refs})


def said(*texts: str, by: str = "DM") -> tuple[Unit, ...]:
    """Return a session of units with these words."""
    return tuple(Unit(n, (by,), text) for n, text in enumerate(texts, 1))


def silent(count: int, text: str = "Nothing moves.") -> tuple[Unit, ...]:
    """Return a session of equal units."""
    return said(*[text] * count)


def asked(
    given: Iterable[Node], units: tuple[Unit, ...], campaign: CampaignReferences = NOBODY, lane: Lane = NPCS
) -> list[ReconcileRequest]:
    """Return the requests about nodes."""
    return requests(lane.key, SOURCE, list(given), units, campaign)


def one(
    given: Iterable[Node], units: tuple[Unit, ...], campaign: CampaignReferences = NOBODY, lane: Lane = NPCS
) -> ReconcileRequest:
    """Return the only request about nodes."""
    (request,) = asked(given, units, campaign, lane)
    return request


def group(*members: str, canonical: str | None = None) -> dict[str, Any]:
    """Return a group as a proposal has it; the first name stands unless told otherwise."""
    return {"members": list(members), "canonical": canonical or members[0]}


def judged(request: ReconcileRequest, *groups: Any) -> Assessment:
    """Assess a proposal of these groups."""
    return assess({"groups": list(groups)}, request)


def together(*forms: str | tuple[str, int], lane: Lane = NPCS, session: str | None = None) -> Decision:
    """Return the decision that records are one."""
    return Decision(lane.key, _forms(forms), True, session)


def separate(*forms: str | tuple[str, int], lane: Lane = NPCS, session: str | None = None) -> Decision:
    """Return the decision that records stay apart."""
    return Decision(lane.key, _forms(forms), False, session)


def _forms(given: Sequence[str | tuple[str, int]]) -> tuple[Form, ...]:
    return tuple(Form(f) if isinstance(f, str) else Form(*f) for f in given)


def how(lane: Lane) -> Reconciliation:
    """Return how a registry is reconciled."""
    assert lane.reconciliation is not None
    return lane.reconciliation


def made(lane: Lane, left: Sequence[Node]) -> list[dict[str, Any]]:
    """Return the durable records of what is left."""
    return how(lane).records(left, SOURCE)[0]


def shape(record: Mapping[str, Any] | Node) -> tuple[str, list[tuple[int, int]]]:
    """Return name and ranges of a record or node."""
    if isinstance(record, Node):
        return record.name, [(r.start_unit_id, r.end_unit_id) for r in record.refs]
    return record["name"], [(r["start_unit_id"], r["end_unit_id"]) for r in record["source_refs"]]
