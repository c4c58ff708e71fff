"""The home of one pipeline's state: lake, history, Dagster's instance, locks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from notarius_assets.errors import ConfigurationError
from notarius_assets.files import write_atomically

LAYOUT = 1
"""The number of the layout of files below the home; `lake.json` names it."""


_NOT_IN_PATHS = re.compile(r"[?\\]|%[0-9A-Fa-f]{2}")
"""What they read as the end of a path, a folder's border, or another character."""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below the home folder."""

    root: Path

    @property
    def lake(self) -> Path:
        """Parquet files, manifests and attempts."""
        return self.root / "lake"

    @property
    def answers(self) -> Path:
        """Answers of models, one file each, by the fingerprint of what was asked."""
        return self.root / "answers"

    @property
    def dagster(self) -> Path:
        """DAGSTER_HOME: runs, events, partitions."""
        return self.root / "dagster"

    @property
    def history(self) -> Path:
        """The symlink to the newest history database."""
        return self.root / "history.duckdb"

    @property
    def history_versions(self) -> Path:
        """The database files the symlink points at."""
        return self.root / "history"

    @property
    def locks(self) -> Path:
        """One file a session, held by the process that works on it."""
        return self.root / "locks"

    def ensure(self) -> None:
        """Create the home, or check that this version can read it.

        Raises ConfigurationError when `lake.json` names another layout or the folder can't be written.
        """
        if found := _NOT_IN_PATHS.search(str(self.root)):
            raise ConfigurationError(
                f"{self.root}: DuckDB and SQLite can't open files below a folder with {found[0]!r} in its name",
                next_step="give another folder with --home",
            )
        marker = self.root / "lake.json"
        try:
            if not marker.exists():
                self.lake.mkdir(parents=True, exist_ok=True)
                write_atomically(marker, json.dumps({"layout": LAYOUT}).encode() + b"\n")
            found = json.loads(marker.read_bytes()).get("layout")
        except (OSError, ValueError, AttributeError) as error:
            raise ConfigurationError(
                f"{self.root}: can't be used as a home ({error})", next_step="give another folder with --home"
            ) from error
        if found != LAYOUT:
            raise ConfigurationError(
                f"{marker}: lake layout {found!r}, this version reads {LAYOUT}",
                next_step="give another folder with --home, or use the version that wrote it",
            )
