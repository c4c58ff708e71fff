"""Declared speakers against the labels that the transcripts have: a misspelt one changes everything after it."""

from __future__ import annotations

import difflib

from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.tables import UNITS


def unheard(workspace: Workspace) -> list[str]:
    """Return a line for each declared label that no session of the campaign has; nothing while one was not read."""
    heard: set[str] = set()
    for session in workspace.pipeline.sessions():
        tried = workspace.store.latest_attempt(session.source_id, UNITS)
        if tried is None:
            return []
        made = workspace.store.accepted_attempt(session.source_id, UNITS)
        heard.update(made.notes.get("speakers", ()) if made else ())
    if not heard:
        return []
    speakers = workspace.pipeline.file.speakers
    missing = [label for label in (*speakers.dm, *speakers.players) if label not in heard]
    return [f"speaker {label!r} is in no transcript{_near(label, heard)}" for label in missing]


def _near(label: str, heard: set[str]) -> str:
    found = difflib.get_close_matches(label, sorted(heard), 2)
    return f"; there is {' and '.join(map(repr, found))}" if found else ""
