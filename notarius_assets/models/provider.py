"""A provider answers windows; everything after it is the same code for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from notarius_assets.lanes.base import Lane
from notarius_assets.models.calls import Watch
from notarius_assets.models.rules.ruleset import Ruleset, load
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd, WindowRequest


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

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """Name what an answer depends on beside the request, each part with a digest or a value."""
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

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """The provider and the rule files it reads."""
        return {"provider": self.name, "rules": _ruleset(lane.profile.rules).digest}


@lru_cache
def _ruleset(names: tuple[str, ...]) -> Ruleset:
    return load(names)
