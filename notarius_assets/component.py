"""The Dagster component: a pipeline as a few lines of YAML in the project of somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from pydantic import BaseModel, PrivateAttr

from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration.build import definitions
from notarius_assets.pipeline import from_mapping
from notarius_assets.yamlfile import Lines

_PIPELINE = ("attributes", "pipeline")
"""Where an inline pipeline stands in the component's file."""


class Translation(dg.Resolvable, dg.Model):
    """What every asset of a pipeline is given: tags and metadata are added, the rest replaces.

    Keys, dependencies, partitions and code versions stay: the lanes live by them.
    """

    group_name: str | None = None
    description: str | None = None
    owners: list[str] | None = None
    kinds: list[str] | None = None
    tags: dict[str, str] | None = None
    metadata: dict[str, Any] | None = None

    def applied_to(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Return the spec with what is given here."""
        replaced: dict[str, Any] = {
            "group_name": self.group_name,
            "description": self.description,
            "owners": self.owners,
            "kinds": set(self.kinds) if self.kinds is not None else None,
        }
        return spec.merge_attributes(tags=self.tags or {}, metadata=self.metadata or {}).replace_attributes(
            **{name: value for name, value in replaced.items() if value is not None}
        )


Translate = Callable[[dg.AssetSpec], dg.AssetSpec]


def _translate(context: dg.ResolutionContext, written: Any) -> Translate:
    """Return the translation as a function of the asset, whose templates may name `spec`."""

    def translate(spec: dg.AssetSpec) -> dg.AssetSpec:
        given: Translation = Translation.resolve_from_model(context.with_scope(spec=spec), written)
        return given.applied_to(spec)

    return translate


class PipelineScaffolder(dg.Scaffolder[Any]):
    """Writes the component with the one key it needs."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        """Write `defs.yaml`; the pipeline file beside it is written by `notarius init`."""
        dg.scaffold_component(request, {"pipeline": "pipeline.yaml"})


@dg.scaffold_with(PipelineScaffolder)
class NotariusPipeline(dg.Component, dg.Resolvable, dg.Model):
    """Evidence-cited records from transcripts of played sessions: the lanes of one pipeline as assets."""

    pipeline: Annotated[
        str | dict[str, Any],
        dg.Resolver.default(
            model_field_type=str | dict[str, Any],
            description="A pipeline file, relative to this component's folder; or, in place of a file, the mapping "
            "that would stand in it.",
            examples=["pipeline.yaml"],
        ),
    ]
    home: Annotated[
        str | None,
        dg.Resolver.default(
            description="Folder of the lake, the answers and the history, relative to this component's folder. By "
            "default NOTARIUS_HOME, or .notarius beside the pipeline file.",
            examples=["{{ env.NOTARIUS_HOME }}"],
        ),
    ] = None
    key_prefix: Annotated[
        str | list[str] | None,
        dg.Resolver.default(
            model_field_type=str | list[str] | None,
            description="Stands before asset keys and, with _, before the names of jobs, sensors, resources and "
            "partitions.",
            examples=["fog_bells"],
        ),
    ] = None
    translation: Annotated[
        Translate | None,
        dg.Resolver(
            _translate,
            model_field_type=Translation.model(),
            description="Group, description, owners, kinds, tags and metadata of every asset.",
        ),
    ] = None
    _written: Any = PrivateAttr(None)

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> NotariusPipeline:
        """Make the component of its YAML, and remember where that stands: errors name the line."""
        made = super().load(attributes, context)
        made._written = context.resolution_context.source_position_tree
        return made

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the pipeline; raises ConfigurationError, one line with file and key."""
        at = self._lines(context.path)
        workspace = self._workspace(at)
        # The project's other jobs keep their executor; those of the pipeline bring their own.
        defs = definitions(workspace, self._prefix(at), executor=None)
        if self.translation is None:
            return defs
        try:
            return defs.map_resolved_asset_specs(func=self.translation)
        except dg.DagsterInvalidDefinitionError as error:
            raise ConfigurationError(
                f"{at.at('attributes', 'translation')}: {str(error).rstrip('.')}", next_step="correct that key"
            ) from error

    def _workspace(self, at: Lines) -> Workspace:
        folder = at.path.parent
        if "home" in self.model_fields_set and not self.home:
            raise ConfigurationError(
                f"{at.at('attributes', 'home')}: it is empty", next_step="set the variable it names, or remove the key"
            )
        home = folder / self.home if self.home else None
        if isinstance(self.pipeline, str):
            path = folder / self.pipeline
            if not path.is_file():
                raise ConfigurationError(
                    f"{at.at(*_PIPELINE)}: {path} is no file",
                    next_step=f"give a path relative to {folder}, or write the pipeline here as a mapping",
                )
            return Workspace.open(path, home)
        below = {key[len(_PIPELINE) :]: line for key, line in at.by_key.items() if key[: len(_PIPELINE)] == _PIPELINE}
        # a section with everything in it commented out means the defaults, as in a file
        return Workspace.of(from_mapping(_without_none(self.pipeline), Lines(at.path, {(): 1, **below})), home)

    def _lines(self, path: Path) -> Lines:
        """Return the file the component is written in, and where its keys stand if that is YAML."""
        if self._written is not None:
            return Lines(Path(self._written.position.filename), dict(_positions(self._written, ())))
        return Lines(path / "component.py" if path.is_dir() else path, {(): 1})

    def _prefix(self, at: Lines) -> list[str]:
        parts = [self.key_prefix] if isinstance(self.key_prefix, str) else self.key_prefix or []
        for part in parts:
            if not re.fullmatch(r"[A-Za-z0-9_]+", part):
                raise ConfigurationError(
                    f"{at.at('attributes', 'key_prefix')}: {part!r} can't begin the name of a job",
                    next_step="use letters a-z, digits and _; several parts are written as a list",
                )
        return parts


def _positions(tree: Any, key: tuple[int | str, ...]) -> Iterator[tuple[tuple[int | str, ...], int]]:
    yield key, tree.position.start.line
    for part, child in tree.children.items():
        yield from _positions(child, (*key, part))


def _without_none(written: Any) -> Any:
    if isinstance(written, Mapping):
        return {key: _without_none(value) for key, value in written.items() if value is not None}
    return [_without_none(value) for value in written] if isinstance(written, list) else written
