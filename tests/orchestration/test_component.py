"""The component as YAML in a project: what it gives, what it takes, and what it says of a mistake."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from notarius_assets import component
from notarius_assets.component import NotariusPipeline
from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration.build import definitions
from tests.conftest import write_campaign
from tests.docs.pages import DOCS, blocks, named, section, text

PAGE = DOCS / "how-to" / "component.md"

# Both are Dagster's own, of how it reads component files; `load_from_defs_folder` keeps them to itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]
INLINE = """\
pipeline:
  campaign: Hill Road
  transcripts: [transcripts/*.txt]
  gazetteer:
  speakers:
    dm: [DM]
    players: {ANNA: Tib Farrow, BEN: Ludo Marsh}
  steps:
    - name: registries
      lanes: [{lane: dnd/npcs}]
    - name: occurrences
      lanes: [{lane: dnd/npc-interactions, references: {npcs: dnd/npcs}}]
"""


@contextmanager
def project(attributes: str, name: str = "hill_road") -> Iterator[Path]:
    """A project with one component; gives the component's folder, which a campaign lies in too."""
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(NotariusPipeline, name)
        write_campaign(folder)
        write(folder, attributes)
        yield folder


def write(folder: Path, attributes: str) -> None:
    lines = "".join(f"  {line}\n" for line in attributes.splitlines())
    (folder / "defs.yaml").write_text(
        f"type: notarius_assets.component.NotariusPipeline\nattributes:\n{lines}", encoding="utf-8"
    )


def build(folder: Path) -> dg.Definitions:
    """Load the component of a folder as its project does."""
    root = folder.parents[3]
    package = folder.parents[1].name
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root / "src"))
        module = importlib.import_module(f"{package}.defs")
        return dg.ComponentTree(defs_module=module, project_root=root).build_defs(folder)


def said_of(folder: Path) -> str:
    """Return the one line that a mistake is told in, without the folder."""
    with pytest.raises(Exception, match="building definitions") as caught:
        build(folder)
    error: BaseException | None = caught.value
    while error and not isinstance(error, ConfigurationError):
        error = error.__cause__
    assert error, caught.value
    assert "\n" not in str(error)
    return str(error).replace(f"{folder}/", "")


def listed(defs: dg.Definitions) -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def seen(defs: dg.Definitions) -> dict[str, tuple[Any, ...]]:
    return {
        k: ({d.asset_key for d in s.deps}, s.group_name, s.kinds, s.owners, s.code_version)
        for k, s in listed(defs).items()
    }


def test_the_entry_point_gives_the_component_and_nothing_else() -> None:
    (found,) = [
        entry
        for entry in importlib.metadata.entry_points(group="dagster_dg_cli.registry_modules")
        if entry.value.startswith("notarius_assets")
    ]
    assert found.load() is component
    assert [n for n, v in vars(component).items() if hasattr(v, "__dg_package_entry__")] == ["NotariusPipeline"]


def test_what_is_scaffolded_needs_the_pipeline_file_only() -> None:
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(NotariusPipeline, "hill_road")
        assert said_of(folder).startswith("defs.yaml:4: attributes.pipeline: pipeline.yaml is no file. Next: ")
        write_campaign(folder)
        assert "npcs" in listed(build(folder))
        assert (folder / ".notarius" / "lake.json").is_file()


@pytest.mark.parametrize("attributes", ["pipeline: pipeline.yaml", INLINE], ids=["file", "inline"])
def test_it_gives_what_definitions_give(attributes: str) -> None:
    with project(attributes) as folder:
        defs = build(folder)
        plain = definitions(Workspace.open(folder / "pipeline.yaml"))
        assert seen(defs) == seen(plain)
        ours, theirs = defs.get_repository_def(), plain.get_repository_def()
        assert {j.name for j in ours.get_all_jobs()} == {j.name for j in theirs.get_all_jobs()}
        assert {s.name for s in ours.sensor_defs} == {s.name for s in theirs.sensor_defs}
        assert ours.asset_graph.asset_check_keys == theirs.asset_graph.asset_check_keys
        assert defs.executor is None, "what else is in the project would run in it too"


def test_a_translation_adds_tags_and_metadata_and_replaces_the_rest() -> None:
    text = """\
pipeline: pipeline.yaml
key_prefix: [hill, road]
translation:
  group_name: campaign
  description: "Monday: {{ spec.key.path[-1] }}"
  owners: ["team:monday"]
  kinds: [dnd]
  tags: {table: kitchen}
  metadata: {wiki: page}
"""
    with project(text) as folder:
        defs = build(folder)
        spec = listed(defs)["hill/road/npcs"]
        assert (spec.group_name, spec.description) == ("campaign", "Monday: npcs")
        assert (spec.owners, spec.kinds) == (["team:monday"], {"dnd"})
        assert spec.tags["table"] == "kitchen"
        assert spec.metadata["wiki"] == "page"
        assert "dagster/column_schema" in spec.metadata
        assert spec.code_version
        assert spec.partitions_def == dg.DynamicPartitionsDefinition(name="hill_road_sessions_of_hill-road")
        assert {s.group_name for s in listed(defs).values()} == {"campaign"}
        with dg.DagsterInstance.ephemeral() as instance:
            instance.add_dynamic_partitions("hill_road_sessions_of_hill-road", ["hill-road/session-01"])
            job = defs.resolve_job_def("hill_road_session")
            result = job.execute_in_process(instance=instance, partition_key="hill-road/session-01")
        assert len(result.get_asset_materialization_events()) == 6
        assert result.get_asset_check_evaluations()


def test_the_home_is_named_from_the_component_and_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with project("pipeline: pipeline.yaml\nhome: ../state") as folder:
        build(folder)
        assert (folder.parent / "state" / "lake.json").is_file()
        monkeypatch.setenv("TABLE_HOME", str(folder / "by variable"))
        write(folder, "pipeline: pipeline.yaml\nhome: '{{ env.TABLE_HOME }}'")
        build(folder)
        assert (folder / "by variable" / "lake.json").is_file()
        monkeypatch.delenv("TABLE_HOME")
        assert said_of(folder).startswith("defs.yaml:4: attributes.home: it is empty. Next: set the variable")
        monkeypatch.setenv("NOTARIUS_HOME", str(folder / "ours"))
        write(folder, INLINE)
        build(folder)
        assert (folder / "ours" / "lake.json").is_file()
        assert not (folder / ".notarius").exists()


MISTAKES = {
    "no such file": (
        "pipeline: gone.yaml",
        "defs.yaml:3: attributes.pipeline: gone.yaml is no file. Next: give a path",
    ),
    "an unknown lane": (
        INLINE.replace("dnd/npcs}]", "dnd/npx}]"),
        "defs.yaml:12: steps[0].lanes[0].lane: unknown lane",
    ),
    "an unknown key": (INLINE.replace("dm:", "dms:"), "defs.yaml:8: speakers.dms: unknown key. Next: "),
    "a word that YAML reads otherwise": (
        INLINE.replace("Tib Farrow", "no"),
        "defs.yaml:9: speakers.players.ANNA: Input should be a valid string. Next: ",
    ),
    "a missing key": (
        INLINE.replace("  campaign: Hill Road\n", ""),
        "defs.yaml:3: campaign: required, but not there. Next: ",
    ),
    "a prefix that names nothing": (
        f"key_prefix: hill-road\n{INLINE}",
        "defs.yaml:3: attributes.key_prefix: 'hill-road' can't begin the name of a job. Next: ",
    ),
    "an owner that is none": (
        "pipeline: pipeline.yaml\ntranslation: {owners: [monday]}",
        "defs.yaml:4: attributes.translation: Invalid owner 'monday'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line_with_file_and_key(mistake: str) -> None:
    attributes, line = MISTAKES[mistake]
    with project(attributes) as folder:
        assert said_of(folder).startswith(line)


def test_a_mistake_in_the_pipeline_file_names_that_file() -> None:
    with project("pipeline: pipeline.yaml") as folder:
        file = folder / "pipeline.yaml"
        file.write_text(file.read_text().replace("lane: dnd/npcs\n", "lane: dnd/npx\n"), encoding="utf-8")
        assert said_of(folder).startswith("pipeline.yaml:7: steps[0].lanes[0].lane: unknown lane 'dnd/npx'. Next: ")


@pytest.mark.parametrize("example", [b for language, b in blocks(text(PAGE)) if language == "yaml"])
def test_examples_of_the_page_load(example: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOTARIUS_HOME", str(tmp_path))
    assert len(example.splitlines()) <= 12
    with project("pipeline: pipeline.yaml") as folder:
        (folder / "defs.yaml").write_text(example, encoding="utf-8")
        assert any(key.endswith("npcs") for key in listed(build(folder)))


def test_every_attribute_is_on_the_page() -> None:
    assert named(section(text(PAGE), "## Every attribute")) == list(NotariusPipeline.model_fields)


def test_it_can_be_written_in_python_too(tmp_path: Path) -> None:
    made = write_campaign(tmp_path)
    one = NotariusPipeline(pipeline=str(made.pipeline), key_prefix="hill")
    assert "hill/npcs" in listed(dg.build_defs_for_component(one))
