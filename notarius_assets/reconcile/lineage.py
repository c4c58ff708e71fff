"""Which candidates ended in which record of a registry: read back from the rows that say what was united."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.reconcile.nodes import Node

_Key = tuple[str, tuple[SourceRef, ...]]


def members(proposed: Sequence[Node], merges: Sequence[Mapping[str, Any]], *, one_a_name: bool) -> list[list[Node]]:
    """Return the candidates, one node each, grouped by the record they became; `merges` are an attempt's rows."""
    groups: dict[_Key, list[Node]] = {}
    for same in _by_identity(proposed, one_a_name=one_a_name):
        first = min(same, key=lambda n: (n.refs[0], n.order))
        key = (first.name, canonical(r for n in same for r in n.refs))
        groups.setdefault(key, []).extend(same)
    for merge in merges:
        if merge["refused"]:
            continue
        keys = [(m["name"], tuple(SourceRef(**r) for r in m["source_refs"])) for m in merge["members"]]
        united = [node for key in keys for node in groups.pop(key, [])]
        groups.setdefault((merge["name"], canonical(r for _, refs in keys for r in refs)), []).extend(united)
    return [group for group in groups.values() if group]


def _by_identity(proposed: Sequence[Node], *, one_a_name: bool) -> list[list[Node]]:
    """Group what is one record by the identity rules alone."""
    found: dict[tuple[str, tuple[SourceRef, ...]], list[Node]] = {}
    for node in proposed:
        found.setdefault((node.comparison, () if one_a_name else node.refs), []).append(node)
    return list(found.values())
