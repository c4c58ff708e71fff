"""The campaign's history: one read-only DuckDB file built from the manifests, swapped in behind a symlink.

Readers keep what they opened; a writer never waits for them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from notarius_assets.errors import NotariusError, SessionBusyError
from notarius_assets.identity import compact_json, digest
from notarius_assets.lake import sqlfiles
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.lake.files import TEMPORARY_PREFIX, sweep, sync_folder
from notarius_assets.lake.home import LAYOUT
from notarius_assets.lake.locks import exclusive
from notarius_assets.lake.manifest import Entry, Manifest
from notarius_assets.lake.store import Store
from notarius_assets.lake.tables import CHUNKS_TABLE, UNITS_TABLE, Column, Table, candidates_table, lane_table
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

_TEXT, _INT = pa.string(), pa.int64()
_WHO = (
    Column("campaign", _TEXT, "Slug of the campaign."),
    Column("session", _TEXT, "Slug of the session."),
    Column("table_name", _TEXT, "The table that was to be made."),
    Column("attempt", _INT, "Number of the try at this table and session, from 1."),
)
_LANE_RUNS = Table(
    "lane_runs",
    "Every try at every table of every session: how it ended, and what it was made by and from.",
    (
        *_WHO,
        Column("lane", _TEXT, "The lane, for tables of a lane."),
        Column("state", _TEXT, "accepted, rejected, failed, blocked or unreadable."),
        Column("reason", _TEXT, "Why it was not accepted."),
        Column("next_step", _TEXT, "What to do about it."),
        Column("is_latest", pa.bool_(), "Whether it is the newest try at this table and session."),
        Column("is_published", pa.bool_(), "Whether the set that the views show holds what this try made."),
        Column("row_count", _INT, "Rows of the table."),
        Column("proposed", _INT, "Candidates proposed, accepted and rejected ones."),
        Column("code_fingerprint", _TEXT, "SHA-256 over what it was made by."),
        Column("input_fingerprint", _TEXT, "SHA-256 over what it was made from."),
        Column("code_parts", _TEXT, "Named parts of the code fingerprint, as JSON."),
        Column("input_parts", _TEXT, "Named parts of the input fingerprint, as JSON."),
        Column("content_digest", _TEXT, "SHA-256 of the content."),
        Column("run_id", _TEXT, "The Dagster run."),
        Column("started_at", _TEXT, "Start, UTC, ISO 8601."),
        Column("ended_at", _TEXT, "End, UTC, ISO 8601."),
    ),
)
_WINDOWS = Table(
    "windows",
    "How every window of every try ended: done, empty, refused, truncated, invalid or failed.",
    (
        *_WHO,
        Column("chunk_id", _INT, "The chunk that was asked."),
        Column("window_end", _TEXT, "How it ended."),
        Column("candidates", _INT, "Candidates in the answer."),
        Column("reason", _TEXT, "Why there is no answer."),
    ),
)
_VERDICTS = Table(
    "verdicts",
    "What every validator said in every try.",
    (
        *_WHO,
        Column("validator", _TEXT, "Key of the validator; the name of its asset check."),
        Column("boundary", _TEXT, "extraction or normalization."),
        Column("level", _TEXT, "What an ERROR condemns: record or artifact."),
        Column("severity", _TEXT, "ERROR or WARN."),
        Column("passed", pa.bool_(), "Whether nothing was found."),
        Column("findings", _INT, "How many findings there were, also those not kept."),
        Column("looked_at", _INT, "Records the validator looked at."),
    ),
)
_FINDINGS = Table(
    "findings",
    "The findings kept of every validator of every try, at most 20 each.",
    (
        *_WHO,
        Column("validator", _TEXT, "Key of the validator."),
        Column("severity", _TEXT, "ERROR or WARN."),
        Column("finding", _INT, "Number of the finding in its validator's list, from 0."),
        Column("code", _TEXT, "What was found."),
        Column("record_index", _INT, "The record it is about: its position before any was rejected."),
        Column("detail", _TEXT, "Codes, numbers and unit ids."),
    ),
)
_REJECTED = Table(
    "rejected_candidates",
    "Candidates that broke a record rule, with the answer's own JSON.",
    (
        *_WHO,
        Column("chunk_id", _INT, "The chunk that was asked."),
        Column("position", _INT, "Position in the answer, from 0."),
        Column("rule", _TEXT, "Key of the validator."),
        Column("code", _TEXT, "What was found."),
        Column("answer", _TEXT, "The candidate as answered, JSON, at most 2 kB."),
    ),
)
_INGEST = Table(
    "ingest_warnings",
    "What the reader changed, dropped or could not tell, per accepted reading of a transcript.",
    (
        *_WHO,
        Column("file", _TEXT, "Name of the transcript file."),
        Column("format", _TEXT, "The shape it was read as."),
        Column("code", _TEXT, "The warning's code."),
        Column("units", _INT, "Units concerned."),
        Column("records", _INT, "Records of the file that became no unit because of it."),
        Column("note", _TEXT, "For people."),
    ),
)
ATTEMPT_TABLES = (_LANE_RUNS, _WINDOWS, _VERDICTS, _FINDINGS, _REJECTED, _INGEST)
"""Tables made from the attempts."""


def input_fingerprint(store: Store, lanes: Sequence[Lane]) -> str:
    """Return the SHA-256 over all a history is made from: manifests, attempts, tables, views."""
    sha = hashlib.sha256(
        digest([LAYOUT, [v.statement for v in sqlfiles.views()], [t.name for t in _tables(lanes)]]).encode()
    )
    for path in sorted(store.root.glob("manifests/campaign=*/session=*.json")):
        sha.update(path.relative_to(store.root).as_posix().encode() + b"\n" + path.read_bytes())
    # attempts never change once written: their names are enough
    for path in store.attempt_paths():
        sha.update(path.relative_to(store.root).as_posix().encode() + b"\n")
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
        for table, rows in _attempt_rows(manifests, store.attempts()):
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


def _attempt_rows(manifests: Sequence[Manifest], attempts: Iterable[Attempt]) -> list[tuple[Table, pa.Table]]:
    published = {(m.source_id, t): e for m in manifests for t, e in m.published.items()}
    rows: dict[str, list[list[Any]]] = {t.name: [] for t in ATTEMPT_TABLES}
    ordered = list(attempts)
    newest = {(a.source_id, a.table): a.number for a in ordered}
    shown = {(a.source_id, a.table): a.number for a in ordered if _made(published.get((a.source_id, a.table)), a)}
    for a in ordered:
        who = [*a.source_id.split("/"), a.table, a.number]
        rows["lane_runs"].append(
            [
                *who,
                a.lane,
                str(a.state),
                a.reason,
                a.next_step,
                newest[a.source_id, a.table] == a.number,
                shown.get((a.source_id, a.table)) == a.number,
                a.rows,
                a.proposed,
                a.code_fingerprint,
                a.input_fingerprint,
                compact_json(dict(a.code_parts)),
                compact_json(dict(a.input_parts)),
                a.content_digest,
                a.run_id,
                a.started_at,
                a.ended_at,
            ]
        )
        rows["windows"].extend([*who, w["chunk_id"], w["end"], w["candidates"], w["reason"]] for w in a.windows)
        for v in a.verdicts:
            named = [v["validator"], v["boundary"], v["level"], v["severity"], v["passed"]]
            rows["verdicts"].append([*who, *named, v["total"], v["looked_at"]])
            rows["findings"].extend(
                [*who, v["validator"], v["severity"], n, f["code"], f["record_index"], f["detail"]]
                for n, f in enumerate(v["findings"])
            )
        rows["rejected_candidates"].extend(
            [*who, r["chunk_id"], r["position"], r["rule"], r["code"], r["answer"]] for r in a.rejected_candidates
        )
        rows["ingest_warnings"].extend(_ingest(who, a.notes))
    return [(t, _table(t, rows[t.name])) for t in ATTEMPT_TABLES]


def _made(entry: Entry | None, attempt: Attempt) -> bool:
    if entry is None or attempt.state is not State.ACCEPTED:
        return False
    return (entry.content_digest, entry.code_fingerprint, entry.input_fingerprint) == (
        attempt.content_digest,
        attempt.code_fingerprint,
        attempt.input_fingerprint,
    )


def _ingest(who: list[Any], notes: Mapping[str, Any]) -> list[list[Any]]:
    return [
        [*who, notes["file"], notes["format"], w["code"], len(w.get("units", ())), w.get("records", 0), w.get("note")]
        for w in notes.get("warnings", ())
    ]


def _table(table: Table, rows: list[list[Any]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.columns)
    arrays = [pa.array(values, type=c.type) for values, c in zip(columns, table.columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=table.schema)


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
