"""What a validator is: a key, a boundary, a severity, and a function from a frozen artifact to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.transcripts.model import Unit

if TYPE_CHECKING:
    from notarius_assets.lanes.base import Lane
    from notarius_assets.references import Registry

MAX_FINDINGS = 20
"""Findings kept of one validator; the rest are counted."""

MAX_FINDING_CHARACTERS = 200


class Boundary(StrEnum):
    """Where in the way of the data a validator stands."""

    EXTRACTION = "extraction"
    NORMALIZATION = "normalization"


class Level(StrEnum):
    """What an ERROR condemns: the record, or the whole artifact."""

    RECORD = "record"
    ARTIFACT = "artifact"


class Severity(StrEnum):
    """ERROR rejects; WARN is shown and never blocks."""

    ERROR = "ERROR"
    WARN = "WARN"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule: a code, the record it is about, and codes, numbers or unit ids as detail.

    Never holds reference contents or transcript text.
    """

    code: str
    record_index: int | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if len(self.detail) > MAX_FINDING_CHARACTERS:
            object.__setattr__(self, "detail", self.detail[: MAX_FINDING_CHARACTERS - 1] + "…")


@dataclass(frozen=True, slots=True)
class Item:
    """One record under validation.

    `record` has the durable record's fields (a candidate has no id yet). At extraction `answer` is the model's own
    JSON, `chunk_id` the chunk it was asked with, and `record` is None where the answer has not the shape.
    """

    index: int
    record: Mapping[str, Any] | None
    answer: Any = None
    chunk_id: int | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class WindowState:
    """How one planned window ended, as the validators and the tables see it; `chunk_id` is None for a reconciliation.

    `reason` is a code, `advice` a line for people. `answered_by` says where the answer came from, `fingerprint` under
    which it is kept.
    """

    chunk_id: int | None
    end: str
    answered: bool
    candidates: int = 0
    reason: str | None = None
    advice: str | None = None
    answered_by: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Allow:
    """How much may be missing or refused before an artifact is rejected; shares from 0 to 1."""

    unanswered_share: float = 0.0
    rejected_share: float = 0.5


@dataclass(frozen=True)
class Context:
    """What validators may look at beside the artifact itself.

    `chunks` maps chunk_id to its inclusive unit range. `rejected` and `proposed` count candidates (extraction only),
    `warnings` are what the normalizer notes (normalization only).
    """

    lane: Lane
    source_id: str
    units: tuple[Unit, ...]
    chunks: Mapping[int, tuple[int, int]]
    campaign: CampaignReferences = field(default_factory=CampaignReferences)
    registries: Mapping[str, Registry] = field(default_factory=dict)
    windows: tuple[WindowState, ...] = ()
    allow: Allow = field(default_factory=Allow)
    rejected: int = 0
    proposed: int = 0
    warnings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A frozen artifact: its items, and at normalization the document they stand in."""

    items: tuple[Item, ...]
    document: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Validator:
    """A rule of one boundary. `required` rules can't be left out of an explicit list: later code relies on them.

    One that is `of_kinds` compares the kinds of records, so it is for lanes that have some.
    """

    key: str
    boundary: Boundary
    level: Level
    severity: Severity
    description: str
    check: Callable[[View, Context], Iterable[Finding]]
    required: bool = False
    of_kinds: bool = False

    @property
    def blocking(self) -> bool:
        """Whether a finding rejects the whole artifact."""
        return self.severity is Severity.ERROR and self.level is Level.ARTIFACT


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one validator said: at most `MAX_FINDINGS` findings and the count of all."""

    validator: Validator
    findings: tuple[Finding, ...] = ()
    total: int = 0
    looked_at: int = 0

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return self.total == 0

    @property
    def rejects(self) -> bool:
        """Whether the artifact must not be published."""
        return self.validator.blocking and not self.passed
