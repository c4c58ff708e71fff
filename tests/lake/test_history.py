"""The history: documented, read-only, built from what is published, swapped in under readers that stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from notarius_assets.errors import NotariusError, SessionBusyError
from notarius_assets.identity import npc_id
from notarius_assets.lake import history, sqlfiles
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.lake.home import Home
from notarius_assets.lake.locks import exclusive
from notarius_assets.lake.store import Store
from notarius_assets.lake.tables import (
    CHUNKS,
    CHUNKS_TABLE,
    UNITS,
    UNITS_TABLE,
    chunk_rows,
    lane_table,
    record_rows,
    unit_rows,
)
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.base import Record
from notarius_assets.transcripts.model import Chunk, Unit
from tests.robustness.support import in_process, names

NPCS, INTERACTIONS = BUILT_IN[:2]
TABLES = frozenset({UNITS, CHUNKS, NPCS.table, INTERACTIONS.table})


Doing = tuple[str, str, Sequence[tuple[int, int]]]
"""Name, kind, ranges."""


def refs(source_id: str, *spans: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"source_id": source_id, "start_unit_id": a, "end_unit_id": b} for a, b in spans]


def publish(
    store: Store, source_id: str, units: int, doings: Sequence[tuple[str, str, Sequence[tuple[int, int]]]]
) -> None:
    """Write a session by hand: units that say their number, and what NPCs do in them."""
    said = tuple(Unit(n, ("DM", "ANNA") if n == 2 else ("DM",), f"words {n}") for n in range(1, units + 1))
    names = dict.fromkeys(name for name, _, _ in doings)
    npcs: list[Record] = [
        {"id": npc_id(n, source_id), "name": n, "source_refs": refs(source_id, (1, 1))} for n in names
    ]
    did: list[Record] = [{"name": n, "kind": k, "source_refs": refs(source_id, *spans)} for n, k, spans in doings]
    for table, rows in (
        (UNITS_TABLE, unit_rows(source_id, said)),
        (CHUNKS_TABLE, chunk_rows(source_id, (Chunk(1, said),))),
        (lane_table(NPCS), record_rows(lane_table(NPCS), source_id, npcs)),
        (lane_table(INTERACTIONS), record_rows(lane_table(INTERACTIONS), source_id, did)),
    ):
        digest = f"{table.name}-{units}-{len(doings)}".ljust(64, "0")
        attempt = Attempt(source_id, table.name, 0, State.ACCEPTED, content_digest=digest, rows=rows.num_rows)
        store.publish(
            source_id,
            table.name,
            rows,
            content_digest=digest,
            attempt=attempt,
            inputs={},
            schema_name=table.name,
            tables=TABLES,
        )
        store.record(attempt)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three sessions of two campaigns."""
    home = Home(tmp_path / "home")
    home.ensure()
    store = Store(home)
    publish(
        store,
        "a/s1",
        6,
        [
            ("K'Varn", "dialogue", [(2, 3), (5, 5)]),
            ("Mira", "combat_ally", [(4, 4)]),
            ("K'Varn", "combat_opponent", [(6, 6)]),
        ],
    )
    publish(store, "a/s2", 4, [("Mira", "combat_opponent", [(1, 2)]), ("k’varn", "mentioned", [(3, 3)])])
    publish(store, "b/s1", 2, [("Mira", "mentioned", [(1, 1), (2, 2)])])
    return store


def built(store: Store) -> Path:
    return history.refresh(store, BUILT_IN)


def answer(store: Store, query: str, parameters: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
    with history.connect(built(store)) as connection:
        return connection.execute(sqlfiles.queries()[query].statement, parameters).fetchall()


def test_the_timeline_of_an_npc(store: Store) -> None:
    assert answer(store, "npc_timeline", {"npc": "k'varn"}) == [
        ("s1", "dialogue", 2, 3, 2, "DM, ANNA", "words 2", "a", 0),
        ("s1", "dialogue", 2, 3, 3, "DM", "words 3", "a", 0),
        ("s1", "dialogue", 5, 5, 5, "DM", "words 5", "a", 0),
        ("s1", "combat_opponent", 6, 6, 6, "DM", "words 6", "a", 2),
        ("s2", "mentioned", 3, 3, 3, "DM", "words 3", "a", 1),
    ]


def test_the_first_and_last_meeting(store: Store) -> None:
    assert answer(store, "npc_first_last") == [
        ("K'Varn", "s1", 2, "dialogue", "s2", 3, "mentioned", 3, "a", "k'varn"),
        ("Mira", "s1", 4, "combat_ally", "s2", 2, "combat_opponent", 2, "a", "mira"),
        ("Mira", "s1", 1, "mentioned", "s1", 2, "mentioned", 1, "b", "mira"),
    ]


def test_the_sides_in_combat(store: Store) -> None:
    assert answer(store, "combat_sides") == [
        ("Mira", "both", 1, 1, "s1, s2", "a", "mira"),
        ("K'Varn", "opponent", 0, 1, "s1", "a", "k'varn"),
    ]


def test_every_published_interaction_finds_its_npc(store: Store) -> None:
    with history.connect(built(store)) as connection:
        assert connection.execute("SELECT count(*), count(npc_id) FROM npc_interactions").fetchall() == [(6, 6)]


def test_every_table_view_and_column_says_what_it_is(store: Store) -> None:
    with history.connect(built(store)) as connection:
        for catalog, name in (
            ("duckdb_tables()", "table_name"),
            ("duckdb_views()", "view_name"),
            ("duckdb_columns()", "table_name || '.' || column_name"),
        ):
            seen = connection.execute(f"SELECT {name}, comment FROM {catalog} WHERE NOT internal").fetchall()
            assert len(seen) >= 10
            assert [n for n, comment in seen if not comment] == []


def test_every_sql_file_describes_itself_and_every_query_has_one_order(store: Store) -> None:
    assert len(sqlfiles.views()) == 20
    of_places = {"npcs_near_visit", "place_first_last", "places_only_mentioned"}
    of_places |= {"places_planned_not_visited", "places_visited"}
    assert set(sqlfiles.queries()) == {"combat_sides", "npc_first_last", "npc_timeline", *of_places}
    with history.connect(built(store)) as connection:
        for view in sqlfiles.views():
            name = view.name.partition("-")[2]
            columns = [d[0] for d in connection.execute(f"FROM {name} LIMIT 0").description or ()]
            assert view.title, view.name
            assert list(view.columns) == columns
        for name, query in sqlfiles.queries().items():
            given = {p: None if p in query.optional else "mira" for p in query.params}
            result = connection.execute(query.statement, given or None)
            columns = [d[0] for d in result.description or ()]
            rows = result.fetchall()
            assert query.title, name
            assert list(query.columns) == columns
            order = query.statement.rpartition("ORDER BY")[2].replace(",", " ").split()
            keys = [tuple(row[columns.index(c)] for c in order) for row in rows]
            # this history has no places; tests/lake/test_place_queries.py has some
            assert rows or name in of_places, name
            assert len(set(keys)) == len(keys), f"{name}: {order} is no unique order"


def test_the_file_is_for_duckdb_1_2_and_for_reading_only(store: Store) -> None:
    path = built(store)
    assert path.is_symlink()
    assert path.resolve().stat().st_mode & 0o777 == 0o444
    assert not list(path.resolve().parent.glob("*.wal"))
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path.resolve()}' AS h (READ_ONLY)")
        rows = connection.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'h'").fetchall()
    assert rows[0][0]["storage_version"].startswith("v1.2.0")
    with history.connect(path) as connection, pytest.raises(duckdb.Error, match="read-only"):
        connection.execute("CREATE TABLE lake.x (a INT)")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "FROM '{file}'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb'",
        "EXPORT DATABASE '{folder}/dump'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_sql_reaches_no_other_file(store: Store, tmp_path: Path, statement: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    before = names(tmp_path)
    with history.connect(built(store)) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(file=secret, folder=tmp_path)).fetchall()
    assert names(tmp_path) == before


def test_it_is_built_only_when_something_changed(store: Store) -> None:
    first = built(store).resolve()
    at = first.stat().st_mtime_ns
    assert history.is_fresh(store, BUILT_IN)
    assert built(store).resolve() == first
    assert first.stat().st_mtime_ns == at
    store.record(Attempt("a/s1", UNITS, 0, State.FAILED))
    assert not history.is_fresh(store, BUILT_IN)
    assert built(store).resolve() != first
    (store.home.history).unlink()
    assert not history.is_fresh(store, BUILT_IN)
    assert built(store).exists()


def test_only_two_versions_are_kept_and_leftovers_of_a_killed_build_go(store: Store) -> None:
    built(store)
    folder = store.home.history_versions
    (folder / ".writing-history-dead.duckdb.wal").write_bytes(b"x")
    for _ in range(3):
        store.record(Attempt("a/s1", UNITS, 0, State.FAILED))
        built(store)
    kept = names(folder)
    assert len(kept) == 2
    assert store.home.history.resolve().name in kept


def _read(path: Path, line: Connection) -> None:
    with history.connect(path) as connection:
        while line.recv():
            line.send(connection.execute("SELECT count(*) FROM sessions").fetchall())


def test_a_reader_in_another_process_keeps_what_it_opened_and_blocks_nothing(store: Store) -> None:
    ours, theirs = Pipe()
    reader = in_process(_read, built(store), theirs)
    ours.send(True)
    assert ours.recv() == [(3,)]
    for n in range(3):
        publish(store, f"c/s{n}", 2, [("Mira", "mentioned", [(1, 1)])])
        built(store)
    ours.send(True)
    assert ours.recv() == [(3,)], "the old version stays whole while it is open"
    with history.connect(built(store)) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchall() == [(6,)]
    ours.send(False)
    reader.join(60)
    assert reader.exitcode == 0


def test_who_can_not_build_reads_what_stands_and_says_so_where_nothing_does(store: Store) -> None:
    with exclusive(store.home.locks / "history.lock", "the history"):
        child = in_process(_refreshes, store.home.root, False)
        child.join(60)
        assert child.exitcode == 0
    stands = built(store).resolve()
    store.record(Attempt("a/s1", UNITS, 0, State.FAILED))
    with exclusive(store.home.locks / "history.lock", "the history"):
        child = in_process(_refreshes, store.home.root, True)
        child.join(60)
        assert child.exitcode == 0
    assert store.home.history.resolve() == stands


def _refreshes(home: Path, stands: bool) -> None:
    if stands:
        assert history.refresh(Store(Home(home)), BUILT_IN, patience=0).exists()
        return
    with pytest.raises(SessionBusyError, match="the history is being worked on by process"):
        history.refresh(Store(Home(home)), BUILT_IN, patience=0)


def test_files_from_before_a_lane_got_another_field_are_read_beside_new_ones(store: Store) -> None:
    manifest = store.manifest("a/s1")
    path = store.root / manifest.published[NPCS.table].file
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["comparison_name"]), path)
    with history.connect(built(store)) as connection:
        rows = connection.execute("SELECT count(*), count(comparison_name) FROM lake.npcs").fetchall()
    assert rows == [(5, 3)]


def test_without_a_history_the_next_step_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotariusError, match="no history yet") as raised:
        history.connect(tmp_path / "history.duckdb")
    assert raised.value.next_step == "notarius run"
    (tmp_path / "history.duckdb").write_bytes(b"no database")
    with pytest.raises(NotariusError, match="can't be opened"):
        history.connect(tmp_path / "history.duckdb")


def test_the_published_attempt_is_marked_once(store: Store) -> None:
    store.record(
        Attempt("b/s1", UNITS, 0, State.ACCEPTED, content_digest=store.manifest("b/s1").published[UNITS].content_digest)
    )
    with history.connect(built(store)) as connection:
        shown = connection.execute(
            "SELECT attempt, is_published, is_latest FROM lane_runs "
            "WHERE campaign = 'b' AND table_name = 'transcript_units' ORDER BY attempt"
        ).fetchall()
    assert shown == [(1, False, False), (2, True, True)]
