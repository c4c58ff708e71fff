"""The lake and the model as Dagster resources: where the state lives, and how the model is reached.

Which model answers, and with which settings, stands in the pipeline file: it decides what is stale.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.home import Home
from notarius_assets.pipeline_file import server_url


class LakeResource(dg.ConfigurableResource[Any]):
    """The home of a pipeline's state."""

    home: str = Field(description="Folder of the lake, the answers and the history.")


class ModelResource(dg.ConfigurableResource[Any]):
    """How the model is reached; what is left out is as the pipeline file says.

    Give a key as `dg.EnvVar("NAME")`: Dagster then stores the variable's name, never its value. Without one
    `ANTHROPIC_API_KEY` is read when a call is made.
    """

    api_key: str | None = Field(default=None, description="The key; give it as an EnvVar.")
    base_url: str | None = Field(default=None, description="A server that speaks the Messages API.")
    in_flight: int | None = Field(default=None, ge=1, le=100, description="Calls open at once.")
    timeout_seconds: float | None = Field(default=None, gt=0, description="Longest time of one attempt.")
    max_wait_seconds: float | None = Field(
        default=None, ge=0, le=60, description="Longest wait between two attempts, whatever the server asks for."
    )


def on_lake(workspace: Workspace, lake: LakeResource) -> Workspace:
    """Return a workspace on a lake, also one that an environment variable names: sensors look at it before any run."""
    named = lake.home.get_value() if isinstance(lake.home, dg.EnvVar) else lake.home
    if not named or Path(named) == workspace.home.root:
        return workspace
    home = Home(Path(named).absolute())
    home.ensure()
    return replace(workspace, home=home)


def bound(workspace: Workspace, lake: LakeResource, model: ModelResource | None = None) -> Workspace:
    """Return a workspace that works on this lake and reaches the model this way."""
    here = on_lake(workspace, lake)
    if model is None:
        return here
    try:
        base_url = server_url(model.base_url) if model.base_url else None
    except ValueError as error:
        raise ConfigurationError(f"base_url of the model's resource: {error}", next_step="correct it") from error
    given: dict[str, Any] = {
        "key": model.api_key,
        "base_url": base_url,
        "in_flight": model.in_flight,
        "timeout": model.timeout_seconds,
        "longest_wait": model.max_wait_seconds,
    }
    access = workspace.access or workspace.pipeline.file.model.access
    changed = replace(access, **{name: value for name, value in given.items() if value is not None})
    return here if changed == access else replace(here, access=changed)
