"""`requests export`, `requests import`: have windows answered wherever there is a model."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from notarius_assets.commands.sessions import choose
from notarius_assets.commands.terminal import counted, note
from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.files import write_atomically
from notarius_assets.flow.pending import LaneWindows, Planned, asking_model, planned
from notarius_assets.flow.windows import ledger_of, reconciliation_ledger_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.ledger import Ledger
from notarius_assets.models.calls import OF_END, Call, CallStatus
from notarius_assets.models.exchange import REQUEST_LINE, Imported, LineEnd, import_lines, request_line
from notarius_assets.models.recorded import ReplayProvider

if TYPE_CHECKING:
    from notarius_assets.models.request import ModelRequest

MAX_PROBLEMS = 20
"""Lines of a result file that are named one by one."""


def export_requests(workspace: Workspace, names: Sequence[str], lane_keys: Sequence[str], to: Path) -> int:
    """Write what has no answer yet as JSON Lines; say what comes next."""
    model = asking_model(workspace)
    for key in lane_keys:
        workspace.pipeline.bound(key)
    found = planned(workspace, model, choose(workspace, names), lane_keys)
    waiting = found.unanswered(workspace.answers)
    _write(to, "".join(request_line(r) for _, requests in waiting for r in requests))
    total = sum(len(requests) for _, requests in waiting)
    note(f"{counted(total, 'request')} written to {to}{_by_lane(waiting)}")
    for source_id, reason in found.unreadable:
        note(f"notarius: {source_id}: no requests, the transcript can't be read: {reason}")
    _say_what_comes_next(found, total, to)
    return 1 if found.unreadable else 0


def _write(to: Path, text: str) -> None:
    data = text.encode()
    try:
        if str(to) == "-":
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif to.exists() and not to.is_file():
            # a pipe or a device is written to, not replaced
            to.write_bytes(data)
        else:
            write_atomically(to.resolve(), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotariusError(f"{to}: can't be written ({error.strerror})", next_step="check the folder") from error


def _by_lane(waiting: Sequence[tuple[LaneWindows, Sequence[ModelRequest]]]) -> str:
    windows: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    for lane, requests in waiting:
        windows[lane.name] += len(requests)
        sessions[lane.name] += 1
    said = [f"{name} {windows[name]:,} in {counted(sessions[name], 'session')}" for name in windows]
    return f": {', '.join(said)}" if said else ""


def _say_what_comes_next(found: Planned, total: int, to: Path) -> None:
    held = Counter((lane.name, lane.waits_for) for lane in found.lanes if lane.waits_for)
    ready = [lane for lane in found.lanes if not lane.current and not lane.waits_for]
    if total:
        what = "them" if str(to) == "-" else str(to)
        note(f"Next: have {what} answered, then `notarius requests import RESULTS`, then `notarius run`.")
    elif ready:
        note("Next: `notarius run`; every answer it needs now is there.")
    for (key, table), sessions in held.items():
        note(f"Then export again: {key} waits for {table} of {counted(sessions, 'session')}, which is not current yet.")
    if not total and not ready and not held and not found.unreadable:
        note("Nothing to ask: everything chosen is current.")


def import_results(workspace: Workspace, file: Path) -> int:
    """Keep the answers of a result file; return 1 when a line gave none."""
    model = asking_model(workspace)
    found = planned(workspace, model, workspace.pipeline.sessions())
    asked = {r.fingerprint: r for lane in found.lanes for r in lane.requests}
    try:
        opened = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    except OSError as error:
        raise ConfigurationError(f"{file}: can't be read ({error.strerror})", next_step="give a result file") from error
    try:
        with opened as lines:
            ends = import_lines(lines, asked, workspace.answers, model.settings.model)
    except OSError as error:
        raise NotariusError(
            f"{file} to {workspace.answers.folder}: {error.strerror}", next_step="mend that, then import it again"
        ) from error
    _enter(workspace, model, ends)
    counts = Counter(e.end for e in ends)
    listed = ", ".join(f"{counts[end]:,} {end}" for end in Imported if counts[end]) or "no line"
    note(f"{file}: {listed}")
    bad = [e for e in ends if e.end in (Imported.NO_RESULT, Imported.UNREADABLE, Imported.NOT_ASKED)]
    if bad and all(e.reason.endswith(REQUEST_LINE) for e in ends):
        raise ConfigurationError(f"{file}: these are requests, not results", next_step="give the file of the results")
    for end in bad[:MAX_PROBLEMS]:
        note(f"notarius: {file}:{end.line}: {_said(end)}")
    if len(bad) > MAX_PROBLEMS:
        note(f"notarius: {file}: {len(bad) - MAX_PROBLEMS:,} more lines gave no answer")
    left = sum(len(requests) for _, requests in found.unanswered(workspace.answers))
    if left:
        note(f"Next: {counted(left, 'window')} still without an answer; `notarius requests export` writes them.")
    elif counts[Imported.KEPT] or counts[Imported.ALREADY_ANSWERED]:
        note("Next: `notarius run`, then `notarius requests export` again for what follows from it.")
    return 1 if bad else 0


def _enter(workspace: Workspace, model: ReplayProvider, ends: Sequence[LineEnd]) -> None:
    """Enter what was answered elsewhere in the ledger: its tokens are known, its price is not."""
    ledgers: dict[tuple[str, str, bool], Ledger] = {}
    for end in ends:
        if end.request is None or end.reading is None:
            continue
        request = end.request
        key = (request.source_id, request.lane, request.chunk_id is None)
        if key not in ledgers:
            open_ledger = reconciliation_ledger_of if request.chunk_id is None else ledger_of
            ledgers[key] = open_ledger(workspace, workspace.pipeline.bound(request.lane).lane, request.source_id)
        ledgers[key].enter(
            Call(
                source_id=request.source_id,
                chunk_id=request.chunk_id,
                fingerprint=request.fingerprint,
                ask=request.asks[0],
                attempt=1,
                model=model.settings.model,
                status=CallStatus.IMPORTED if end.end is Imported.KEPT else OF_END[end.reading.end],
                stop_reason=end.reading.stop_reason,
                usage=end.reading.usage,
            )
        )


def _said(end: LineEnd) -> str:
    if end.end is Imported.NOT_ASKED:
        return (
            "its custom_id is no request of this pipeline now. Next: export again; "
            "transcript, prompts, settings or a registry have changed since"
        )
    return f"{_asked_about(end.request)}{end.end} ({end.reason})"


def _asked_about(request: ModelRequest | None) -> str:
    if request is None:
        return ""
    chunk = "" if request.chunk_id is None else f", chunk {request.chunk_id}"
    return f"{request.name}, {request.source_id}{chunk}: "
