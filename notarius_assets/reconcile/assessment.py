"""Which groups of a proposal may be applied: judged as data, whoever proposed them; the result never changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.reconcile.response import ROOT, DuplicateGroup


@dataclass(frozen=True, slots=True)
class SafeGroup:
    """A group that may be applied: keys in the request's order, and the key whose name stands."""

    index: int
    members: tuple[str, ...]
    canonical: str


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """A group that may not, with the code of the reason. `members` are its known keys."""

    index: int
    reason: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What became of each group of a proposal, by its position in the answer."""

    groups: tuple[SafeGroup, ...] = ()
    refused: tuple[RefusedGroup, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the proposal is an answer: it has no groups, or at least one that may be applied."""
        return bool(self.groups) or not self.refused


def assess(proposal: Mapping[str, Any], request: ReconcileRequest) -> Assessment:
    """Judge a proposal `{"groups": [...]}`.

    A good group has two or more known and distinct keys, and its canonical key among them. A key in two groups refuses
    both.
    """
    known = request.by_key
    safe: list[SafeGroup] = []
    refused: list[RefusedGroup] = []
    shaped = [_shaped(group) for group in proposal[ROOT]]
    # every group counts, also one that is refused for something else: whose key it is, is in doubt
    named = [_named(group) for group in proposal[ROOT]]
    uses = Counter(key for keys in named for key in keys)
    for index, group in enumerate(shaped):
        members = tuple(k for k in known if k in named[index])
        reason = _problem(group, known) if group else "malformed_group"
        if reason is None and any(uses[key] > 1 for key in members):
            reason = "key_in_two_groups"
        if reason or group is None:
            refused.append(RefusedGroup(index, reason or "", members))
        else:
            safe.append(SafeGroup(index, members, group.canonical))
    return Assessment(tuple(safe), tuple(refused))


def _shaped(group: Any) -> DuplicateGroup | None:
    try:
        return DuplicateGroup.model_validate(group, strict=True)
    except ValidationError:
        return None


def _named(group: Any) -> frozenset[str]:
    """Return the keys that a group names, also one that has not the shape of a group."""
    members = group.get("members") if isinstance(group, Mapping) else None
    return frozenset(k for k in members if isinstance(k, str)) if isinstance(members, list) else frozenset()


def _problem(group: DuplicateGroup, known: Mapping[str, Any]) -> str | None:
    if any(key not in known for key in group.members):
        return "unknown_key"
    if len(set(group.members)) != len(group.members):
        return "repeated_key"
    if len(group.members) < 2:
        return "too_few_members"
    if group.canonical not in group.members:
        return "canonical_not_a_member"
    return None
