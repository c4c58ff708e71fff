"""Choose sessions by what people type."""

from __future__ import annotations

from collections.abc import Sequence

from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.transcripts.sessions import SessionFile


def choose(workspace: Workspace, names: Sequence[str]) -> tuple[SessionFile, ...]:
    """Return the named sessions, or all; a name is a slug or a source_id.

    Raises ConfigurationError that names what is near.
    """
    found = workspace.pipeline.sessions()
    if not names:
        return found
    known = {s.slug: s for s in found} | {s.source_id: s for s in found}
    for name in names:
        if name not in known:
            raise unknown(workspace, name, [s.slug for s in found])
    return tuple({known[n].source_id: known[n] for n in names}.values())


def one(workspace: Workspace, name: str) -> str:
    """Return the source_id of a session that has a transcript, or that the lake still holds."""
    in_lake = [m.source_id for m in workspace.store.manifests()]
    for source_id in (*(s.source_id for s in workspace.pipeline.sessions()), *in_lake):
        if name in (source_id, source_id.partition("/")[2]):
            return source_id
    raise unknown(workspace, name, [s.slug for s in workspace.pipeline.sessions()])


def unknown(workspace: Workspace, name: str, slugs: Sequence[str]) -> ConfigurationError:
    """Return the error for a session that is not there."""
    import difflib

    near = difflib.get_close_matches(name, slugs, 3)
    hint = f"try {', '.join(near)}" if near else "notarius status lists the sessions"
    return ConfigurationError(f"{workspace.pipeline.path.name}: no session {name!r}", next_step=hint)
