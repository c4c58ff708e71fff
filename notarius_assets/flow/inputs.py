"""What a lane's steps read: accepted, in its latest attempt too, and made from the same units; or why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from notarius_assets.campaign import KnownName
from notarius_assets.errors import NotariusError
from notarius_assets.flow.documents import records_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.identity import comparison_name
from notarius_assets.lake.attempts import State
from notarius_assets.lake.manifest import Entry, Manifest
from notarius_assets.lake.tables import CHUNKS, UNITS
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.lanes.codec import content_digest, encode
from notarius_assets.pipeline import BoundLane
from notarius_assets.references import MAX_REFERENCE_BYTES, Registry
from notarius_assets.transcripts.model import Chunk, Unit
from notarius_assets.validators.base import Context


class BlockedError(NotariusError):
    """A step can't start: what it needs is missing, rejected, outdated or changed."""


@dataclass(frozen=True)
class Inputs:
    """What a lane's steps read, all of it accepted and made from the same units."""

    units: tuple[Unit, ...]
    units_entry: Entry
    chunks_entry: Entry
    chunks: Mapping[int, tuple[int, int]]
    registries: Mapping[str, Registry]
    registry_entries: Mapping[str, Entry]

    @property
    def digests(self) -> dict[str, str]:
        """The content digest of every table read, by table."""
        return {
            UNITS: self.units_entry.content_digest,
            CHUNKS: self.chunks_entry.content_digest,
            **{table: e.content_digest for table, e in self.registry_entries.items()},
        }


def inputs_of(workspace: Workspace, bound: BoundLane, source_id: str) -> Inputs:
    """Return what a lane's steps read; raises BlockedError that names what is missing, rejected or outdated."""
    store = workspace.store
    manifest = store.manifest(source_id)
    units_entry = needed(workspace, manifest, UNITS)
    chunks_entry = needed(workspace, manifest, CHUNKS, units_entry.content_digest)
    registries: dict[str, Registry] = {}
    entries: dict[str, Entry] = {}
    for slot, source in bound.bindings.items():
        if isinstance(source, Registry):
            registries[slot] = source
            continue
        entry = needed(workspace, manifest, source.table, units_entry.content_digest, slot)
        registries[slot] = read_registry(workspace, source, entry, slot, source_id)
        entries[source.table] = entry
    spans = {
        row["chunk_id"]: (row["start_unit_id"], row["end_unit_id"]) for row in store.read(chunks_entry).to_pylist()
    }
    return Inputs(store.units(units_entry), units_entry, chunks_entry, spans, registries, entries)


def chunks_of(inputs: Inputs) -> list[Chunk]:
    """Return the chunks with their units, in order."""
    return [Chunk(n, inputs.units[a - 1 : b]) for n, (a, b) in sorted(inputs.chunks.items())]


def needed(
    workspace: Workspace, manifest: Manifest, table: str, units_digest: str | None = None, slot: str | None = None
) -> Entry:
    """Return an accepted entry that may be read now, or say why not."""
    what = f"reference {slot!r} ({table})" if slot else table
    source_id = manifest.source_id
    latest = workspace.store.latest_attempt(source_id, table)
    entry = manifest.accepted.get(table)
    if latest is not None and latest.state is not State.ACCEPTED:
        raise BlockedError(
            f"{what} was {latest.state} in its latest attempt", next_step=f"correct {table}, then run again"
        )
    if entry is None:
        raise BlockedError(f"{what} is missing", next_step=f"materialize {table} for {source_id} first")
    if units_digest is not None and entry.inputs.get(UNITS) != units_digest:
        raise BlockedError(
            f"{what} is outdated: it was made from an earlier transcript", next_step=f"materialize {table} again"
        )
    return entry


def read_registry(workspace: Workspace, lane: Lane, entry: Entry, slot: str, source_id: str) -> Registry:
    """Return an accepted registry of a session.

    Raises BlockedError when its canonical JSON is larger than a slot takes, or its file is not the one that was
    accepted for this session.
    """
    records = records_of(lane, workspace.store.read(entry))
    document = encode(lane, records)
    what = f"reference {slot!r} ({lane.table})"
    if len(document) > MAX_REFERENCE_BYTES:
        raise BlockedError(
            f"{what} has {len(document):,} bytes, at most {MAX_REFERENCE_BYTES:,} are taken",
            next_step="split the session into smaller transcripts",
        )
    anew = f"notarius run --force {source_id} makes it anew"
    if any(ref["source_id"] != source_id for record in records for ref in record["source_refs"]):
        raise BlockedError(f"other_source: {what} holds records of another session", next_step=anew)
    if content_digest(document) != entry.content_digest:
        raise BlockedError(f"{what} is changed: its file is not what was accepted", next_step=anew)
    return Registry(records, entry.content_digest, united_names(workspace, lane, entry, source_id))


def united_names(workspace: Workspace, lane: Lane, entry: Entry, source_id: str) -> tuple[KnownName, ...]:
    """Return the names that were united in records of an accepted registry, with what is declared of each."""
    made = workspace.store.accepted_attempt(source_id, lane.table)
    if made is None or not made.made(entry):
        return ()
    campaign = workspace.pipeline.references
    declared = {comparison_name(k.name): k.forms for k in (*campaign.npcs, *campaign.locations)}
    forms: dict[str, dict[str, None]] = {}
    for merge in made.merges:
        if merge["name"]:
            names = [merge["name"], *(m["name"] for m in merge["members"])]
            known = [form for name in names for form in (name, *declared.get(comparison_name(name), ()))]
            forms.setdefault(merge["name"], {}).update(dict.fromkeys(known))
    # a union of one name alone tells nothing new
    return tuple(
        KnownName(name, tuple(f for f in known if f != name))
        for name, known in sorted(forms.items())
        if len({comparison_name(form) for form in known}) > 1
    )


def candidates_of(lane: Lane, rows: pa.Table) -> list[Candidate]:
    """Return the candidates of an accepted table."""
    fields = (*lane.candidate_fields, "source_refs")
    return [Candidate(row["chunk_id"], row["position"], {k: row[k] for k in fields}) for row in rows.to_pylist()]


def require_same_registries(candidates: Entry, inputs: Inputs) -> None:
    """Raise BlockedError `reference_changed` where candidates were asked with another registry than the bound one."""
    for slot, registry in inputs.registries.items():
        if candidates.input_parts.get(f"reference {slot}") != registry.digest:
            raise BlockedError(
                f"reference_changed: reference {slot!r} is not the one the candidates were asked with",
                next_step="materialize the candidates again",
            )


def context_of(workspace: Workspace, bound: BoundLane, source_id: str, inputs: Inputs) -> Context:
    """Return what normalization validators may look at."""
    return Context(
        lane=bound.lane,
        source_id=source_id,
        units=inputs.units,
        chunks=inputs.chunks,
        campaign=workspace.pipeline.references,
        registries=inputs.registries,
        allow=bound.allow,
    )
