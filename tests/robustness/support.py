"""What the tests of lake, flow, commands and robustness do with a campaign on disk."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any
from unittest import mock

from notarius_assets import cli
from notarius_assets.flow import steps
from notarius_assets.flow.currency import SessionStatus, status
from notarius_assets.flow.documents import lane_document
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history
from tests.conftest import Campaign

SMALL_CHUNKS = "chunking: {max_units: 4}\n"
"""Two chunks a session of `write_campaign`."""


class Ended:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


def notarius(*arguments: str, on: Campaign | None = None) -> Ended:
    """Run the command line in this process."""
    given = [*arguments, *(_where(on) if on else ())]
    out, err = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.object(sys, "argv", ["notarius", *given]),
        contextlib.redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(err, "utf-8", write_through=True)),
    ):
        try:
            cli.main()
        except SystemExit as error:
            code = error.code
        said = Ended(int(code or 0), out.getvalue().decode(), err.getvalue().decode())
    assert "Traceback" not in said.err, said
    return said


def _where(campaign: Campaign) -> tuple[str, ...]:
    return ("--pipeline", str(campaign.pipeline), "--home", str(campaign.home))


def change(campaign: Campaign, old: str, new: str) -> None:
    """Change the pipeline file."""
    text = campaign.pipeline.read_text(encoding="utf-8")
    assert old in text
    campaign.pipeline.write_text(text.replace(old, new), encoding="utf-8")


def retell(campaign: Campaign, session: str, old: str, new: str) -> None:
    """Change a transcript."""
    path = campaign.transcript(session)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def status_of(campaign: Campaign, session: str, workspace: Workspace | None = None) -> SessionStatus:
    """Return a session's status, by the pipeline file as it stands now."""
    workspace = workspace or campaign.open()
    return status(workspace, next(s for s in workspace.pipeline.sessions() if s.slug == session))


def run_steps(campaign: Campaign, *sessions: str, workspace: Workspace | None = None) -> list[steps.Outcome]:
    """Make every table that is not current, without Dagster, then the history; return how each step ended."""
    workspace = workspace or campaign.open()
    ended = [
        steps.run(workspace, table, session.source_id)
        for session in workspace.pipeline.sessions()
        if not sessions or session.slug in sessions
        for table in status(workspace, session).to_do
    ]
    history.refresh(workspace.store, [b.lane for b in workspace.pipeline.lanes])
    return ended


def documents(campaign: Campaign) -> dict[str, bytes]:
    """Return the published documents of all sessions, by source_id and the name `export` gives them."""
    workspace = campaign.open()
    return {
        f"{m.source_id}/{b.lane.export_name}": lane_document(workspace, b.lane, m.published[b.lane.table])
        for m in workspace.store.manifests()
        for b in workspace.pipeline.lanes
        if b.lane.table in m.published
    }


def names(folder: Path) -> list[str]:
    """Return the names in a folder, hidden ones too, in order."""
    return sorted(p.name for p in folder.iterdir())


def ask(campaign: Campaign, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a SQL statement on the history as it stands."""
    with history.connect(campaign.home / "history.duckdb") as connection:
        return connection.execute(statement).fetchall()


def start(campaign: Campaign, *arguments: str, output: str = "output") -> ForkServerProcess:
    """Start a verb in another process; what it says goes to the file `output` in the campaign's folder."""
    given = [*arguments, *_where(campaign)]
    return in_process(_command_line, given, campaign.root / output)


def in_process(function: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Start a function in another process, one that has everything imported from its first moment on."""
    process = _forks().Process(target=function, args=arguments)
    process.start()
    return process


def _forks() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["notarius_assets.cli", "notarius_assets.orchestration.runner"])
    return context


def _command_line(arguments: Sequence[str], output: Path) -> None:
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    sys.argv = ["notarius", *arguments]
    cli.main()
