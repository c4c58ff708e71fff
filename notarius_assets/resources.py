"""Where the files that travel with the package are: prompts, schemas, SQL."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_data"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""The folder that holds `prompts/`, `schemas/` and `sql/`: inside a wheel, or the repository."""


def resource(*parts: str) -> Path:
    """Return the path of a file or folder below the data root."""
    return ROOT.joinpath(*parts)


def read_text(*parts: str) -> str:
    """Return the text of a data file."""
    return resource(*parts).read_text(encoding="utf-8")
