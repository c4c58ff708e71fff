"""Duplicates as the offline rules find them, from the transcript to the rows and lines that people read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import run

from tests.conftest import REPOSITORY, Campaign
from tests.four_lanes import write_four
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import SMALL_CHUNKS, ask, change, documents, notarius, run_steps, status_of

GAZETTEER = """\
gazetteer:
  npcs: [{name: Orrick Thane}, {name: Flourbeard}, {name: Wenna}]
  locations: [{name: Greywater Mill}, {name: Cold Ferry}]
"""
STORY = """\
DM: The road ends at Greywater Mill. Orrick Thane, also called Flourbeard, steps out of Greywater Mill.
ANNA: Good evening, Orrick Thane! Is there a bed for two tired people?
DM: Orrick Thane nods and lets you into Greywater Mill.
BEN: Tomorrow we go to Cold Ferry.
DM: "Flourbeard is what Wenna calls me," says Orrick Thane, and closes the door of Greywater Mill.
ANNA: Good night, Flourbeard.
DM: In the morning you leave Greywater Mill and come to Cold Ferry, where Wenna waves.
BEN: Hello, Wenna! We come from Greywater Mill.
"""
DECISION = "reconciliation:\n  - {lane: dnd/npcs, session: session-01, apart: [Orrick Thane, Flourbeard]}\n"


def written(root: Path) -> Campaign:
    return write_four(root / "campaign", extra=f"{GAZETTEER}{SMALL_CHUNKS}", stories={"session-01": STORY})


def test_what_the_transcript_states_is_one_record_with_its_reason(tmp_path: Path) -> None:
    c = written(tmp_path)
    assert all(o.accepted for o in run_steps(c))
    assert ask(c, "SELECT name FROM npcs ORDER BY name") == [("Flourbeard",), ("Wenna",)], "of two that begin together"
    assert ask(c, "SELECT name, count(*) FROM locations GROUP BY name ORDER BY name") == [
        ("Cold Ferry", 1),
        ("Greywater Mill", 1),
    ]
    rows = ask(
        c,
        "SELECT table_name, outcome, rule, stated_unit_id, m.name, len(members), n.name FROM merges AS m "
        "JOIN (SELECT id, name FROM npcs UNION SELECT id, name FROM locations) AS n ON n.id = m.record_id "
        "ORDER BY ALL",
    )
    assert rows == [
        ("locations", "united", "equal_proper_name", None, "Cold Ferry", 2, "Cold Ferry"),
        ("locations", "united", "equal_proper_name", None, "Greywater Mill", 2, "Greywater Mill"),
        ("npcs", "united", "stated_alias", 1, "Flourbeard", 2, "Flourbeard"),
    ]
    said = notarius("show", "session-01", "--lane", "dnd/npcs", on=c).out
    (line,) = [line for line in said.splitlines() if "one record: " in line]
    assert line.endswith(" as Flourbeard (stated_alias, stated in unit 1)")
    assert "Orrick Thane (" in line
    assert_whole(c)


def test_the_owner_says_otherwise(tmp_path: Path) -> None:
    c = written(tmp_path)
    run_steps(c)
    before = documents(c)
    change(c, "gazetteer:\n", f"{DECISION}gazetteer:\n")
    stale = {t.table: t.because for t in status_of(c, "session-01").tables if t.because}
    assert stale["npcs"] == ("decisions of the session",)
    assert "locations" not in stale
    run_steps(c)
    assert ask(c, "SELECT name FROM npcs ORDER BY name") == [("Flourbeard",), ("Orrick Thane",), ("Wenna",)]
    assert ask(c, "SELECT outcome, rule, refused, record_id FROM merges WHERE table_name = 'npcs'") == [
        ("kept apart", "stated_alias", "declared_apart", None)
    ]
    ((rule,),) = ask(c, "SELECT rule FROM lake.merges WHERE table_name = 'npcs' AND attempt = 1")
    assert rule == "stated_alias", "tries before it keep their rows"
    change(c, DECISION, "")
    run_steps(c)
    assert documents(c) == before


def test_the_view_has_the_unions_of_what_is_published_alone(tmp_path: Path) -> None:
    c = written(tmp_path)
    run_steps(c)
    once = ask(c, "SELECT * FROM merges ORDER BY ALL")
    change(c, "gazetteer:\n", "# again\ngazetteer:\n")
    assert notarius("show", "session-01", "--json", on=c).code == 0
    assert run_steps(c) == []
    assert ask(c, "SELECT * FROM merges ORDER BY ALL") == once
    assert ask(c, "SELECT count(*) FROM merges JOIN lake.lane_runs USING (campaign, session, table_name)")[0][0] == len(
        once
    )


_MAKE = """\
import json, sys
from pathlib import Path
from tests.reconcile.test_by_rules import ask, documents, run_steps, written
c = written(Path(sys.argv[1]))
run_steps(c)
rows = ask(c, "SELECT * FROM merges ORDER BY table_name, merge")
print(json.dumps([{k: v.decode() for k, v in documents(c).items()}, rows]))
"""


def test_nothing_depends_on_how_texts_hash(tmp_path: Path) -> None:
    made = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        program = [sys.executable, "-c", _MAKE, str(tmp_path / seed)]
        made.add(run(program, env=environment, cwd=REPOSITORY, capture_output=True, check=True, text=True).stdout)
    assert len(made) == 1
    published, rows = json.loads(made.pop())
    assert len(published) == 4
    assert len(rows) == 3
