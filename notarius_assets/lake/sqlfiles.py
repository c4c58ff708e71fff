"""SQL files: one statement each, with a header that says what it answers, its parameters and its columns.

-- What the view or query answers, in one or two lines.
-- params:
--   npc: name of the NPC
-- columns:
--   unit_id: number of the unit
SELECT …
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from notarius_assets.resources import resource

_DEFAULT = "; default "
"""What the comment of a parameter says that need not be given."""


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A statement with what its header declares."""

    name: str
    title: str
    params: Mapping[str, str]
    columns: Mapping[str, str]
    statement: str

    @property
    def optional(self) -> frozenset[str]:
        """The parameters that have a default: they may be NULL."""
        return frozenset(name for name, comment in self.params.items() if _DEFAULT in comment)


def read_sql(path: Path) -> SqlFile:
    """Parse the header of a SQL file; raises ValueError where a line of it is none of the form above."""
    title: list[str] = []
    sections: dict[str, dict[str, str]] = {"params": {}, "columns": {}}
    section: str | None = None
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        body = line.removeprefix("--").strip()
        if body.rstrip(":") in sections and body.endswith(":"):
            section = body.rstrip(":")
        elif section:
            name, separator, comment = body.partition(": ")
            if not separator:
                raise ValueError(f"{path}: header line {body!r} is no `name: comment`")
            sections[section][name] = comment
        else:
            title.append(body)
    return SqlFile(path.stem, " ".join(title), sections["params"], sections["columns"], text)


def views() -> list[SqlFile]:
    """Return the views, in the order of their file names' numbers."""
    return [read_sql(p) for p in sorted(resource("sql", "views").glob("*.sql"))]


def queries() -> dict[str, SqlFile]:
    """Return the ready queries by name."""
    return {p.stem: read_sql(p) for p in sorted(resource("sql", "queries").glob("*.sql"))}
