"""docs/reference/transcripts.md against the code."""

from __future__ import annotations

import re
from pathlib import Path

from notarius_assets.transcripts import codes
from notarius_assets.transcripts.reader import READERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "transcripts.md").read_text()
CODE = "\n".join(
    path.read_text() for path in (ROOT / "notarius_assets" / "transcripts").glob("*.py") if path.name != "codes.py"
)


def table(heading: str) -> list[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_warning_has_its_row() -> None:
    assert table("Warnings") == list(codes.WARNINGS)


def test_every_error_has_its_row() -> None:
    assert table("Errors") == list(codes.ERRORS)


def test_every_code_is_used() -> None:
    for code in (*codes.WARNINGS, *codes.ERRORS):
        assert f"codes.{code.upper()}" in CODE, code


def test_every_reader_is_named() -> None:
    assert len(READERS) == len({reader.name for reader in READERS})
    for reader in READERS:
        assert f"`{reader.name}`" in PAGE
