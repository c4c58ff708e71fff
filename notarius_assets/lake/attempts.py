"""Attempts: every try at a table of a session, accepted or not, one file each; never changed once written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from notarius_assets.lake.manifest import Entry
from notarius_assets.validators.base import Verdict, WindowState

MAX_ANSWER_BYTES = 2048
"""Bytes of a rejected candidate's own JSON that are kept."""


class State(StrEnum):
    """How an attempt ended."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate that broke a record rule: where it stood, which rule, and the answer's own JSON."""

    chunk_id: int
    position: int
    rule: str
    code: str
    answer: str

    @classmethod
    def of(cls, chunk_id: int, position: int, rule: str, code: str, answer: Any) -> Rejected:
        """Keep at most `MAX_ANSWER_BYTES` of the answer."""
        # not compact_json: whatever was answered is kept here, numbers that are no JSON too
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        kept = text.encode("utf-8", "backslashreplace")[:MAX_ANSWER_BYTES]
        return cls(chunk_id, position, rule, code, kept.decode("utf-8", "ignore"))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try. `reason` and `next_step` say in one line each what went wrong and what to do.

    `number` counts the tries at this table and session from 1. Times are UTC, ISO 8601; they are for people and
    never part of an artifact.
    """

    source_id: str
    table: str
    number: int
    state: State
    lane: str | None = None
    reason: str | None = None
    next_step: str | None = None
    run_id: str = ""
    started_at: str = ""
    ended_at: str = ""
    code_fingerprint: str = ""
    input_fingerprint: str = ""
    code_parts: Mapping[str, str] = field(default_factory=dict)
    input_parts: Mapping[str, str] = field(default_factory=dict)
    content_digest: str | None = None
    rows: int = 0
    proposed: int = 0
    windows: Sequence[Mapping[str, Any]] = ()
    verdicts: Sequence[Mapping[str, Any]] = ()
    rejected_candidates: Sequence[Mapping[str, Any]] = ()
    merges: Sequence[Mapping[str, Any]] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def made(self, entry: Entry) -> bool:
        """Tell whether this try made an accepted entry: same content, made by and from the same."""
        return self.state is State.ACCEPTED and (
            (self.content_digest, self.code_fingerprint, self.input_fingerprint)
            == (entry.content_digest, entry.code_fingerprint, entry.input_fingerprint)
        )

    def as_bytes(self) -> bytes:
        """Return the JSON form."""
        return (json.dumps({name: getattr(self, name) for name in self.__slots__}, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Attempt:
        """Return the attempt of a JSON form."""
        return cls(**{**value, "state": State(value["state"])})


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict's JSON form."""
    v = verdict.validator
    return {
        "validator": v.key,
        "boundary": str(v.boundary),
        "level": str(v.level),
        "severity": str(v.severity),
        "passed": verdict.passed,
        "looked_at": verdict.looked_at,
        "total": verdict.total,
        "findings": [{"code": f.code, "record_index": f.record_index, "detail": f.detail} for f in verdict.findings],
    }


def window_json(window: WindowState) -> dict[str, Any]:
    """Return a window's JSON form."""
    return {
        "chunk_id": window.chunk_id,
        "end": window.end,
        "candidates": window.candidates,
        "reason": window.reason,
        "answered_by": window.answered_by,
        "fingerprint": window.fingerprint,
    }


def rejected_json(rejected: Rejected) -> dict[str, Any]:
    """Return a rejected candidate's JSON form."""
    return {name: getattr(rejected, name) for name in rejected.__slots__}
