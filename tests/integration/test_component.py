"""A project of somebody else, made by Dagster's own scaffolding, adds pipelines by the component."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from notarius_assets.flow.workspace import Workspace
from tests.conftest import TABLES, write_campaign
from tests.integration.dev import Guard

COMPONENT = "notarius_assets.component.NotariusPipeline"
ONE, TWO = "hill-road/session-01", "hill-road/session-02"


@dataclass(frozen=True)
class Project:
    """A Dagster project on disk, with the commands of this environment and a DAGSTER_HOME of its own."""

    root: Path
    guard: Guard

    @property
    def defs(self) -> Path:
        return self.root / "src" / "table" / "defs"

    @property
    def dagster_home(self) -> Path:
        return self.root.parent / "dagster-home"

    def call(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment the tests run in."""
        env = self.guard.env(
            DAGSTER_HOME=str(self.dagster_home),
            DAGSTER_DG_UPDATE_CHECK_ENABLED="0",
            COLUMNS="200",
        )
        # stands for an editable install of the project
        env["PYTHONPATH"] = os.pathsep.join((env["PYTHONPATH"], str(self.root / "src")))
        program = Path(sys.executable).with_name(command[0])
        return subprocess.run(
            [program, *command[1:]], cwd=cwd or self.root, env=env, capture_output=True, text=True, timeout=200
        )

    def said(self, *command: str) -> str:
        """Return what a command that succeeds prints."""
        ended = self.call(*command)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def add(self, name: str, attributes: str) -> Path:
        """Scaffold a component, write its attributes, and lay a campaign beside it."""
        self.said("dg", "scaffold", "defs", COMPONENT, name)
        write_campaign(self.defs / name)
        lines = "".join(f"  {line}\n" for line in attributes.splitlines())
        (self.defs / name / "defs.yaml").write_text(f"type: {COMPONENT}\nattributes:\n{lines}", encoding="utf-8")
        return self.defs / name

    def assets(self) -> dict[str, Any]:
        listed = json.loads(self.said("dg", "list", "defs", "--json"))
        return {asset["asset_key"]: asset for asset in listed["assets"]}

    def materialized(self, instance: dg.DagsterInstance, prefix: str) -> dict[str, set[str]]:
        """Return the sessions for which an asset has a materialization."""
        keys = {table: dg.AssetKey([prefix, table]) for table in TABLES}
        return {table: instance.get_materialized_partitions(key) for table, key in keys.items()}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("somebody")
    made = Project(folder / "table", Guard.at(folder))
    made.dagster_home.mkdir()
    # the tools of `dg` go by this file alone, not by the variable that Dagster goes by
    (made.dagster_home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    ended = made.call("create-dagster", "project", "table", "--no-uv-sync", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    yield made
    assert made.guard.refused() == [], "a command tried to leave the machine"
    assert {event for event, _, _ in made.guard.seen()} >= {"started"}
    assert not [p for p in made.dagster_home.rglob("*") if "telemetry" in p.name]


@pytest.fixture(scope="module")
def pipelines(project: Project) -> Project:
    """The project with three pipelines, two of them on one campaign, and an executor of its own."""
    project.add("monday", "pipeline: pipeline.yaml\nkey_prefix: monday\ntranslation: {owners: ['team:monday']}")
    project.add("again", "pipeline: pipeline.yaml\nkey_prefix: [monday, again]")
    other = project.add("other", "pipeline: pipeline.yaml\nkey_prefix: other")
    file = other / "pipeline.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("Hill Road", "Other Road"), encoding="utf-8")
    (project.defs / "executor.py").write_text(
        "import dagster as dg\n\ndefs = dg.Definitions(executor=dg.multiprocess_executor)\n", encoding="utf-8"
    )
    return project


def test_the_component_is_listed(project: Project) -> None:
    listed = json.loads(project.said("dg", "list", "components", "--json"))
    assert [e["key"] for e in listed["items"] if e["key"].startswith("notarius_assets")] == [COMPONENT]


def test_what_is_scaffolded_says_what_is_missing(project: Project) -> None:
    project.said("dg", "scaffold", "defs", COMPONENT, "empty")
    try:
        ended = project.call("dg", "check", "defs")
        said = ended.stdout + ended.stderr
        assert ended.returncode == 1
        assert f"{project.defs}/empty/defs.yaml:4: attributes.pipeline: {project.defs}/empty/pipeline.yaml" in said
    finally:
        (project.defs / "empty" / "defs.yaml").unlink()
        (project.defs / "empty").rmdir()


def test_pipelines_do_not_collide(pipelines: Project) -> None:
    """Neither with each other, nor with what the project has."""
    said = pipelines.call("dg", "check", "defs")
    assert said.returncode == 0, said.stdout + said.stderr
    assets = pipelines.assets()
    tables = (*TABLES, "campaign_history")
    assert set(assets) == {f"{p}/{t}" for p in ("monday", "monday/again", "other") for t in tables}
    owners = {key: asset["owners"] for key, asset in assets.items()}
    assert (owners["monday/npcs"], owners["other/npcs"]) == ([{"team": "monday"}], [{"team": "game-masters"}])
    for key, asset in assets.items():
        prefix = key.rpartition("/")[0]
        assert {d.rpartition("/")[0] for d in asset["dependency_keys"]} <= {prefix}


def test_a_session_is_materialized_and_nothing_else(pipelines: Project) -> None:
    with dg.DagsterInstance.from_config(str(pipelines.dagster_home)) as instance:
        instance.add_dynamic_partitions("monday_sessions_of_hill-road", [ONE, TWO])
        assert instance.get_dynamic_partitions("monday_again_sessions_of_hill-road") == []
        pipelines.said("dg", "launch", "--job", "monday_session", "--partition", ONE)
        assert pipelines.materialized(instance, "monday") == {table: {ONE} for table in TABLES}
        (run,) = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.SUCCESS
        started = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_WORKER_STARTING)
        assert not started, "the project's executor gave each step a process"
    made = Workspace.open(pipelines.defs / "monday" / "pipeline.yaml")
    assert set(made.store.manifest(ONE).accepted) == set(TABLES)
    again = Workspace.open(pipelines.defs / "again" / "pipeline.yaml")
    assert again.store.manifest(ONE).accepted == {}


def test_assets_alone_run_in_the_executor_of_the_project(pipelines: Project) -> None:
    with dg.DagsterInstance.from_config(str(pipelines.dagster_home)) as instance:
        instance.add_dynamic_partitions("other_sessions_of_other-road", ["other-road/session-02"])
        chosen = "key:other/transcript_units or key:other/transcript_chunks"
        pipelines.said("dg", "launch", "--assets", chosen, "--partition", "other-road/session-02")
        made = instance.get_materialized_partitions(dg.AssetKey(["other", "transcript_chunks"]))
        assert made == {"other-road/session-02"}
        run = instance.get_runs(limit=1)[0]
        assert instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_WORKER_STARTING)
