"""Durable documents: canonical bytes of records, and records of bytes that are exactly a document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from notarius_assets.errors import NotariusError
from notarius_assets.identity import compact_json
from notarius_assets.lanes.base import Lane, Record


def encode(lane: Lane, records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the canonical bytes: compact JSON, keys in contract order, ending in one newline."""
    ordered = [
        {**{k: r[k] for k in lane.record.model_fields if k != "source_refs"}, "source_refs": _refs(r)} for r in records
    ]
    return (compact_json({lane.root: ordered}) + "\n").encode()


def _refs(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    keys = ("source_id", "start_unit_id", "end_unit_id")
    return [{k: ref[k] for k in keys} for ref in record["source_refs"]]


def content_digest(document: bytes) -> str:
    """Return the lower-case hex SHA-256 of a document's canonical bytes."""
    return hashlib.sha256(document).hexdigest()


def decode(lane: Lane, data: bytes, name: str) -> list[Record]:
    """Return the records of a document, or say in one line why it is none.

    Raises NotariusError for anything that is not exactly `{"<root>": [record, …]}` of the lane's durable shape.
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise NotariusError(f"{name}: not JSON ({error.msg} at byte {error.pos})") from error
    if not isinstance(document, dict) or list(document) != [lane.root] or not isinstance(document[lane.root], list):
        raise NotariusError(f'{name}: not a {lane.artifact_kind} document; it must be exactly {{"{lane.root}": [...]}}')
    for index, record in enumerate(document[lane.root]):
        try:
            lane.record.model_validate(record, strict=True)
        except ValidationError as error:
            kind = error.errors(include_url=False, include_input=False)[0]["type"]
            raise NotariusError(f"{name}: record {index} is no {lane.artifact_kind} record ({kind})") from error
    records: list[Record] = document[lane.root]
    return records
