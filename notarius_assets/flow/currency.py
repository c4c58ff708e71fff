"""What is current, what is stale because of which part, and what holds a session back; computed, never guessed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from notarius_assets.flow import fingerprints
from notarius_assets.flow.inputs import united_names
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.lake.manifest import Entry, Manifest
from notarius_assets.lake.tables import CHUNKS, UNITS
from notarius_assets.lanes.base import Lane
from notarius_assets.pipeline import BoundLane
from notarius_assets.references import Registry
from notarius_assets.transcripts.sessions import SessionFile


class SessionState(StrEnum):
    """A session in one word, the worst of its tables."""

    CURRENT = "current"
    STALE = "stale"
    NEW = "new"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    FAILED = "failed"
    UNREADABLE = "unreadable"


_WORST_FIRST = (
    SessionState.UNREADABLE,
    SessionState.FAILED,
    SessionState.REJECTED,
    SessionState.BLOCKED,
    SessionState.STALE,
    SessionState.NEW,
)
_OF_ATTEMPT = {
    State.UNREADABLE: SessionState.UNREADABLE,
    State.FAILED: SessionState.FAILED,
    State.REJECTED: SessionState.REJECTED,
    State.BLOCKED: SessionState.BLOCKED,
}


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table of a session. `because` names the parts that differ; `reason` and `next_step` are the attempt's."""

    table: str
    state: SessionState
    because: tuple[str, ...] = ()
    reason: str | None = None
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """A session: its tables in pipeline order, and what its published set waits for."""

    source_id: str
    tables: tuple[TableStatus, ...]
    held_back: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    file: SessionFile | None = field(default=None, repr=False)

    @property
    def state(self) -> SessionState:
        """The worst state of any table."""
        present = {t.state for t in self.tables}
        return next((s for s in _WORST_FIRST if s in present), SessionState.CURRENT)

    @property
    def worst(self) -> TableStatus | None:
        """The first table in the worst state, or None when all are current."""
        return next((t for t in self.tables if t.state is self.state is not SessionState.CURRENT), None)

    @property
    def to_do(self) -> tuple[str, ...]:
        """Tables that a run has to make again."""
        return tuple(t.table for t in self.tables if t.state is not SessionState.CURRENT)


def statuses(workspace: Workspace, sessions: Iterable[SessionFile]) -> list[SessionStatus]:
    """Return the status of each session, in order."""
    return [status(workspace, s) for s in sessions]


def status(workspace: Workspace, session: SessionFile) -> SessionStatus:
    """Compare what is accepted with what would be made now. Reads the transcript's bytes, parses nothing."""
    source_id = session.source_id
    manifest = workspace.store.manifest(source_id)
    check = _Check(workspace, manifest)
    try:
        file_digest = hashlib.sha256(session.path.read_bytes()).hexdigest()
    except OSError:
        file_digest = "unreadable"
    tables = [check.table(UNITS, fingerprints.units_code(), fingerprints.units_input(file_digest))]
    units = manifest.accepted.get(UNITS)
    units_digest = units.content_digest if units else ""
    chunks_code = fingerprints.chunks_code(workspace.pipeline)
    tables.append(check.table(CHUNKS, chunks_code, fingerprints.chunks_input(units_digest), upstream=(UNITS,)))
    for bound in workspace.pipeline.lanes:
        tables.extend(_lane(workspace, check, bound, units_digest))
    return SessionStatus(source_id, tuple(tables), manifest.held_back, manifest.waiting_for, session)


def _lane(workspace: Workspace, check: _Check, bound: BoundLane, units_digest: str) -> list[TableStatus]:
    lane, manifest = bound.lane, check.manifest
    registries: dict[str, Registry] = {}
    upstream = [UNITS, CHUNKS]
    for slot, source in bound.bindings.items():
        if isinstance(source, Lane):
            upstream.append(source.table)
            entry = manifest.accepted.get(source.table)
            united = united_names(workspace, source, entry, manifest.source_id) if entry else ()
            registries[slot] = Registry((), entry.content_digest if entry else "", united)
        else:
            registries[slot] = source
    candidates = check.table(
        lane.candidates_table,
        fingerprints.candidates_code(workspace.pipeline, bound, workspace.model),
        fingerprints.candidates_input(bound, units_digest, registries, workspace.model),
        upstream=tuple(upstream),
    )
    entry = manifest.accepted.get(lane.candidates_table)
    records = check.table(
        lane.table,
        fingerprints.lane_code(workspace.pipeline, bound, workspace.model),
        fingerprints.lane_input(
            workspace.pipeline,
            bound,
            manifest.source_id,
            units_digest,
            entry.content_digest if entry else "",
            registries,
        ),
        upstream=(*upstream, lane.candidates_table),
    )
    return [candidates, records]


@dataclass
class _Check:
    workspace: Workspace
    manifest: Manifest
    bad: dict[str, SessionState] = field(default_factory=dict)

    def table(
        self, table: str, code: Mapping[str, str], inputs: Mapping[str, str], upstream: tuple[str, ...] = ()
    ) -> TableStatus:
        found = self._table(table, code, inputs, upstream)
        if found.state is not SessionState.CURRENT:
            self.bad[table] = found.state
        return found

    def _table(
        self, table: str, code: Mapping[str, str], inputs: Mapping[str, str], upstream: tuple[str, ...]
    ) -> TableStatus:
        entry = self.manifest.accepted.get(table)
        latest = self.workspace.store.latest_attempt(self.manifest.source_id, table)
        # What stops a step stands before it: a rejected registry leaves its consumers blocked, tried or not.
        stopped = next((t for t in upstream if self.bad.get(t) in _OF_ATTEMPT.values()), None)
        if stopped:
            reason, step = f"{stopped} is {self.bad[stopped]}", f"correct {stopped}, then run again"
            return TableStatus(table, SessionState.BLOCKED, (stopped,), reason, step)
        if latest is not None and latest.state in _OF_ATTEMPT:
            return self._not_accepted(table, latest)
        if entry is None:
            return TableStatus(table, SessionState.NEW)
        stale_above = tuple(t for t in upstream if t in self.bad)
        because = (*_differing(entry, code, inputs), *_unrecorded(entry, latest), *_unanswered(latest), *stale_above)
        if because:
            again = "run again; with replay, have the duplicates answered first" if _unanswered(latest) else None
            return TableStatus(table, SessionState.STALE, tuple(dict.fromkeys(because)), next_step=again)
        if not (self.workspace.store.root / entry.file).exists():
            return TableStatus(table, SessionState.STALE, ("file is gone",))
        return TableStatus(table, SessionState.CURRENT)

    @staticmethod
    def _not_accepted(table: str, latest: Attempt) -> TableStatus:
        return TableStatus(table, _OF_ATTEMPT[latest.state], (), latest.reason, latest.next_step)


def _unrecorded(entry: Entry, latest: Attempt | None) -> tuple[str, ...]:
    """Name what a crash between accepting a table and recording it left."""
    return () if latest is not None and latest.made(entry) else ("attempt not recorded",)


def _unanswered(latest: Attempt | None) -> tuple[str, ...]:
    """Name a registry that stands as it is because whoever proposes duplicate groups could not be reached."""
    return ("reconciliation not answered",) if latest and latest.notes.get("reconciliation_unanswered") else ()


def _differing(entry: Entry, code: Mapping[str, str], inputs: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        name
        for was, now in ((entry.code_parts, code), (entry.input_parts, inputs))
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    )
