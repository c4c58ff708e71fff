"""One step of one session: compute, audit, publish or keep aside, and record the attempt.

Dagster's assets and the command line call these; nothing here knows Dagster. A step writes only its own table's files.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.flow import fingerprints
from notarius_assets.flow.extract import chunk_result, judge
from notarius_assets.flow.inputs import (
    BlockedError,
    Inputs,
    candidates_of,
    context_of,
    inputs_of,
    needed,
    require_same_registries,
)
from notarius_assets.flow.normalize import Artifact, audit, normalize, registry_of
from notarius_assets.flow.reconcile import Reconciled, question_of, reconcile
from notarius_assets.flow.windows import StepWatch, ledger_of, reconciliation_ledger_of, windows_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.identity import digest
from notarius_assets.lake.attempts import Attempt, State, rejected_json, verdict_json, window_json
from notarius_assets.lake.manifest import Entry
from notarius_assets.lake.tables import (
    CHUNKS,
    CHUNKS_TABLE,
    UNITS,
    UNITS_TABLE,
    candidates_table,
    chunk_rows,
    lane_table,
    record_rows,
    unit_rows,
)
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.request import duplicates_of
from notarius_assets.pipeline import BoundLane
from notarius_assets.transcripts.chunks import chunk
from notarius_assets.transcripts.model import TranscriptError
from notarius_assets.transcripts.reader import read_bytes
from notarius_assets.transcripts.shown import shown
from notarius_assets.validators.base import Verdict, WindowState

MAX_LABELS = 200
"""Speaker labels of a transcript that its attempt names."""


@dataclass(frozen=True)
class Outcome:
    """How a step ended. `records` are the table's rows as JSON, for previews; `verdicts` in chain order."""

    attempt: Attempt
    entry: Entry | None = None
    verdicts: tuple[Verdict, ...] = ()
    records: Sequence[Mapping[str, Any]] = ()

    @property
    def accepted(self) -> bool:
        """Whether the table was published."""
        return self.attempt.state is State.ACCEPTED

    @property
    def message(self) -> str:
        """One line: what went wrong and what to do, or that it was accepted."""
        attempt = self.attempt
        head = f"{attempt.source_id}: {attempt.table} {attempt.state}"
        reason = f": {attempt.reason}" if attempt.reason else ""
        return f"{head}{reason}" + (f". Next: {attempt.next_step}" if attempt.next_step else "")


@dataclass(frozen=True)
class _Trial:
    """What a step has so far; turned into an attempt when it ends."""

    workspace: Workspace
    source_id: str
    table: str
    run_id: str
    started_at: str
    lane: Lane | None = None
    code: Mapping[str, str] = field(default_factory=dict)

    def ended(self, state: State, inputs: Mapping[str, str] | None = None, **rest: Any) -> Attempt:
        inputs = inputs or {}
        return Attempt(
            source_id=self.source_id,
            table=self.table,
            number=0,
            state=state,
            lane=self.lane.key if self.lane else None,
            run_id=self.run_id,
            started_at=self.started_at,
            ended_at=_now(),
            code_fingerprint=fingerprints.fingerprint(self.code),
            input_fingerprint=fingerprints.fingerprint(inputs),
            code_parts=dict(self.code),
            input_parts=dict(inputs),
            **rest,
        )

    def without_result(self, state: State, error: NotariusError) -> Outcome:
        attempt = self.ended(state, reason=error.message, next_step=error.next_step)
        return Outcome(self.workspace.store.record(attempt))

    def accept(
        self, attempt: Attempt, rows: pa.Table, inputs: Mapping[str, str], schema_name: str
    ) -> tuple[Attempt, Entry]:
        store = self.workspace.store
        # The file and the manifest first: a crash between the two leaves an accepted table whose attempt is missing,
        # which is stale for that and redone; the other way round an attempt would name what nobody can read.
        entry = store.publish(
            self.source_id,
            self.table,
            rows,
            content_digest=attempt.content_digest or "",
            attempt=attempt,
            inputs=inputs,
            schema_name=schema_name,
            tables=self.workspace.pipeline.tables,
        )
        return store.record(attempt), entry


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def run(workspace: Workspace, table: str, source_id: str, run_id: str = "") -> Outcome:
    """Run the step that makes a table of a session.

    What goes wrong is recorded as a failed attempt; an unexpected error by its type alone, and raised again.
    """
    trial = _Trial(workspace, source_id, table, run_id, _now())
    try:
        if table == UNITS:
            return run_units(workspace, source_id, run_id)
        if table == CHUNKS:
            return run_chunks(workspace, source_id, run_id)
        for bound in workspace.pipeline.lanes:
            if table == bound.lane.candidates_table:
                return run_candidates(workspace, bound, source_id, run_id)
            if table == bound.lane.table:
                return run_lane(workspace, bound, source_id, run_id)
    except NotariusError as error:
        return trial.without_result(State.FAILED, error)
    except Exception as error:
        problem = NotariusError(
            f"internal error {type(error).__name__}", next_step="see the Dagster run for the traceback, and report it"
        )
        trial.without_result(State.FAILED, problem)
        raise
    raise ConfigurationError(f"no table {table!r} in this pipeline", next_step="reload the code location")


def run_units(workspace: Workspace, source_id: str, run_id: str = "") -> Outcome:
    """Read a session's transcript file into `transcript_units`."""
    trial = _Trial(workspace, source_id, UNITS, run_id, _now(), code=fingerprints.units_code())
    found = next((s for s in workspace.pipeline.sessions() if s.source_id == source_id), None)
    if found is None:
        return trial.without_result(
            State.FAILED,
            NotariusError(
                f"no transcript file for {source_id}", next_step="put the file back, or delete the partition"
            ),
        )
    try:
        data = found.path.read_bytes()
        transcript = read_bytes(data, found.path.name)
    except TranscriptError as error:
        step = error.next_step or "correct the file"
        step = step if "ignore:" in step else f"{step}, or leave it out with `ignore:`"
        return trial.without_result(State.UNREADABLE, NotariusError(error.message, next_step=step))
    except OSError as error:
        problem = NotariusError(
            f"{shown(found.path.name)}: can't be read ({error.strerror})", next_step="check the file"
        )
        return trial.without_result(State.UNREADABLE, problem)
    inputs = fingerprints.units_input(hashlib.sha256(data).hexdigest())
    attempt = trial.ended(
        State.ACCEPTED,
        inputs,
        content_digest=transcript.content_digest,
        rows=len(transcript.units),
        notes={
            "file": shown(found.path.name),
            "format": transcript.format,
            "encoding": transcript.encoding,
            "warnings": [w.as_json() for w in transcript.warnings],
            "speakers": sorted({label for unit in transcript.units for label in unit.speakers})[:MAX_LABELS],
        },
    )
    attempt, entry = trial.accept(attempt, unit_rows(source_id, transcript.units), {}, UNITS_TABLE.name)
    return Outcome(attempt, entry)


def run_chunks(workspace: Workspace, source_id: str, run_id: str = "") -> Outcome:
    """Cut a session's units into `transcript_chunks`."""
    code = fingerprints.chunks_code(workspace.pipeline)
    trial = _Trial(workspace, source_id, CHUNKS, run_id, _now(), code=code)
    manifest = workspace.store.manifest(source_id)
    try:
        units_entry = needed(workspace, manifest, UNITS)
    except BlockedError as error:
        return trial.without_result(State.BLOCKED, error)
    chunks = chunk(workspace.store.units(units_entry), workspace.pipeline.chunking)
    table = [[c.chunk_id, c.start_unit_id, c.end_unit_id] for c in chunks]
    inputs = fingerprints.chunks_input(units_entry.content_digest)
    # The units' digest is part of it: chunks of other units are other chunks, also where the borders are the same.
    content = digest([units_entry.content_digest, table])
    attempt = trial.ended(State.ACCEPTED, inputs, content_digest=content, rows=len(chunks))
    attempt, entry = trial.accept(
        attempt, chunk_rows(source_id, chunks), {UNITS: units_entry.content_digest}, CHUNKS_TABLE.name
    )
    return Outcome(attempt, entry)


def run_candidates(workspace: Workspace, bound: BoundLane, source_id: str, run_id: str = "") -> Outcome:
    """Ask every window of a session and keep the candidates that pass the record rules."""
    lane, pipeline, model = bound.lane, workspace.pipeline, workspace.model
    code = fingerprints.candidates_code(pipeline, bound, model)
    trial = _Trial(workspace, source_id, lane.candidates_table, run_id, _now(), lane, code)
    try:
        inputs = inputs_of(workspace, bound, source_id)
    except BlockedError as error:
        return trial.without_result(State.BLOCKED, error)
    windows = windows_of(workspace, lane, source_id, inputs)
    workspace.progress.planned(source_id, lane.key, len(windows))
    watch = StepWatch(workspace, lane.key, partial(ledger_of, workspace, lane, source_id, run_id))
    answers = model.answer(lane, windows, watch)
    results = [chunk_result(lane, w, a) for w, a in zip(windows, answers, strict=True)]
    extraction = judge(
        lane,
        bound.extraction,
        results,
        source_id=source_id,
        units=inputs.units,
        chunks=inputs.chunks,
        campaign=pipeline.references,
        registries=inputs.registries,
        allow=bound.allow,
    )
    rows_json = [{**c.record, "chunk_id": c.chunk_id, "position": c.position} for c in extraction.candidates]
    table = candidates_table(lane)
    rows = record_rows(table, source_id, rows_json)
    parts = fingerprints.candidates_input(bound, inputs.units_entry.content_digest, inputs.registries, model)
    attempt = trial.ended(
        State.REJECTED if extraction.reasons else State.ACCEPTED,
        parts,
        content_digest=digest([inputs.chunks_entry.content_digest, parts, rows_json]),
        rows=len(rows_json),
        proposed=extraction.proposed,
        windows=[window_json(w) for w in extraction.windows],
        verdicts=[verdict_json(v) for v in extraction.verdicts],
        rejected_candidates=[rejected_json(r) for r in extraction.rejected],
        notes=watch.notes,
        **_why(source_id, extraction.reasons, extraction.verdicts, extraction.windows),
    )
    if extraction.reasons:
        return _rejected(trial, attempt, rows, extraction.verdicts, rows_json)
    attempt, entry = trial.accept(attempt, rows, inputs.digests, table.name)
    return Outcome(attempt, entry, extraction.verdicts, rows_json)


def run_lane(workspace: Workspace, bound: BoundLane, source_id: str, run_id: str = "") -> Outcome:
    """Normalize a session's candidates, audit the document, and publish it if no blocking validator failed."""
    lane, store = bound.lane, workspace.store
    code = fingerprints.lane_code(workspace.pipeline, bound, workspace.model)
    trial = _Trial(workspace, source_id, lane.table, run_id, _now(), lane, code)
    try:
        inputs = inputs_of(workspace, bound, source_id)
        candidates_entry = needed(
            workspace, store.manifest(source_id), lane.candidates_table, inputs.units_entry.content_digest
        )
        require_same_registries(candidates_entry, inputs)
    except BlockedError as error:
        return trial.without_result(State.BLOCKED, error)
    candidates = candidates_of(lane, store.read(candidates_entry))
    artifact, found, used = _normalized(workspace, lane, candidates, source_id, inputs, run_id)
    if found.unanswered and _was_reconciled(workspace, source_id, lane.table):
        said = _unanswered(found.windows, "reconciliation")
        ends = [window_json(w) for w in found.windows]
        return Outcome(store.record(trial.ended(State.FAILED, None, windows=ends, notes=used, **said)))
    context = context_of(workspace, bound, source_id, inputs)
    warnings = (*found.warnings, *artifact.warnings)
    result = audit(bound.normalization, {lane.root: artifact.records}, replace(context, warnings=warnings))
    parts = fingerprints.lane_input(
        workspace.pipeline,
        bound,
        source_id,
        inputs.units_entry.content_digest,
        candidates_entry.content_digest,
        inputs.registries,
    )
    attempt = trial.ended(
        State.REJECTED if result.rejects else State.ACCEPTED,
        parts,
        content_digest=artifact.digest,
        rows=len(artifact.records),
        proposed=len(candidates),
        windows=[window_json(w) for w in found.windows],
        verdicts=[verdict_json(v) for v in result.verdicts],
        merges=[m.as_json(artifact.records) for m in found.merges],
        notes={**found.notes, **used},
        **_why(source_id, result.reasons, result.verdicts),
    )
    rows = record_rows(lane_table(lane), source_id, list(artifact.records))
    if result.rejects:
        return _rejected(trial, attempt, rows, result.verdicts, artifact.records)
    made_from = {**inputs.digests, lane.candidates_table: candidates_entry.content_digest}
    attempt, entry = trial.accept(attempt, rows, made_from, lane.schema_name)
    return Outcome(attempt, entry, result.verdicts, artifact.records)


def _normalized(
    workspace: Workspace, lane: Lane, candidates: Sequence[Candidate], source_id: str, inputs: Inputs, run_id: str
) -> tuple[Artifact, Reconciled, Mapping[str, Any]]:
    """Make a lane's document; a registry's after its duplicates were asked for. Returns what that used, too."""
    if lane.reconciliation is None:
        return normalize(lane, candidates, source_id, inputs.registries), Reconciled(()), {}
    question = question_of(workspace.pipeline, lane, candidates, source_id, inputs.units)
    name = duplicates_of(lane.key)
    if question.requests:
        workspace.progress.planned(source_id, name, len(question.requests))
    watch = StepWatch(workspace, name, partial(reconciliation_ledger_of, workspace, lane, source_id, run_id))
    found = reconcile(lane, question, workspace.model, watch)
    return registry_of(lane, lane.reconciliation, found.nodes, source_id), found, watch.notes


def _rejected(
    trial: _Trial,
    attempt: Attempt,
    rows: pa.Table,
    verdicts: tuple[Verdict, ...],
    records: Sequence[Mapping[str, Any]],
) -> Outcome:
    store = trial.workspace.store
    attempt = store.record(attempt)
    store.reject(trial.source_id, trial.table, rows, attempt)
    return Outcome(attempt, None, verdicts, records)


def _why(
    source_id: str, reasons: Sequence[str], verdicts: Sequence[Verdict], windows: Sequence[WindowState] = ()
) -> dict[str, str]:
    if not reasons:
        return {}
    if "coverage" in reasons and any(w.advice for w in windows if not w.answered):
        return _unanswered(windows, "coverage")
    found = [
        f"{v.validator.key} found {v.total} ({', '.join(sorted({f.code for f in v.findings}))})"
        for v in verdicts
        if v.rejects
    ]
    return {"reason": "; ".join(found), "next_step": f"notarius show {source_id.partition('/')[2]} prints the findings"}


def _unanswered(windows: Sequence[WindowState], what: str) -> dict[str, str]:
    """Say why windows have no answer: of several failures the most frequent one; `windows` has them all."""
    advised = Counter((w.reason, w.advice) for w in windows if not w.answered and w.advice)
    (reason, advice), _ = min(advised.items(), key=lambda item: (-item[1], item[0]))
    said, _, step = str(advice).partition(". Next: ")
    codes = Counter(w.reason for w in windows if not w.answered)
    listed = ", ".join(f"{count} {code}" for code, count in sorted(codes.items(), key=str))
    ended = str(reason) if len(codes) == 1 else f"without an answer ({listed}); most often"
    return {"reason": f"{what}: {sum(codes.values())} of {len(windows)} windows {ended}: {said}", "next_step": step}


def _was_reconciled(workspace: Workspace, source_id: str, table: str) -> bool:
    """Tell whether a registry stands whose duplicates were asked for: one without would be a worse one in its place."""
    made = workspace.store.accepted_attempt(source_id, table)
    stands = workspace.store.manifest(source_id).accepted.get(table)
    return bool(stands and made and not made.notes.get("reconciliation_unanswered"))
