"""The pages of docs/integrations and the guide for a new lane: every table, example and query in them is executed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

from notarius_assets import pipeline
from notarius_assets.flow.extract import ChunkResult, judge
from notarius_assets.flow.normalize import audit
from notarius_assets.lake import sqlfiles
from notarius_assets.lake.tables import CHUNKS_TABLE, UNITS_TABLE, candidates_table, lane_table, record_rows
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.codec import decode
from notarius_assets.prompting import assemble, assemble_reconciliation
from notarius_assets.reconcile.request import requests
from notarius_assets.references import MAX_REFERENCE_BYTES, Registry
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Allow, Context, Level, Severity, WindowState
from tests.lanes.world import (
    CAMPAIGN,
    CHUNKS,
    GOOD_RECORDS,
    INTERACTIONS,
    LOCATIONS,
    NPCS,
    OCCURRENCES,
    REGISTRY,
    SAID,
    SOURCE,
    UNITS,
    candidates,
    ranges,
    refs,
    registries,
    window,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = DOCS / "how-to" / "write-a-lane.md"
lanes = pytest.mark.parametrize("lane", BUILT_IN, ids=lambda lane: lane.table)


def page(lane: Lane) -> str:
    return (DOCS.parent / lane.docs).read_text(encoding="utf-8")


def table(text: str, heading: str) -> list[tuple[str, ...]]:
    """Return the rows of the first table below a heading."""
    below = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in below.split("\n") if line.startswith("|")]
    return [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows[2:]]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def code(cell: str) -> str:
    assert cell.startswith("`"), cell
    assert cell.endswith("`"), cell
    return cell[1:-1]


@lanes
def test_the_identities_are_the_lanes(lane: Lane) -> None:
    said = {row[0]: row[1] for row in table(page(lane), "Identities")}

    assert said == {
        "Key of lane, extractor and normalizer": f"`{lane.key}`",
        "Artifact kind": f"`{lane.artifact_kind}`",
        "Schema ID": f"`{lane.schema_id}`",
        "Schema name": f"`{lane.schema_name}`",
        "Schema version": f"`{lane.schema_name.rpartition('_')[2]}`",
        "Media type": f"`{lane.media_type}`",
        "Root": f"`{lane.root}`",
        "Tables": f"`{lane.table}`, `{lane.candidates_table}`",
        "Schema files": f"`schemas/{lane.schema_name}.json`, "
        f"`schemas/private/{lane.key.replace('/', '-')}.response.json`",
    }


@lanes
def test_every_field_is_documented_in_its_order(lane: Lane) -> None:
    fields = [code(row[0]) for row in table(page(lane), "Contract")]

    assert fields == [*lane.record.model_fields, *(f"source_refs[].{k}" for k in refs((1, 1))[0])]


@lanes
def test_the_example_is_a_document_that_passes(lane: Lane) -> None:
    (example,) = blocks(page(lane), "json")
    records = decode(lane, example.encode(), "example")
    units = tuple(Unit(n, (), SAID) for n in range(1, 401))

    context = Context(lane, SOURCE, units, {1: (1, 250), 2: (251, 400)}, registries=registries(lane))
    result = audit(lane.normalization, json.loads(example), context)

    assert records
    assert [f for v in result.verdicts for f in v.findings] == []


@lanes
def test_the_validators_are_the_lanes_chains(lane: Lane) -> None:
    assert table(page(lane), "Validators") == [
        (f"`{v.key}`", str(v.boundary), str(v.level), str(v.severity), v.description)
        for v in (*lane.extraction, *lane.normalization)
    ]


@lanes
def test_the_slots_are_the_lanes(lane: Lane) -> None:
    text = page(lane)

    assert "\n## Reference slot\n" in text
    if lane.slots:
        rows = table(text, "Reference slot")
        assert [(code(name), code(kind)) for name, kind, _ in rows] == [(s.name, s.artifact_kind) for s in lane.slots]
        assert f"{MAX_REFERENCE_BYTES:,} bytes" in text
    else:
        assert "The lane has none." in text


@lanes
def test_the_kinds_are_the_vocabulary_in_its_order(lane: Lane) -> None:
    if lane.kinds:
        assert tuple(code(row[0]) for row in table(page(lane), "Kinds")) == lane.kinds
    else:
        assert "\n## Kinds\n" not in page(lane)


@lanes
def test_every_requirement_is_met_by_a_line_of_the_request(lane: Lane) -> None:
    asked = {line for message in assemble(lane, window(lane)) for line in message.text.split("\n")}
    rows = table(page(lane), "Prompt")

    assert len(rows) >= 18
    assert [line for _, line in rows if code(line) not in asked] == []
    assert len({requirement for requirement, _ in rows}) == len(rows)


@pytest.mark.parametrize("lane", [NPCS, LOCATIONS], ids=lambda lane: lane.table)
def test_every_requirement_of_reconciliation_is_met_by_a_line_of_the_request(lane: Lane) -> None:
    assert lane.reconciliation
    nodes = lane.reconciliation.nodes(candidates(lane))
    (request,) = requests(lane.key, SOURCE, nodes, UNITS, CAMPAIGN)
    asked = {line for message in assemble_reconciliation(lane, request, 1) for line in message.text.split("\n")}
    shared = (DOCS / "reconciliation.md").read_text(encoding="utf-8")

    for rows in (table(page(lane), "Reconciliation prompt"), table(shared, "Prompt")):
        assert len(rows) >= 8
        assert [line for _, line in rows if code(line) not in asked] == []


@pytest.mark.parametrize(
    ("lane", "precedence", "boundaries"),
    [(INTERACTIONS, 4, 4), (OCCURRENCES, 3, 0)],
    ids=["interactions", "occurrences"],
)
def test_every_boundary_and_kind_has_its_requirement(lane: Lane, precedence: int, boundaries: int) -> None:
    requirements = [row[0] for row in table(page(lane), "Prompt")]

    assert [r for r in requirements if r.startswith("Vocabulary: `")] == [f"Vocabulary: `{k}`" for k in lane.kinds]
    assert len([r for r in requirements if r.startswith("Precedence: ")]) == precedence
    assert len([r for r in requirements if r.startswith("Boundary: ")]) == boundaries


@lanes
def test_the_reasons_for_rejecting_a_candidate_are_the_codes_of_the_record_rules(lane: Lane) -> None:
    by_rule: dict[str, set[str]] = {}
    for codes, rule, _ in table(page(lane), "Why a candidate is rejected"):
        by_rule.setdefault(code(rule), set()).update(re.findall(r"`([^`]+)`", codes))

    rules = [v.key for v in lane.extraction if v.severity is Severity.ERROR and v.level is Level.RECORD]
    assert list(by_rule) == rules
    assert ("unknown_kind" in by_rule["shape"]) == bool(lane.kinds)
    for slot in lane.slots:
        unknown = [{"location_id": i, "name": "Nobody"} for i in ("0", "1")]
        known = Registry([{"id": "1", "name": "Somebody"}], "")
        assert by_rule["reference_membership"] == {slot.find(record, known) for record in unknown}


@pytest.fixture
def history() -> duckdb.DuckDBPyConnection:
    """The views over a session with the good records."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA lake")
    units = pa.table(
        {
            "campaign": ["emberfall"] * len(UNITS),
            "session": ["s01"] * len(UNITS),
            "unit_id": [u.unit_id for u in UNITS],
            "speakers": [list(u.speakers) for u in UNITS],
            "text": [u.text for u in UNITS],
            "start_ms": [None] * len(UNITS),
            "end_ms": [None] * len(UNITS),
            "label": [None] * len(UNITS),
        },
        schema=UNITS_TABLE.schema,
    )
    rows = {UNITS_TABLE.name: units, CHUNKS_TABLE.name: CHUNKS_TABLE.schema.empty_table()}
    for lane in BUILT_IN:
        rows[lane.table] = record_rows(lane_table(lane), SOURCE, list(GOOD_RECORDS[lane.key]))
        rows[lane.candidates_table] = candidates_table(lane).schema.empty_table()
    for name, content in rows.items():
        connection.register("rows", content)
        connection.execute(f"CREATE TABLE lake.{name} AS SELECT * FROM rows")
        connection.unregister("rows")
    for view in sqlfiles.views():
        name = view.name.partition("-")[2]
        if any(f"lake.{t}" in view.statement for t in rows) and name != "sessions":
            connection.execute(f"CREATE VIEW {name} AS {view.statement}")
    return connection


EXPECTED = {
    "npcs": [0, 4],
    "npc_interactions": [4, 1],
    "locations": [1, 3],
    "location_occurrences": [1, 3],
}
"""Rows that the two queries of each page give here."""


@lanes
def test_the_queries_run_and_their_order_is_total(lane: Lane, history: duckdb.DuckDBPyConnection) -> None:
    queries = blocks(page(lane), "sql")
    found = [history.execute(q).fetchall() for q in queries]

    assert [len(rows) for rows in found] == EXPECTED[lane.table]
    assert all("ORDER BY" in q for q in queries)
    views = re.findall(r"`(\w+)` \(a\s+row", page(lane))
    assert len(views) == 2
    for view in views:
        assert history.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] > 0


def test_who_is_known_in_two_sessions_is_found(history: duckdb.DuckDBPyConnection) -> None:
    history.execute("INSERT INTO lake.npcs SELECT * REPLACE ('s02' AS session) FROM lake.npcs WHERE name = 'Old Marta'")

    assert history.execute(blocks(page(BUILT_IN[0]), "sql")[0]).fetchall() == [("emberfall", "old marta", 2, "s01")]


def test_the_pages_link_to_what_is_there() -> None:
    for path in (*(DOCS.parent / lane.docs for lane in BUILT_IN), GUIDE):
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the guide's module and pipeline file; what loading them leaves behind is taken back."""
    text = GUIDE.read_text(encoding="utf-8")
    (tmp_path / "named_npcs.py").write_text(blocks(text, "python")[0], encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(blocks(text, "yaml")[0], encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "named_npcs", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def test_the_guides_lane_loads_binds_and_applies_its_rule(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = pipeline.load(house / "pipeline.yaml")
    monkeypatch.delitem(sys.modules, "named_npcs")

    own, deeds = loaded.lanes
    assert (own.lane.key, own.lane.table) == ("house/named-npcs", "named_npcs")
    assert [v.key for v in own.extraction][:3] == ["shape", "proper_name", "source_ranges"]
    assert deeds.bindings == {"npcs": own.lane}
    found = judge(
        own.lane,
        own.extraction,
        [
            ChunkResult(
                WindowState(1, "done", True),
                tuple({"name": n, "ranges": ranges((2, 2))} for n in ("Old Marta", "the barkeep")),
            )
        ],
        source_id=SOURCE,
        units=UNITS,
        chunks=CHUNKS,
        campaign=CAMPAIGN,
        registries={},
        allow=Allow(),
    )
    assert [c.record["name"] for c in found.candidates] == ["Old Marta"]
    assert [(r.rule, r.code) for r in found.rejected] == [("proper_name", "only_a_label")]


def test_the_guides_own_rule_can_be_named_in_a_chain(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file: dict[str, Any] = yaml.safe_load((house / "pipeline.yaml").read_text(encoding="utf-8"))
    keys = ["shape", "source_ranges", "coverage", "proper_name"]
    file["steps"][0]["lanes"][0]["validators"] = {"extraction": keys}
    (house / "pipeline.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")

    loaded = pipeline.load(house / "pipeline.yaml")
    monkeypatch.delitem(sys.modules, "named_npcs")

    assert [v.key for v in loaded.lanes[0].extraction] == keys


def test_the_guides_other_code_runs() -> None:
    _, request_code, schema_code = blocks(GUIDE.read_text(encoding="utf-8"), "python")

    shown = subprocess.run(
        [sys.executable, "-c", request_code], check=True, capture_output=True, text=True, timeout=60
    ).stdout

    assert "[1] DM: Old Marta waves." in shown
    written: dict[str, str] = {}

    class Written:
        def __init__(self, *parts: str) -> None:
            self.path = "/".join(parts)

        def write_text(self, text: str, encoding: str) -> None:
            written[self.path] = text

    exec(schema_code.replace("from notarius_assets.resources import resource", ""), {"resource": Written})
    assert len(written) == 2 * len(BUILT_IN)
    for path, text in written.items():
        assert (DOCS.parent / path).read_text(encoding="utf-8") == text


def test_a_lane_outside_the_package_may_give_an_absolute_prompt(tmp_path: Path) -> None:
    own = tmp_path / "task.md"
    own.write_text("Only people with hats.\n", encoding="utf-8")
    lane = replace(BUILT_IN[0], prompts=("shared/extraction.md", str(own)))

    assert assemble(lane, window(lane))[1].text == "Only people with hats.\n"


def test_the_registry_of_the_tests_is_in_contract_form() -> None:
    assert [r["name"] for r in REGISTRY.records] == list(REGISTRY.names)
