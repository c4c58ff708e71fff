"""The page of tables against the SQL files and the declared tables."""

from __future__ import annotations

import re

import pytest

from notarius_assets.lake import attempt_tables, sqlfiles
from notarius_assets.lake.tables import CHUNKS_TABLE, UNITS_TABLE, Table, candidates_table, lane_table
from notarius_assets.lanes import BUILT_IN
from tests.docs.pages import REFERENCE, named, rows, section, text

PAGE = text(REFERENCE / "tables.md")
VIEWS = {v.name.partition("-")[2]: v for v in sqlfiles.views()}
QUERIES = sqlfiles.queries()
TABLES: dict[str, Table] = {
    t.name: t
    for t in (
        UNITS_TABLE,
        CHUNKS_TABLE,
        *(table(lane) for lane in BUILT_IN for table in (candidates_table, lane_table)),
        *attempt_tables.ATTEMPT_TABLES,
    )
}


def headings(part: str) -> list[str]:
    return re.findall(r"^### (.+)$", part, re.M)


def words(text_of_a_cell: str) -> str:
    return text_of_a_cell.strip().rstrip(".").casefold()


def test_every_view_query_and_table_has_a_heading() -> None:
    assert headings(section(PAGE, "## Views")) == list(VIEWS)
    assert headings(section(PAGE, "## Ready queries")) == list(QUERIES)
    assert headings(section(PAGE, "## Base tables")) == [f"lake.{name}" for name in TABLES]


@pytest.mark.parametrize("name", VIEWS)
def test_columns_of_a_view(name: str) -> None:
    part = section(section(PAGE, "## Views"), f"### {name}")
    view = VIEWS[name]

    assert view.title in part
    assert {c: words(m) for c, m in rows_of(part)} == {c: words(m) for c, m in view.columns.items()}


@pytest.mark.parametrize("name", QUERIES)
def test_parameters_and_columns_of_a_query(name: str) -> None:
    part = section(PAGE, f"### {name}")
    query = QUERIES[name]

    assert query.title in part
    assert named(part) == [*query.params, *query.columns]
    assert f"notarius query {name}" in part
    assert all(f"--{parameter} " in part for parameter in query.params)


@pytest.mark.parametrize("name", TABLES)
def test_columns_of_a_base_table(name: str) -> None:
    part = section(PAGE, f"### lake.{name}")
    table = TABLES[name]

    assert table.comment in part
    assert named(part) == [c.name for c in table.columns]
    for row, column in zip(rows(part), table.columns, strict=True):
        assert words(row[2]) == words(column.comment)
        assert row[1] == str(column.type) or row[1].startswith("list of ")


def rows_of(part: str) -> list[tuple[str, str]]:
    return [(row[0].strip("`"), row[1]) for row in rows(part)]
