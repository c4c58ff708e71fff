"""One small file a session: which files are accepted, and which of them belong together and are shown.

A registry moves to its new version together with the lanes that consume it. Until then `published` keeps the last
consistent set, so every published name resolves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted file. `inputs` maps the table each input came from to the digest it had."""

    file: str
    content_digest: str
    rows: int
    code_fingerprint: str
    input_fingerprint: str
    code_parts: Mapping[str, str]
    input_parts: Mapping[str, str]
    inputs: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class Manifest:
    """`accepted`: the newest accepted file of each table. `published`: the newest set that belongs together."""

    source_id: str
    accepted: Mapping[str, Entry] = field(default_factory=dict)
    published: Mapping[str, Entry] = field(default_factory=dict)

    def accept(self, table: str, entry: Entry, tables: frozenset[str] | None = None) -> Manifest:
        """Return the manifest after a table was accepted; tables outside `tables` are dropped."""
        accepted = {**self.accepted, table: entry}
        if tables is not None:
            accepted = {t: e for t, e in accepted.items() if t in tables}
        return Manifest(self.source_id, accepted, consistent(accepted, self.published))

    @property
    def files(self) -> frozenset[str]:
        """Every file that either set names."""
        return frozenset(e.file for e in (*self.accepted.values(), *self.published.values()))

    @property
    def held_back(self) -> tuple[str, ...]:
        """Tables whose newest accepted version waits for another table."""
        return tuple(sorted(t for t, e in self.accepted.items() if self.published.get(t) != e))

    @property
    def waiting_for(self) -> tuple[str, ...]:
        """Tables made from another version of what they consume: the ones that hold the others back."""
        return tuple(sorted(t for t, e in self.accepted.items() if _stale_inputs(e, self.accepted)))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, tables in name order."""
        return {
            "source_id": self.source_id,
            "accepted": {t: e.as_json() for t, e in sorted(self.accepted.items())},
            "published": {t: e.as_json() for t, e in sorted(self.published.items())},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Manifest:
        """Return the manifest of a JSON form."""
        sets = ({t: Entry(**e) for t, e in value[name].items()} for name in ("accepted", "published"))
        return cls(value["source_id"], *sets)


def _stale_inputs(entry: Entry, chosen: Mapping[str, Entry]) -> tuple[str, ...]:
    return tuple(t for t, digest in entry.inputs.items() if t not in chosen or chosen[t].content_digest != digest)


def consistent(accepted: Mapping[str, Entry], published: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the newest set in which every table was made from the versions the set holds.

    Starts from everything accepted. Where a table and what it consumed do not fit, both go back to their published
    version, or out of the set where they have none. The published set fits, so this ends there at the latest.
    """
    chosen = dict(accepted)
    while True:
        misfits = [(table, upstream) for table, e in chosen.items() for upstream in _stale_inputs(e, chosen)]
        if not misfits:
            return chosen
        newer = {t for pair in misfits for t in pair if t in chosen and chosen[t] != published.get(t)}
        for table in newer or {table for table, _ in misfits}:
            if table in newer and table in published:
                chosen[table] = published[table]
            else:
                del chosen[table]
