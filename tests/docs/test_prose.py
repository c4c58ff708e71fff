"""Facts in running text: states, fingerprint parts, rule keys, reading codes, the excerpt in the shop window."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

import notarius_assets
from notarius_assets.flow import fingerprints, steps
from notarius_assets.flow.currency import SessionState
from notarius_assets.flow.documents import records_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import State
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.records import INTERACTION_KINDS
from notarius_assets.models.recorded import ReplayProvider
from notarius_assets.models.rules import ruleset
from notarius_assets.models.rules.place_rules import PlaceRules, StayRules
from notarius_assets.models.rules.union_rules import UnionRules
from notarius_assets.models.window import WindowEnd
from notarius_assets.pipeline import BoundLane
from notarius_assets.transcripts import codes
from tests.conftest import CampaignFactory
from tests.docs.pages import DOCS, README, REFERENCE, REPOSITORY, blocks, every_page, named, rows, section, text
from tests.four_lanes import STEPS

INTERNALS = text(DOCS / "internals.md")
RULES = text(REFERENCE / "rules.md")
PACKAGE = Path(notarius_assets.__file__).parent
EXAMPLE = DOCS / "examples" / "complete"


def tables(bound: BoundLane) -> tuple[str, str]:
    return bound.lane.candidates_table, bound.lane.table


def test_every_state_is_explained() -> None:
    part = section(INTERNALS, "## States")

    assert named(part) == [str(s) for s in State]
    for state in (*SessionState, *WindowEnd):
        assert f"`{state}`" in part
    commands = section(text(REFERENCE / "commands.md"), "## status")
    assert all(f"`{state}`" in commands for state in SessionState)


def test_parts_of_the_fingerprints(campaign: CampaignFactory) -> None:
    workspace = campaign(steps=STEPS).open()
    tables = list(rows(section(INTERNALS, "## Fingerprints")))
    said = [set(re.findall(r"`([^`]+)`", row[1])) for row in tables]
    section_of = workspace.pipeline.file.model
    model = ReplayProvider(section_of.settings, workspace.answers, section_of.access)
    for bound in workspace.pipeline.lanes:
        assert said[:4] == [
            set(fingerprints.units_code()),
            set(fingerprints.chunks_code(workspace.pipeline)),
            set(fingerprints.candidates_code(workspace.pipeline, bound, workspace.model)),
            set(fingerprints.candidates_code(workspace.pipeline, bound, model)),
        ]
        made = [set(fingerprints.lane_code(workspace.pipeline, bound, who)) for who in (workspace.model, model)]
        assert (said[5:7] if bound.lane.reconciliation else [said[4]] * 2) == made
    assert [re.findall(r"`([^`]+)`", row[0]) for row in tables[4:7]] == [
        [b.lane.table for b in workspace.pipeline.lanes if not b.lane.reconciliation],
        [],
        [],
    ]
    assert said[7:] == [
        set(fingerprints.units_input("")),
        set(fingerprints.chunks_input("")),
        {"transcript_units", "reference <slot>", "names united in <slot>"},
        {"transcript_units", "reference <slot>", "decisions of the session"},
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
    for stem in (p.stem for p in folder.glob("*.yaml")):
        readers = [f"`{lane.key}`" for lane in BUILT_IN if stem in lane.profile.rules]
        said = ["all lanes"] if len(readers) == len(BUILT_IN) else readers
        if any(stem in lane.reconciliation.rules for lane in BUILT_IN if lane.reconciliation):
            said = [*said, "duplicates"]
        assert listed[f"{stem}.yaml"] == ", ".join(said)


def test_rule_keys_that_the_page_names_exist() -> None:
    models: dict[str, type[BaseModel]] = {
        "words.yaml": ruleset.WordRules,
        "common.yaml": ruleset.CommonRules,
        "npcs.yaml": ruleset.NpcRules,
        "npc_interactions.yaml": ruleset.InteractionRules,
        "locations.yaml": PlaceRules,
        "location_occurrences.yaml": StayRules,
        "reconciliation.yaml": UnionRules,
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


def test_the_excerpt_is_what_the_example_gives(tmp_path: Path) -> None:
    """Lines may be left out where the excerpt says so with "…"; what stands there is what `show` prints."""
    session = re.search(r"`notarius show (session-\d+)` on the example", text(README))
    assert session
    workspace = Workspace.open(EXAMPLE / "pipeline.yaml", tmp_path)
    source_id = f"{workspace.pipeline.campaign}/{session[1]}"
    for table in ("transcript_units", "transcript_chunks", *(t for b in workspace.pipeline.lanes for t in tables(b))):
        assert steps.run(workspace, table, source_id).accepted
    lane = workspace.pipeline.bound("dnd/npc-interactions").lane
    manifest = workspace.store.manifest(source_id)
    records = records_of(lane, workspace.store.read(manifest.published[lane.table]))
    units = workspace.store.units(manifest.published["transcript_units"])
    shown = [
        [f"  {r['name']}  {r['kind']}"]
        + [f"    │ {e.unit_id:>5} {', '.join(e.speakers)}: {e.text}" for e in lane.project(r, units, 0)]
        for r in records
    ]

    excerpt = next(block for language, block in blocks(text(README)) if language == "text").rstrip("\n").split("\n")
    whole = excerpt[:-1] if excerpt[-1].strip() == "…" else excerpt

    assert len(whole) > 2
    assert any(lines[: len(whole)] == whole and (len(lines) > len(whole)) == (whole != excerpt) for lines in shown)


def test_pictures_are_whole_and_need_nothing_from_elsewhere() -> None:
    for path in (DOCS / "images").glob("*.svg"):
        root = ElementTree.fromstring(text(path))
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert "href" not in text(path)


@pytest.mark.parametrize("page", every_page(), ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_no_page_names_a_machine(page: Path) -> None:
    assert not re.search(r"/(?:home|root|work|Users|tmp)/\w", text(page))
