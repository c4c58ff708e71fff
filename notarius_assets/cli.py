"""`notarius`: reads arguments, calls what Dagster calls too, and ends with an exit code that means something.

0: fine; 1: work failed; 2: usage or configuration, nothing was done; 130: interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from notarius_assets import __version__
from notarius_assets.commands.terminal import note
from notarius_assets.errors import NotariusError

if TYPE_CHECKING:
    from notarius_assets.flow.workspace import Workspace
    from notarius_assets.lake.sqlfiles import SqlFile

_F = TypeVar("_F", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path)
_Given = tuple[Path | None, Path | None]
"""Pipeline file and home as given before the name of a query."""


def _pipeline_options(function: _F) -> _F:
    options = (
        click.option("--pipeline", type=_FILE, metavar="FILE", help="Pipeline file. [default: pipeline.yaml here]"),
        click.option("--home", type=_FILE, metavar="DIR", help="State. [default: .notarius/ beside the pipeline file]"),
    )
    for option in reversed(options):
        function = option(function)
    return function


_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
_quiet = click.option("-q", "--quiet", is_flag=True, help="Only problems.")


def _output_options(function: _F) -> _F:
    function = click.option("--csv", "output", flag_value="csv", help="CSV on stdout.")(function)
    return click.option("--json", "output", flag_value="json", help="JSON on stdout.")(function)


def _open(pipeline: Path | None, home: Path | None) -> Workspace:
    from notarius_assets.flow.workspace import Workspace

    return Workspace.open(pipeline, home)


class _ReaderGoneError(Exception):
    """Who read stdout has enough."""


class _Verbs(click.Group):
    """Click ends with 1 where a pipe is closed, as if work had failed."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise _ReaderGoneError from error
        return code


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="notarius")
def cli() -> None:
    """Evidence-cited records from transcripts of played D&D sessions.

    Start with `notarius init`, then `notarius run`, `notarius show SESSION` and `notarius ui`.
    """


@cli.command()
@click.argument("folder", type=_FILE, metavar="DIR")
@click.option(
    "--transcripts", "globs", multiple=True, required=True, metavar="GLOB", help="Transcript files; may repeat."
)
@click.option("--campaign", required=True, metavar="NAME", help="Name of the campaign.")
@click.option("--speakers", type=_FILE, metavar="FILE", help='JSON: {"dm": ["MATT"], "players": {"TRAVIS": "Grog"}}.')
def init(folder: Path, globs: tuple[str, ...], campaign: str, speakers: Path | None) -> int:
    """Write a commented pipeline file into DIR, with the speakers found."""
    from notarius_assets.commands import reading

    return reading.init(folder, globs, campaign, speakers)


@cli.command()
@click.argument("file", type=_FILE)
@_json
def read(file: Path, as_json: bool) -> int:
    """Parse one transcript FILE and show what was read; stores nothing."""
    from notarius_assets.commands import reading

    return reading.read_file(file, as_json)


@cli.command()
@click.argument("sessions", nargs=-1)
@_pipeline_options
@click.option("--force", is_flag=True, help="Also sessions that are current.")
@click.option("--dry-run", is_flag=True, help="List what would run, and why.")
@_quiet
@_json
def run(
    sessions: tuple[str, ...],
    pipeline: Path | None,
    home: Path | None,
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run every session that is not current, or just SESSIONS."""
    from notarius_assets.commands import running

    workspace = _open(pipeline, home)
    return running.run(workspace, sessions, force=force, dry_run=dry_run, quiet=quiet, as_json=as_json)


@cli.command()
@click.argument("sessions", nargs=-1)
@_pipeline_options
@_json
def status(sessions: tuple[str, ...], pipeline: Path | None, home: Path | None, as_json: bool) -> int:
    """Say which sessions are current, which are not, and why."""
    from notarius_assets.commands import running

    return running.show_status(_open(pipeline, home), sessions, as_json)


@cli.command()
@click.argument("sessions", nargs=-1)
@_pipeline_options
@_quiet
@_json
def check(sessions: tuple[str, ...], pipeline: Path | None, home: Path | None, quiet: bool, as_json: bool) -> int:
    """Apply today's validators to what is accepted; changes nothing."""
    from notarius_assets.commands import auditing

    return auditing.check(_open(pipeline, home), sessions, as_json=as_json, quiet=quiet)


@cli.command()
@click.argument("statement", required=False)
@_pipeline_options
@_output_options
def sql(statement: str | None, pipeline: Path | None, home: Path | None, output: str | None) -> int:
    """Run a SQL STATEMENT on the history, read-only; without one, read it from stdin."""
    from notarius_assets.commands import asking

    return asking.sql(_open(pipeline, home), sys.stdin.read() if statement is None else statement, output or "table")


class _Queries(click.Group):
    """One command a file of `sql/queries`, its parameters as options."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from notarius_assets.lake import sqlfiles

        return sorted(sqlfiles.queries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from notarius_assets.lake import sqlfiles

        found = sqlfiles.queries().get(cmd_name)
        return _query_command(found) if found else None


def _query_command(query: SqlFile) -> click.Command:
    @click.pass_obj
    def call(
        given: _Given, /, pipeline: Path | None, home: Path | None, output: str | None, **parameters: str | None
    ) -> int:
        from notarius_assets.commands import asking

        workspace = _open(pipeline or given[0], home or given[1])
        return asking.query(workspace, query.name, parameters, output or "table")

    command: Any = _pipeline_options(_output_options(call))
    for name, comment in reversed(list(query.params.items())):
        command = click.option(f"--{name}", required=name not in query.optional, help=comment)(command)
    return click.command(query.name, help=query.title)(command)


@cli.group(cls=_Queries)
@_pipeline_options
@click.pass_context
def query(ctx: click.Context, pipeline: Path | None, home: Path | None) -> None:
    """Run a ready query; `notarius query NAME --help` says what it answers."""
    ctx.obj = (pipeline, home)


@cli.command()
@_pipeline_options
@_json
def tables(pipeline: Path | None, home: Path | None, as_json: bool) -> int:
    """List the history's views and what their columns mean."""
    from notarius_assets.commands import asking

    return asking.tables(_open(pipeline, home), as_json)


@cli.command()
@click.argument("session")
@_pipeline_options
@click.option("--lane", "lane_key", metavar="LANE", help="Only this lane.")
@click.option(
    "--context",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Units shown around each cited range.",
)
@_json
def show(
    session: str, pipeline: Path | None, home: Path | None, lane_key: str | None, context: int, as_json: bool
) -> int:
    """Print a SESSION's records with the words that prove them, and what was rejected."""
    from notarius_assets.commands import showing

    return showing.show(_open(pipeline, home), session, lane_key=lane_key, context=context, as_json=as_json)


@cli.command()
@click.argument("session")
@_pipeline_options
@click.option("--to", "folder", type=_FILE, required=True, metavar="DIR", help="Folder of the documents.")
def export(session: str, pipeline: Path | None, home: Path | None, folder: Path) -> int:
    """Write a SESSION's accepted documents as canonical JSON."""
    from notarius_assets.commands import showing

    return showing.export(_open(pipeline, home), session, folder)


@cli.command()
@click.argument("lane")
@click.argument("session")
@_pipeline_options
@click.option("--chunk", default=1, show_default=True, metavar="N", help="Which chunk.")
def prompt(lane: str, session: str, pipeline: Path | None, home: Path | None, chunk: int) -> int:
    """Print what a model would be asked by LANE about one chunk of SESSION."""
    from notarius_assets.commands import showing

    return showing.prompt(_open(pipeline, home), lane, session, chunk)


@cli.group()
def requests() -> None:
    """Have windows answered elsewhere: write requests, read results."""


@requests.command("export")
@click.argument("sessions", nargs=-1)
@_pipeline_options
@click.option("--lane", "lane_keys", multiple=True, metavar="LANE", help="Only this lane; may repeat.")
@click.option("--to", type=_FILE, required=True, metavar="FILE", help="JSON Lines; - is stdout.")
def requests_export(
    sessions: tuple[str, ...], pipeline: Path | None, home: Path | None, lane_keys: tuple[str, ...], to: Path
) -> int:
    """Write what has no answer yet, in the request shape of Message Batches."""
    from notarius_assets.commands import requesting

    return requesting.export_requests(_open(pipeline, home), sessions, lane_keys, to)


@requests.command("import")
@click.argument("file", type=_FILE)
@_pipeline_options
def requests_import(file: Path, pipeline: Path | None, home: Path | None) -> int:
    """Keep the answers of FILE, JSON Lines in the result shape of Message Batches; - is stdin."""
    from notarius_assets.commands import requesting

    return requesting.import_results(_open(pipeline, home), file)


@cli.command()
@_pipeline_options
@click.option("--dry-run", is_flag=True, help="Count, remove nothing.")
def prune(pipeline: Path | None, home: Path | None, dry_run: bool) -> int:
    """Remove kept answers that nothing uses any more."""
    from notarius_assets.commands import pruning

    return pruning.prune(_open(pipeline, home), dry_run=dry_run)


@cli.command()
@_pipeline_options
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65_535), default=3000, show_default=True)
def ui(pipeline: Path | None, home: Path | None, host: str, port: int) -> int:
    """Open the Dagster UI on this pipeline and home."""
    from notarius_assets.commands import opening

    opening.ui(_open(pipeline, home), host, port)


@cli.command()
@click.argument("gold", nargs=-1, required=True)
@_pipeline_options
@click.option("--kinds", is_flag=True, help="A line per kind too.")
@_json
def evaluate(gold: tuple[str, ...], pipeline: Path | None, home: Path | None, kinds: bool, as_json: bool) -> int:
    """Hold published records against GOLD files; GOLD=SESSION where the names do not match."""
    from notarius_assets.commands import evaluating

    return evaluating.run(_open(pipeline, home), gold, kinds=kinds, as_json=as_json)


def main() -> None:
    """Run the command line; a user's mistake is one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that lacks a character shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(standalone_mode=False)
    except NotariusError as error:
        note(f"notarius: {error}")
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except _ReaderGoneError:
        # whoever read has enough; Python would complain once more while it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
