"""The pipeline of a file: steps with lanes, bindings and validators; checked and resolved."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from notarius_assets import lanes as lanes_room
from notarius_assets import validators as validators_room
from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.identity import comparison_name, display_name, slug
from notarius_assets.lanes.base import Lane, ReferenceSlot
from notarius_assets.lanes.codec import content_digest, decode, encode
from notarius_assets.pipeline_file import FileBinding, KnownNameSection, LaneSection, PipelineFile
from notarius_assets.reconcile.declared import Decision
from notarius_assets.references import MAX_REFERENCE_BYTES, Registry
from notarius_assets.transcripts.chunks import ChunkLimits
from notarius_assets.transcripts.sessions import SessionFile, discover
from notarius_assets.validators.base import Allow, Boundary, Validator
from notarius_assets.yamlfile import Lines, check_model, read_model


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
    decisions: tuple[Decision, ...] = ()

    def sessions(self) -> tuple[SessionFile, ...]:
        """Return the sessions that the transcripts' globs give now, in order of their slugs."""
        try:
            return discover(self.root, self.file.transcripts, self.file.ignore, self.file.sessions, self.campaign)
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.path}: {error.message}", next_step=error.next_step) from error

    @cached_property
    def declared(self) -> tuple[Lane, ...]:
        """The lanes as declared, without what this pipeline binds to them."""
        return tuple(b.lane for b in self.lanes)

    @cached_property
    def tables(self) -> frozenset[str]:
        """Every table a session may have."""
        named = [t for lane in self.declared for t in (lane.candidates_table, lane.table)]
        return frozenset(("transcript_units", "transcript_chunks", *named))

    def bound(self, lane_key: str) -> BoundLane:
        """Return a lane of this pipeline; raises ConfigurationError with the keys there are."""
        for bound in self.lanes:
            if bound.lane.key == lane_key:
                return bound
        keys = ", ".join(lane.key for lane in self.declared)
        raise ConfigurationError(f"{self.path}: no lane {lane_key!r} in this pipeline", next_step=f"give one of {keys}")


def load(path: Path) -> Pipeline:
    """Read a pipeline file and check everything that can be checked before a run.

    Raises ConfigurationError: one line with file, line and key where they are known.
    """
    return _resolved(*read_model(path.absolute(), PipelineFile))


def from_mapping(written: Mapping[str, Any], lines: Lines) -> Pipeline:
    """Check a pipeline that stands in another file, as `load` checks a pipeline file.

    `lines` tells which file, and where in it the keys stand; relative paths start at its folder. Raises
    ConfigurationError.
    """
    return _resolved(check_model(written, PipelineFile, lines), lines)


def _resolved(file: PipelineFile, lines: Lines) -> Pipeline:
    campaign = slug(file.campaign)
    if campaign is None:
        raise ConfigurationError(
            f"{lines.at('campaign')}: {file.campaign!r} gives no slug",
            next_step="use a name with a letter a-z or a digit",
        )
    references = CampaignReferences(
        dms=tuple(file.speakers.dm),
        players=dict(file.speakers.players),
        npcs=_known(file.gazetteer.npcs),
        locations=_known(file.gazetteer.locations),
        party=tuple(map(display_name, file.speakers.party)),
        glossary=dict(file.gazetteer.glossary),
    )
    limits = ChunkLimits(file.chunking.max_units, file.chunking.max_characters, file.chunking.context_units)
    known = {lane.key: lane for lane in (*lanes_room.BUILT_IN, *_extra_lanes(lines, file.lane_modules))}
    bound = _bind(lines, file, known)
    decisions = _decisions(lines, file, bound)
    return Pipeline(lines.path, file, campaign, references, limits, bound, lines.path.parent, decisions)


def _known(sections: Sequence[KnownNameSection]) -> tuple[KnownName, ...]:
    return tuple(KnownName(display_name(n.name), tuple(map(display_name, n.aliases))) for n in sections)


def _decisions(lines: Lines, file: PipelineFile, lanes: Sequence[BoundLane]) -> tuple[Decision, ...]:
    """Return what is declared to be one or apart; refuses what no registry of this pipeline can do."""
    registries = {b.lane.key: b.lane.reconciliation for b in lanes if b.lane.reconciliation}
    decisions = []
    for n, section in enumerate(file.reconciliation):
        at = _Place(lines, ("reconciliation", n))
        how = registries.get(section.lane)
        if how is None:
            raise ConfigurationError(
                f"{at('lane')}: {section.lane!r} is no registry of this pipeline",
                next_step=f"use one of {', '.join(sorted(registries))}" if registries else "add the lane, or remove it",
            )
        names = [comparison_name(form.name) for form in section.forms]
        if "" in names:
            raise ConfigurationError(f"{at()}: a name is blank", next_step="correct it")
        if section.apart and how.one_a_name and len(set(names)) < len(names):
            raise ConfigurationError(
                f"{at('apart')}: {section.lane!r} has one record a name, so one name can't be kept apart from itself",
                next_step="name different names, or remove it",
            )
        decisions.append(Decision(section.lane, section.forms, section.one is not None, section.session, n))
    for n, one in enumerate(decisions):
        if one.are_one and any(_contradicts(one, other) for other in decisions):
            raise ConfigurationError(
                f"{_Place(lines, ('reconciliation', n))('one')}: another entry keeps two of these records apart",
                next_step="remove one of the two",
            )
    return tuple(decisions)


def _contradicts(one: Decision, other: Decision) -> bool:
    if other.are_one or one.lane != other.lane or (one.session and other.session not in (None, one.session)):
        return False
    mine = {(comparison_name(f.name), f.unit) for f in one.forms}
    return len({(comparison_name(f.name), f.unit) for f in other.forms} & mine) > 1


def _extra_lanes(lines: Lines, modules: Sequence[str]) -> list[Lane]:
    found: list[Lane] = []
    beside = str(lines.path.parent)
    if modules and beside not in sys.path:
        sys.path.insert(0, beside)
    for n, name in enumerate(modules):
        where = lines.at("lane_modules", n)
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise ConfigurationError(
                f"{where}: {name!r} can't be imported ({type(error).__name__}: {error})",
                next_step="put the module beside the pipeline file, or install it",
            ) from error
        # a lane that the module only imports, to derive its own from, is not declared by it
        lanes = [v for v in vars(module).values() if isinstance(v, Lane) and v not in lanes_room.BUILT_IN]
        if not lanes:
            raise ConfigurationError(f"{where}: {name!r} declares no Lane", next_step="see docs/how-to/write-a-lane.md")
        found.extend(lanes)
    return found


def _bind(lines: Lines, file: PipelineFile, known: Mapping[str, Lane]) -> tuple[BoundLane, ...]:
    bound: list[BoundLane] = []
    tables: dict[str, str] = {}
    earlier: dict[str, Lane] = {}
    for s, step in enumerate(file.steps):
        here: dict[str, Lane] = {}
        for n, section in enumerate(step.lanes):
            at = _Place(lines, ("steps", s, "lanes", n))
            where = at("lane")
            lane = known.get(section.lane)
            if lane is None:
                raise ConfigurationError(
                    f"{where}: unknown lane {section.lane!r}", next_step=f"use one of {', '.join(sorted(known))}"
                )
            for table in (lane.table, lane.candidates_table):
                if table in tables:
                    raise ConfigurationError(
                        f"{where}: {lane.key!r} makes table {table}, as {tables[table]!r} before it",
                        next_step="name each lane once in a pipeline",
                    )
                tables[table] = lane.key
            allow = section.allow or file.allow
            bound.append(
                BoundLane(
                    lane=lane,
                    step=step.name,
                    bindings=_bindings(at, lane, section, earlier, known),
                    extraction=_chain(at, lane, Boundary.EXTRACTION, section.validators.extraction),
                    normalization=_chain(at, lane, Boundary.NORMALIZATION, section.validators.normalization),
                    allow=Allow(allow.unanswered_share, allow.rejected_share),
                )
            )
            here[lane.key] = lane
        earlier.update(here)
    return tuple(bound)


@dataclass(frozen=True)
class _Place:
    """A place in the pipeline file, for errors."""

    lines: Lines
    key: tuple[int | str, ...]

    def __call__(self, *key: int | str) -> str:
        return self.lines.at(*self.key, *key)


def _bindings(
    at: _Place, lane: Lane, section: LaneSection, earlier: Mapping[str, Lane], known: Mapping[str, Lane]
) -> dict[str, Lane | Registry]:
    slots = {slot.name: slot for slot in lane.slots}
    for name in section.references:
        if name not in slots:
            raise ConfigurationError(
                f"{at('references', name)}: {lane.key!r} has no such reference slot",
                next_step=f"its slots are: {', '.join(slots)}" if slots else "remove the reference",
            )
    out: dict[str, Lane | Registry] = {}
    for name, slot in slots.items():
        given = section.references.get(name)
        where = at("references", name)
        if given is None:
            raise ConfigurationError(
                f"{where}: the slot is not bound",
                next_step=f"bind a lane of an earlier step that makes {slot.artifact_kind}",
            )
        if isinstance(given, FileBinding):
            out[name] = _static_registry(where, at.lines.path.parent / given.file, slot, known)
            continue
        source = earlier.get(given)
        if source is None:
            step = "move that lane to an earlier step" if given in known else f"use one of {', '.join(sorted(known))}"
            raise ConfigurationError(f"{where}: {given!r} is no lane of an earlier step", next_step=step)
        if source.artifact_kind != slot.artifact_kind:
            raise ConfigurationError(
                f"{where}: the slot takes {slot.artifact_kind}, but {given!r} makes {source.artifact_kind}",
                next_step="bind a lane that makes it",
            )
        out[name] = source
    return out


def _static_registry(where: str, path: Path, slot: ReferenceSlot, known: Mapping[str, Lane]) -> Registry:
    producer = next((lane for lane in known.values() if lane.artifact_kind == slot.artifact_kind), None)
    if producer is None:
        raise ConfigurationError(
            f"{where}: no lane says what a {slot.artifact_kind} document is", next_step="bind a lane"
        )
    problem = f"{where}: {path}"
    try:
        size = path.stat().st_size
        if size > MAX_REFERENCE_BYTES:
            raise ConfigurationError(
                f"{problem} has {size:,} bytes, at most {MAX_REFERENCE_BYTES:,} are taken",
                next_step="bind a smaller file, or a lane",
            )
        if not path.is_file():
            raise ConfigurationError(f"{problem} is not a file", next_step="correct the path")
        records = decode(producer, path.read_bytes(), problem)
    except OSError as error:
        raise ConfigurationError(f"{problem} can't be read ({error.strerror})", next_step="correct the path") from error
    except ValueError as error:
        raise ConfigurationError(f"{problem} can't be the name of a file", next_step="correct the path") from error
    except ConfigurationError:
        raise
    except NotariusError as error:
        raise ConfigurationError(error.message, next_step="correct the file, or bind a lane") from error
    _check_records(problem, producer, records)
    return Registry(records, content_digest(encode(producer, records)))


def _check_records(problem: str, producer: Lane, records: Sequence[Mapping[str, Any]]) -> None:
    """Refuse records that the lane which makes such registries would not have made, all for one session.

    Which session that is, is left open: a file is bound for all of them.
    """
    ids: set[str] = set()
    sources: set[str] = set()
    for index, record in enumerate(records):
        sources.update(ref["source_id"] for ref in record["source_refs"])
        if wrong := _wrong(producer, record, ids, sources):
            raise ConfigurationError(
                f"{problem}: record {index} {wrong}",
                next_step="bind a document as `notarius export` writes it, or a lane",
            )
        ids.add(record["id"])


def _wrong(producer: Lane, record: Mapping[str, Any], ids: Set[str], sources: Set[str]) -> str | None:
    refs = record["source_refs"]
    if not comparison_name(record["name"]):
        return "has a blank name"
    if record["name"] != display_name(record["name"]):
        return "has a name with white space or invisible characters that names are kept without"
    if record["id"] in ids:
        return "repeats an id"
    if len(sources) > 1:
        return "is of another source than those before it (other_source)"
    if not all(1 <= ref["start_unit_id"] <= ref["end_unit_id"] for ref in refs):
        return "cites units that are no range"
    if producer.derive_id and refs and producer.derive_id(record, refs[0]["source_id"]) != record["id"]:
        return "has an id that does not follow from it by the identity policy"
    return None


def _chain(at: _Place, lane: Lane, boundary: Boundary, keys: Sequence[str] | None) -> tuple[Validator, ...]:
    default = lane.extraction if boundary is Boundary.EXTRACTION else lane.normalization
    if keys is None:
        return default
    where = at("validators", str(boundary))
    known = {**validators_room.at(boundary), **{v.key: v for v in default}}
    for n, key in enumerate(keys):
        if key not in known:
            raise ConfigurationError(
                f"{at('validators', str(boundary), n)}: unknown {boundary} validator {key!r}",
                next_step=f"use one of {', '.join(sorted(known))}",
            )
        if known[key].of_kinds and not lane.kinds:
            raise ConfigurationError(
                f"{at('validators', str(boundary), n)}: {key!r} compares kinds, which records of {lane.key!r} have not",
                next_step="leave it out",
            )
    if len(set(keys)) != len(keys):
        raise ConfigurationError(f"{where}: a validator is named twice", next_step="name each once")
    missing = [v.key for v in default if v.required and v.key not in keys]
    if missing:
        raise ConfigurationError(
            f"{where}: {', '.join(missing)} is missing, which later code relies on", next_step="add it to the list"
        )
    return tuple(known[key] for key in keys)
