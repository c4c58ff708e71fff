"""`ui`: Dagster's own web page on this pipeline and home."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from notarius_assets.commands.terminal import note
from notarius_assets.flow.workspace import Workspace


def ui(workspace: Workspace, host: str, port: int) -> NoReturn:
    """Become `dagster dev`; the runs of `notarius run` show there. Never returns where it starts."""
    from notarius_assets.orchestration.instance import environment

    env = dict(environment(workspace.home, workspace.pipeline.path))
    note(f"Dagster on http://{host}:{port}. Ctrl-C ends it.")
    note(f"Pipeline {workspace.pipeline.path}, home {workspace.home.root}.")
    arguments = [
        "-m",
        "dagster",
        "dev",
        "-w",
        str(Path(env["DAGSTER_HOME"]) / "workspace.yaml"),
        "-h",
        host,
        "-p",
        str(port),
    ]
    # Dagster watches the current folder for a dagster.yaml of its own; the home has ours.
    os.chdir(workspace.pipeline.root)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *arguments], env)  # noqa: S606 - our own interpreter, no shell
