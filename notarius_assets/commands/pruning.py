"""`prune`: remove kept answers that nothing uses any more."""

from __future__ import annotations

import time
from pathlib import Path

from notarius_assets.commands.terminal import counted, out
from notarius_assets.errors import NotariusError
from notarius_assets.flow.pending import Planned, asking_model, planned
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import Attempt


def prune(workspace: Workspace, *, dry_run: bool) -> int:
    """Remove every answer that neither stands behind what is accepted or last tried, nor would be asked for now.

    Answers that another campaign of the home asked for are left alone: its pipeline file alone tells what it needs.
    """
    began = time.time()
    now = planned(workspace, asking_model(workspace), workspace.pipeline.sessions())
    for source_id, reason in now.unreadable:
        raise NotariusError(
            f"{source_id}: can't be read ({reason}), so what it would ask is not known and nothing was removed",
            next_step="mend the transcript or leave it out with `ignore:`",
        )
    try:
        _remove(workspace, _Used(workspace, now), began, dry_run=dry_run)
    except OSError as error:
        raise NotariusError(
            f"{workspace.answers.folder}: {error.strerror}", next_step="mend that, then prune again"
        ) from error
    return 0


class _Used:
    """What must stay: by fingerprint, and whatever a lane asked that waits for its registry, as that is not known."""

    def __init__(self, workspace: Workspace, now: Planned) -> None:
        self._answers = workspace.answers
        self._campaign = workspace.pipeline.campaign
        self._fingerprints = _standing(workspace) | {r.fingerprint for lane in now.lanes for r in lane.requests}
        self._waiting = {(lane.source_id, lane.name) for lane in now.lanes if lane.waits_for}

    def __contains__(self, fingerprint: str) -> bool:
        if fingerprint in self._fingerprints:
            return True
        asker = self._answers.asked_by(fingerprint)
        other = bool(asker[0]) and asker[0].partition("/")[0] != self._campaign
        return other or asker in self._waiting


def _remove(workspace: Workspace, used: _Used, began: float, *, dry_run: bool) -> None:
    removed = size = kept = 0
    for fingerprint, path in workspace.answers.kept():
        changed, length = _stat(path)
        # one that came meanwhile belongs to a run that goes on beside this
        if fingerprint in used or changed >= began:
            kept += 1
            continue
        removed += 1
        size += length
        if not dry_run:
            path.unlink(missing_ok=True)
    for path in workspace.answers.unfinished():
        if not dry_run and _stat(path)[0] < began - 3600:
            path.unlink(missing_ok=True)
    would = "would be removed" if dry_run else "removed"
    out(f"{counted(removed, 'answer')} {would} ({size / 1e6:.1f} MB), {kept:,} kept.")


def _stat(path: Path) -> tuple[float, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        # another prune was quicker
        return 0.0, 0
    return found.st_mtime, found.st_size


def _standing(workspace: Workspace) -> set[str]:
    """Return the fingerprints behind the newest and the newest accepted try at every table."""
    newest: dict[tuple[str, str, bool], Attempt] = {}
    for attempt in workspace.store.attempts():
        newest[attempt.source_id, attempt.table, False] = attempt
        if attempt.state == "accepted":
            newest[attempt.source_id, attempt.table, True] = attempt
    return {w["fingerprint"] for a in newest.values() for w in a.windows if w.get("fingerprint")}
