"""`run`, `status`, `check`: do what is not current, say what is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

from notarius_assets.commands.following import Following
from notarius_assets.commands.interrupts import interrupts
from notarius_assets.commands.sessions import choose
from notarius_assets.commands.terminal import counted, json_out, note, out, table
from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.flow.currency import SessionState, SessionStatus, statuses
from notarius_assets.flow.pending import planned
from notarius_assets.flow.reconcile import of_no_session
from notarius_assets.flow.speakers import unheard
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history
from notarius_assets.lake.locks import left_by_killed, mark_unfinished
from notarius_assets.models.anthropic_api import AnthropicProvider
from notarius_assets.transcripts.sessions import SessionFile


def run(workspace: Workspace, names: Sequence[str], *, force: bool, dry_run: bool, quiet: bool, as_json: bool) -> int:
    """Run every chosen session that is not current; return the exit code."""
    started = time.monotonic()
    before = statuses(workspace, choose(workspace, names))
    # tables that a killed process accepted were perhaps never told to Dagster
    again = {s.source_id for s in before if force or left_by_killed(workspace.home.locks, s.source_id)}
    todo = [s for s in before if s.source_id in again or s.to_do]
    if dry_run:
        return _dry_run(before, todo, as_json)
    after = {s.source_id: s for s in before}
    ran: list[str] = []
    interrupted = False
    problem: NotariusError | None = None
    if not before:
        note(f"notarius: no transcript matches the globs of {workspace.pipeline.path}")
    following = Following(workspace, quiet=quiet)
    if todo:
        require_key(workspace, [s.file for s in todo if s.file])
        try:
            with following:
                _run_all(replace(workspace, progress=following), todo, after, ran, again=again, quiet=quiet)
        except KeyboardInterrupt:
            interrupted = True
        except NotariusError as error:
            if not ran:
                raise
            # the history can't be built; how the sessions ended is said all the same
            problem = error
    if problem is None:
        history.refresh(workspace.store, workspace.pipeline.declared)
    done = [after[s.source_id] for s in before]
    if as_json:
        json_out({"sessions": [_as_json(s) for s in done], "interrupted": interrupted, "model": following.as_json()})
    else:
        if not quiet:
            following.say_totals()
        _last_lines(done, len(ran), time.monotonic() - started, quiet)
        following.warn()
        _warn_of_declared(workspace)
    if interrupted:
        note("notarius: interrupted; what was accepted stays, run again to go on")
        return 130
    if problem:
        raise problem
    return 0 if all(s.state is SessionState.CURRENT for s in done) else 1


def require_key(workspace: Workspace, sessions: Sequence[SessionFile]) -> None:
    """Raise ConfigurationError before anything runs where a call would be made without a key."""
    model = workspace.model
    if not isinstance(model, AnthropicProvider):
        return
    try:
        model.require_key()
    except ConfigurationError:
        # what is kept needs no key
        if planned(workspace, model, sessions).unanswered(workspace.answers):
            raise


def _run_all(
    workspace: Workspace,
    todo: Sequence[SessionStatus],
    after: dict[str, SessionStatus],
    ran: list[str],
    *,
    again: Set[str],
    quiet: bool,
) -> None:
    # dagster takes a second to import: only here
    from notarius_assets.orchestration.runner import runner

    every = tuple(t.table for t in todo[0].tables)
    with interrupts() as raise_if_interrupted, runner(workspace) as running:
        running.add_partitions([s.file for s in todo if s.file])
        for n, session in enumerate(todo, 1):
            if session.file is None:
                continue
            begun = time.monotonic()
            try:
                ended = running.run(session.file, every if session.source_id in again else session.to_do).status
                after[session.source_id] = ended
                raise_if_interrupted()
            except KeyboardInterrupt:
                # Dagster ended the run as failed, whatever was accepted before: the next run tells it all anew
                mark_unfinished(workspace.home.locks, session.source_id)
                note(f"[{n}/{len(todo)}] {session.source_id}: interrupted ({time.monotonic() - begun:.1f} s)")
                raise
            ran.append(session.source_id)
            if not quiet:
                took = f"{time.monotonic() - begun:.1f} s"
                note(f"[{n}/{len(todo)}] {session.source_id}: {ended.state} ({took}){_why(ended)}")


def _why(session: SessionStatus) -> str:
    worst = session.worst
    return f" {worst.table}: {worst.reason}" if worst and worst.reason else ""


def _dry_run(before: Sequence[SessionStatus], todo: Sequence[SessionStatus], as_json: bool) -> int:
    if as_json:
        json_out({"sessions": [_as_json(s) for s in before], "to_run": [s.source_id for s in todo]})
        return 0
    for session in todo:
        out(f"{session.source_id}: would run, {session.state}{_because(session)}")
    out(f"{len(todo)} of {len(before)} sessions would run.")
    return 0


def _because(session: SessionStatus) -> str:
    parts = sorted({p for t in session.tables for p in t.because} - {t.table for t in session.tables})
    return f" because of {', '.join(parts)}" if parts else ""


def _last_lines(done: Sequence[SessionStatus], ran: int, seconds: float, quiet: bool) -> None:
    counts = Counter(s.state for s in done)
    bad = [s for s in done if s.state is not SessionState.CURRENT]
    listed = ", ".join(f"{counts[state]} {state}" for state in SessionState if counts[state]) or "no session"
    if not quiet or bad:
        out(f"{counted(len(done), 'session')}: {listed}. {ran} run in {seconds:.1f} s.")
    for session in bad:
        worst = session.worst
        if worst is None:
            continue
        reason = worst.reason or _because(session).strip() or "not run"
        step = f". Next: {worst.next_step}" if worst.next_step else ""
        out(f"{session.source_id}: {session.state}: {worst.table}: {reason}{step}")


def _warn_of_declared(workspace: Workspace) -> None:
    for line in unheard(workspace):
        note(f"notarius: {line}. Next: correct `speakers:` in {workspace.pipeline.path.name}")
    for line in of_no_session(workspace):
        note(f"notarius: {line}. Next: correct `reconciliation:` in {workspace.pipeline.path.name}")


def show_status(workspace: Workspace, names: Sequence[str], as_json: bool) -> int:
    """Print what is current, what is not and why, and what holds a session's published set back."""
    found = statuses(workspace, choose(workspace, names))
    if as_json:
        json_out({"sessions": [_as_json(s) for s in found]})
        return 0
    rows = []
    for session in found:
        worst = session.worst
        why = (worst.reason if worst else None) or _because(session).strip()
        if session.held_back:
            held = f"{', '.join(session.held_back)} held back by {', '.join(session.waiting_for)}"
            why = f"{why}; {held}" if why else held
        rows.append((session.source_id, str(session.state), worst.table if worst else "", why))
    table(("session", "state", "table", "why"), rows)
    _warn_of_declared(workspace)
    orphans = _without_transcript(workspace)
    if orphans and not names:
        out(f"{counted(len(orphans), 'session')} in the lake without a transcript: {', '.join(orphans)}")
        out("  They stay in every answer. A file that was renamed keeps its session by a line under `sessions:`.")
    counts = Counter(s.state for s in found)
    out(", ".join(f"{counts[state]} {state}" for state in SessionState if counts[state]) or "no session")
    return 0


def _without_transcript(workspace: Workspace) -> list[str]:
    present = {s.source_id for s in workspace.pipeline.sessions()}
    ours = f"{workspace.pipeline.campaign}/"
    lake = (m.source_id for m in workspace.store.manifests())
    return [s for s in lake if s.startswith(ours) and s not in present]


def _as_json(session: SessionStatus) -> dict[str, object]:
    return {
        "source_id": session.source_id,
        "state": str(session.state),
        "held_back": list(session.held_back),
        "waiting_for": list(session.waiting_for),
        "tables": [
            {
                "table": t.table,
                "state": str(t.state),
                "because": list(t.because),
                "reason": t.reason,
                "next_step": t.next_step,
            }
            for t in session.tables
        ],
    }
