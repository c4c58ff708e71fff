"""What a lane is: one declared value that the rest of the program reads.

A lane asks one kind of question of every chunk, keeps the candidates, and makes one durable artifact of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from notarius_assets.evidence import EvidenceLine, SourceRef, canonical, project
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.window import WindowRequest
from notarius_assets.references import Registry
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Validator

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

    `mismatch` gives the code by which a record fails the lookup, or None. `project` gives what the prompt shows.
    """

    name: str
    artifact_kind: str
    mismatch: Callable[[Mapping[str, Any], Registry], str | None]
    project: Callable[[Registry], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Profile:
    """How a lane is answered offline: the rule files it reads and the function that proposes."""

    rules: tuple[str, ...]
    propose: Callable[[WindowRequest, Ruleset], Mapping[str, Any]]


@dataclass(frozen=True)
class Lane:
    """One lane, declared as data.

    `key` is lane, extractor and normalizer key in one. `merge` orders candidates, `normalize` makes durable records of
    them, `order_key` is the document's order, `derive_id` the identity policy of a registry. `one_chunk_a_record` says
    that a record's evidence never spans chunks. Prompt paths are relative to
    `prompts/`, or absolute; the path of the docs page is relative to the repository.
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
    media_type: str = field(default="application/json")

    def to_record(self, answer: Mapping[str, Any], source_id: str) -> Record:
        """Map an answer of the right shape to durable fields; the source is attached here, never by the model."""
        record: Record = {k: v for k, v in answer.items() if k != "ranges"}
        record["source_refs"] = [SourceRef(source_id, r["start"], r["end"]).as_json() for r in answer["ranges"]]
        return record

    def merge(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Order candidates by chunk, then position in the answer; order of arrival never matters."""
        return sorted(candidates, key=lambda c: (c.chunk_id, c.position))

    def project(self, record: Mapping[str, Any], units: Sequence[Unit], context: int = 2) -> list[EvidenceLine]:
        """Return the words that prove a record, with the units around them."""
        return project([SourceRef(**r) for r in record["source_refs"]], units, context)


def refs_key(record: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return a record's evidence as sortable ranges."""
    return tuple((r["start_unit_id"], r["end_unit_id"]) for r in record["source_refs"])
