"""Read the pages: tables, fenced blocks and links of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
REFERENCE = DOCS / "reference"
README = REPOSITORY / "README.md"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def text(path: Path) -> str:
    """Return a page."""
    return path.read_text(encoding="utf-8")


def every_page() -> list[Path]:
    """Return all Markdown pages of the repository that people read."""
    return [README, REPOSITORY / "CHANGELOG.md", *sorted(p for p in DOCS.rglob("*.md") if ".notarius" not in p.parts)]


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the fenced blocks as (language, text), in order."""
    return _FENCE.findall(page)


def links(page: str) -> list[str]:
    """Return the targets of links and images outside code."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page)))


def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    found = re.findall(r"^#+ (.+)$", _FENCE.sub("", page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in found}


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, with its sub-headings."""
    level = heading.index(" ")
    lines = page.splitlines()
    start = lines.index(heading) + 1
    out: list[str] = []
    for line in lines[start:]:
        if re.match(rf"#{{1,{level}}} ", line):
            break
        out.append(line)
    return "\n".join(out)


def rows(part: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of every table, without heads."""
    body = False
    for line in part.splitlines():
        if not line.startswith("|"):
            body = False
        elif set(line) <= set("|- "):
            body = True
        elif body:
            yield tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|")))


def named(part: str, column: int = 0) -> list[str]:
    """Return every `code` of one column of all tables, in order."""
    return [name for row in rows(part) if len(row) > column for name in re.findall(r"`([^`]+)`", row[column])]


def before_subsections(part: str) -> str:
    """Return what stands before the first sub-heading."""
    return re.split(r"^#+ ", part, maxsplit=1, flags=re.M)[0]
