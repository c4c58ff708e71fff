"""Facts in running text: states, fingerprint parts, rule keys, reading codes, the excerpt in the shop window."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

import notarius_assets
from notarius_assets.flow import fingerprints
from notarius_assets.flow.currency import SessionState
from notarius_assets.lake.attempts import State
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.records import INTERACTION_KINDS
from notarius_assets.models.rules import npc_interactions, npcs, ruleset
from notarius_assets.models.window import WindowEnd
from notarius_assets.transcripts import codes
from tests.conftest import CampaignFactory
from tests.docs.pages import DOCS, README, REFERENCE, REPOSITORY, blocks, every_page, named, rows, section, text

INTERNALS = text(DOCS / "internals.md")
RULES = text(REFERENCE / "rules.md")
PACKAGE = Path(notarius_assets.__file__).parent
TRANSCRIPTS = DOCS / "examples" / "complete" / "transcripts"


def test_every_state_is_explained() -> None:
    part = section(INTERNALS, "## States")

    assert named(part) == [str(s) for s in State]
    for state in (*SessionState, *WindowEnd):
        assert f"`{state}`" in part
    commands = section(text(REFERENCE / "commands.md"), "## status")
    assert all(f"`{state}`" in commands for state in SessionState)


def test_parts_of_the_fingerprints(campaign: CampaignFactory) -> None:
    workspace = campaign().open()
    tables = list(rows(section(INTERNALS, "## Fingerprints")))
    said = [set(re.findall(r"`([^`]+)`", row[1])) for row in tables]
    for bound in workspace.pipeline.lanes:
        assert said[:4] == [
            set(fingerprints.units_code()),
            set(fingerprints.chunks_code(workspace.pipeline)),
            set(fingerprints.candidates_code(workspace.pipeline, bound, workspace.model)),
            set(fingerprints.lane_code(bound)),
        ]
    assert said[4:] == [
        set(fingerprints.units_input("")),
        set(fingerprints.chunks_input("")),
        {"transcript_units", "reference <slot>"},
        {"transcript_units", "reference <slot>"},
    ]


def test_every_table_of_a_session_is_listed() -> None:
    lanes = [table for lane in BUILT_IN for table in (lane.candidates_table, lane.table)]

    assert named(section(INTERNALS, "## Tables of a session")) == ["transcript_units", "transcript_chunks", *lanes]


def test_every_room_is_listed() -> None:
    listed = {name.rstrip("/").partition("/")[0] for name in named(section(INTERNALS, "## Rooms"))}
    rooms = {
        p.name
        for p in PACKAGE.iterdir()
        if (p.is_dir() and (p / "__init__.py").exists()) or (p.suffix == ".py" and not p.name.startswith("__"))
    }

    assert listed == rooms


def test_rule_files_and_the_lanes_that_read_them() -> None:
    listed = {row[0].strip("`"): row[2] for row in rows(re.split(r"^### ", section(RULES, "## Files"), flags=re.M)[0])}
    folder = PACKAGE / "models" / "rules"
    assert set(listed) == {p.name for p in folder.glob("*.yaml")} | {
        file for lists in ruleset._WORD_LISTS.values() for file in lists.values()
    }
    for stem in {*npcs.RULE_FILES, *npc_interactions.RULE_FILES}:
        readers = [
            lane
            for lane, files in (("dnd/npcs", npcs.RULE_FILES), ("dnd/npc-interactions", npc_interactions.RULE_FILES))
            if stem in files
        ]
        assert listed[f"{stem}.yaml"] == ("both lanes" if len(readers) == 2 else f"`{readers[0]}`")


def test_rule_keys_that_the_page_names_exist() -> None:
    models: dict[str, type[BaseModel]] = {
        "words.yaml": ruleset.WordRules,
        "common.yaml": ruleset.CommonRules,
        "npcs.yaml": ruleset.NpcRules,
        "npc_interactions.yaml": ruleset.InteractionRules,
    }
    for row in rows(section(RULES, "### Keys you may want to edit")):
        keys = re.findall(r"`([^`]+)`", row[1])
        assert keys
        assert set(keys) <= set(models[row[0].strip("`")].model_fields)


def test_every_warning_and_error_of_reading_is_listed() -> None:
    listed = named(text(REFERENCE / "transcripts.md"))

    assert set(codes.WARNINGS) | set(codes.ERRORS) <= set(listed)


def test_the_readme_is_a_shop_window() -> None:
    page = text(README)

    assert len(page.splitlines()) <= 90
    assert all(f"`{kind}`" in page for kind in INTERACTION_KINDS)


def test_the_excerpt_stands_in_the_example() -> None:
    session = re.search(r"`notarius show (session-\d+)` on the example", text(README))
    assert session
    turns = (TRANSCRIPTS / f"{session[1]}.txt").read_text(encoding="utf-8").splitlines()
    excerpt = next(block for language, block in blocks(text(README)) if language == "text")
    cited = re.findall(r"│ +(\d+) (.+)$", excerpt, re.M)
    assert cited
    for number, words in cited:
        assert turns[int(number) - 1] == words


def test_pictures_are_whole_and_need_nothing_from_elsewhere() -> None:
    for path in (DOCS / "images").glob("*.svg"):
        root = ElementTree.fromstring(text(path))
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert "href" not in text(path)


@pytest.mark.parametrize("page", every_page(), ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_no_page_names_a_machine(page: Path) -> None:
    assert not re.search(r"/(?:home|root|work|Users|tmp)/\w", text(page))
