"""One window: what is asked of a model about one chunk, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.references import Registry
from notarius_assets.transcripts.model import Unit


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """All a provider may see of one chunk in one lane.

    `units` may be cited; `before` and `after` are neighbours shown as context and may not. `registry` is the
    projection of the bound registry in registry order: names, or `{id, name}`; None where the lane binds none. `bound`
    is that registry itself: rules may look at its evidence and at the names united in it; no prompt shows it.
    """

    lane: str
    source_id: str
    chunk_id: int
    units: tuple[Unit, ...]
    before: tuple[Unit, ...]
    after: tuple[Unit, ...]
    campaign: CampaignReferences
    registry: tuple[str, ...] | tuple[Mapping[str, str], ...] | None = None
    bound: Registry | None = None


class WindowEnd(StrEnum):
    """How a window ended; every planned window ends as exactly one of these."""

    DONE = "done"
    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    INVALID = "invalid"
    FAILED = "failed"

    @property
    def answered(self) -> bool:
        """Whether the window gave a usable answer, which may be empty."""
        return self in (WindowEnd.DONE, WindowEnd.EMPTY)

    @classmethod
    def of(cls, items: Sequence[Any]) -> WindowEnd:
        """Return how a window ends that was answered with these items."""
        return cls.DONE if items else cls.EMPTY


def is_response(payload: object, root: str) -> bool:
    """Tell whether JSON is a private response: exactly `{"<root>": [...]}`."""
    return isinstance(payload, Mapping) and list(payload) == [root] and isinstance(payload[root], list)


class AnsweredBy(StrEnum):
    """Where an answer came from: the offline rules, the answer cache, or a call made now."""

    RULES = "rules"
    CACHE = "cache"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """A provider's answer: the private response as parsed JSON, or None with the reason.

    `reason` is a code. `advice` tells people what happened and what to do, where the code alone does not.
    `fingerprint` is the SHA-256 of the request an answer is kept under; rules have none.
    """

    end: WindowEnd
    payload: Mapping[str, Any] | None = None
    reason: str | None = None
    advice: str | None = None
    answered_by: AnsweredBy | None = None
    fingerprint: str | None = None
