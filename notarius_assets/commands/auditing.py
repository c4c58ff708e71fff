"""`check`: today's validators over accepted artifacts, told to Dagster as evaluations."""

from __future__ import annotations

from collections.abc import Sequence

from notarius_assets.commands.sessions import choose
from notarius_assets.commands.terminal import counted, json_out, note, table
from notarius_assets.flow.audit import Audited, audit_session
from notarius_assets.flow.inputs import BlockedError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import verdict_json


def check(workspace: Workspace, names: Sequence[str], *, as_json: bool, quiet: bool) -> int:
    """Run the chains of every lane over what is accepted; exit 1 where one would reject it today."""
    from notarius_assets.orchestration.evaluations import report

    found: list[Audited] = []
    blocked: list[str] = []
    chosen = choose(workspace, names)
    for session in chosen:
        try:
            found.extend(audit_session(workspace, session.source_id))
        except BlockedError as error:
            blocked.append(f"{session.source_id}: {error}")
    report(workspace, found)
    if as_json:
        rows = [
            {
                "source_id": a.source_id,
                "table": a.table,
                "passed": a.passed,
                "checks": [verdict_json(v) for v in a.verdicts],
            }
            for a in found
        ]
        json_out({"tables": rows, "blocked": blocked})
    elif not quiet:
        rows_shown = [
            (a.source_id, a.table, v.validator.key, str(v.validator.severity), v.total, v.looked_at)
            for a in found
            for v in a.verdicts
            if not v.passed
        ]
        if rows_shown:
            table(("session", "table", "check", "severity", "found", "looked at"), rows_shown)
    for line in blocked:
        note(f"notarius: {line}")
    bad = [a for a in found if not a.passed]
    checked = {a.source_id for a in found}
    bare = [s.source_id for s in chosen if s.source_id not in checked]
    note(
        f"{counted(len(found), 'accepted table')} checked, {len(bad)} would be rejected today, "
        f"{counted(len(blocked), 'session')} can't be checked, {counted(len(bare), 'session')} had nothing to check."
    )
    return 1 if bad or blocked else 0
