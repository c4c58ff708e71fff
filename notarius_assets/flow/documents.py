"""Accepted tables as durable documents."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from notarius_assets.errors import NotariusError
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.manifest import Entry
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.codec import content_digest, encode


def records_of(lane: Lane, rows: pa.Table) -> list[dict[str, Any]]:
    """Return the durable records of a lane's table, in document order."""
    return rows.select(list(lane.record.model_fields)).to_pylist()


def lane_document(workspace: Workspace, lane: Lane, entry: Entry) -> bytes:
    """Return the canonical document of an accepted lane table; raises NotariusError if it is not what was accepted."""
    document = encode(lane, records_of(lane, workspace.store.read(entry)))
    if content_digest(document) != entry.content_digest:
        raise NotariusError(f"{entry.file}: not what was accepted", next_step="run the session again with --force")
    return document
