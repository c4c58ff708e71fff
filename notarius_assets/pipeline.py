"""The pipeline file: campaign, transcripts, steps with lanes, bindings and validators; read, checked, resolved."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from notarius_assets import lanes as lanes_room
from notarius_assets import validators as validators_room
from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.identity import display_name, slug
from notarius_assets.lanes.base import Lane, ReferenceSlot
from notarius_assets.lanes.codec import content_digest, decode, encode
from notarius_assets.references import MAX_REFERENCE_BYTES, Registry
from notarius_assets.transcripts.chunks import ChunkLimits
from notarius_assets.transcripts.sessions import SessionFile, discover
from notarius_assets.validators.base import Allow, Boundary, Validator
from notarius_assets.yamlfile import read_model

Text = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpeakersSection(_Closed):
    """Who speaks: labels of the Dungeon Master, and player label → character."""

    dm: list[Text] = []
    players: dict[Text, Text] = {}


class KnownNameSection(_Closed):
    """A known name with its other forms."""

    name: Text
    aliases: list[Text] = []


class GazetteerSection(_Closed):
    """Names known before the first session is read."""

    npcs: list[KnownNameSection] = []


class ChunkingSection(_Closed):
    """How many units are asked together, and how many neighbours are shown with them."""

    max_units: Annotated[int, Field(ge=1, le=10_000)] = 250
    max_characters: Annotated[int, Field(ge=1, le=10_000_000)] = 24_000
    context_units: Annotated[int, Field(ge=0, le=100)] = 2


class ModelSection(_Closed):
    """Who answers."""

    provider: Literal["rules"] = "rules"


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
    chunking: ChunkingSection = ChunkingSection()
    model: ModelSection = ModelSection()
    allow: AllowSection = AllowSection()
    owners: list[Text] = ["team:game-masters"]
    preview_evidence: bool = False
    lane_modules: list[Text] = []
    steps: Annotated[list[StepSection], Field(min_length=1)]


@dataclass(frozen=True)
class BoundLane:
    """A lane as the pipeline uses it. `bindings` maps a slot to the lane that fills it, or to a static registry."""

    lane: Lane
    step: str
    bindings: Mapping[str, Lane | Registry]
    extraction: tuple[Validator, ...]
    normalization: tuple[Validator, ...]
    allow: Allow


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file resolved: nothing in it can fail for configuration any more."""

    path: Path
    file: PipelineFile
    campaign: str
    references: CampaignReferences
    chunking: ChunkLimits
    lanes: tuple[BoundLane, ...]
    root: Path = field(default=Path())

    def sessions(self) -> tuple[SessionFile, ...]:
        """Return the sessions that the transcripts' globs give now, in order of their slugs."""
        return discover(self.root, self.file.transcripts, self.file.ignore, self.file.sessions, self.campaign)

    @cached_property
    def tables(self) -> frozenset[str]:
        """Every table a session may have."""
        named = [t for b in self.lanes for t in (b.lane.candidates_table, b.lane.table)]
        return frozenset(("transcript_units", "transcript_chunks", *named))

    def bound(self, lane_key: str) -> BoundLane:
        """Return a lane of this pipeline; raises ConfigurationError with the keys there are."""
        for bound in self.lanes:
            if bound.lane.key == lane_key:
                return bound
        keys = ", ".join(b.lane.key for b in self.lanes)
        raise ConfigurationError(f"{self.path}: no lane {lane_key!r} in this pipeline", next_step=f"give one of {keys}")


def load(path: Path) -> Pipeline:
    """Read a pipeline file and check everything that can be checked before a run.

    Raises ConfigurationError: one line with file, line and key where they are known.
    """
    path = path.absolute()
    file = read_model(path, PipelineFile)
    campaign = slug(file.campaign)
    if campaign is None:
        raise ConfigurationError(
            f"{path}: campaign {file.campaign!r} gives no slug", next_step="use a name with a letter a-z or a digit"
        )
    references = CampaignReferences(
        dms=tuple(file.speakers.dm),
        players=dict(file.speakers.players),
        npcs=tuple(KnownName(display_name(n.name), tuple(map(display_name, n.aliases))) for n in file.gazetteer.npcs),
    )
    limits = ChunkLimits(file.chunking.max_units, file.chunking.max_characters, file.chunking.context_units)
    known = {lane.key: lane for lane in (*lanes_room.BUILT_IN, *_extra_lanes(path, file.lane_modules))}
    return Pipeline(path, file, campaign, references, limits, _bind(path, file, known), path.parent)


def _extra_lanes(path: Path, modules: Sequence[str]) -> list[Lane]:
    found: list[Lane] = []
    if modules and str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise ConfigurationError(
                f"{path}: lane_modules: {name!r} can't be imported ({error})",
                next_step="put the module beside the pipeline file, or install it",
            ) from error
        lanes = [value for value in vars(module).values() if isinstance(value, Lane)]
        if not lanes:
            raise ConfigurationError(
                f"{path}: lane_modules: {name!r} declares no Lane", next_step="see docs/how-to/write-a-lane.md"
            )
        found.extend(lanes)
    return found


def _bind(path: Path, file: PipelineFile, known: Mapping[str, Lane]) -> tuple[BoundLane, ...]:
    bound: list[BoundLane] = []
    tables: dict[str, str] = {}
    earlier: dict[str, Lane] = {}
    for step in file.steps:
        here: dict[str, Lane] = {}
        for section in step.lanes:
            where = f"{path}: step {step.name!r}, lane {section.lane!r}"
            lane = known.get(section.lane)
            if lane is None:
                raise ConfigurationError(f"{where}: unknown lane", next_step=f"use one of {', '.join(sorted(known))}")
            for table in (lane.table, lane.candidates_table):
                if table in tables:
                    raise ConfigurationError(
                        f"{where}: its table {table} is already made by {tables[table]!r}",
                        next_step="name each lane once in a pipeline",
                    )
                tables[table] = lane.key
            allow = section.allow or file.allow
            bound.append(
                BoundLane(
                    lane=lane,
                    step=step.name,
                    bindings=_bindings(where, path.parent, lane, section, earlier),
                    extraction=_chain(where, Boundary.EXTRACTION, section.validators.extraction, lane.extraction),
                    normalization=_chain(
                        where, Boundary.NORMALIZATION, section.validators.normalization, lane.normalization
                    ),
                    allow=Allow(allow.unanswered_share, allow.rejected_share),
                )
            )
            here[lane.key] = lane
        earlier.update(here)
    return tuple(bound)


def _bindings(
    where: str, root: Path, lane: Lane, section: LaneSection, earlier: Mapping[str, Lane]
) -> dict[str, Lane | Registry]:
    slots = {slot.name: slot for slot in lane.slots}
    for name in section.references:
        if name not in slots:
            raise ConfigurationError(
                f"{where}: no reference slot {name!r}",
                next_step=f"its slots are: {', '.join(slots)}" if slots else "remove the reference",
            )
    out: dict[str, Lane | Registry] = {}
    for name, slot in slots.items():
        given = section.references.get(name)
        if given is None:
            raise ConfigurationError(
                f"{where}: reference slot {name!r} is not bound",
                next_step=f"bind a lane of an earlier step that makes {slot.artifact_kind}",
            )
        if isinstance(given, FileBinding):
            out[name] = _static_registry(where, root / given.file, slot)
            continue
        source = earlier.get(given)
        if source is None:
            raise ConfigurationError(
                f"{where}: slot {name!r} is bound to {given!r}, which is no lane of an earlier step",
                next_step="move that lane to an earlier step",
            )
        if source.artifact_kind != slot.artifact_kind:
            raise ConfigurationError(
                f"{where}: slot {name!r} takes {slot.artifact_kind}, but {given!r} makes {source.artifact_kind}",
                next_step="bind a lane that makes it",
            )
        out[name] = source
    return out


def _static_registry(where: str, path: Path, slot: ReferenceSlot) -> Registry:
    producer = next(lane for lane in lanes_room.BUILT_IN if lane.artifact_kind == slot.artifact_kind)
    problem = f"{where}: slot {slot.name!r}: {path}"
    try:
        size = path.stat().st_size
        if size > MAX_REFERENCE_BYTES:
            raise ConfigurationError(
                f"{problem} has {size:,} bytes, at most {MAX_REFERENCE_BYTES:,} are taken",
                next_step="bind a smaller file, or a lane",
            )
        records = decode(producer, path.read_bytes(), problem)
    except OSError as error:
        raise ConfigurationError(f"{problem} can't be read ({error.strerror})", next_step="correct the path") from error
    except ConfigurationError:
        raise
    except NotariusError as error:
        raise ConfigurationError(error.message, next_step="correct the file, or bind a lane") from error
    return Registry(records, content_digest(encode(producer, records)))


def _chain(
    where: str, boundary: Boundary, keys: Sequence[str] | None, default: tuple[Validator, ...]
) -> tuple[Validator, ...]:
    if keys is None:
        return default
    known = {**validators_room.at(boundary), **{v.key: v for v in default}}
    for key in keys:
        if key not in known:
            raise ConfigurationError(
                f"{where}: unknown {boundary} validator {key!r}", next_step=f"use one of {', '.join(sorted(known))}"
            )
    if len(set(keys)) != len(keys):
        raise ConfigurationError(f"{where}: a {boundary} validator is named twice", next_step="name each once")
    missing = [v.key for v in default if v.required and v.key not in keys]
    if missing:
        raise ConfigurationError(
            f"{where}: the {boundary} chain lacks {', '.join(missing)}, which later code relies on",
            next_step="add it to the list",
        )
    return tuple(known[key] for key in keys)
