"""Files are whole or not there; leftovers of a crash go; homes of another layout are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.files import TEMPORARY_PREFIX, replacing, sweep, write_atomically
from notarius_assets.lake.home import LAYOUT, Home
from tests.robustness.support import names


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a" / "file"
    write_atomically(path, b"first")
    with pytest.raises(ZeroDivisionError):
        _write_half(path)
    assert path.read_bytes() == b"first"
    assert names(path.parent) == ["file"]


def _write_half(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(b"sec")
        _ = 1 / 0


def test_nobody_sees_the_file_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path, mode=0o444) as temporary:
        temporary.write_bytes(b"whole")
        assert not path.exists()
        assert temporary.name.startswith(TEMPORARY_PREFIX)
    assert path.read_bytes() == b"whole"
    assert path.stat().st_mode & 0o777 == 0o444


def test_what_a_crash_left_is_swept_by_folder_or_by_name(tmp_path: Path) -> None:
    for name in ("session=a.json", "session=a.json.b.json"):
        write_atomically(tmp_path / name, b"{}")
        (tmp_path / f"{TEMPORARY_PREFIX}{name}~x1").write_bytes(b"half")
    sweep(tmp_path, "session=a.json")
    left = [p.name for p in tmp_path.glob(f"{TEMPORARY_PREFIX}*")]
    assert left == [f"{TEMPORARY_PREFIX}session=a.json.b.json~x1"], "another session's writer may be at work"
    sweep(tmp_path)
    assert names(tmp_path) == ["session=a.json", "session=a.json.b.json"]


def test_a_temporary_name_is_the_one_that_sweep_looks_for(tmp_path: Path) -> None:
    with replacing(tmp_path / "session=a.json") as temporary:
        left = tmp_path / temporary.name
    left.write_bytes(b"as after a crash")
    sweep(tmp_path, "session=b.json")
    assert left.exists()
    sweep(tmp_path, "session=a.json")
    assert names(tmp_path) == ["session=a.json"]


def test_a_home_of_another_layout_is_refused_with_a_way_out(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    marker = tmp_path / "home" / "lake.json"
    assert json.loads(marker.read_bytes()) == {"layout": LAYOUT}
    marker.write_text('{"layout": 7}')
    with pytest.raises(ConfigurationError, match=r"lake\.json: lake layout 7, this version reads 1") as raised:
        home.ensure()
    assert "--home" in str(raised.value.next_step)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_marker_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lake.json").write_bytes(content)
    with pytest.raises(ConfigurationError, match="can't be used as a home"):
        Home(tmp_path).ensure()


@pytest.mark.parametrize("name", ["what?", "a\\b", "100%41"])
def test_a_folder_that_the_databases_can_not_open_is_refused_first(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="DuckDB and SQLite"):
        Home(tmp_path / name).ensure()
    assert names(tmp_path) == []


def test_a_home_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="can't be used as a home"):
        Home(tmp_path / "file" / "home").ensure()
