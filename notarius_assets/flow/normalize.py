"""From candidates to a durable artifact, and the audit that decides whether it is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notarius_assets.lanes.base import Candidate, Lane, Reconciliation, Record
from notarius_assets.lanes.codec import content_digest, encode
from notarius_assets.reconcile.nodes import Node
from notarius_assets.references import Registry
from notarius_assets.validators import chain
from notarius_assets.validators.base import Context, Finding, Item, Validator, View


@dataclass(frozen=True, slots=True)
class Artifact:
    """A normalized document: its records, canonical bytes and digest."""

    lane: Lane
    records: tuple[Record, ...]
    document: bytes
    digest: str
    warnings: tuple[Finding, ...] = ()


def normalize(
    lane: Lane, candidates: Sequence[Candidate], source_id: str, registries: Mapping[str, Registry]
) -> Artifact:
    """Merge and normalize; deterministic, whatever the order of `candidates`."""
    return _artifact(lane, lane.normalize(lane.merge(candidates), source_id, registries))


def registry_of(lane: Lane, how: Reconciliation, nodes: Sequence[Node], source_id: str) -> Artifact:
    """Make the document of a reconciled registry."""
    return _artifact(lane, *how.records(nodes, source_id))


def _artifact(lane: Lane, records: Sequence[Record], warnings: Sequence[Finding] = ()) -> Artifact:
    document = encode(lane, records)
    return Artifact(lane, tuple(records), document, content_digest(document), tuple(warnings))


def audit(validators: Sequence[Validator], document: Mapping[str, Any], context: Context) -> chain.ChainResult:
    """Run a normalization chain over a document."""
    items = tuple(Item(n, record) for n, record in enumerate(document[context.lane.root]))
    return chain.run(validators, View(items, document), context)
