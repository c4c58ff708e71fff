"""The views and ready queries of places, on a small campaign whose right answers are worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pytest

from notarius_assets.identity import comparison_name, location_id, npc_id
from notarius_assets.lake import history, sqlfiles
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.lake.home import Home
from notarius_assets.lake.store import Store
from notarius_assets.lake.tables import CHUNKS_TABLE, UNITS_TABLE, chunk_rows, lane_table, record_rows, unit_rows
from notarius_assets.lanes import BUILT_IN, location_occurrences, locations, npc_interactions, npcs
from notarius_assets.lanes.base import Record
from notarius_assets.transcripts.model import Chunk, Unit

TABLES = [
    UNITS_TABLE,
    CHUNKS_TABLE,
    *(lane_table(m.LANE) for m in (npcs, npc_interactions, locations, location_occurrences)),
]
QUERIES = (
    "npcs_near_visit",
    "place_first_last",
    "places_only_mentioned",
    "places_planned_not_visited",
    "places_visited",
)
UNITS = 60
"""Units of every session."""


class At(NamedTuple):
    """A passage: of whom or what, kind, ranges. A place is named with the unit that identifies it."""

    who: str
    kind: str
    spans: tuple[tuple[int, int], ...]


def at(who: str, kind: str, *spans: tuple[int, int]) -> At:
    return At(who, kind, spans)


PLACES: Mapping[str, Sequence[At]] = {
    "emberfall/s1": [
        at("Brindle Ford@1", "visited", (1, 4)),
        at("Tarnhold@6", "planned", (6, 7)),
        at("Gallowmere@8", "planned", (8, 8)),
        at("Gallowmere@8", "mentioned", (9, 9)),
        at("Saint Orm's Well@10", "planned", (10, 11)),
        # back again; the cited ranges leave out the unit between
        at("Brindle Ford@1", "visited", (12, 14), (16, 16)),
        at("Brindle Ford@1", "mentioned", (20, 20)),
        at("The Pale Coast@22", "mentioned", (22, 22)),
        at("Old Keep@24", "recalled", (24, 24)),
        at("Old Keep@24", "mentioned", (25, 25)),
        # another ford of that name; both places are first visited in unit 30
        at("Brindle Ford@30", "visited", (30, 33)),
        at("Ash Gate@30", "visited", (30, 31)),
    ],
    "emberfall/s2": [
        at("Tarnhold@2", "visited", (2, 9)),
        at("Saint Orm\u2019s Well@12", "visited", (12, 15)),
        at("Mill@16", "visited", (16, 17)),
        at("THE PALE COAST@18", "mentioned", (18, 18)),
        at("Ash Gate@20", "mentioned", (20, 20)),
        at("Old Keep@22", "mentioned", (22, 22)),
        at("Vesper Isle@24", "mentioned", (24, 24)),
        # the moon is first spoken of where the coast of s2 is, so nothing but the name orders them
        at("Moon@18", "mentioned", (18, 18)),
        at("Mill@16", "planned", (28, 28)),
        # visited before this session and after it
        at("Brindle Ford@50", "planned", (50, 50)),
    ],
    "emberfall/s3": [
        at("Tarnhold@3", "planned", (3, 3)),
        at("Gallowmere@5", "planned", (5, 6)),
        at("saint orm's well@8", "visited", (8, 9)),
        at("Vesper Isle@10", "planned", (10, 10)),
        at("Brindle Ford@12", "visited", (12, 13)),
        at("Gallowmere@5", "planned", (40, 41), (44, 44)),
        # planned in the same unit as the isle
        at("Cinder Hall@10", "planned", (10, 10)),
    ],
    # another campaign: nothing here is the same place
    "tidewrack/s0": [
        at("Gallowmere@1", "visited", (1, 1)),
        at("Brindle Ford@2", "mentioned", (2, 2)),
    ],
}
PEOPLE: Mapping[str, Sequence[At]] = {
    "emberfall/s1": [
        at("Marta", "mentioned", (2, 2)),
        at("Marta", "dialogue", (5, 6)),
        at("O'Dell", "noncombat_presence", (15, 15)),
        at("Marta", "dialogue", (31, 31)),
        at("Krag", "combat_opponent", (40, 41), (50, 50)),
    ],
    "emberfall/s2": [
        at("O\u2019Dell", "dialogue", (13, 13)),
        at("O\u2019Dell", "combat_ally", (27, 27)),
        at("Sexton", "other", (28, 28)),
    ],
    # the right unit, and only mentioned; then the right session, and far off
    "emberfall/s3": [at("Krag", "mentioned", (8, 8)), at("Marta", "dialogue", (60, 60))],
    "tidewrack/s0": [at("Marta", "dialogue", (1, 1))],
}


def refs(source_id: str, spans: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"source_id": source_id, "start_unit_id": a, "end_unit_id": b} for a, b in spans]


def place(source_id: str, key: str) -> str:
    """Return the id of the place `name@unit` of a session."""
    name, _, unit = key.partition("@")
    made = location_id(name, source_id, int(unit), int(unit))
    assert made
    return made


def records(source_id: str) -> list[list[Record]]:
    """Return what the four lanes hold of a session, in canonical order."""
    who = dict.fromkeys(p.who for p in PEOPLE[source_id])
    known: list[Record] = [
        {"id": npc_id(n, source_id), "name": n, "source_refs": refs(source_id, [(1, 1)])} for n in who
    ]
    did: list[Record] = [
        {"name": p.who, "kind": p.kind, "source_refs": refs(source_id, p.spans)} for p in PEOPLE[source_id]
    ]
    where: list[Record] = []
    for key in dict.fromkeys(p.who for p in PLACES[source_id]):
        name, _, unit = key.partition("@")
        anchor = (int(unit), int(unit))
        where.append({"id": place(source_id, key), "name": name, "source_refs": refs(source_id, [anchor])})
    went: list[Record] = [
        {
            "location_id": place(source_id, p.who),
            "name": p.who.partition("@")[0],
            "kind": p.kind,
            "source_refs": refs(source_id, p.spans),
        }
        for p in PLACES[source_id]
    ]
    return [
        known,
        sorted(did, key=npc_interactions.LANE.order_key),
        sorted(where, key=locations.LANE.order_key),
        sorted(went, key=location_occurrences.LANE.order_key),
    ]


def publish(store: Store, source_id: str) -> None:
    said = tuple(Unit(n, ("DM",), f"words {n}") for n in range(1, UNITS + 1))
    rows = [
        unit_rows(source_id, said),
        chunk_rows(source_id, (Chunk(1, said),)),
        *(record_rows(t, source_id, r) for t, r in zip(TABLES[2:], records(source_id), strict=True)),
    ]
    for table, filled in zip(TABLES, rows, strict=True):
        digest = f"{table.name}-{source_id.replace('/', '-')}".ljust(64, "0")
        store.publish(
            source_id,
            table.name,
            filled,
            content_digest=digest,
            attempt=Attempt(source_id, table.name, 0, State.ACCEPTED, content_digest=digest, rows=filled.num_rows),
            inputs={},
            schema_name=table.name,
            tables=frozenset(t.name for t in TABLES),
        )


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a history of the campaign; the latest session is published first."""
    home = Home(tmp_path_factory.mktemp("places") / "home")
    home.ensure()
    store = Store(home)
    for source_id in reversed(list(PLACES)):
        publish(store, source_id)
    with history.connect(history.refresh(store, BUILT_IN)) as opened:
        yield opened


def answer(connection: duckdb.DuckDBPyConnection, query: str, **parameters: object) -> list[tuple[Any, ...]]:
    return connection.execute(sqlfiles.queries()[query].statement, parameters or None).fetchall()


def near(connection: duckdb.DuckDBPyConnection, name: str | None = None, units: object = None) -> list[tuple[Any, ...]]:
    """Return who was near, the name compared as the command line compares it, without campaign and ids."""
    given = None if name is None else comparison_name(name)
    return [row[:7] for row in answer(connection, "npcs_near_visit", place=given, units=units)]


def test_the_places_of_a_session_in_the_order_of_the_story(connection: duckdb.DuckDBPyConnection) -> None:
    def ids(source_id: str, *keys: str) -> list[str]:
        return [place(source_id, key) for key in keys]

    ford, gate, other_ford = ids("emberfall/s1", "Brindle Ford@1", "Ash Gate@30", "Brindle Ford@30")
    hold, well, mill = ids("emberfall/s2", "Tarnhold@2", "Saint Orm\u2019s Well@12", "Mill@16")
    well_again, ford_again = ids("emberfall/s3", "saint orm's well@8", "Brindle Ford@12")
    (mere,) = ids("tidewrack/s0", "Gallowmere@1")

    assert answer(connection, "places_visited") == [
        ("s1", "Brindle Ford", 1, 16, 2, "emberfall", ford),
        ("s1", "Ash Gate", 30, 31, 1, "emberfall", gate),
        ("s1", "Brindle Ford", 30, 33, 1, "emberfall", other_ford),
        ("s2", "Tarnhold", 2, 9, 1, "emberfall", hold),
        ("s2", "Saint Orm\u2019s Well", 12, 15, 1, "emberfall", well),
        ("s2", "Mill", 16, 17, 1, "emberfall", mill),
        ("s3", "saint orm's well", 8, 9, 1, "emberfall", well_again),
        ("s3", "Brindle Ford", 12, 13, 1, "emberfall", ford_again),
        ("s0", "Gallowmere", 1, 1, 1, "tidewrack", mere),
    ]


def test_plans_that_are_open(connection: duckdb.DuckDBPyConnection) -> None:
    """Not there: well and ford (visited in the session after the plan), mill (visited in the session of the plan)."""
    assert answer(connection, "places_planned_not_visited") == [
        # never visited in this campaign; tidewrack has been to a place of that name
        ("Gallowmere", "s1", 8, "s3", 44, 3, None, "emberfall", "gallowmere"),
        # the plan of s1 came true in s2; the one of s3 has not
        ("Tarnhold", "s3", 3, "s3", 3, 1, "s2", "emberfall", "tarnhold"),
        ("Cinder Hall", "s3", 10, "s3", 10, 1, None, "emberfall", "cinder hall"),
        ("Vesper Isle", "s3", 10, "s3", 10, 1, None, "emberfall", "vesper isle"),
    ]


def test_the_first_and_the_last_time_at_a_place(connection: duckdb.DuckDBPyConnection) -> None:
    """The ford counts both fords of s1 and is not last seen where it is mentioned; the well has three spellings."""
    assert answer(connection, "place_first_last") == [
        ("Brindle Ford", "s1", 1, "s3", 13, 4, "emberfall", "brindle ford"),
        ("Ash Gate", "s1", 30, "s1", 31, 1, "emberfall", "ash gate"),
        ("Tarnhold", "s2", 2, "s2", 9, 1, "emberfall", "tarnhold"),
        ("Saint Orm\u2019s Well", "s2", 12, "s3", 9, 2, "emberfall", "saint orm's well"),
        ("Mill", "s2", 16, "s2", 17, 1, "emberfall", "mill"),
        ("Gallowmere", "s0", 1, "s0", 1, 1, "tidewrack", "gallowmere"),
    ]


def test_places_that_are_only_mentioned(connection: duckdb.DuckDBPyConnection) -> None:
    """Not there: the keep (recalled in s1), the isle (planned in s3), the gate (visited in s1)."""
    assert answer(connection, "places_only_mentioned") == [
        ("The Pale Coast", "s1", 22, 2, "s1, s2", "emberfall", "the pale coast"),
        ("Moon", "s2", 18, 1, "s2", "emberfall", "moon"),
        ("Brindle Ford", "s0", 2, 1, "s0", "tidewrack", "brindle ford"),
    ]


def test_who_is_near_a_visit(connection: duckdb.DuckDBPyConnection) -> None:
    """Up to ten units apart where nothing is said; each place of one name has its own rows."""
    ford, other_ford = place("emberfall/s1", "Brindle Ford@1"), place("emberfall/s1", "Brindle Ford@30")
    at_ford = [
        # 5 comes after 4
        ("s1", "Brindle Ford", "Marta", 1, "dialogue", 5, 6),
        # 15 lies between 14 and 16, in no cited range
        ("s1", "Brindle Ford", "O'Dell", 1, "noncombat_presence", 15, 15),
    ]
    at_other_ford = [
        ("s1", "Brindle Ford", "Marta", 0, "dialogue", 31, 31),
        # 40 is 7 after 33, 50 is too far
        ("s1", "Brindle Ford", "Krag", 7, "combat_opponent", 40, 41),
    ]

    assert near(connection) == [
        ("s1", "Ash Gate", "Marta", 0, "dialogue", 31, 31),
        ("s1", "Ash Gate", "Krag", 9, "combat_opponent", 40, 41),
        *(at_ford + at_other_ford if ford < other_ford else at_other_ford + at_ford),
        ("s2", "Mill", "O\u2019Dell", 3, "combat_ally, dialogue", 13, 27),
        ("s2", "Saint Orm\u2019s Well", "O\u2019Dell", 0, "dialogue", 13, 13),
        ("s2", "Tarnhold", "O\u2019Dell", 4, "dialogue", 13, 13),
        ("s0", "Gallowmere", "Marta", 0, "dialogue", 1, 1),
    ]


@pytest.mark.parametrize(
    ("units", "right"),
    [
        (0, [("Ash Gate", "Marta")]),
        ("8", [("Ash Gate", "Marta"), ("Mill", "O\u2019Dell")]),
        ("9", [("Ash Gate", "Marta"), ("Ash Gate", "Krag"), ("Mill", "O\u2019Dell")]),
        (11, [("Ash Gate", "Marta"), ("Ash Gate", "Krag"), ("Mill", "O\u2019Dell"), ("Mill", "Sexton")]),
        (-1, []),
        (
            2**62,
            [("Ash Gate", n) for n in ("Marta", "Krag", "O'Dell")] + [("Mill", n) for n in ("O\u2019Dell", "Sexton")],
        ),
    ],
)
def test_how_near_is_a_parameter(
    connection: duckdb.DuckDBPyConnection, units: object, right: Sequence[tuple[str, str]]
) -> None:
    """A number, or the text of one as the command line gives it; the largest does no harm."""
    found = [(row[1], row[2]) for row in near(connection, units=units) if row[1] in ("Ash Gate", "Mill")]

    assert found == right


def test_whose_visits_is_a_parameter_and_an_apostrophe_is_only_a_letter(connection: duckdb.DuckDBPyConnection) -> None:
    right = [("s2", "Saint Orm\u2019s Well", "O\u2019Dell", 0, "dialogue", 13, 13)]

    assert near(connection, "SAINT  Orm's well") == right
    assert near(connection, "Saint Orm\u2019s Well") == right
    assert near(connection, "x' OR '1' = '1") == []
    assert near(connection, "Gallowmere", 10) == [("s0", "Gallowmere", "Marta", 0, "dialogue", 1, 1)]


def test_a_distance_that_is_no_number_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.ConversionException, match="near"):
        near(connection, units="near")


def test_near_by_is_found_by_a_hash_join(connection: duckdb.DuckDBPyConnection) -> None:
    statement = sqlfiles.queries()["npcs_near_visit"].statement
    explained = connection.execute(f"EXPLAIN (FORMAT json) {statement}", {"place": None, "units": None}).fetchall()

    assert set(re.findall(r'"name": "(\w*(?:JOIN|PRODUCT)\w*)"', explained[0][1])) == {"HASH_JOIN"}


@pytest.mark.parametrize("name", QUERIES)
def test_columns_and_order_are_as_declared(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    query = sqlfiles.queries()[name]
    result = connection.execute(query.statement, dict.fromkeys(query.params) or None)
    columns = [d[0] for d in result.description or ()]
    rows = result.fetchall()
    order = query.statement.rpartition("ORDER BY")[2].replace(",", " ").split()
    keys = [tuple(row[columns.index(c)] for c in order) for row in rows]

    assert list(query.columns) == columns
    assert len(set(keys)) == len(keys) > 0
    assert keys == sorted(keys)


def test_a_place_finds_its_registry_entry_and_its_words(connection: duckdb.DuckDBPyConnection) -> None:
    """Every occurrence is of one place of its session; of the fords each has its own words."""
    joined = connection.execute(
        "SELECT count(*), count(l.id), count(*) FILTER (l.comparison_name = o.comparison_name) "
        "FROM location_occurrences AS o LEFT JOIN locations AS l "
        "ON l.campaign = o.campaign AND l.session = o.session AND l.id = o.location_id"
    ).fetchall()
    assert joined == [(31, 31, 31)]
    passages = connection.execute(
        "SELECT record_index, first_unit_id, last_unit_id FROM location_occurrences "
        "WHERE campaign = 'emberfall' AND session = 's3' ORDER BY record_index"
    ).fetchall()
    assert passages == [(0, 3, 3), (1, 5, 6), (2, 8, 9), (3, 10, 10), (4, 10, 10), (5, 12, 13), (6, 40, 44)]
    ford, other_ford = place("emberfall/s1", "Brindle Ford@1"), place("emberfall/s1", "Brindle Ford@30")
    registry = connection.execute(
        "SELECT location_id, unit_id, text FROM location_evidence "
        "WHERE campaign = 'emberfall' AND session = 's1' AND comparison_name = 'brindle ford' ORDER BY record_index"
    ).fetchall()
    assert registry == [(ford, 1, "words 1"), (other_ford, 30, "words 30")]
    visits = connection.execute(
        "SELECT location_id, list(unit_id ORDER BY unit_id) FROM location_occurrence_evidence "
        "WHERE campaign = 'emberfall' AND session = 's1' AND name = 'Brindle Ford' AND kind = 'visited' "
        "GROUP BY location_id ORDER BY min(unit_id)"
    ).fetchall()
    assert visits == [(ford, [1, 2, 3, 4, 12, 13, 14, 16]), (other_ford, [30, 31, 32, 33])]
