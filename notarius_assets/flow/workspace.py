"""A pipeline with its home: what every verb and every asset needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from notarius_assets.lake.home import Home
from notarius_assets.lake.store import Store
from notarius_assets.models.provider import Provider, provider
from notarius_assets.pipeline import Pipeline, load

DEFAULT_PIPELINE = "pipeline.yaml"
DEFAULT_HOME = ".notarius"


@dataclass(frozen=True)
class Workspace:
    """A pipeline and the home its state lives in."""

    pipeline: Pipeline
    home: Home

    @classmethod
    def open(cls, pipeline: Path | None = None, home: Path | None = None) -> Workspace:
        """Load a pipeline file and make sure of its home.

        Without arguments: `NOTARIUS_PIPELINE` or `pipeline.yaml` here, and `NOTARIUS_HOME` or `.notarius/` beside the
        pipeline file. Raises ConfigurationError.
        """
        loaded = load(pipeline or Path(os.environ.get("NOTARIUS_PIPELINE") or DEFAULT_PIPELINE))
        workspace = cls(loaded, Home(home_path(loaded.root, home)))
        workspace.home.ensure()
        return workspace

    @cached_property
    def store(self) -> Store:
        """The lake."""
        return Store(self.home)

    @cached_property
    def model(self) -> Provider:
        """Who answers."""
        return provider(self.pipeline.file.model.provider)


def home_path(root: Path, given: Path | None) -> Path:
    """Return the home folder: as given, by environment, or `.notarius/` below `root`."""
    named = given or (Path(env) if (env := os.environ.get("NOTARIUS_HOME")) else root / DEFAULT_HOME)
    return named.absolute()
