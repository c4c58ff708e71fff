"""What the Dagster UI lists: assets, edges, checks, versions, names."""

from __future__ import annotations

import importlib.resources
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.home import Home
from notarius_assets.models import provider
from notarius_assets.models.rules import ruleset
from notarius_assets.orchestration.build import definitions
from notarius_assets.orchestration.instance import prepare
from notarius_assets.orchestration.names import CODE_LOCATION
from tests.conftest import REPOSITORY, STEPS, Campaign, CampaignFactory, write_campaign


@dataclass(frozen=True)
class Listed:
    """One asset as the UI lists it."""

    deps: str
    group: str
    kinds: str
    columns: str
    checks: str = ""


EXPECTED = {
    "transcript_units": Listed(
        "", "transcripts", "parquet", "campaign session unit_id speakers text start_ms end_ms label"
    ),
    "transcript_chunks": Listed(
        "transcript_units", "transcripts", "parquet", "campaign session chunk_id start_unit_id end_unit_id"
    ),
    "npc_candidates": Listed(
        "transcript_chunks transcript_units",
        "npcs",
        "parquet rules",
        "campaign session chunk_id position name source_refs",
        "coverage! not_party reject_share! relatedness shape source_ranges",
    ),
    "npcs": Listed(
        "npc_candidates transcript_chunks transcript_units",
        "npcs",
        "parquet rules",
        "campaign session record_index id name comparison_name source_refs",
        "durable_schema! identity! order_and_duplicates! reconciliation relatedness shape! source_ranges!",
    ),
    "npc_interaction_candidates": Listed(
        "npcs transcript_chunks transcript_units",
        "npc_interactions",
        "parquet rules",
        "campaign session chunk_id position name kind source_refs",
        "alignment_conflict coverage! reference_membership reject_share! relatedness shape source_ranges",
    ),
    "npc_interactions": Listed(
        "npc_interaction_candidates npcs transcript_chunks transcript_units",
        "npc_interactions",
        "parquet",
        "campaign session record_index name kind comparison_name source_refs",
        "durable_schema! kind_overlap order_and_duplicates! reference_membership! relatedness shape! source_ranges!",
    ),
    "campaign_history": Listed("npc_interactions npcs transcript_chunks transcript_units", "history", "duckdb", ""),
}
"""Every asset of the pipeline with both lanes; a check with `!` blocks."""


def test_the_code_location_loads_and_lists_every_asset_with_its_checks(campaign: CampaignFactory) -> None:
    defs = definitions(campaign().open())
    dg.Definitions.validate_loadable(defs)
    graph = defs.get_repository_def().asset_graph
    listed: dict[str, Listed] = {}
    for spec in defs.resolve_all_asset_specs():
        schema: dg.TableSchema | None = spec.metadata.get("dagster/column_schema")
        checks = [graph.get_check_spec(k) for k in graph.asset_check_keys if k.asset_key == spec.key]
        listed[spec.key.to_user_string()] = Listed(
            " ".join(sorted(d.asset_key.to_user_string() for d in spec.deps)),
            spec.group_name or "",
            " ".join(sorted(spec.kinds)),
            " ".join(c.name for c in schema.columns) if schema else "",
            " ".join(sorted(c.name + "!" * c.blocking for c in checks)),
        )
        # without a partitions_def of its own one flag would stand for all sessions
        assert all(c.partitions_def == spec.partitions_def for c in checks)
        assert all(c.description for c in checks)
        assert all(c.description for c in (schema.columns if schema else ()))
        assert spec.description
        assert spec.owners == ["team:game-masters"]
        assert bool(spec.code_version) == bool(spec.partitions_def) == (spec.key != dg.AssetKey("campaign_history"))
    assert listed == EXPECTED


def test_edges_come_from_bindings_only(campaign: CampaignFactory) -> None:
    """Order of steps is no edge: a lane bound to a file does not wait for the lane before it."""
    made = campaign(steps=STEPS.replace("npcs: dnd/npcs", "npcs: {file: npcs.json}"))
    (made.root / "npcs.json").write_text('{"npcs":[]}\n', encoding="utf-8")
    graph = definitions(made.open()).get_repository_def().asset_graph
    for table in ("npc_interaction_candidates", "npc_interactions"):
        assert dg.AssetKey("npcs") not in graph.get(dg.AssetKey(table)).parent_keys


def test_two_pipelines_live_in_one_code_location_under_prefixes(tmp_path: Path) -> None:
    one, two = (write_campaign(tmp_path / name, sessions=1) for name in ("one", "two"))
    two.pipeline.write_text(two.pipeline.read_text().replace("Hill Road", "Other Road"), encoding="utf-8")
    both = dg.Definitions.merge(definitions(one.open(), ["one"]), definitions(two.open(), ["two"]))
    dg.Definitions.validate_loadable(both)
    graph = both.get_repository_def().asset_graph
    assert {k.path[0] for k in graph.get_all_asset_keys()} == {"one", "two"}
    for key in graph.get_all_asset_keys():
        assert {p.path[0] for p in graph.get(key).parent_keys} <= {key.path[0]}
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("two_sessions_of_other-road", ["other-road/session-01"])
        job = both.resolve_job_def("two_session")
        result = job.execute_in_process(instance=instance, partition_key="other-road/session-01")
        done = {e.asset_key.path[0] for e in result.get_asset_materialization_events() if e.asset_key}
    assert done == {"two"}
    assert one.open().store.manifest("hill-road/session-01").accepted == {}


def test_the_location_has_one_name_wherever_it_is_opened(tmp_path: Path) -> None:
    """Else a run of `dagster dev` in the repository and one of `notarius ui` would be of two code locations."""
    written = prepare(Home(tmp_path)) / "workspace.yaml"
    for path in (written, REPOSITORY / "workspace.yaml"):
        (entry,) = yaml.safe_load(path.read_text(encoding="utf-8"))["load_from"]
        (how,) = entry.values()
        assert how["location_name"] == CODE_LOCATION


# --- code versions ------------------------------------------------------------------------------------------------

CANDIDATES = {"npc_candidates", "npc_interaction_candidates"}


def _versions(workspace: Workspace) -> dict[str, str | None]:
    specs = definitions(workspace).resolve_all_asset_specs()
    return {spec.key.to_user_string(): spec.code_version for spec in specs}


def _npcs_lane(text: str) -> str:
    return STEPS.replace("- lane: dnd/npcs\n", f"- lane: dnd/npcs\n        {text}\n", 1)


_SHORTER = "validators: {normalization: [shape, source_ranges, identity, order_and_duplicates, durable_schema]}"


@pytest.mark.parametrize(
    ("changed", "dependants"),
    [
        pytest.param({"extra": "chunking: {max_units: 3}\n"}, {"transcript_chunks"} | CANDIDATES, id="chunk limits"),
        pytest.param({"extra": "chunking: {context_units: 0}\n"}, CANDIDATES, id="context shown"),
        pytest.param({"extra": "gazetteer: {npcs: [{name: Wenna}]}\n"}, CANDIDATES | {"npcs"}, id="gazetteer"),
        pytest.param(
            {"extra": "reconciliation: [{lane: dnd/npcs, apart: [Mara, Tamara]}]\n"}, {"npcs"}, id="what stays apart"
        ),
        pytest.param({"steps": _npcs_lane(_SHORTER)}, {"npcs"}, id="validators of one chain"),
        pytest.param({"steps": _npcs_lane("allow: {rejected_share: 0.1}")}, {"npc_candidates"}, id="what is allowed"),
        pytest.param({"extra": "owners: ['team:other']\npreview_evidence: true\n"}, set(), id="what people see"),
    ],
)
def test_a_changed_pipeline_file_changes_the_code_version_of_its_dependants_only(
    campaign: CampaignFactory, changed: dict[str, Any], dependants: set[str]
) -> None:
    before = _versions(campaign().open())
    after = _versions(campaign(**changed).open())
    assert {table for table in before if before[table] != after[table]} == dependants


@pytest.fixture
def edit_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let the rules be read from a copy; return a function that edits one of its files."""
    copy = tmp_path / "rules"
    shutil.copytree(Path(ruleset.__file__).parent, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    files = importlib.resources.files
    monkeypatch.setattr(importlib.resources, "files", lambda p: copy if p == ruleset.__package__ else files(p))

    def edit(stem: str) -> None:
        with (copy / f"{stem}.yaml").open("a", encoding="utf-8") as file:
            file.write("# edited\n")
        provider._ruleset.cache_clear()

    provider._ruleset.cache_clear()
    yield edit
    provider._ruleset.cache_clear()


@pytest.mark.parametrize(
    ("file", "dependants"),
    [
        ("npcs", {"npc_candidates"}),
        ("npc_interactions", {"npc_interaction_candidates"}),
        # a registry's duplicates are proposed by rules, too
        ("common", CANDIDATES | {"npcs"}),
        ("reconciliation", {"npcs"}),
    ],
)
def test_an_edited_rule_file_changes_the_candidates_of_the_lanes_that_read_it(
    campaign: CampaignFactory, edit_rules: Callable[[str], None], file: str, dependants: set[str]
) -> None:
    made: Campaign = campaign()
    before = _versions(made.open())
    edit_rules(file)
    after = _versions(made.open())
    assert {table for table in before if before[table] != after[table]} == dependants
