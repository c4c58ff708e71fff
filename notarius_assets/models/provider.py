"""A provider answers windows; everything after it is the same code for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from notarius_assets.lanes.base import Lane
from notarius_assets.models.rules.ruleset import Ruleset, load
from notarius_assets.models.window import WindowAnswer, WindowEnd, WindowRequest


class Provider(Protocol):
    """Who answers."""

    name: str

    def answer(self, lane: Lane, request: WindowRequest) -> WindowAnswer:
        """Answer one window with the lane's private response."""
        ...

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """Name what an answer depends on beside the request, each part with a digest or a value."""
        ...


class RulesProvider:
    """The offline default: declared rules, no key, no download; equal questions get equal answers."""

    name = "rules"

    def answer(self, lane: Lane, request: WindowRequest) -> WindowAnswer:
        """Apply the lane's rules to the chunk."""
        payload = lane.profile.propose(request, _ruleset(lane.profile.rules))
        return WindowAnswer(WindowEnd.DONE if payload.get(lane.root) else WindowEnd.EMPTY, payload)

    def fingerprint_parts(self, lane: Lane) -> Mapping[str, str]:
        """The provider and the rule files it reads."""
        return {"provider": self.name, "rules": _ruleset(lane.profile.rules).digest}


@lru_cache
def _ruleset(names: tuple[str, ...]) -> Ruleset:
    return load(names)


def provider(name: str) -> Provider:
    """Return the provider of a pipeline file's `model.provider`."""
    return {"rules": RulesProvider}[name]()
