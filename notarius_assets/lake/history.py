"""The campaign's history: one read-only DuckDB file built from the manifests, swapped in behind a symlink.

Readers keep what they opened; a writer never waits for them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from notarius_assets.errors import NotariusError, SessionBusyError
from notarius_assets.files import TEMPORARY_PREFIX, sweep, sync_folder
from notarius_assets.identity import digest
from notarius_assets.lake import sqlfiles
from notarius_assets.lake.attempt_tables import attempt_rows
from notarius_assets.lake.home import LAYOUT
from notarius_assets.lake.ledger import entries, ledger_paths
from notarius_assets.lake.locks import exclusive
from notarius_assets.lake.manifest import Manifest
from notarius_assets.lake.store import Store
from notarius_assets.lake.tables import CHUNKS_TABLE, UNITS_TABLE, Table, candidates_table, lane_table
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Lane

KEPT_VERSIONS = 2
"""Database files kept behind the symlink: the newest, and the one a reader may just be opening."""

PATIENCE = 60.0
"""Seconds to wait for another process that is building the history."""

MOST_BUILDS = 5
"""How often a build starts over because a session changed under it."""

STORAGE_VERSION = "v1.2.0"
"""So that DuckDB 1.2 and newer read the file."""


def input_fingerprint(store: Store, lanes: Sequence[Lane]) -> str:
    """Return the SHA-256 over all a history is made from: manifests, attempts, ledgers, tables, views."""
    sha = hashlib.sha256(
        digest([LAYOUT, [v.statement for v in sqlfiles.views()], [t.name for t in _tables(lanes)]]).encode()
    )
    for path in sorted(store.root.glob("manifests/campaign=*/session=*.json")):
        sha.update(path.relative_to(store.root).as_posix().encode() + b"\n" + path.read_bytes())
    # attempts never change once written: their names are enough
    for path in store.attempt_paths():
        sha.update(path.relative_to(store.root).as_posix().encode() + b"\n")
    # a ledger only grows
    for path in ledger_paths(store):
        sha.update(f"{path.relative_to(store.root).as_posix()} {path.stat().st_size}\n".encode())
    return sha.hexdigest()


def is_fresh(store: Store, lanes: Sequence[Lane]) -> bool:
    """Tell whether the history shows what the lake holds."""
    link = store.home.history
    return link.exists() and link.resolve().stem == _version(input_fingerprint(store, lanes))


def refresh(store: Store, lanes: Sequence[Lane], patience: float = PATIENCE) -> Path:
    """Return the history's path, built anew if it is not fresh.

    When another process is building, or sessions change faster than it can be built, `patience` is how many seconds to
    wait before the history that stands is returned. Readers give 0: nobody waits to read. Who has just written waits,
    as the other builder may have looked before that. Raises NotariusError where there is no history.
    """
    until = time.monotonic() + patience
    while not is_fresh(store, lanes):
        try:
            with exclusive(store.home.locks / "history.lock", "the history"):
                if _rebuild(store, lanes):
                    break
        except SessionBusyError:
            if time.monotonic() >= until and not store.home.history.exists():
                raise
        if time.monotonic() >= until:
            break
        time.sleep(0.05)
    if not store.home.history.exists():
        raise NotariusError("the history can't be built while sessions change", next_step="run it again in a moment")
    return store.home.history


def _rebuild(store: Store, lanes: Sequence[Lane]) -> bool:
    """Build and swap in the history; False when sessions changed every time before it stood."""
    store.home.history_versions.mkdir(parents=True, exist_ok=True)
    sweep(store.home.history_versions)
    for _ in range(MOST_BUILDS):
        wanted = input_fingerprint(store, lanes)
        built = _build(store, lanes, _version(wanted))
        if built and input_fingerprint(store, lanes) == wanted:
            _swap(store.home.history, built)
            _forget_old(store.home.history_versions, built)
            return True
    return False


def _version(fingerprint: str) -> str:
    return f"history-{fingerprint[:24]}"


def _tables(lanes: Sequence[Lane]) -> list[Table]:
    """Every table a history has: also those of lanes that ship and are not used, empty, so that all views resolve."""
    of_lanes = [t for lane in (*lanes, *BUILT_IN) for t in (candidates_table(lane), lane_table(lane))]
    return [UNITS_TABLE, CHUNKS_TABLE, *{t.name: t for t in reversed(of_lanes)}.values()]


def _build(store: Store, lanes: Sequence[Lane], version: str) -> Path | None:
    """Build one version beside the others; None when a file went away meanwhile and the build must start over."""
    folder = store.home.history_versions
    temporary = folder / f"{TEMPORARY_PREFIX}{version}.duckdb"
    temporary.unlink(missing_ok=True)
    manifests = list(store.manifests())
    connection = duckdb.connect()
    try:
        # the path is ours: a fixed folder and a hex name
        connection.execute(f"ATTACH '{_quoted(temporary)}' AS h (STORAGE_VERSION '{STORAGE_VERSION}')")
        connection.execute("USE h")
        connection.execute("CREATE SCHEMA lake")
        for table in _tables(lanes):
            _fill(connection, store, manifests, table)
        for table, rows in attempt_rows(manifests, store.attempts(), entries(store)):
            _create(connection, table, rows)
            _comment(connection, table)
        _create_views(connection)
        connection.execute("CHECKPOINT h")
        connection.execute("USE memory")
        connection.execute("DETACH h")
    except duckdb.Error as error:
        temporary.unlink(missing_ok=True)
        gone = [e.file for m in manifests for e in m.published.values() if not (store.root / e.file).exists()]
        if gone and [m.as_json() for m in store.manifests()] != [m.as_json() for m in manifests]:
            return None
        reason = f"{gone[0]} is gone" if gone else str(error).splitlines()[0]
        raise NotariusError(
            f"the history can't be built: {reason}", next_step="notarius run --force SESSION makes its files anew"
        ) from error
    finally:
        connection.close()
    temporary.chmod(0o444)
    built = folder / f"{version}.duckdb"
    temporary.replace(built)
    return built


def _fill(connection: duckdb.DuckDBPyConnection, store: Store, manifests: Iterable[Manifest], table: Table) -> None:
    files = [str(store.root / m.published[table.name].file) for m in manifests if table.name in m.published]
    _create(connection, table, table.schema.empty_table())
    if files:
        # by name: sessions not run since a lane got another field have files without it
        connection.execute(
            f"INSERT INTO lake.{table.name} BY NAME SELECT COLUMNS(lambda c: c IN {tuple(table.schema.names)}) "  # noqa: S608
            "FROM read_parquet($files, hive_partitioning = false, union_by_name = true)",
            {"files": files},
        )
    _comment(connection, table)


def _create(connection: duckdb.DuckDBPyConnection, table: Table, rows: pa.Table) -> None:
    connection.register("rows", rows)
    connection.execute(f"CREATE TABLE lake.{table.name} AS SELECT * FROM rows")  # noqa: S608 - names of ours
    connection.unregister("rows")


def _comment(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    connection.execute(f"COMMENT ON TABLE lake.{table.name} IS '{_quoted(table.comment)}'")
    for column in table.columns:
        connection.execute(f"COMMENT ON COLUMN lake.{table.name}.{column.name} IS '{_quoted(column.comment)}'")


def _create_views(connection: duckdb.DuckDBPyConnection) -> None:
    for view in sqlfiles.views():
        name = view.name.partition("-")[2]
        connection.execute(f"CREATE VIEW {name} AS {view.statement}")
        connection.execute(f"COMMENT ON VIEW {name} IS '{_quoted(view.title)}'")
        for column, comment in view.columns.items():
            connection.execute(f"COMMENT ON COLUMN {name}.{column} IS '{_quoted(comment)}'")


def _quoted(text: object) -> str:
    return str(text).replace("'", "''")


def _swap(link: Path, target: Path) -> None:
    temporary = link.with_name(f"{TEMPORARY_PREFIX}{link.name}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target.relative_to(link.parent))
    temporary.replace(link)
    sync_folder(link.parent)


def _forget_old(folder: Path, newest: Path) -> None:
    versions = sorted(folder.glob("history-*.duckdb"), key=lambda p: (p != newest, -p.stat().st_mtime_ns))
    for old in versions[KEPT_VERSIONS:]:
        old.unlink(missing_ok=True)


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a history read-only, with no way to reach other files or the network from SQL."""
    if not path.exists():
        raise NotariusError(f"{path}: no history yet", next_step="notarius run")
    config: dict[str, Any] = {"enable_external_access": False, "lock_configuration": True}
    try:
        return duckdb.connect(str(path.resolve()), read_only=True, config=config)
    except duckdb.Error as error:
        raise NotariusError(
            f"{path}: can't be opened ({str(error).splitlines()[0]})",
            next_step="remove it and run again; it is made from the lake",
        ) from error
