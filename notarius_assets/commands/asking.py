"""`sql`, `query`, `tables`: read the history."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from notarius_assets.commands.terminal import as_dicts, counted, json_out, note, out, safe, table
from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.identity import comparison_name
from notarius_assets.lake import history, sqlfiles

if TYPE_CHECKING:
    import duckdb

    from notarius_assets.flow.workspace import Workspace

NAME_PARAMETERS = ("npc", "place")
"""Parameters that are names: compared as names are."""

MAX_SHOWN = 1_000
"""Rows a terminal table shows; other formats give all."""


def open_history(workspace: Workspace) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to a fresh history."""
    return history.connect(history.refresh(workspace.store, workspace.pipeline.declared, patience=0))


def sql(workspace: Workspace, statement: str, output: str) -> int:
    """Run one SQL text on the history."""
    return _ask(workspace, statement, {}, output)


def query(workspace: Workspace, name: str, parameters: Mapping[str, str | None], output: str) -> int:
    """Run a ready query; a parameter that is None has its default."""
    ready = sqlfiles.queries()[name]
    given = {k: comparison_name(v) if v is not None and k in NAME_PARAMETERS else v for k, v in parameters.items()}
    return _ask(workspace, ready.statement, given, output)


def _ask(workspace: Workspace, statement: str, parameters: Mapping[str, str | None], output: str) -> int:
    import duckdb

    with open_history(workspace) as connection:
        try:
            head, rows = _answer(connection, statement, parameters)
        except duckdb.Error as error:
            reason = str(error).split("\n\nLINE")[0]
            raise ConfigurationError(f"SQL: {reason}", next_step=_next_step(reason)) from error
    show(head, rows, output)
    return 0


def _next_step(reason: str) -> str:
    if "read-only" in reason or reason.startswith("Permission Error"):
        return "SELECT from the history; it is read-only"
    return "notarius tables lists views and columns"


def _answer(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str | None]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a statement where Ctrl-C can end it: in the main thread DuckDB looks for signals at some times only."""

    def run() -> tuple[list[str], list[tuple[Any, ...]]]:
        result = connection.execute(statement, parameters or None)
        # a text without a statement, such as one of comments, gives no result
        return ([d[0] for d in result.description or ()], result.fetchall()) if result else ([], [])

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(run)
        try:
            return asked.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def show(head: Sequence[str], rows: Sequence[Sequence[Any]], output: str) -> None:
    """Print rows as a table, CSV or JSON."""
    if output == "json":
        json_out(as_dicts(head, rows))
    elif output == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(head)
        tty = sys.stdout.isatty()
        writer.writerows([safe(v) if tty and isinstance(v, str) else v for v in row] for row in rows)
    else:
        table(head, rows[:MAX_SHOWN])
        more = f", the first {MAX_SHOWN:,} shown; --csv or --json give all" if len(rows) > MAX_SHOWN else ""
        note(f"{counted(len(rows), 'row')}{more}")


def tables(workspace: Workspace, as_json: bool) -> int:
    """List the views with what their rows and columns mean."""
    with open_history(workspace) as connection:
        views = connection.execute(
            "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' "
            "ORDER BY view_name"
        ).fetchall()
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
            "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
        ).fetchall()
    if not views:
        raise NotariusError("the history has no views", next_step="notarius run")
    of: dict[str, list[tuple[str, str, str]]] = {}
    for name, column, kind, comment in columns:
        of.setdefault(name, []).append((column, kind, comment or ""))
    if as_json:
        json_out(
            [
                {"view": v, "comment": c, "columns": as_dicts(("column", "type", "comment"), of.get(v, []))}
                for v, c in views
            ]
        )
        return 0
    for name, comment in views:
        out(f"{name}: {comment}")
        for column, kind, about in of.get(name, []):
            out(f"    {column} {kind}: {about}")
    return 0
