"""A small campaign of its own in a folder of its own, the command line in this process, and processes to kill."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from unittest import mock

from notarius_assets import cli
from notarius_assets.flow import steps
from notarius_assets.flow.currency import SessionStatus, status
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake import history

TEXT = """\
DM: Old Marta says, "Welcome to the inn. It is the {0} night of the fair."
INGRID: I talk to Old Marta. "Good evening."
DM: The goblin Snag attacks you with a knife.
INGRID: I attack Snag.
DM: Captain Dunnock nods. "You did well," says Captain Dunnock.
INGRID: Thank you, Captain.
"""
"""Two NPCs and more in six units; `{0}` tells the sessions apart."""

PIPELINE = """\
campaign: Fog Bells
transcripts: [transcripts/*]
speakers: {dm: [DM], players: {INGRID: Pim}}
gazetteer: {npcs: [{name: Old Marta, aliases: [Marta]}]}
chunking: {max_units: 4}
steps:
  - name: registries
    lanes: [{lane: dnd/npcs}]
  - name: occurrences
    lanes: [{lane: dnd/npc-interactions, references: {npcs: dnd/npcs}}]
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Campaign:
    """A folder with a pipeline file, transcripts and a home."""

    root: Path

    @classmethod
    def make(cls, root: Path, *sessions: str, pipeline: str = PIPELINE) -> Campaign:
        """Write a pipeline file and one short transcript a session."""
        made = cls(root)
        (root / "transcripts").mkdir(parents=True, exist_ok=True)
        made.pipeline.write_text(pipeline, encoding="utf-8")
        for session in sessions:
            made.write(session, TEXT.format(session))
        return made

    @property
    def pipeline(self) -> Path:
        return self.root / "pipeline.yaml"

    @property
    def home(self) -> Path:
        return self.root / ".notarius"

    @property
    def workspace(self) -> Workspace:
        """The pipeline file as it stands now."""
        return Workspace.open(self.pipeline, self.home)

    def transcript(self, session: str) -> Path:
        return self.root / "transcripts" / f"{session}.txt"

    def write(self, session: str, text: str) -> None:
        self.transcript(session).write_text(text, encoding="utf-8")

    def change(self, old: str, new: str) -> None:
        """Change the pipeline file."""
        text = self.pipeline.read_text(encoding="utf-8")
        assert old in text
        self.pipeline.write_text(text.replace(old, new), encoding="utf-8")

    def status(self, session: str, workspace: Workspace | None = None) -> SessionStatus:
        workspace = workspace or self.workspace
        return status(workspace, next(s for s in workspace.pipeline.sessions() if s.slug == session))

    def run_steps(self, *sessions: str, workspace: Workspace | None = None) -> list[steps.Outcome]:
        """Make every table of sessions that is not current, without Dagster; build the history."""
        workspace = workspace or self.workspace
        ended = []
        for session in workspace.pipeline.sessions():
            if not sessions or session.slug in sessions:
                for table in status(workspace, session).to_do:
                    ended.append(steps.run(workspace, table, session.source_id))
        history.refresh(workspace.store, [b.lane for b in workspace.pipeline.lanes])
        return ended

    def documents(self, session: str) -> dict[str, bytes]:
        """The published documents of a session, by the names `export` gives them."""
        workspace = self.workspace
        manifest = workspace.store.manifest(f"{workspace.pipeline.campaign}/{session}")
        return {
            b.lane.export_name: steps.lane_document(workspace, b.lane, manifest.published[b.lane.table])
            for b in workspace.pipeline.lanes
            if b.lane.table in manifest.published
        }

    def notarius(self, verb: str, *arguments: str) -> Ended:
        """Run a verb on this campaign in this process."""
        return notarius(verb, *arguments, "--pipeline", str(self.pipeline), "--home", str(self.home))

    def start(self, verb: str, *arguments: str) -> ForkServerProcess:
        """Start a verb on this campaign in another process; its output goes to `output`."""
        given = (verb, *arguments, "--pipeline", str(self.pipeline), "--home", str(self.home))
        process = forks().Process(target=_in_child, args=(given, self.root / "output"))
        process.start()
        return process

    @property
    def output(self) -> str:
        """What started processes said, in order of writing."""
        return (self.root / "output").read_text(encoding="utf-8")


def notarius(*arguments: str) -> Ended:
    """Run the command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", ["notarius", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as error:
            code = error.code
    assert isinstance(code, int)
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Ended(code, *said)


def forks() -> ForkServerContext:
    """Processes that have everything imported from their first moment on."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["notarius_assets.cli", "notarius_assets.orchestration.runner"])
    return context


def _in_child(arguments: Sequence[str], output: Path) -> None:
    with output.open("a", encoding="utf-8") as stream:
        sys.stdout = sys.stderr = stream
        sys.argv = ["notarius", *arguments]
        cli.main()


@contextlib.contextmanager
def held_open(path: Path) -> Iterator[None]:
    """Keep a read-only DuckDB connection open in another process for the block."""
    raise NotImplementedError
