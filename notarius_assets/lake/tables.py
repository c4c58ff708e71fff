"""The tables: every column with its type and a comment. Truth in Parquet, comments in the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from notarius_assets.identity import comparison_name
from notarius_assets.lanes.base import Lane
from notarius_assets.transcripts.model import Chunk, Unit

UNITS = "transcript_units"
CHUNKS = "transcript_chunks"

REF = pa.struct([("source_id", pa.string()), ("start_unit_id", pa.int32()), ("end_unit_id", pa.int32())])
"""A source_ref."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its Arrow type and what it holds."""

    name: str
    type: pa.DataType
    comment: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the lake: one Parquet file a session."""

    name: str
    comment: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, without metadata."""
        return pa.schema([(c.name, c.type) for c in self.columns])


_SESSION = (
    Column("campaign", pa.string(), "Slug of the campaign."),
    Column("session", pa.string(), "Slug of the session; campaign and session make the source_id."),
)
_REFS = Column("source_refs", pa.list_(REF), "Inclusive unit ranges that prove the record, in canonical order.")

UNITS_TABLE = Table(
    UNITS,
    "What was said: one row a unit, the smallest thing a record can cite.",
    (
        *_SESSION,
        Column("unit_id", pa.int32(), "Number of the unit in its session, from 1."),
        Column("speakers", pa.list_(pa.string()), "Labels of who speaks, as written in the transcript."),
        Column("text", pa.string(), "The words; never changed after ingest."),
        Column("start_ms", pa.int64(), "Start in milliseconds from the start of the recording, if known."),
        Column("end_ms", pa.int64(), "End in milliseconds from the start of the recording, if known."),
        Column("label", pa.string(), "The record's own id in the transcript file, if it has one."),
    ),
)
CHUNKS_TABLE = Table(
    CHUNKS,
    "Which units were asked together: one row a chunk; every unit is in exactly one.",
    (
        *_SESSION,
        Column("chunk_id", pa.int32(), "Number of the chunk in its session, from 1."),
        Column("start_unit_id", pa.int32(), "First unit of the chunk."),
        Column("end_unit_id", pa.int32(), "Last unit of the chunk."),
    ),
)

_FIELD_COMMENTS = {
    "id": "Canonical id, derived from the name and the source; the same wherever the record is the same.",
    "name": "Display name.",
    "kind": "Kind of the occurrence, from the closed vocabulary of the contract.",
    "location_id": "Canonical id of the place in the session's location registry.",
}


def lane_table(lane: Lane) -> Table:
    """Return the table of a lane's accepted records."""
    fields = [f for f in lane.record.model_fields if f != "source_refs"]
    return Table(
        lane.table,
        lane.table_comment,
        (
            *_SESSION,
            Column("record_index", pa.int32(), "Position of the record in its document, from 0."),
            *(Column(f, pa.string(), _FIELD_COMMENTS.get(f, f"Field {f} of the contract.")) for f in fields),
            Column("comparison_name", pa.string(), "The name as names are compared: folded apostrophes and case."),
            _REFS,
        ),
    )


def candidates_table(lane: Lane) -> Table:
    """Return the table of a lane's candidates."""
    return Table(
        lane.candidates_table,
        lane.candidates_comment,
        (
            *_SESSION,
            Column("chunk_id", pa.int32(), "Chunk the candidate was asked with."),
            Column("position", pa.int32(), "Position in the answer, from 0."),
            *(Column(f, pa.string(), _candidate_comment(f)) for f in lane.candidate_fields),
            _REFS,
        ),
    )


def _candidate_comment(field: str) -> str:
    if field == "id":
        return "Id derived from the candidate's own name and earliest evidence."
    return f"{field.capitalize().replace('_', ' ')} as answered."


def unit_rows(source_id: str, units: tuple[Unit, ...]) -> pa.Table:
    """Return units as an Arrow table of `UNITS_TABLE`."""
    campaign, session = source_id.split("/")
    n = len(units)
    columns: list[Any] = [
        [campaign] * n,
        [session] * n,
        [u.unit_id for u in units],
        [u.speakers for u in units],
        [u.text for u in units],
        [u.start_ms for u in units],
        [u.end_ms for u in units],
        [u.label for u in units],
    ]
    return _arrow(UNITS_TABLE, columns)


def units_from(table: pa.Table) -> tuple[Unit, ...]:
    """Return the units of a table written by `unit_rows`."""
    columns = [table.column(c).to_pylist() for c in ("unit_id", "speakers", "text", "start_ms", "end_ms", "label")]
    return tuple(Unit(i, tuple(s), t, a, b, n) for i, s, t, a, b, n in zip(*columns, strict=True))


def chunk_rows(source_id: str, chunks: tuple[Chunk, ...]) -> pa.Table:
    """Return chunks as an Arrow table of `CHUNKS_TABLE`."""
    campaign, session = source_id.split("/")
    n = len(chunks)
    columns: list[Any] = [
        [campaign] * n,
        [session] * n,
        [c.chunk_id for c in chunks],
        [c.start_unit_id for c in chunks],
        [c.end_unit_id for c in chunks],
    ]
    return _arrow(CHUNKS_TABLE, columns)


def record_rows(table: Table, source_id: str, records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return records, candidates or durable ones, as an Arrow table; derived columns are filled in."""
    campaign, session = source_id.split("/")
    derived: dict[str, list[Any]] = {
        "campaign": [campaign] * len(records),
        "session": [session] * len(records),
        "record_index": list(range(len(records))),
        "comparison_name": [comparison_name(r["name"]) for r in records],
    }
    columns = [derived[c.name] if c.name in derived else [r[c.name] for r in records] for c in table.columns]
    return _arrow(table, columns)


def _arrow(table: Table, columns: list[Any]) -> pa.Table:
    return pa.Table.from_arrays(
        [pa.array(values, type=c.type) for values, c in zip(columns, table.columns, strict=True)], schema=table.schema
    )
