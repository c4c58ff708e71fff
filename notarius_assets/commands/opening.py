"""`ui`: Dagster's own web page on this pipeline and home."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from notarius_assets.commands.terminal import note
from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.workspace import Workspace


def _check_free(host: str, port: int) -> None:
    """Dagster goes on without a page where the port is taken: better to say so first."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigurationError(
                f"{host}:{port} can't be opened ({error.strerror})", next_step="give another --port or --host"
            ) from error


def ui(workspace: Workspace, host: str, port: int) -> NoReturn:
    """Become `dagster dev`; the runs of `notarius run` show there. Never returns where it starts."""
    from notarius_assets.orchestration.instance import environment

    _check_free(host, port)
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
