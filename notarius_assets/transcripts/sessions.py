"""Which transcript files there are, and the session each one is."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from notarius_assets.errors import ConfigurationError
from notarius_assets.identity import is_slug, slug
from notarius_assets.transcripts.shown import quoted, shown

_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class SessionFile:
    """One session: its slug, its source id `<campaign>/<slug>`, and the file as it was found."""

    slug: str
    source_id: str
    path: Path


def discover(
    root: Path, globs: Sequence[str], ignore: Sequence[str], overrides: Mapping[str, str], campaign: str
) -> tuple[SessionFile, ...]:
    """Return the sessions whose files match a glob, sorted by slug, each real file once.

    `globs` and `ignore` are relative to `root` or absolute; `**` stands for any folders. A pattern of `ignore`
    without a slash is held against file names too, and one that matches a folder leaves out all inside it. Hidden
    files and folders are left out, symbolic links to files are followed, those to folders are not. `overrides`
    gives slugs by path relative to `root`, or by file name.

    Raises ConfigurationError for a file without a slug, two files with one slug, an override that is no slug, or a
    campaign that gives none (`campaign` is a slug or a name); the message holds the line to add.
    """
    prefix = campaign if is_slug(campaign) else slug(campaign)
    if prefix is None:
        raise ConfigurationError(
            f"no name for a path can be made from the campaign '{shown(campaign)}'",
            next_step="write `campaign: my-campaign`, with letters or digits, in the pipeline file",
        )
    given = {_nfc(key): value for key, value in overrides.items()}
    for key, value in given.items():
        if not isinstance(value, str) or not is_slug(value):
            raise ConfigurationError(
                f"sessions: '{shown(key)}' has the slug '{shown(str(value))}', which can't stand in a path",
                next_step=f"write {_line(key, slug(str(value)) or 'session-1')}",
            )
    owners: dict[str, list[str]] = {}
    found: list[SessionFile] = []
    for relative, path in _files(root, globs, ignore):
        name = given.get(_nfc(relative)) or given.get(_nfc(path.name)) or slug(path.stem)
        if name is None:
            raise ConfigurationError(
                f"no session name can be made from the file name of '{shown(relative)}'",
                next_step=f"add {_line(relative, _free('session', owners))} to the pipeline file",
            )
        owners.setdefault(name, []).append(relative)
        found.append(SessionFile(name, f"{prefix}/{name}", path))
    for name, files in owners.items():
        if len(files) > 1:
            listed = ", ".join(f"'{shown(file)}'" for file in files[:5])
            more = f" and {len(files) - 5:,} more" if len(files) > 5 else ""
            raise ConfigurationError(
                f"{len(files):,} files have the session name '{name}': {listed}{more}",
                next_step=f"add {_line(files[1], _free(name, owners))} to the pipeline file, or leave one out with"
                " `ignore:`",
            )
    return tuple(sorted(found, key=lambda session: session.slug))


def _nfc(text: str) -> str:
    """Return the form in which a path typed in the pipeline file equals the one the file system gives."""
    return unicodedata.normalize("NFC", text)


def _line(path: str, name: str) -> str:
    """Return the entry of the pipeline file that gives a file its slug."""
    return f"`sessions: {{{quoted(path)}: {name}}}`"


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return a slug near `name` that no file has."""
    return next(free for n in range(2, len(taken) + 3) if (free := f"{name[:70].rstrip('-._')}-{n}") not in taken)


def _files(root: Path, globs: Sequence[str], ignore: Sequence[str]) -> list[tuple[str, Path]]:
    """Return (path relative to root, path) of every file found, in order, each real file once, not by a link."""
    by_real: dict[str, tuple[bool, str, Path]] = {}
    ignored = [_Glob.of(root, text) for text in ignore]
    names = [text for text in ignore if "/" not in text]
    for text in globs:
        for path in _Glob.of(root, text).files():
            if any(fnmatchcase(path.name, name) for name in names) or any(glob.covers(path) for glob in ignored):
                continue
            relative = PurePosixPath(os.path.relpath(path, root)).as_posix()
            entry = (path.is_symlink(), relative, path)
            real = os.path.realpath(path)
            if real not in by_real or entry[:2] < by_real[real][:2]:
                by_real[real] = entry
    return sorted((relative, path) for _, relative, path in by_real.values())


@dataclass(frozen=True, slots=True)
class _Glob:
    """A folder (or file) with a plain name, and the parts of a pattern below it."""

    base: Path
    parts: tuple[str, ...]

    @classmethod
    def of(cls, root: Path, text: str) -> _Glob:
        """Return a glob of the pipeline file; one that ends with a slash means all inside that folder."""
        given = PurePosixPath(text).parts
        plain = next((n for n, part in enumerate(given) if _MAGIC.search(part)), len(given))
        # Only what the user wrote is a pattern: a root with brackets in its name is none.
        base = Path(os.path.normpath(root.absolute().joinpath(*given[:plain])))
        return cls(base, (*given[plain:], "**") if text.endswith("/") else given[plain:])

    def files(self) -> Iterator[Path]:
        """Yield the files that match; hidden ones and folders behind links are not looked at."""
        if not self.parts:
            if self.base.is_file() and not self.base.name.startswith("."):
                yield self.base
            return
        depth = None if "**" in self.parts else len(self.parts)
        for folder, folders, names in os.walk(self.base):
            inside = Path(folder).relative_to(self.base).parts
            if depth is not None and len(inside) + 1 >= depth:
                folders.clear()
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(folder, name)
                if not name.startswith(".") and _matches((*inside, name), self.parts) and path.is_file():
                    yield path

    def covers(self, path: Path) -> bool:
        """Tell whether the glob matches a path, or a folder it lies in."""
        try:
            inside = path.relative_to(self.base).parts
        except ValueError:
            return False
        return not self.parts or any(_matches(inside[:n], self.parts) for n in range(1, len(inside) + 1))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether the parts of a path match those of a glob, `**` standing for any number of parts."""
    reached = _and_behind({0}, pattern)
    for part in parts:
        after: set[int] = set()
        for place in reached:
            if place < len(pattern):
                if pattern[place] == "**":
                    after.add(place)
                elif fnmatchcase(part, pattern[place]):
                    after.add(place + 1)
        reached = _and_behind(after, pattern)
    return len(pattern) in reached


def _and_behind(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """Return the places reached, and those behind a `**` that stands for nothing."""
    out = set(reached)
    for start in reached:
        place = start
        while place < len(pattern) and pattern[place] == "**":
            place += 1
            out.add(place)
    return out
