"""What a reader gives: units, and warnings for everything it did not take as it stood."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from operator import itemgetter, ne
from typing import Any, NamedTuple

import orjson

from notarius_assets.errors import NotariusError
from notarius_assets.identity import compact_json


# A NamedTuple: a frozen dataclass costs five times as much to build, and a campaign has hundreds of thousands.
class Unit(NamedTuple):
    """One record of the transcript; its text never changes after ingest.

    `unit_id` counts from 1 over the units given out. `start_ms` and `end_ms` are offsets from the start of the
    recording, or None. `label` is the record's own id in the file, if it has one.
    """

    unit_id: int
    speakers: tuple[str, ...]
    text: str
    start_ms: int | None = None
    end_ms: int | None = None
    label: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return `{"unit", "speakers", "text", "start_ms", "end_ms"}`."""
        return {
            "unit": self.unit_id,
            "speakers": list(self.speakers),
            "text": self.text,
            "start_ms": self.start_ms,
            "end_ms": self.end_ms,
        }


@dataclass(frozen=True, slots=True)
class IngestWarning:
    """Something the reader changed, dropped or could not tell, by code.

    `units` are the units concerned, in order. `records` counts the source records that became no unit because
    of it. `note` is for people.
    """

    code: str
    units: tuple[int, ...] = ()
    records: int = 0
    note: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the parts that are set."""
        out: dict[str, Any] = {"code": self.code}
        if self.units:
            out["units"] = list(self.units)
        if self.records:
            out["records"] = self.records
        if self.note:
            out["note"] = self.note
        return out


@dataclass(frozen=True)
class Transcript:
    """A file read: `records_seen` = number of units + records named in warnings, always."""

    source: str
    format: str
    encoding: str
    units: tuple[Unit, ...]
    warnings: tuple[IngestWarning, ...]
    records_seen: int

    def __post_init__(self) -> None:
        accounted = len(self.units) + sum(w.records for w in self.warnings)
        if self.records_seen != accounted:
            raise AssertionError(f"{self.source}: {self.records_seen} records seen, {accounted} accounted for")
        if any(map(ne, map(itemgetter(0), self.units), count(1))):
            raise AssertionError(f"{self.source}: unit ids are not 1..{len(self.units)}")

    @cached_property
    def content_digest(self) -> str:
        """The lower-case hex SHA-256 over all units; equal content has equal digests, whatever the file."""
        return units_digest(self.units)

    def as_json(self) -> dict[str, Any]:
        """Return `{"source", "format", "encoding", "units": [...], "warnings": [...], "error": None}`."""
        return {
            "source": self.source,
            "format": self.format,
            "encoding": self.encoding,
            "units": [u.as_json() for u in self.units],
            "warnings": [w.as_json() for w in self.warnings],
            "error": None,
        }


def units_digest(units: tuple[Unit, ...]) -> str:
    """Return the lower-case hex SHA-256 over units, one compact JSON array a unit and line."""
    dumps, newline = orjson.dumps, orjson.OPT_APPEND_NEWLINE
    try:
        lines = [dumps(tuple(u), option=newline) for u in units]
    except TypeError:
        # What orjson refuses (half a surrogate pair, an integer of more than 64 bits) has the same form here.
        lines = [compact_json(u).encode("utf-8", "surrogatepass") + b"\n" for u in units]
    return hashlib.sha256(b"".join(lines)).hexdigest()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive units asked in one window; every unit is in exactly one chunk. `chunk_id` counts from 1."""

    chunk_id: int
    units: tuple[Unit, ...]

    @property
    def start_unit_id(self) -> int:
        """The first unit's id."""
        return self.units[0].unit_id

    @property
    def end_unit_id(self) -> int:
        """The last unit's id."""
        return self.units[-1].unit_id


class TranscriptError(NotariusError):
    """A file that gives no unit. `code` is one of the codes of docs/reference/transcripts.md."""

    def __init__(self, code: str, message: str, *, next_step: str | None = None, **details: int | str) -> None:
        super().__init__(message, next_step=next_step)
        self.code = code
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """Return `{"code", "message", ...details}`, with `next_step` where there is one."""
        out: dict[str, Any] = {"code": self.code, "message": self.message, **self.details}
        if self.next_step:
            out["next_step"] = self.next_step
        return out


def error_json(name: str, error: TranscriptError) -> dict[str, Any]:
    """Return the JSON of a file that could not be read: the keys of `Transcript.as_json`, no units, the error."""
    return {
        "source": name,
        "format": None,
        "encoding": None,
        "units": [],
        "warnings": [],
        "error": error.as_json(),
    }
