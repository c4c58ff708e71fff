"""Unions, made or refused, as rows that people read; and the nodes that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from notarius_assets.evidence import SourceRef
from notarius_assets.identity import compact_json, comparison_name
from notarius_assets.reconcile.assessment import Assessment, RefusedGroup, SafeGroup
from notarius_assets.reconcile.declared import Decision, apart
from notarius_assets.reconcile.nodes import Node, unite
from notarius_assets.reconcile.proposal import Reason
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.reconcile.response import ROOT

MAX_ANSWER_CHARACTERS = 2_000

DECLARED = "declared"
PROPOSED = "proposed"
"""The rule of a union that a model proposed; rules name their own."""

DECLARED_APART = "declared_apart"


@dataclass(frozen=True, slots=True)
class Merge:
    """One union: what was to be one record, by which rule, and whether it was made. `refused` is the code why not.

    `into` is the record-to-be that holds the members in the end; others may have joined it since, under another name.
    """

    rule: str
    members: tuple[Node, ...]
    name: str | None = None
    refused: str | None = None
    stated_in: int | None = None
    answer: str | None = None
    into: Node | None = None

    def settled(self, holders: Mapping[Node, Node]) -> Merge:
        """Return it with the node in which it ended; `holders` maps nodes as proposed to what is left."""
        return self if self.refused else replace(self, into=holders[self.members[0].atoms[0]])

    def as_json(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the JSON form; `records` are those of the registry it was made for."""
        return {
            "rule": self.rule,
            "refused": self.refused,
            "record_id": self._record_id(records),
            "name": self.name,
            "stated_in": self.stated_in,
            "members": [{"name": m.name, "source_refs": [r.as_json() for r in m.refs]} for m in self.members],
            "answer": self.answer,
        }

    def _record_id(self, records: Sequence[Mapping[str, Any]]) -> str | None:
        """Return the id of the record made of the node: name and earliest evidence are of no other record."""
        if self.into is None:
            return None
        name, first = self.into.comparison, self.into.refs[0]
        for record in records:
            if SourceRef(**record["source_refs"][0]) == first and comparison_name(record["name"]) == name:
                return str(record["id"])
        return None


def apply_declared(nodes: Sequence[Node], decisions: Sequence[Decision]) -> tuple[list[Node], list[Merge]]:
    """Unite what is declared to be one; the first name that is found stands.

    Where another decision keeps two of them apart, they stay apart, and the row says so.
    """
    left, merges = list(nodes), []
    for decision in decisions:
        members = decision.members(left) if decision.are_one else []
        if len(members) > 1 and apart(members, decisions):
            merges.append(Merge(DECLARED, tuple(members), None, DECLARED_APART))
        elif len(members) > 1:
            made = unite(members, members[0])
            left = [n for n in left if n not in members] + [made]
            merges.append(Merge(DECLARED, tuple(members), made.name))
    return left, merges


def apply_groups(
    nodes: Sequence[Node],
    request: ReconcileRequest,
    proposal: Mapping[str, Any],
    assessment: Assessment,
    decisions: Sequence[Decision],
    reasons: Sequence[Reason] = (),
) -> tuple[list[Node], list[Merge]]:
    """Unite the safe groups of a proposal that no decision keeps apart; return the nodes left and a row a group.

    `reasons` are the rules of the groups, in the order of the answer; a model gives none.
    """
    left, merges = list(nodes), []
    by_rules = len(reasons) == len(proposal[ROOT])
    groups: list[SafeGroup | RefusedGroup] = [*assessment.groups, *assessment.refused]
    for group in sorted(groups, key=lambda g: g.index):
        why = reasons[group.index] if by_rules else Reason(PROPOSED)
        members = tuple(request.by_key[key] for key in group.members)
        refused: str | None = None
        if isinstance(group, RefusedGroup):
            refused = group.reason
        else:
            # a name that the owner decided stands
            declared = next((m for m in members if m.parts), None)
            made = unite(members, declared or request.by_key[group.canonical])
            others = [n for n in left if n not in members]
            # who would be one with it by name and first evidence is in the group too
            twins = [n for n in others if (n.comparison, n.refs[0]) == (made.comparison, made.refs[0])]
            if apart((*members, *twins), decisions):
                refused = DECLARED_APART
            else:
                left = [*others, made]
                merges.append(Merge(why.rule, members, made.name, None, why.unit_id))
        if refused:
            answer = compact_json_bounded(proposal[ROOT][group.index])
            merges.append(Merge(why.rule, members, None, refused, why.unit_id, answer))
    return left, merges


def compact_json_bounded(value: Any) -> str:
    """Return the beginning of a value's JSON, for a row."""
    return compact_json(value).encode(errors="replace").decode()[:MAX_ANSWER_CHARACTERS]
