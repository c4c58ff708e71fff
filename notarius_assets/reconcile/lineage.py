"""Which candidates ended in which record of a registry: read back from the rows that say what was united."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.evidence import SourceRef, canonical
from notarius_assets.identity import comparison_name
from notarius_assets.reconcile.nodes import Node

_Key = tuple[str, tuple[SourceRef, ...]]


def members(proposed: Sequence[Node], merges: Sequence[Mapping[str, Any]], *, one_a_name: bool) -> list[list[Node]]:
    """Return the candidates, one node each, grouped by the record they became; `merges` are an attempt's rows."""
    groups: dict[_Key, list[list[Node]]] = {}
    for same in _by_name(proposed) if one_a_name else [[node] for node in proposed]:
        first = min(same, key=lambda n: (n.refs[0], n.order))
        groups.setdefault((first.name, canonical(r for n in same for r in n.refs)), []).append(same)
    for merge in merges:
        if merge["refused"]:
            continue
        keys = [(m["name"], tuple(SourceRef(**r) for r in m["source_refs"])) for m in merge["members"]]
        # two places may have one name and one evidence: each is a member of its own
        united = [node for key in keys if groups.get(key) for node in groups[key].pop(0)]
        groups.setdefault((merge["name"], canonical(r for _, refs in keys for r in refs)), []).append(united)
    # the records' own rule comes last: one name and one earliest evidence, whatever was united before
    records: dict[tuple[str, SourceRef], list[Node]] = {}
    for (name, refs), same_name in groups.items():
        for group in same_name:
            records.setdefault((comparison_name(name), refs[0]), []).extend(group)
    return [group for group in records.values() if group]


def _by_name(proposed: Sequence[Node]) -> list[list[Node]]:
    """Group what is one record by its name alone."""
    found: dict[str, list[Node]] = {}
    for node in proposed:
        found.setdefault(node.comparison, []).append(node)
    return list(found.values())
