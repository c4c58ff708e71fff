"""The page of assets and checks against the definitions, the validators and the codes they give."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

import notarius_assets
from notarius_assets.flow.reconcile import Reconciled
from notarius_assets.lanes import BUILT_IN
from notarius_assets.orchestration import checks
from notarius_assets.orchestration.build import definitions
from notarius_assets.orchestration.names import LAUNCHER_TAG
from notarius_assets.reconcile.merges import Merge
from notarius_assets.references import Registry
from notarius_assets.validators import ALL, shape
from notarius_assets.validators.base import Boundary, Finding, Severity, Validator, Verdict
from tests.conftest import CampaignFactory
from tests.docs.pages import DOCS, REFERENCE, before_subsections, named, rows, section, text
from tests.four_lanes import STEPS

PAGE = text(REFERENCE / "assets-and-checks.md")
PACKAGE = Path(notarius_assets.__file__).parent


@pytest.fixture
def defs(campaign: CampaignFactory) -> dg.Definitions:
    return definitions(campaign(steps=STEPS).open())


def test_assets_with_their_groups(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    wanted = {}
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        wanted[key.to_user_string()] = (f"`{node.group_name}`", "session" if node.is_partitioned else "none")

    assert {row[0].strip("`"): row[1:3] for row in rows(section(PAGE, "## Assets"))} == wanted


def where(validator: Validator) -> str:
    """Return what the page writes in the column "On"."""
    at_extraction = validator.boundary is Boundary.EXTRACTION
    users = [lane for lane in BUILT_IN if validator in (*lane.extraction, *lane.normalization)]
    if len(users) == len(BUILT_IN):
        return "candidates" if at_extraction else "records"
    one, many = ("NPC", "interaction", "place", "occurrence"), ("NPCs", "interactions", "places", "occurrences")
    names = [(one if at_extraction else many)[BUILT_IN.index(lane)] for lane in users]
    return " and ".join(names) + (" candidates" if at_extraction else "")


def test_every_check_with_where_it_stands_and_how_it_shows() -> None:
    listed = [row[:5] for row in rows(before_subsections(section(PAGE, "## Checks")))]
    wanted = [
        (
            f"`{v.key}`",
            where(v),
            str(v.level),
            str(v.severity),
            "ERROR, blocking" if v.blocking else "WARN",
        )
        for v in ALL
    ]

    assert sorted(listed) == sorted(wanted)


@pytest.mark.parametrize("validator", ALL, ids=lambda v: f"{v.key}-{v.boundary}")
def test_the_ui_shows_the_severity_that_the_page_says(validator: Validator) -> None:
    found = Verdict(validator, (Finding("a_code", 0),), total=1, looked_at=1)
    said = checks.result(found, dg.AssetKey("x"))

    assert str(said.severity.value) == ("ERROR" if validator.blocking else "WARN")
    words = said.description or ""
    if validator.blocking:
        assert "rejects the result" in words
    else:
        assert ("the rest goes on" if validator.severity is Severity.ERROR else "a hint, blocks nothing") in words
    for phrase in ("the rest goes on", "a hint, blocks nothing"):
        assert phrase in PAGE


def codes() -> Iterator[str]:
    """Yield the codes in the validators' own text and the normalizers', and those of the lanes' reference slots."""
    for path in (p for room in ("validators", "lanes", "flow", "reconcile") for p in (PACKAGE / room).glob("*.py")):
        for node in ast.walk(ast.parse(text(path))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                yield from constants(node.args[:1])
            if isinstance(node, ast.Assign) and [t.id for t in node.targets if isinstance(t, ast.Name)] == ["code"]:
                yield from constants([node.value])
                if isinstance(node.value, ast.Call):
                    yield from constants(node.value.args[1:])
    yield from shape._CODES.values()
    for lane in BUILT_IN:
        for slot in lane.slots:
            names = [{"id": "1", "name": "Somebody"}]
            for record_id in ("0", "1"):
                found = slot.find({"location_id": record_id, "name": "Nobody"}, Registry(names, ""))
                assert isinstance(found, str)
                yield found


def constants(nodes: list[ast.expr]) -> Iterator[str]:
    yield from (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def test_every_finding_code_is_listed() -> None:
    assert set(named(section(PAGE, "### Finding codes"))) == set(codes())


def test_codes_are_listed_under_their_check() -> None:
    keys = {v.key for v in ALL}

    assert set(named(section(PAGE, "### Finding codes"), column=1)) == keys


def test_jobs_and_sensors(defs: dg.Definitions) -> None:
    jobs = {job.name for job in defs.resolve_all_job_defs()} - {"__ASSET_JOB"}

    assert set(named(section(PAGE, "## Jobs"))) == jobs
    assert set(named(section(PAGE, "## Sensors"))) == {sensor.name for sensor in defs.sensors or ()}
    assert f"`{LAUNCHER_TAG}: cli`" in PAGE
    assert f"`{LAUNCHER_TAG}: cli`" in text(DOCS / "how-to" / "dagster.md")


def test_pools(campaign: CampaignFactory) -> None:
    graph = definitions(campaign(extra="model: {provider: replay}\n", steps=STEPS).open()).resolve_asset_graph()
    pools = {pool for key in graph.get_all_asset_keys() for pool in graph.get(key).pools or ()}

    assert set(named(section(PAGE, "## Pools"))) >= pools
    assert set(named(section(PAGE, "## Pools"), column=0)) == pools


def test_metadata_keys_are_listed() -> None:
    source = text(PACKAGE / "orchestration" / "metadata.py")
    given = set(re.findall(r'found\["([^"]+)"\]', source))
    part = section(PAGE, "## Metadata")

    assert given
    assert given <= set(named(part))
    for key in ("looked_at", "found", "findings", "database", "bytes", "dagster/column_schema", "dagster/table_name"):
        assert f"`{key}`" in part
    assert set(Reconciled((), (Merge("declared", ()),)).notes) <= set(named(part))
