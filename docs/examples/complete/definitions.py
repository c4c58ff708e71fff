"""The example campaign as a Dagster code location; copy it beside your own pipeline file."""

from pathlib import Path

from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration.build import definitions

defs = definitions(Workspace.open(Path(__file__).parent / "pipeline.yaml"))
