"""A provider answers windows; everything after it is the same code for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from notarius_assets.lanes.base import Lane
from notarius_assets.models.calls import Watch
from notarius_assets.models.rules.ruleset import Ruleset, load
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd, WindowRequest
from notarius_assets.prompting import reconciliation_of
from notarius_assets.reconcile.proposal import Reason
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.reconcile.response import ROOT


@dataclass(frozen=True, slots=True)
class Proposal:
    """The answer to one request for duplicate groups. `reasons` are the rules of its groups; a model gives none."""

    answer: WindowAnswer
    reasons: tuple[Reason, ...] = ()


class Provider(Protocol):
    """Who answers."""

    @property
    def name(self) -> str:
        """The provider as the pipeline file names it."""
        ...

    def answer(self, lane: Lane, windows: Sequence[WindowRequest], watch: Watch) -> Sequence[WindowAnswer]:
        """Answer windows with the lane's private response, one answer a window in their order.

        `watch` is told of every attempt and every end as it comes.
        """
        ...

    def propose(self, lane: Lane, requests: Sequence[ReconcileRequest], watch: Watch) -> Sequence[Proposal]:
        """Answer requests for duplicate groups of a registry, one answer a request in their order."""
        ...

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """Name what an answer depends on beside the request, each part with a digest or a value."""
        ...

    def reconciliation_parts(self, lane: Lane) -> Mapping[str, str]:
        """Name what the duplicate groups of a registry depend on beside the request."""
        ...


class RulesProvider:
    """The offline default: declared rules, no key, no download; equal questions get equal answers."""

    name = "rules"

    def answer(self, lane: Lane, windows: Sequence[WindowRequest], watch: Watch) -> Sequence[WindowAnswer]:
        """Apply the lane's rules to each chunk."""
        answers = []
        for window in windows:
            payload = lane.profile.propose(window, _ruleset(lane.profile.rules))
            answers.append(
                WindowAnswer(WindowEnd.of(payload.get(lane.root, ())), payload, answered_by=AnsweredBy.RULES)
            )
            watch.window(answers[-1])
        return answers

    def propose(self, lane: Lane, requests: Sequence[ReconcileRequest], watch: Watch) -> Sequence[Proposal]:
        """Apply the registry's rules to each request."""
        how = reconciliation_of(lane)
        proposals = []
        for request in requests:
            groups = how.propose(request, _ruleset(how.rules))
            payload = {ROOT: [{"members": list(g.members), "canonical": g.canonical} for g in groups]}
            answer = WindowAnswer(WindowEnd.of(groups), payload, answered_by=AnsweredBy.RULES)
            watch.window(answer)
            proposals.append(Proposal(answer, tuple(g.reason for g in groups)))
        return proposals

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """The provider and the rule files it reads."""
        return {"provider": self.name, "rules": _ruleset(lane.profile.rules).digest}

    def reconciliation_parts(self, lane: Lane) -> Mapping[str, str]:
        """The provider and the rule files it reads."""
        return {"provider": self.name, "reconciliation rules": _ruleset(reconciliation_of(lane).rules).digest}


@lru_cache
def _ruleset(names: tuple[str, ...]) -> Ruleset:
    return load(names)
