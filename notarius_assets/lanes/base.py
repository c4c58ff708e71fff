"""What a lane is: one declared value that the rest of the program reads.

A lane asks one kind of question of every chunk, keeps the candidates, and makes one durable artifact of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from notarius_assets.evidence import EvidenceLine, SourceRef, canonical, project
from notarius_assets.identity import comparison_name
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.window import WindowRequest
from notarius_assets.reconcile.nodes import Node
from notarius_assets.reconcile.proposal import ProposedGroup
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.references import Registry
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Finding, Validator

Record = dict[str, Any]
"""A durable record as JSON, keys in contract order."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal that passed the record rules. `record` has the durable fields the extractor knows, without an id."""

    chunk_id: int
    position: int
    record: Record

    @property
    def refs(self) -> tuple[SourceRef, ...]:
        """The evidence in canonical order."""
        return canonical(SourceRef(**r) for r in self.record["source_refs"])


@dataclass(frozen=True, slots=True)
class ReferenceSlot:
    """A registry that a lane needs, by the kind of its artifact.

    `find` gives the registry's record that a record is about, or the code by which it fails the lookup. `project`
    gives what the prompt shows.
    """

    name: str
    artifact_kind: str
    find: Callable[[Mapping[str, Any], Registry], Mapping[str, Any] | str]
    project: Callable[[Registry], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Profile:
    """How a lane is answered offline: the rule files it reads and the function that proposes."""

    rules: tuple[str, ...]
    propose: Callable[[WindowRequest, Ruleset], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """How the records of a registry may be united.

    `nodes` makes records-to-be of candidates, by the identity rules alone; `records` makes durable records of what is
    left of them, with warnings. `one_a_name` says that records of one comparison name are always one. `task` is the
    prompt file with the lane's own identity rules; `rules` and `propose` are who proposes offline.
    """

    nodes: Callable[[Sequence[Candidate]], list[Node]]
    records: Callable[[Sequence[Node], str], tuple[list[Record], list[Finding]]]
    one_a_name: bool
    task: str
    rules: tuple[str, ...]
    propose: Callable[[ReconcileRequest, Ruleset], Sequence[ProposedGroup]]


@dataclass(frozen=True)
class Lane:
    """One lane, declared as data.

    `key` is lane, extractor and normalizer key in one. `merge` orders candidates, `normalize` makes durable records of
    them, `order_key` is the document's order, `derive_id` the identity policy of a registry. `one_chunk_a_record` says
    that a record's evidence never spans chunks, `reconciliation` how a registry's records may be united. A candidate
    carries an id where two candidates of one name may be two records (`candidates_have_ids`). Prompt paths are relative
    to `prompts/`, or absolute; the path of the docs page is relative to the repository.
    """

    key: str
    version: str
    title: str
    artifact_kind: str
    schema_id: str
    schema_name: str
    root: str
    table: str
    candidates_table: str
    table_comment: str
    candidates_comment: str
    record: type[BaseModel]
    response: type[BaseModel]
    response_item: type[BaseModel]
    normalize: Callable[[Sequence[Candidate], str, Mapping[str, Registry]], list[Record]]
    order_key: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    profile: Profile
    prompts: tuple[str, ...]
    extraction: tuple[Validator, ...]
    normalization: tuple[Validator, ...]
    docs: str
    export_name: str
    derive_id: Callable[[Mapping[str, Any], str], str | None] | None = None
    kinds: tuple[str, ...] = ()
    slots: tuple[ReferenceSlot, ...] = ()
    one_chunk_a_record: bool = False
    candidates_have_ids: bool = False
    reconciliation: Reconciliation | None = None
    media_type: str = field(default="application/json")

    @property
    def answer_fields(self) -> tuple[str, ...]:
        """The fields of an answer, without the evidence."""
        return tuple(f for f in self.response_item.model_fields if f != "ranges")

    @property
    def candidate_fields(self) -> tuple[str, ...]:
        """The fields of a candidate in its table, without the evidence."""
        return ("id", *self.answer_fields) if self.candidates_have_ids else self.answer_fields

    def to_record(self, answer: Mapping[str, Any], source_id: str) -> Record:
        """Map an answer of the right shape to durable fields; the source is attached here, never by the model."""
        record: Record = {k: v for k, v in answer.items() if k != "ranges"}
        record["source_refs"] = [SourceRef(source_id, r["start"], r["end"]).as_json() for r in answer["ranges"]]
        if not self.candidates_have_ids:
            return record
        derivable = self.derive_id if record["source_refs"] else None
        return {"id": derivable(record, source_id) if derivable else None, **record}

    def merge(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Order candidates by chunk, then position in the answer; order of arrival never matters."""
        return sorted(candidates, key=lambda c: (c.chunk_id, c.position))

    def project(self, record: Mapping[str, Any], units: Sequence[Unit], context: int = 2) -> list[EvidenceLine]:
        """Return the words that prove a record, with the units around them."""
        return project([SourceRef(**r) for r in record["source_refs"]], units, context)


def registry_order(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the order of a registry: earliest evidence, comparison name, id."""
    return (refs_key(record)[0], comparison_name(record["name"]), record["id"])


def refs_key(record: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return a record's evidence as sortable ranges."""
    return tuple((r["start_unit_id"], r["end_unit_id"]) for r in record["source_refs"])
