"""What the chosen sessions and lanes would ask of a model now, and what has no answer yet; asks and writes nothing.

A session that was never read is read here, in memory, so that its windows are known before its first run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.flow.currency import SessionState, SessionStatus, status
from notarius_assets.flow.inputs import BlockedError, candidates_of, read_registry
from notarius_assets.flow.reconcile import question_of
from notarius_assets.flow.windows import windows_over
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.tables import UNITS
from notarius_assets.lanes.base import Lane
from notarius_assets.models.answers import Answers
from notarius_assets.models.recorded import ReplayProvider
from notarius_assets.models.request import ModelRequest, duplicates_of, model_request
from notarius_assets.pipeline import BoundLane
from notarius_assets.references import Registry
from notarius_assets.transcripts.chunks import chunk
from notarius_assets.transcripts.model import Chunk, TranscriptError, Unit
from notarius_assets.transcripts.reader import read_bytes
from notarius_assets.transcripts.sessions import SessionFile


@dataclass(frozen=True)
class LaneWindows:
    """A table of a lane of a session: its requests in chunk order, or the table it waits for.

    A registry asks twice: for its candidates, then for the duplicates among them (`reconciles`). `current` tells that
    what stands is what these answers would make.
    """

    source_id: str
    lane: Lane
    requests: tuple[ModelRequest, ...] = ()
    waits_for: str | None = None
    current: bool = False
    reconciles: bool = False

    @property
    def name(self) -> str:
        """The lane, or what else of it is asked for."""
        return duplicates_of(self.lane.key) if self.reconciles else self.lane.key


@dataclass(frozen=True)
class Planned:
    """All lanes of all chosen sessions, and the sessions that can't be read, with the reason."""

    lanes: tuple[LaneWindows, ...]
    unreadable: tuple[tuple[str, str], ...]

    def unanswered(self, answers: Answers) -> list[tuple[LaneWindows, list[ModelRequest]]]:
        """Return the lanes that are not current with the requests that have no usable answer; none without any."""
        waiting = [lane for lane in self.lanes if not lane.current]
        missing = [(lane, [r for r in lane.requests if not answers.get(r.fingerprint, r.root)]) for lane in waiting]
        return [(lane, requests) for lane, requests in missing if requests]


def asking_model(workspace: Workspace) -> ReplayProvider:
    """Return the provider whose answers are kept; raises ConfigurationError where nobody is asked."""
    model = workspace.model
    if not isinstance(model, ReplayProvider):
        raise ConfigurationError(
            f"{workspace.pipeline.path}: model.provider is {model.name}, which asks no model",
            next_step="set it to replay (answers come by import alone) or to anthropic",
        )
    return model


def planned(
    workspace: Workspace, model: ReplayProvider, sessions: Iterable[SessionFile], lane_keys: Sequence[str] = ()
) -> Planned:
    """Return what would be asked now, in order of sessions and lanes."""
    found: list[LaneWindows] = []
    unreadable: list[tuple[str, str]] = []
    for session in sessions:
        now = status(workspace, session)
        try:
            units, chunks = _read(workspace, session, now)
        except (TranscriptError, OSError) as error:
            unreadable.append((session.source_id, _said(error)))
            continue
        for bound in workspace.pipeline.lanes:
            if not lane_keys or bound.lane.key in lane_keys:
                found.append(_lane(workspace, model, bound, now, units, chunks))
                if bound.lane.reconciliation:
                    found.append(_reconciliation(workspace, model, bound, now, units))
    return Planned(tuple(found), tuple(unreadable))


def _said(error: TranscriptError | OSError) -> str:
    return error.message if isinstance(error, NotariusError) else str(error.strerror)


def _read(workspace: Workspace, session: SessionFile, now: SessionStatus) -> tuple[tuple[Unit, ...], tuple[Chunk, ...]]:
    entry = workspace.store.manifest(session.source_id).accepted.get(UNITS)
    if entry and _state(now, UNITS) is SessionState.CURRENT:
        units = workspace.store.units(entry)
    else:
        units = read_bytes(session.path.read_bytes(), session.path.name).units
    return units, chunk(units, workspace.pipeline.chunking)


def _state(now: SessionStatus, table: str) -> SessionState:
    return next(t.state for t in now.tables if t.table == table)


def _lane(
    workspace: Workspace,
    model: ReplayProvider,
    bound: BoundLane,
    now: SessionStatus,
    units: tuple[Unit, ...],
    chunks: tuple[Chunk, ...],
) -> LaneWindows:
    lane = bound.lane
    registries: dict[str, Registry] = {}
    manifest = workspace.store.manifest(now.source_id)
    for slot, source in bound.bindings.items():
        if isinstance(source, Registry):
            registries[slot] = source
            continue
        # an outdated registry would be asked about in vain: its next version changes every request
        if _state(now, source.table) is not SessionState.CURRENT:
            return LaneWindows(now.source_id, lane, waits_for=source.table)
        try:
            registries[slot] = read_registry(workspace, source, manifest.accepted[source.table], slot, now.source_id)
        except BlockedError:
            # a run says what is wrong with it
            return LaneWindows(now.source_id, lane, waits_for=source.table)
    windows = windows_over(workspace.pipeline, lane, now.source_id, units, chunks, registries)
    return LaneWindows(
        now.source_id,
        lane,
        tuple(model_request(lane, window, model.settings) for window in windows),
        current=_state(now, lane.candidates_table) is SessionState.CURRENT,
    )


def _reconciliation(
    workspace: Workspace, model: ReplayProvider, bound: BoundLane, now: SessionStatus, units: tuple[Unit, ...]
) -> LaneWindows:
    """Return the next requests for duplicate groups of a registry, whose candidates have to stand first."""
    lane = bound.lane
    if _state(now, lane.candidates_table) is not SessionState.CURRENT:
        return LaneWindows(now.source_id, lane, waits_for=lane.candidates_table, reconciles=True)
    rows = workspace.store.read(workspace.store.manifest(now.source_id).accepted[lane.candidates_table])
    question = question_of(workspace.pipeline, lane, candidates_of(lane, rows), now.source_id, units)
    return LaneWindows(
        now.source_id,
        lane,
        tuple(model.next_ask(lane, request) for request in question.requests),
        current=_state(now, lane.table) is SessionState.CURRENT,
        reconciles=True,
    )
