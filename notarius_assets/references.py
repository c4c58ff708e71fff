"""Registries as a lane reads them: bound by slot, looked up by comparison name or id, projected for the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from notarius_assets.campaign import KnownName
from notarius_assets.identity import comparison_name

MAX_REFERENCE_BYTES = 1_048_576
"""The largest registry a slot takes: bytes of its canonical JSON, or of the static file on disk."""


class Registry:
    """An accepted registry, in registry order.

    `digest` is the content digest it was published with. `united` are the names that went into a record beside its own:
    they are no part of the document, and rules find a record under them too.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]], digest: str, united: Sequence[KnownName] = ()) -> None:
        self.records = tuple(records)
        self.digest = digest
        self.united = tuple(united)

    @cached_property
    def _by_name(self) -> dict[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for record in self.records:
            found.setdefault(comparison_name(record["name"]), record)
        return found

    @cached_property
    def _by_id(self) -> dict[str, Mapping[str, Any]]:
        return {record["id"]: record for record in self.records}

    def lookup(self, name: str) -> Mapping[str, Any] | None:
        """Return the record with an equal comparison name, the first in registry order, or None."""
        return self._by_name.get(comparison_name(name))

    def by_id(self, record_id: str) -> Mapping[str, Any] | None:
        """Return the record with exactly this id, or None."""
        return self._by_id.get(record_id)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names-only projection, in registry order."""
        return tuple(record["name"] for record in self.records)

    @cached_property
    def pairs(self) -> tuple[dict[str, str], ...]:
        """The projection to `{id, name}`, in registry order: for registries in which a name may stand twice."""
        return tuple({"id": record["id"], "name": record["name"]} for record in self.records)
