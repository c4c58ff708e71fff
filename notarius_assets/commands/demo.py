"""`make demo`: run the example campaign of the repository and say what was found and where to look."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from notarius_assets.commands import running
from notarius_assets.commands.asking import open_history
from notarius_assets.commands.terminal import note, out, table
from notarius_assets.errors import NotariusError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.resources import resource

FOUND = """
SELECT s.session, s.units, s.chunks,
  (SELECT count(*) FROM npcs AS n WHERE n.campaign = s.campaign AND n.session = s.session) AS npcs,
  count(i.kind) AS interactions,
  count(*) FILTER (i.kind = 'dialogue') AS dialogue,
  count(*) FILTER (i.kind IN ('combat_ally', 'combat_opponent')) AS combat,
  (SELECT count(*) FROM locations AS l WHERE l.campaign = s.campaign AND l.session = s.session) AS places,
  (SELECT count(*) FROM location_occurrences AS o WHERE o.campaign = s.campaign AND o.session = s.session
    AND o.kind = 'visited') AS visits
FROM sessions AS s
LEFT JOIN npc_interactions AS i ON i.campaign = s.campaign AND i.session = s.session
GROUP BY ALL
ORDER BY s.session
"""


def demo(pipeline: Path) -> int:
    """Run the example; return the exit code of the run."""
    started = time.monotonic()
    workspace = Workspace.open(pipeline)
    note("Running the example campaign, The Fog Bells, with the offline rules …")
    code = running.run(workspace, (), force=False, dry_run=False, quiet=False, as_json=False)
    with open_history(workspace) as connection:
        result = connection.execute(FOUND)
        head = [d[0] for d in result.description or ()]
        rows = result.fetchall()
    table(head, rows)
    here = f"--pipeline {_shown(pipeline)}"
    out(f"The words that prove each record:  .venv/bin/notarius show session-02 {here}")
    out(f"An NPC's history in SQL:           .venv/bin/notarius query npc_timeline --npc Bursar {here}")
    out(f"Where the party was, in order:     .venv/bin/notarius query places_visited {here}")
    out("The same in the Dagster UI:        make ui")
    out(f"Done in {time.monotonic() - started:.1f} s.")
    return code


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


if __name__ == "__main__":
    try:
        sys.exit(demo(resource("docs", "examples", "complete", "pipeline.yaml")))
    except NotariusError as error:
        note(f"notarius: {error}")
        sys.exit(error.exit_code)
