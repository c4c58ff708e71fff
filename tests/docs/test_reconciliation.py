"""The page of reconciliation against the code: limits, codes, rules, what is shown; and the SQL of the pages, run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from notarius_assets.campaign import CampaignReferences
from notarius_assets.commands.showing import MAX_MERGES, _merge
from notarius_assets.evidence import SourceRef
from notarius_assets.flow import steps
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history
from notarius_assets.models.request import PROPOSAL_ASKS
from notarius_assets.models.rules import reconciliation as rules
from notarius_assets.reconcile import assessment, request
from notarius_assets.reconcile.merges import DECLARED_APART
from notarius_assets.reconcile.nodes import Node
from notarius_assets.transcripts.model import Unit
from tests.docs.pages import DOCS, blocks, every_page, named, rows, section, text

PAGE = text(DOCS / "reconciliation.md")
ASKED = " ".join(section(PAGE, "## What is asked").split())


def test_the_limits_are_the_code_s() -> None:
    assert f"at most {request.MAX_CANDIDATES} candidates and {request.MAX_CHARACTERS:,} characters" in ASKED
    assert f"around its first three ranges: {request.WINDOW} units before and after" in ASKED
    assert f"up to {request.LISTED_REFS} of its ranges" in ASKED
    assert f"a range longer than {request.LONGEST_RANGE} units the first and the last three" in ASKED
    assert f"a unit longer than {request.LONGEST_UNIT:,} characters" in ASKED
    assert (request.SHOWN_REFS, request.LONGEST_RANGE // 2) == (3, 3)
    assert PROPOSAL_ASKS == 3
    assert "at most three times" in PAGE
    assert f"the first {MAX_MERGES}." in PAGE


def test_every_reason_to_refuse_a_group_is_listed() -> None:
    source = text(Path(assessment.__file__))
    codes = set(re.findall(r'(?:return|=|or) "(\w+)"', source)) | {
        code for code in re.findall(r'"(\w+)"', source) if code.endswith("_group")
    }

    assert set(named(section(PAGE, "## What is refused"))) == codes | {DECLARED_APART}


def test_the_rules_own_rules_are_listed() -> None:
    listed = [row[0].strip("`") for row in rows(section(PAGE, "## How the rules propose"))]

    assert listed == [rules.KNOWN_ALIAS, rules.STATED_ALIAS, rules.PROPER_NAME]


def test_the_example_of_a_request_is_what_is_asked() -> None:
    shown = next(block for language, block in blocks(section(PAGE, "## What is asked")) if language == "text")
    said = re.findall(r"^\[(\d+)\] (\w+): (.*)$", shown, re.M)
    units = tuple(Unit(int(n), (who,), words) for n, who, words in said)
    nodes = [
        Node.of(name, [SourceRef("x/s01", at, at)], (1, n))
        for n, (name, at) in enumerate((("the Grey Widow", 1), ("Hesper Vale", 3)))
    ]
    (asked,) = request.requests("dnd/npcs", "x/s01", nodes, units, CampaignReferences())

    lines = ("<candidates>", asked.candidate_lines, "</candidates>", "<evidence>", asked.evidence_lines, "</evidence>")
    assert shown.rstrip("\n") == "\n".join(lines)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The second session of the example, run."""
    workspace = Workspace.open(DOCS / "examples" / "complete" / "pipeline.yaml", tmp_path_factory.mktemp("home"))
    lanes = [table for b in workspace.pipeline.lanes for table in (b.lane.candidates_table, b.lane.table)]
    for table in ("transcript_units", "transcript_chunks", *lanes):
        assert steps.run(workspace, table, "fog-bells/session-02").accepted
    return workspace


def test_the_unions_shown_are_the_example_s(example: Workspace) -> None:
    shown = next(block for language, block in blocks(section(PAGE, "## Where to read it")) if language == "text")
    tries = [example.store.latest_attempt("fog-bells/session-02", table) for table in ("npcs", "locations")]
    lines = [f"  {_merge(merge)}" for attempt in tries if attempt for merge in attempt.merges]

    assert [line for line in lines if line in shown.split("\n")] == shown.rstrip("\n").split("\n")


def test_the_sql_of_the_pages_runs(example: Workspace) -> None:
    statements = []
    for page in every_page():
        for language, block in blocks(text(page)):
            if language == "sql":
                statements.append(block)
            elif language == "sh":
                typed = (shlex.split(line) for line in block.splitlines() if line.startswith("notarius sql "))
                statements += [words[2] for words in typed]
    path = history.refresh(example.store, example.pipeline.declared)
    with history.connect(path) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()

    assert len(statements) > 10
