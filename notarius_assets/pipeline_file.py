"""The pipeline file as written: every section with its keys, types and defaults; what a key alone can get wrong."""

from __future__ import annotations

import os
import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from notarius_assets.errors import ConfigurationError
from notarius_assets.identity import comparison_name
from notarius_assets.models.settings import Access, Settings
from notarius_assets.reconcile.declared import Form


def _owner(text: str) -> str:
    if not re.fullmatch(r"team:[A-Za-z0-9_-]+|[^@\s]+@[^@\s]+\.[^@\s]+", text):
        raise ValueError("Dagster takes an e-mail address or team:NAME as an owner")
    return text


def server_url(text: str) -> str:
    """Return the address of a model's server; raises ValueError that says what is wrong with it."""
    try:
        found = urlsplit(text)
        found.port  # noqa: B018 - it is checked when it is read
    except ValueError as error:
        raise ValueError("a server is written as http://HOST:PORT or https://HOST") from error
    if found.scheme not in ("http", "https") or not found.hostname:
        raise ValueError("a server is written as http://HOST:PORT or https://HOST")
    if found.username or found.password:
        raise ValueError("a password does not belong in this file")
    if text.rstrip("/").endswith("/v1"):
        raise ValueError("leave out /v1; it is added")
    return text.rstrip("/")


def _named(text: str) -> str:
    if not comparison_name(text):
        raise ValueError("a name can't be blank")
    return text


Text = Annotated[str, Field(min_length=1)]
Name = Annotated[Text, AfterValidator(_named)]
Owner = Annotated[str, AfterValidator(_owner)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpeakersSection(_Closed):
    """Who speaks: labels of the Dungeon Master, player label → character, and characters without a label."""

    dm: list[Text] = []
    players: dict[Text, Text] = {}
    party: list[Name] = []


class KnownNameSection(_Closed):
    """A known name with its other forms."""

    name: Name
    aliases: list[Name] = []


class GazetteerSection(_Closed):
    """Names known before the first session is read, and words of the campaign that are neither."""

    npcs: list[KnownNameSection] = []
    locations: list[KnownNameSection] = []
    glossary: dict[Name, Text] = {}


class RecordFormSection(_Closed):
    """A record by its name and a unit it cites, where the name alone is not enough."""

    name: Text
    unit: Annotated[int, Field(ge=1)]


class DecisionSection(_Closed):
    """Records of a registry that are one, or that stay apart; in one session (its slug) or in all."""

    lane: Text
    session: Text | None = None
    one: Annotated[list[Text | RecordFormSection], Field(min_length=2)] | None = None
    apart: Annotated[list[Text | RecordFormSection], Field(min_length=2)] | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> DecisionSection:
        if (self.one is None) == (self.apart is None):
            raise ValueError("give either one: or apart:, with two names or more")
        return self

    @property
    def forms(self) -> tuple[Form, ...]:
        """The records as pointed at."""
        listed = self.one or self.apart or []
        return tuple(Form(f.name, f.unit) if isinstance(f, RecordFormSection) else Form(f) for f in listed)


class ChunkingSection(_Closed):
    """How many units are asked together, and how many neighbours are shown with them."""

    max_units: Annotated[int, Field(ge=1, le=10_000)] = 250
    max_characters: Annotated[int, Field(ge=1, le=10_000_000)] = 24_000
    context_units: Annotated[int, Field(ge=0, le=100)] = 2


class ModelSection(_Closed):
    """Who answers. All but `provider` is for models: which one, and how it is reached."""

    provider: Literal["rules", "anthropic", "replay"] = "rules"
    model: Annotated[str, Field(min_length=1, max_length=200)] = "claude-haiku-5-5"
    effort: Literal["none", "low", "medium", "high", "xhigh", "max"] = "low"
    # The SDK refuses longer answers that are not streamed.
    max_tokens: Annotated[int, Field(ge=1, le=21_333)] = 16_000
    base_url: Annotated[str, AfterValidator(server_url)] | None = None
    in_flight: Annotated[int, Field(ge=1, le=100)] = 8
    timeout_seconds: Annotated[float, Field(gt=0, le=3_600)] = 300.0
    max_wait_seconds: Annotated[float, Field(ge=0, le=60)] = 60.0

    @property
    def settings(self) -> Settings:
        """What an answer depends on."""
        return Settings(self.model, None if self.effort == "none" else self.effort, self.max_tokens)

    @property
    def access(self) -> Access:
        """How the server is reached; `ANTHROPIC_BASE_URL` stands in where the file names no server.

        Raises ConfigurationError where that variable is no address of a server.
        """
        named = os.environ.get("ANTHROPIC_BASE_URL", "").strip()
        try:
            from_environment = server_url(named) if named else None
        except ValueError as error:
            raise ConfigurationError(f"ANTHROPIC_BASE_URL: {error}", next_step="correct or unset it") from error
        return Access(
            base_url=self.base_url or from_environment,
            in_flight=self.in_flight,
            timeout=self.timeout_seconds,
            longest_wait=self.max_wait_seconds,
        )


class AllowSection(_Closed):
    """How much may be missing or rejected before an artifact is."""

    unanswered_share: Share = 0.0
    rejected_share: Share = 0.5


class FileBinding(_Closed):
    """A registry from a static file instead of an earlier lane."""

    file: Text


class ValidatorsSection(_Closed):
    """Explicit chains; a boundary that is not named keeps the lane's default."""

    extraction: list[Text] | None = None
    normalization: list[Text] | None = None


class LaneSection(_Closed):
    """One lane of a step."""

    lane: Text
    references: dict[Text, Text | FileBinding] = {}
    validators: ValidatorsSection = ValidatorsSection()
    allow: AllowSection | None = None


class StepSection(_Closed):
    """Lanes that may bind what earlier steps made."""

    name: Text
    lanes: Annotated[list[LaneSection], Field(min_length=1)]


class PipelineFile(_Closed):
    """The pipeline file as written."""

    campaign: Text
    transcripts: Annotated[list[Text], Field(min_length=1)]
    ignore: list[Text] = []
    sessions: dict[Text, Text] = {}
    speakers: SpeakersSection = SpeakersSection()
    gazetteer: GazetteerSection = GazetteerSection()
    reconciliation: list[DecisionSection] = []
    chunking: ChunkingSection = ChunkingSection()
    model: ModelSection = ModelSection()
    allow: AllowSection = AllowSection()
    owners: list[Owner] = ["team:game-masters"]
    preview_evidence: bool = False
    lane_modules: list[Text] = []
    steps: Annotated[list[StepSection], Field(min_length=1)]
