"""The code location: the pipeline that `NOTARIUS_PIPELINE` names, or `pipeline.yaml` here."""

from notarius_assets.flow.workspace import Workspace
from notarius_assets.orchestration.build import definitions

defs = definitions(Workspace.open())
