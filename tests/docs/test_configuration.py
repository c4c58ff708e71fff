"""The page of the pipeline file against its model: keys, defaults, examples, errors."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from notarius_assets import pipeline
from notarius_assets.errors import ConfigurationError
from notarius_assets.lanes import BUILT_IN
from notarius_assets.pipeline_file import PipelineFile
from notarius_assets.validators import ALL
from tests.docs.pages import DOCS, REFERENCE, before_subsections, blocks, named, rows, section, text
from tests.four_lanes import STEPS

PAGE = text(REFERENCE / "configuration.md")
GOOD, BAD = PAGE.split("\n## Errors\n")
HEAD = 'campaign: Fog Bells\ntranscripts: ["transcripts/*.txt"]\n'


def models(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the models inside an annotation, each with what stands between the key and the model's own keys."""
    origin = typing.get_origin(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "", annotation
    elif origin is typing.Annotated or origin in (types.UnionType, typing.Union):
        for part in typing.get_args(annotation):
            yield from models(part)
    elif origin is list:
        for inside, model in models(typing.get_args(annotation)[0]):
            yield f"[]{inside}", model
    elif origin is dict:
        for inside, model in models(typing.get_args(annotation)[1]):
            yield f".<slot>{inside}", model


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every key a file may have, in the order of the model. `allow` of a lane stands for the file's keys."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}", field
        if f"{prefix}{name}" == "steps[].lanes[].allow":
            continue
        for between, inner in models(field.annotation):
            yield from keys(inner, f"{prefix}{name}{between}.")


def shown(default: Any) -> str:
    """Return a default as the page writes it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, list):
        return f"[{', '.join(map(str, default))}]"
    return str(default)


def without_folder(error: ConfigurationError, folder: Path) -> str:
    return str(error).replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")


def read(folder: Path, content: str) -> pipeline.Pipeline:
    (folder / "transcripts").mkdir()
    (folder / "transcripts" / "session-01.txt").write_text("DM: Hello.\nINGRID: Hello, you.\n", encoding="utf-8")
    (folder / "npcs.json").write_text('{"npcs":[]}\n', encoding="utf-8")
    (folder / "pipeline.yaml").write_text(content, encoding="utf-8")
    return pipeline.load(folder / "pipeline.yaml")


def test_every_key_is_listed_once_in_the_order_of_the_model() -> None:
    assert named(before_subsections(section(PAGE, "## Every key"))) == [key for key, _ in keys(PipelineFile)]


def test_defaults_are_the_model_s() -> None:
    said = {row[0].strip("`"): row[2].strip("`") for row in rows(before_subsections(section(PAGE, "## Every key")))}
    for key, field in keys(PipelineFile):
        if field.is_required():
            assert said[key] == "required", key
        elif not isinstance(field.default, BaseModel) and field.default is not None:
            assert said[key] == shown(field.default), key


def test_slots_are_listed() -> None:
    listed = {row[0].strip("`"): row[1].strip("`") for row in rows(section(PAGE, "### What may be bound"))}

    assert listed == {lane.key: ", ".join(s.name for s in lane.slots) or "none" for lane in BUILT_IN}


def test_checks_that_cannot_be_left_out_are_listed() -> None:
    required = {v.key for v in ALL if v.required}
    part = section(PAGE, "### Which checks may be listed")

    assert {key for key in (v.key for v in ALL) if f"`{key}`" in part} == required


def test_what_each_lane_makes_is_listed() -> None:
    listed = list(rows(section(PAGE, "### What each lane makes")))

    assert [row[:3] for row in listed] == [
        (f"`{lane.key}`", f"`{lane.artifact_kind}`", f"`{lane.export_name}`") for lane in BUILT_IN
    ]
    assert all(f"({lane.docs.replace('docs/', '../')})" in row[3] for lane, row in zip(BUILT_IN, listed, strict=True))


def test_the_chains_of_the_lanes_are_listed() -> None:
    assert list(rows(section(PAGE, "### Which checks may be listed"))) == [
        (f"`{lane.key}`", *(", ".join(v.key for v in chain) for chain in (lane.extraction, lane.normalization)))
        for lane in BUILT_IN
    ]


FILES = [block for language, block in blocks(GOOD) if language == "yaml"]
PIECES = [
    (page.name, block)
    for page in (DOCS / "quickstart.md", REFERENCE / "rules.md", DOCS / "reconciliation.md", DOCS / "identity.md")
    for language, block in blocks(text(page))
    if language == "yaml"
]
ERRORS = blocks(BAD)
PAIRS = [(file, answer) for (language, file), (_, answer) in pairwise(ERRORS) if language == "yaml"]


@pytest.mark.parametrize("content", FILES)
def test_whole_examples_load(content: str, tmp_path: Path) -> None:
    assert read(tmp_path, content).sessions()


@pytest.mark.parametrize(("page", "content"), PIECES)
def test_pieces_load_in_a_file(page: str, content: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"{HEAD}{content}{STEPS}").sessions(), page


def test_the_example_with_everything_has_every_section() -> None:
    longest = max(FILES, key=len)
    sections = {key for key in PipelineFile.model_fields if key != "lane_modules"}

    assert {line.split(":")[0] for line in longest.splitlines() if line[:1].isalpha()} == sections


@pytest.mark.parametrize(("content", "answer"), PAIRS)
def test_errors_are_what_the_program_says(content: str, answer: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        read(tmp_path, content)

    assert f"notarius: {without_folder(error.value, tmp_path)}" == answer.strip()
    assert error.value.exit_code == 2


def test_the_error_of_two_files_with_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "s01.txt").write_text("DM: Hello.\n", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(f'campaign: X\ntranscripts: ["*/s01.txt"]\n{STEPS}', encoding="utf-8")

    with pytest.raises(ConfigurationError) as error:
        pipeline.load(tmp_path / "pipeline.yaml").sessions()

    assert f"notarius: {without_folder(error.value, tmp_path)}" == ERRORS[-1][1].strip()
