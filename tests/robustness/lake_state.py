"""What must hold of a lake at any moment, also right after a kill."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from notarius_assets.files import TEMPORARY_PREFIX
from notarius_assets.flow.documents import records_of
from notarius_assets.identity import digest
from notarius_assets.lake import history
from notarius_assets.lake.manifest import Entry
from notarius_assets.lake.tables import CHUNKS, UNITS, units_from
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.codec import content_digest, encode
from notarius_assets.transcripts.model import units_digest
from tests.conftest import Campaign


def assert_whole(campaign: Campaign) -> None:
    """Every file that can be seen is whole, says truly what it holds, and every manifest's set stands and fits."""
    if not (campaign.home / "lake.json").exists():
        return
    workspace = campaign.open()
    store = workspace.store
    lanes = [b.lane for b in workspace.pipeline.lanes]
    for path in store.root.rglob("*"):
        if path.name.startswith(TEMPORARY_PREFIX) or path.is_dir():
            continue
        if path.suffix == ".parquet":
            said = pq.read_table(path, partitioning=None).schema.metadata
            rejected = path.is_relative_to(store.root / "rejected")
            assert rejected or said[b"notarius.content_digest"].decode()[:32] == path.stem, path
        elif path.suffix == ".jsonl":
            # the last line may have been cut
            for line in path.read_bytes().split(b"\n")[:-1]:
                json.loads(line)
        else:
            json.loads(path.read_bytes())
    for manifest in store.manifests():
        for name, entry in (*manifest.accepted.items(), *manifest.published.items()):
            assert content(lanes, name, entry, store.read(entry)) == entry.content_digest, (manifest.source_id, name)
        for name, entry in manifest.published.items():
            assert {t: manifest.published[t].content_digest for t in entry.inputs} == dict(entry.inputs), name
    assert len(list(store.attempts())) == len(store.attempt_paths())
    if store.home.history.exists():
        with history.connect(store.home.history) as connection:
            assert connection.execute("SELECT count(*) = count(npc_id) FROM npc_interactions").fetchall() == [(True,)]


def content(lanes: list[Lane], name: str, entry: Entry, rows: pa.Table) -> str:
    """Return the digest of what a table's file holds, as the step that made it computes it."""
    if name == UNITS:
        return units_digest(units_from(rows))
    if name == CHUNKS:
        spans = [[r["chunk_id"], r["start_unit_id"], r["end_unit_id"]] for r in rows.to_pylist()]
        return digest([entry.inputs[UNITS], spans])
    lane = next(lane for lane in lanes if name in (lane.table, lane.candidates_table))
    if name == lane.table:
        return content_digest(encode(lane, records_of(lane, rows)))
    keys = (*lane.candidate_fields, "source_refs", "chunk_id", "position")
    found: list[dict[str, Any]] = [{k: row[k] for k in keys} for row in rows.to_pylist()]
    return digest([entry.inputs[CHUNKS], dict(entry.input_parts), found])
