"""Every relative link and image leads somewhere; every page can be reached from the map."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, README, REPOSITORY, anchors, every_page, links, text

PAGES = every_page()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_links_resolve(page: Path) -> None:
    broken = []
    for link in links(text(page)):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(text(target))):
            broken.append(link)

    assert not broken


def test_every_page_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [README]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in links(text(page)) if ":" not in link]

    assert set(PAGES) <= seen


def test_the_map_lists_every_page_but_single_decisions() -> None:
    listed = {(DOCS / link.partition("#")[0]).resolve() for link in links(text(DOCS / "index.md"))}
    wanted = {p for p in PAGES if DOCS in p.parents and p.name != "index.md" and not re.match(r"\d{4}-", p.name)}

    assert wanted <= listed


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    folder = DOCS / "decisions"
    records = sorted(folder.glob("[0-9]*.md"))
    overview = links(text(folder / "README.md"))

    assert [r.name[:4] for r in records] == [f"{n:04d}" for n in range(1, len(records) + 1)]
    assert overview == [r.name for r in records]
    for record in records:
        assert text(record).startswith(f"# {record.name[:4]} ")
