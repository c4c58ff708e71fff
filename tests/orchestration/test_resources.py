"""The lake and the model as resources of a code location: what they decide, and what they must not touch.

How a model is reached may differ from run to run; what an answer depends on stays in the pipeline file, so that no
resource makes a table stale.
"""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg
import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.models.anthropic_api import AnthropicProvider
from notarius_assets.models.settings import KEY_VARIABLE
from notarius_assets.orchestration.build import definitions
from notarius_assets.orchestration.names import Names
from notarius_assets.orchestration.resources import LakeResource, ModelResource, bound
from notarius_assets.pipeline_file import ModelSection
from notarius_assets.testing.server import ModelServer
from tests.conftest import TABLES, Campaign, CampaignFactory, write_campaign
from tests.models.asking import quick
from tests.models.world import KEY, answered, model
from tests.orchestration.world import failure
from tests.robustness.support import status_of

ONE = "hill-road/session-01"
NOBODY = "http://127.0.0.1:9"
"""A server that is not there."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture(autouse=True)
def _no_settings_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (KEY_VARIABLE, "ANTHROPIC_BASE_URL", "TABLE_KEY", "TABLE_HOME"):
        monkeypatch.delenv(name, raising=False)


def run(
    defs: dg.Definitions, workspace: Workspace, instance: dg.DagsterInstance, *prefix: str
) -> dg.ExecuteInProcessResult:
    """Run the first session's job."""
    names = Names.of(workspace.pipeline, prefix)
    source_id = workspace.pipeline.sessions()[0].source_id
    instance.add_dynamic_partitions(names.partitions.name or "", [source_id])
    with quick():
        return defs.resolve_job_def(names.own("session")).execute_in_process(
            instance=instance, partition_key=source_id, raise_on_error=False
        )


def accepted(workspace: Workspace) -> set[str]:
    return set(workspace.store.manifest(workspace.pipeline.sessions()[0].source_id).accepted)


# --- the model --------------------------------------------------------------------------------------------------------


def test_a_resource_says_how_the_model_is_reached(campaign: CampaignFactory, instance: dg.DagsterInstance) -> None:
    """The pipeline file names a server that is not there and lets eight calls go at once."""
    c: Campaign = campaign(sessions=1, extra=model(NOBODY, windows=1, in_flight=8))
    with ModelServer(answered, latency=0.02, key=KEY) as server:
        reached = ModelResource(api_key=KEY, base_url=server.url, in_flight=2)
        result = run(definitions(c.open(), model=reached), c.open(), instance)
        assert result.success
        assert len(server.asked) == 12
        assert server.most_in_flight == 2
        assert {a.key for a in server.asked} == {KEY}


def test_a_resource_may_shorten_the_wait(campaign: CampaignFactory, instance: dg.DagsterInstance) -> None:
    c: Campaign = campaign(sessions=1, extra=model(NOBODY, windows=6, timeout_seconds=300))
    with ModelServer(answered, latency=30) as server:
        reached = ModelResource(base_url=server.url, timeout_seconds=0.05, max_wait_seconds=0)
        result = run(definitions(c.open(), model=reached), c.open(), instance)
    assert f"{server.url} did not answer within 0.05 s. Next: run again" in failure(result, "npc_candidates")


def test_what_a_resource_says_makes_nothing_stale(campaign: CampaignFactory, instance: dg.DagsterInstance) -> None:
    c: Campaign = campaign(sessions=1, extra=model(NOBODY, windows=3))
    plain = definitions(c.open())
    with ModelServer(answered) as server:
        reached = ModelResource(api_key=KEY, base_url=server.url, in_flight=1, timeout_seconds=9, max_wait_seconds=1)
        other = definitions(c.open(), model=reached)
        assert run(other, c.open(), instance).success
        asked = len(server.asked)
    versions = [{s.key: s.code_version for s in defs.resolve_all_asset_specs()} for defs in (plain, other)]
    assert versions[0] == versions[1]
    assert any(versions[0].values())
    # the command line, which knows no resource, agrees
    assert {t.state.name for t in status_of(c, "session-01").tables} == {"CURRENT"}
    # and so do the answers: with the plain definitions nobody is asked, and so nobody is missed
    assert run(plain, c.open(), instance).success
    assert asked == 4


def test_what_a_resource_leaves_out_is_as_the_file_says(campaign: CampaignFactory) -> None:
    file = {"base_url": NOBODY, "in_flight": 3, "timeout_seconds": 7.0, "max_wait_seconds": 5.0}
    lines = "".join(f"  {name}: {value}\n" for name, value in file.items())
    workspace = campaign(extra=f"model:\n  provider: anthropic\n{lines}").open()
    lake = LakeResource(home=str(workspace.home.root))
    said = workspace.pipeline.file.model.access
    assert bound(workspace, lake, ModelResource()) is workspace
    changes: dict[str, tuple[str, Any]] = {
        "api_key": ("key", KEY),
        "base_url": ("base_url", "http://127.0.0.1:1"),
        "in_flight": ("in_flight", 1),
        "timeout_seconds": ("timeout", 1.5),
        "max_wait_seconds": ("longest_wait", 0.0),
    }
    assert set(changes) == set(ModelResource.model_fields)
    for name, (here, value) in changes.items():
        got = bound(workspace, lake, ModelResource(**{name: value}))
        assert got.access == dataclasses.replace(said, **{here: value})
        assert isinstance(got.model, AnthropicProvider)
        assert got.model.access is got.access


@pytest.mark.parametrize(
    "wrong", [{"in_flight": 0}, {"in_flight": 101}, {"timeout_seconds": 0}, {"max_wait_seconds": 61}]
)
def test_a_resource_has_the_bounds_of_the_file(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ModelResource(**wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ModelSection(**wrong)


@pytest.fixture
def reached_out() -> Iterator[list[object]]:
    """Note every connection and look-up; what would leave the machine fails beside that."""
    noted: list[object] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connecting(self: socket.socket, address: Any) -> None:
        noted.append(address)
        connect(self, address)

    def looking(host: Any, *rest: Any, **named: Any) -> Any:
        noted.append(host)
        return look_up(host, *rest, **named)

    with mock.patch.object(socket.socket, "connect", connecting), mock.patch.object(socket, "getaddrinfo", looking):
        yield noted


def test_without_a_key_the_step_fails_in_one_line_and_asks_nobody(
    campaign: CampaignFactory, instance: dg.DagsterInstance, reached_out: list[object]
) -> None:
    c: Campaign = campaign(sessions=1, extra="model: {provider: anthropic}\n")
    result = run(definitions(c.open()), c.open(), instance)
    assert failure(result, "npc_candidates") == (
        f"{ONE}: npc_candidates failed: no key for the model: ANTHROPIC_API_KEY is not set. "
        "Next: export ANTHROPIC_API_KEY=…, or set `model.provider` to rules (offline) or replay (answers you import) "
        "in the pipeline file"
    )
    assert reached_out == []
    assert not (c.home / "calls").exists()
    assert accepted(c.open()) == {"transcript_units", "transcript_chunks"}


def test_the_key_is_read_when_a_call_is_made(
    campaign: CampaignFactory, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(answered, key=KEY) as server:
        c: Campaign = campaign(sessions=1, extra=model(server.url, windows=6))
        defs = definitions(c.open(), model=ModelResource(api_key=dg.EnvVar("TABLE_KEY")))
        monkeypatch.setenv("TABLE_KEY", KEY)
        monkeypatch.setenv(KEY_VARIABLE, "another")
        assert run(defs, c.open(), instance).success
        assert {a.key for a in server.asked} == {KEY}


def test_a_variable_that_is_not_set_is_named_before_anything_runs(
    campaign: CampaignFactory, instance: dg.DagsterInstance, reached_out: list[object]
) -> None:
    """Dagster's own message: it reads the variable before the first step, so that only what asks a model is kept up."""
    c: Campaign = campaign(sessions=1, extra=model(NOBODY, windows=6))
    defs = definitions(c.open(), model=ModelResource(api_key=dg.EnvVar("TABLE_KEY")))
    with pytest.raises(dg.DagsterInvalidConfigError, match='environment variable "TABLE_KEY" which is not set'):
        run(defs, c.open(), instance)
    assert reached_out == []
    assert accepted(c.open()) == set()
    job = defs.resolve_job_def("session")
    units = [dg.AssetKey("transcript_units")]
    assert job.execute_in_process(instance=instance, partition_key=ONE, asset_selection=units).success
    assert defs.resolve_job_def("history").execute_in_process(instance=instance).success


def test_rules_need_no_key_and_no_resource(
    campaign: CampaignFactory, instance: dg.DagsterInstance, reached_out: list[object]
) -> None:
    c: Campaign = campaign(sessions=1)
    assert run(definitions(c.open()), c.open(), instance).success
    assert accepted(c.open()) == set(TABLES)
    assert reached_out == []


# --- the lake ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_variable", [False, True])
def test_another_lake_is_written_to(
    by_variable: bool,
    campaign: CampaignFactory,
    instance: dg.DagsterInstance,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("TABLE_HOME", str(elsewhere))
    c: Campaign = campaign(sessions=1)
    lake = LakeResource(home=dg.EnvVar("TABLE_HOME") if by_variable else str(elsewhere))
    defs = definitions(c.open(), lake=lake)
    assert run(defs, c.open(), instance).success
    assert defs.resolve_job_def("history").execute_in_process(instance=instance).success
    there = Workspace.open(c.pipeline, elsewhere)
    assert accepted(there) == set(TABLES)
    assert there.home.history.is_file()
    assert accepted(c.open()) == set()
    assert not c.open().home.history.exists()
    uri = {s.key.to_user_string(): s.metadata.get("dagster/uri") for s in defs.resolve_all_asset_specs()}
    assert uri["campaign_history"] == there.home.history.as_uri()


def test_a_run_may_name_another_lake(campaign: CampaignFactory, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """The values at the run decide, not those at the load of the code location."""
    c: Campaign = campaign(sessions=1)
    instance.add_dynamic_partitions("sessions_of_hill-road", [ONE])
    result = (
        definitions(c.open())
        .resolve_job_def("session")
        .execute_in_process(
            instance=instance,
            partition_key=ONE,
            run_config={"resources": {"lake": {"config": {"home": str(tmp_path / "elsewhere")}}}},
        )
    )
    assert result.success
    assert accepted(Workspace.open(c.pipeline, tmp_path / "elsewhere")) == set(TABLES)
    assert accepted(c.open()) == set()


def test_an_empty_variable_names_no_lake(
    campaign: CampaignFactory, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `NOTARIUS_HOME`; the empty path would be the current folder."""
    monkeypatch.setenv("TABLE_HOME", "")
    monkeypatch.chdir(tmp_path)
    c: Campaign = campaign(sessions=1)
    assert run(definitions(c.open(), lake=LakeResource(home=dg.EnvVar("TABLE_HOME"))), c.open(), instance).success
    assert accepted(c.open()) == set(TABLES)
    assert not (tmp_path / "lake.json").exists()


def test_a_lake_that_is_none_is_a_mistake_in_one_line(campaign: CampaignFactory, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "lake.json").write_text('{"layout": 99}\n')
    with pytest.raises(ConfigurationError, match="lake layout 99"):
        definitions(campaign().open(), lake=LakeResource(home=str(tmp_path / "other")))


def test_the_history_sensors_look_at_the_other_lake(
    campaign: CampaignFactory, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    c: Campaign = campaign(sessions=1)
    defs = definitions(c.open(), lake=LakeResource(home=str(tmp_path / "elsewhere")))
    result = run(defs, c.open(), instance)
    sensor = defs.resolve_sensor_def("history_after_success")
    (event,) = [e for e in result.all_events if e.event_type_value in ("PIPELINE_SUCCESS", "RUN_SUCCESS")]
    context = dg.build_run_status_sensor_context("history_after_success", event, instance, result.dagster_run)
    assert isinstance(sensor(context), dg.RunRequest)
    assert defs.resolve_job_def("history").execute_in_process(instance=instance).success
    assert isinstance(sensor(context), dg.SkipReason)


# --- several pipelines, pools -----------------------------------------------------------------------------------------


def test_two_pipelines_keep_their_resources_apart(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    with ModelServer(answered, key="one") as first, ModelServer(answered, key="two") as second:
        made = {}
        for name, server in (("one", first), ("two", second)):
            c = write_campaign(tmp_path / name, sessions=1, extra=model(NOBODY, windows=6))
            text = c.pipeline.read_text(encoding="utf-8").replace("Hill Road", f"Road {name}")
            c.pipeline.write_text(text, encoding="utf-8")
            lake = LakeResource(home=str(tmp_path / f"lake of {name}"))
            reached = ModelResource(api_key=name, base_url=server.url)
            made[name] = (c.open(), definitions(c.open(), [name], lake=lake, model=reached))
        merged = dg.Definitions.merge(*(defs for _, defs in made.values()))
        dg.Definitions.validate_loadable(merged)
        assert set(merged.resources or {}) == {"one_lake", "one_model", "two_lake", "two_model"}
        for name, server in (("two", second), ("one", first)):
            workspace, _ = made[name]
            assert run(merged, workspace, instance, name).success
            assert {a.key for a in server.asked} == {name}
            assert len(server.asked) == 2
            there = Workspace.open(workspace.pipeline.path, tmp_path / f"lake of {name}")
            assert accepted(there) == set(TABLES)


@pytest.mark.parametrize(
    ("provider", "pool"),
    [("rules", set()), ("anthropic", {"llm"}), ("replay", {"llm"})],
)
def test_what_asks_a_model_has_a_pool(provider: str, pool: set[str], campaign: CampaignFactory) -> None:
    graph = definitions(campaign(extra=f"model: {{provider: {provider}}}\n").open()).get_repository_def().asset_graph
    pools = {key.to_user_string(): set(graph.get(key).pools or ()) for key in graph.get_all_asset_keys()}
    assert pools == {
        **{table: pool if table.endswith("_candidates") or table == "npcs" else set() for table in TABLES},
        "campaign_history": {"history_writer"},
    }
