"""A pipeline with its home: what every verb and every asset needs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from notarius_assets.flow.progress import Progress, Silent
from notarius_assets.lake.home import Home
from notarius_assets.lake.store import Store
from notarius_assets.models.answers import Answers
from notarius_assets.models.anthropic_api import AnthropicProvider
from notarius_assets.models.provider import Provider, RulesProvider
from notarius_assets.models.recorded import ReplayProvider
from notarius_assets.models.settings import Access
from notarius_assets.pipeline import Pipeline, load

DEFAULT_PIPELINE = "pipeline.yaml"
DEFAULT_HOME = ".notarius"


@dataclass(frozen=True)
class Workspace:
    """A pipeline, the home its state lives in, how the model is reached, and who is told of progress.

    `access` None is as the pipeline file says.
    """

    pipeline: Pipeline
    home: Home
    access: Access | None = None
    progress: Progress = field(default_factory=Silent, compare=False)

    @classmethod
    def open(
        cls, pipeline: Path | None = None, home: Path | None = None, progress: Progress | None = None
    ) -> Workspace:
        """Load a pipeline file and make sure of its home.

        Without arguments: `NOTARIUS_PIPELINE` or `pipeline.yaml` here, and `NOTARIUS_HOME` or `.notarius/` beside the
        pipeline file. Raises ConfigurationError.
        """
        loaded = load(pipeline or Path(os.environ.get("NOTARIUS_PIPELINE") or DEFAULT_PIPELINE))
        return cls.of(loaded, home, progress)

    @classmethod
    def of(cls, pipeline: Pipeline, home: Path | None = None, progress: Progress | None = None) -> Workspace:
        """Make sure of the home of a loaded pipeline, which is found as `open` finds it."""
        workspace = cls(pipeline, Home(home_path(pipeline.root, home)), progress=progress or Silent())
        workspace.home.ensure()
        return workspace

    @cached_property
    def store(self) -> Store:
        """The lake."""
        return Store(self.home)

    @cached_property
    def answers(self) -> Answers:
        """The answers of models, kept for every run of this home."""
        return Answers(self.home.answers)

    @cached_property
    def model(self) -> Provider:
        """Who answers."""
        section = self.pipeline.file.model
        if section.provider == "rules":
            return RulesProvider()
        kind = AnthropicProvider if section.provider == "anthropic" else ReplayProvider
        return kind(section.settings, self.answers, self.access or section.access)


def home_path(root: Path, given: Path | None) -> Path:
    """Return the home folder: as given, by environment, or `.notarius/` below `root`."""
    named = given or (Path(env) if (env := os.environ.get("NOTARIUS_HOME")) else root / DEFAULT_HOME)
    return named.absolute()
