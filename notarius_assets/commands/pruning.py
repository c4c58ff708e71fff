"""`prune`: remove kept answers that nothing uses any more."""

from __future__ import annotations

import time

from notarius_assets.commands.terminal import counted, out
from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.pending import planned
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import Attempt
from notarius_assets.models.recorded import ReplayProvider


def prune(workspace: Workspace, *, dry_run: bool) -> int:
    """Remove every answer that neither stands behind what is accepted or last tried, nor would be asked for now."""
    began = time.time()
    model = workspace.model
    if not isinstance(model, ReplayProvider):
        raise ConfigurationError(
            f"{workspace.pipeline.path}: model.provider is {model.name}, so what a model would be asked is not known",
            next_step="set model.provider to the one whose answers are kept: anthropic or replay",
        )
    used = _standing(workspace)
    for lane in planned(workspace, model, workspace.pipeline.sessions()).lanes:
        used.update(r.fingerprint for r in lane.requests)
    removed = size = kept = 0
    for fingerprint, path in workspace.answers.kept():
        # one that came meanwhile belongs to a run that goes on beside this
        if fingerprint in used or path.stat().st_mtime >= began:
            kept += 1
            continue
        removed += 1
        size += path.stat().st_size
        if not dry_run:
            path.unlink(missing_ok=True)
    for path in workspace.answers.unfinished():
        if not dry_run and path.stat().st_mtime < began - 3600:
            path.unlink(missing_ok=True)
    would = "would be removed" if dry_run else "removed"
    out(f"{counted(removed, 'answer')} {would} ({size / 1e6:.1f} MB), {kept:,} kept.")
    return 0


def _standing(workspace: Workspace) -> set[str]:
    """Return the fingerprints behind the newest and the newest accepted try at every table."""
    newest: dict[tuple[str, str, bool], Attempt] = {}
    for attempt in workspace.store.attempts():
        newest[attempt.source_id, attempt.table, False] = attempt
        if attempt.state == "accepted":
            newest[attempt.source_id, attempt.table, True] = attempt
    return {w["fingerprint"] for a in newest.values() for w in a.windows if w.get("fingerprint")}
