"""What a table was made by and from, as named parts: "stale because of" is the parts that differ."""

from __future__ import annotations

from collections.abc import Mapping

from notarius_assets.identity import digest
from notarius_assets.lake.tables import UNITS, candidates_table, lane_table
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.schemas import durable_schema
from notarius_assets.models.provider import Provider
from notarius_assets.pipeline import BoundLane, Pipeline
from notarius_assets.references import Registry
from notarius_assets.transcripts.reader import READERS_VERSION

Parts = Mapping[str, str]


def fingerprint(parts: Parts) -> str:
    """Return the SHA-256 of named parts."""
    return digest(dict(sorted(parts.items())))


def units_code() -> Parts:
    """Parts of `transcript_units`: the readers."""
    return {"readers": READERS_VERSION}


def chunks_code(pipeline: Pipeline) -> Parts:
    """Parts of `transcript_chunks`: the limits."""
    limits = pipeline.chunking
    return {"chunking": f"{limits.max_units} units, {limits.max_characters} characters"}


def candidates_code(pipeline: Pipeline, bound: BoundLane, model: Provider) -> Parts:
    """Parts of a candidates table: whatever an answer, and what is kept of it, depends on."""
    lane = bound.lane
    return {
        "lane": lane.version,
        **model.fingerprint_parts(lane),
        **chunks_code(pipeline),
        "context": str(pipeline.chunking.context_units),
        "campaign": digest(pipeline.references.as_json()),
        "validators": digest([v.key for v in bound.extraction]),
        "allow": digest([bound.allow.unanswered_share, bound.allow.rejected_share]),
        "table": digest(str(candidates_table(lane).schema)),
    }


def lane_code(pipeline: Pipeline, bound: BoundLane, model: Provider) -> Parts:
    """Parts of a lane's table: lane version, validators, durable schema; for a registry how it is reconciled."""
    lane = bound.lane
    return {
        **(_reconciliation(pipeline, lane, model) if lane.reconciliation else {}),
        "lane": lane.version,
        "validators": digest([v.key for v in bound.normalization]),
        "schema": digest(durable_schema(lane)),
        "table": digest(str(lane_table(lane).schema)),
    }


def _reconciliation(pipeline: Pipeline, lane: Lane, model: Provider) -> Parts:
    return {
        **model.reconciliation_parts(lane),
        "campaign": digest(pipeline.references.as_json()),
        "decisions": digest([d.as_json() for d in pipeline.decisions if d.lane == lane.key and not d.session]),
    }


def units_input(file_digest: str) -> Parts:
    """Inputs of `transcript_units`: the file's bytes."""
    return {"file": file_digest}


def candidates_input(bound: BoundLane, units_digest: str, registries: Mapping[str, Registry], model: Provider) -> Parts:
    """Inputs of a candidates table: units and bound registries; for rules the names that were united in these, too."""
    parts = {UNITS: units_digest, **_registry_parts(bound, registries)}
    if model.name == "rules":
        united = {slot: [[k.name, list(k.aliases)] for k in r.united] for slot, r in sorted(registries.items())}
        parts |= {f"names united in {slot}": digest(names) for slot, names in united.items() if names}
    return parts


def lane_input(
    pipeline: Pipeline,
    bound: BoundLane,
    source_id: str,
    units_digest: str,
    candidates_digest: str,
    registries: Mapping[str, Registry],
) -> Parts:
    """Inputs of a lane's table: units, candidates, bound registries, and what is decided for this session alone."""
    lane = bound.lane
    own = [d.as_json() for d in pipeline.decisions if d.session and d.applies(lane.key, source_id)]
    return {
        UNITS: units_digest,
        lane.candidates_table: candidates_digest,
        **_registry_parts(bound, registries),
        **({"decisions of the session": digest(own)} if own else {}),
    }


def chunks_input(units_digest: str) -> Parts:
    """Inputs of `transcript_chunks`: the units."""
    return {UNITS: units_digest}


def _registry_parts(bound: BoundLane, registries: Mapping[str, Registry]) -> dict[str, str]:
    return {f"reference {slot}": registries[slot].digest for slot in sorted(bound.bindings)}
