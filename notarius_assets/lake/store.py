"""Read and write a session's files. One writer a session (see `locks`); readers need no lock.

Layout below `<home>/lake`, `<part>` standing for `campaign=<slug>/session=<slug>`:

- `tables/<table>/<part>/<digest>.parquet`: accepted files, named by content
- `manifests/<part>.json`: which of them stand
- `attempts/<part>/<table>/<number>.json`: every try
- `rejected/<table>/<part>/`: what was not published, with its findings
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from notarius_assets.errors import NotariusError
from notarius_assets.files import replacing, sweep, write_atomically
from notarius_assets.identity import compact_json
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.lake.home import Home
from notarius_assets.lake.manifest import Entry, Manifest
from notarius_assets.lake.tables import units_from
from notarius_assets.transcripts.model import Unit


def part(source_id: str) -> str:
    """Return the folder of a session below a table."""
    campaign, session = source_id.split("/")
    return f"campaign={campaign}/session={session}"


class Store:
    """The lake of one home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.root = home.lake

    # manifests

    def manifest(self, source_id: str) -> Manifest:
        """Return a session's manifest; an empty one where nothing was accepted yet."""
        path = self._manifest_path(source_id)
        if not path.exists():
            return Manifest(source_id)
        return _manifest(path)

    def manifests(self) -> Iterator[Manifest]:
        """Yield the manifests of all sessions in order of source_id."""
        found = map(_manifest, self.root.glob("manifests/campaign=*/session=*.json"))
        yield from sorted(found, key=lambda m: m.source_id)

    def _manifest_path(self, source_id: str) -> Path:
        return self.root / "manifests" / f"{part(source_id)}.json"

    # accepted tables

    def publish(
        self,
        source_id: str,
        table: str,
        rows: pa.Table,
        *,
        content_digest: str,
        attempt: Attempt,
        inputs: Mapping[str, str],
        schema_name: str,
        tables: frozenset[str],
    ) -> Entry:
        """Write a table of a session, then move the manifest to it: the one rename that accepts."""
        file = f"tables/{table}/{part(source_id)}/{content_digest[:32]}.parquet"
        entry = Entry(
            file=file,
            content_digest=content_digest,
            rows=rows.num_rows,
            code_fingerprint=attempt.code_fingerprint,
            input_fingerprint=attempt.input_fingerprint,
            code_parts=attempt.code_parts,
            input_parts=attempt.input_parts,
            inputs=dict(sorted(inputs.items())),
        )
        write_parquet(self.root / file, rows, _metadata(entry, schema_name, attempt.run_id))
        manifest = self.manifest(source_id).accept(table, entry, tables)
        path = self._manifest_path(source_id)
        sweep(path.parent, path.name)
        write_atomically(path, compact_json(manifest.as_json()).encode() + b"\n")
        shutil.rmtree(self._rejected(source_id, table), ignore_errors=True)
        self._collect(source_id, manifest)
        return entry

    def _collect(self, source_id: str, manifest: Manifest) -> None:
        """Remove a session's files that no set names, and what a crash left."""
        for folder in self.root.glob(f"tables/*/{part(source_id)}"):
            sweep(folder)
            for path in folder.glob("*.parquet"):
                if path.relative_to(self.root).as_posix() not in manifest.files:
                    path.unlink(missing_ok=True)

    def read(self, entry: Entry) -> pa.Table:
        """Read an accepted file."""
        with _readable(entry.file):
            return pq.read_table(self.root / entry.file, partitioning=None)

    def units(self, entry: Entry) -> tuple[Unit, ...]:
        """Read the units of an accepted file; the latest is kept in memory, as every step of a run needs it."""
        with _readable(entry.file):
            return _units(self.root / entry.file)

    # rejected artifacts

    def reject(self, source_id: str, table: str, rows: pa.Table, attempt: Attempt) -> Path:
        """Keep a rejected artifact aside with its findings; the accepted file is not touched."""
        folder = self._rejected(source_id, table)
        write_parquet(folder / f"{table}.parquet", rows, {"notarius.run_id": attempt.run_id})
        write_atomically(folder / "findings.json", attempt.as_bytes())
        return folder

    def _rejected(self, source_id: str, table: str) -> Path:
        return self.root / "rejected" / table / part(source_id)

    # attempts

    def record(self, attempt: Attempt) -> Attempt:
        """Write an attempt under the next number of its table and session."""
        folder = self.root / "attempts" / part(attempt.source_id) / attempt.table
        sweep(folder)
        numbered = replace(attempt, number=max(_numbers(folder), default=0) + 1)
        write_atomically(folder / f"{numbered.number:06d}.json", numbered.as_bytes())
        return numbered

    def latest_attempt(self, source_id: str, table: str) -> Attempt | None:
        """Return the newest attempt at a table of a session."""
        folder = self.root / "attempts" / part(source_id) / table
        newest = max(_numbers(folder), default=0)
        return _attempt(folder / f"{newest:06d}.json") if newest else None

    def accepted_attempt(self, source_id: str, table: str) -> Attempt | None:
        """Return the newest accepted attempt at a table of a session: the one that made what stands."""
        folder = self.root / "attempts" / part(source_id) / table
        for number in sorted(_numbers(folder), reverse=True):
            found = _attempt(folder / f"{number:06d}.json")
            if found.state is State.ACCEPTED:
                return found
        return None

    def attempts(self) -> Iterator[Attempt]:
        """Yield every attempt in order of source_id, table and number."""
        for path in self.attempt_paths():
            yield _attempt(path)

    def attempt_paths(self) -> list[Path]:
        """Return the files of all attempts, sorted."""
        return sorted(self.root.glob("attempts/campaign=*/session=*/*/*.json"))


@contextlib.contextmanager
def _readable(file: str) -> Iterator[None]:
    """Say in one line which file of the lake is gone or is no Parquet file."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = "is gone" if isinstance(error, FileNotFoundError) else "can't be read"
        raise NotariusError(
            f"{file} {reason}", next_step="run the session again with --force, which makes it anew"
        ) from error


def write_parquet(path: Path, rows: pa.Table, metadata: Mapping[str, str]) -> None:
    """Write a Parquet file that is whole or not there, with metadata in its schema."""
    with replacing(path) as temporary:
        pq.write_table(rows.replace_schema_metadata(dict(metadata)), temporary, compression="zstd")


def _metadata(entry: Entry, schema_name: str, run_id: str) -> dict[str, str]:
    return {
        "notarius.schema": schema_name,
        "notarius.content_digest": entry.content_digest,
        "notarius.code_fingerprint": entry.code_fingerprint,
        "notarius.input_fingerprint": entry.input_fingerprint,
        "notarius.inputs": compact_json(dict(entry.inputs)),
        "notarius.run_id": run_id,
    }


@lru_cache(maxsize=2)
def _units(path: Path) -> tuple[Unit, ...]:
    return units_from(pq.read_table(path, partitioning=None))


def _numbers(folder: Path) -> list[int]:
    return [int(p.stem) for p in folder.glob("[0-9]*.json")]


def _attempt(path: Path) -> Attempt:
    with _whole(path):
        return Attempt.from_json(orjson.loads(path.read_bytes()))


def _manifest(path: Path) -> Manifest:
    with _whole(path):
        return Manifest.from_json(orjson.loads(path.read_bytes()))


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say in one line which of the lake's JSON files somebody has damaged; we write them whole or not at all."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotariusError(f"{path}: damaged", next_step="remove it, then run the session again") from error
