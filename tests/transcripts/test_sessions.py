from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from notarius_assets.errors import ConfigurationError
from notarius_assets.transcripts.sessions import SessionFile, discover


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("DM: Hello.")


def found(root: Path, *globs: str, ignore: tuple[str, ...] = (), **overrides: str) -> list[tuple[str, str]]:
    sessions = discover(root, globs, ignore, overrides, "veldmoor")
    return [(s.slug, Path(os.path.relpath(s.path, root)).as_posix()) for s in sessions]


def test_globs(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a.txt", "x/c.json", "x/y/d.txt", ".hidden.txt", ".git/e.txt", "x/folder.txt/f.md")
    assert found(tmp_path, "*.txt") == [("a", "a.txt"), ("b", "b.txt")]
    assert found(tmp_path, "x/*") == [("c", "x/c.json")]
    assert found(tmp_path, "**/*.txt") == [("a", "a.txt"), ("b", "b.txt"), ("d", "x/y/d.txt")]
    assert found(tmp_path, "x/**") == [("c", "x/c.json"), ("d", "x/y/d.txt"), ("f", "x/folder.txt/f.md")]
    assert found(tmp_path, "x/") == found(tmp_path, "x/**")
    assert found(tmp_path, "**/y/*.txt") == [("d", "x/y/d.txt")]
    assert found(tmp_path, "[ab].txt", "?.txt", "./a.txt") == [("a", "a.txt"), ("b", "b.txt")]
    assert found(tmp_path, f"{tmp_path}/x/*.json") == [("c", "x/c.json")]
    assert found(tmp_path / "x", "../a.txt") == [("a", "../a.txt")]
    assert found(tmp_path, "absent/*.txt", ".hidden.txt", "x", "a.TXT") == []


def test_a_root_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    make(tmp_path / "[x]*", "a.txt")
    assert found(tmp_path / "[x]*", "*.txt") == [("a", "a.txt")]


def test_ignore(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "b.md", "drafts/c.txt", "drafts/x/d.txt", "x/README.md")
    assert found(tmp_path, "**/*", ignore=("*.md", "drafts")) == [("a", "a.txt")]
    assert found(tmp_path, "**/*", ignore=("**/x/", "README.md", "b.md")) == [("a", "a.txt"), ("c", "drafts/c.txt")]
    assert found(tmp_path, "**/*", ignore=(f"{tmp_path}/drafts/*.txt", "*.md", "**/x")) == [("a", "a.txt")]


def test_each_real_file_once(tmp_path: Path) -> None:
    make(tmp_path, "z.txt", "elsewhere/w.log")
    (tmp_path / "a.txt").symlink_to("z.txt")
    (tmp_path / "linked.txt").symlink_to("elsewhere/w.log")
    (tmp_path / "broken.txt").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert found(tmp_path, "*.txt", "**/*.txt") == [("linked", "linked.txt"), ("z", "z.txt")]


def test_slugs(tmp_path: Path) -> None:
    make(
        tmp_path, "Séance  1 — “Début”.txt", "dev1.transcript.json", "a'; DROP TABLE x;--.txt", "..b..c.txt", "d\ne.txt"
    )
    make(tmp_path, "x/Ünï\u0301.txt")
    assert [slug for slug, _ in found(tmp_path, "**/*")] == [
        "a-drop-table-x",
        "d-e",
        "dev1.transcript",
        "seance-1-debut",
        "uni",
    ]
    one = discover(tmp_path, ["dev1*"], [], {}, "Fog Bells")
    assert one == (SessionFile("dev1.transcript", "fog-bells/dev1.transcript", tmp_path / "dev1.transcript.json"),)


def test_overrides(tmp_path: Path) -> None:
    make(tmp_path, "a/s.txt", "b/s.txt", "Fjo\u0308rgyn.txt", "🎲.txt")
    given = {"a/s.txt": "one", "s.txt": "two", "Fjörgyn.txt": "f", "🎲.txt": "dice"}
    sessions = discover(tmp_path, ["**/*.txt"], [], given, "c")
    assert [(s.slug, s.path.name) for s in sessions] == [
        ("dice", "🎲.txt"),
        ("f", "Fjo\u0308rgyn.txt"),
        ("one", "s.txt"),
        ("two", "s.txt"),
    ]


def the_line(error: ConfigurationError) -> dict[str, dict[str, str]]:
    """The entry the message says to add, read as the pipeline file would be."""
    match = re.search("`(sessions: .*})`", str(error))
    assert match
    loaded: dict[str, dict[str, str]] = yaml.safe_load(match[1])
    return loaded


@pytest.mark.parametrize("name", ["🎲.txt", "שלום.txt", "a/\u202e.txt", "--  \n\u00a0'\"..txt", "`: #{}.txt"])
def test_a_name_without_a_slug_says_what_to_add(tmp_path: Path, name: str) -> None:
    make(tmp_path, name)
    with pytest.raises(ConfigurationError) as caught:
        discover(tmp_path, ["**/*.txt"], [], {}, "c")
    assert str(caught.value).isprintable()
    overrides = the_line(caught.value)["sessions"]
    assert overrides == {name: "session-2"}
    assert [s.slug for s in discover(tmp_path, ["**/*.txt"], [], overrides, "c")] == ["session-2"]


def test_two_files_with_one_slug_say_what_to_add(tmp_path: Path) -> None:
    make(tmp_path, "a/s.txt", "b/S.txt", "s-2.txt")
    with pytest.raises(ConfigurationError, match=r"'a/s\.txt', 'b/S\.txt'") as caught:
        discover(tmp_path, ["**/*.txt"], [], {}, "c")
    overrides = the_line(caught.value)["sessions"]
    assert overrides == {"b/S.txt": "s-3"}
    assert [s.slug for s in discover(tmp_path, ["**/*.txt"], [], overrides, "c")] == ["s", "s-2", "s-3"]


@pytest.mark.parametrize("value", ["", "../x", "A", "a/b", "a..b", "a\n", "x" * 81, ".a"])
def test_an_override_must_be_a_slug(tmp_path: Path, value: str) -> None:
    make(tmp_path, "a.txt")
    with pytest.raises(ConfigurationError, match="sessions:"):
        discover(tmp_path, ["*.txt"], [], {"a.txt": value}, "c")


def test_a_campaign_must_give_a_slug(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="campaign"):
        discover(tmp_path, [], [], {}, "🎲")
