"""`show`, `export`, `prompt`: one session, with the words that prove its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notarius_assets.commands.sessions import one
from notarius_assets.commands.terminal import counted, json_out, note, out
from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.files import write_atomically
from notarius_assets.flow.documents import lane_document, records_of
from notarius_assets.flow.inputs import inputs_of
from notarius_assets.flow.windows import windows_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.lake.manifest import Manifest
from notarius_assets.lake.tables import CHUNKS, UNITS
from notarius_assets.lanes.base import Lane
from notarius_assets.transcripts.model import Unit

MAX_MERGES = 40
"""Unions of one registry that `show` prints."""


def show(workspace: Workspace, name: str, *, lane_key: str | None, context: int, as_json: bool) -> int:
    """Print the published records of a session with their evidence, and what was rejected and why."""
    source_id = one(workspace, name)
    manifest = workspace.store.manifest(source_id)
    lanes = [workspace.pipeline.bound(lane_key)] if lane_key else list(workspace.pipeline.lanes)
    shown = [_lane(workspace, manifest, bound.lane, context) for bound in lanes]
    stopped = [a for t in (UNITS, CHUNKS) if (a := workspace.store.latest_attempt(source_id, t)) and a.reason]
    if as_json:
        transcript = [_attempt(a) for a in stopped]
        json_out(
            {"source_id": source_id, "held_back": list(manifest.held_back), "transcript": transcript, "lanes": shown}
        )
        return 0
    for attempt in stopped:
        out(f"Transcript: {attempt.state}: {attempt.reason}. Next: {attempt.next_step}\n")
    for entry in shown:
        _print_lane(entry)
    if manifest.held_back:
        out(f"Held back: {', '.join(manifest.held_back)}, by {', '.join(manifest.waiting_for)}.")
    return 0


def _lane(workspace: Workspace, manifest: Manifest, lane: Lane, context: int) -> dict[str, Any]:
    store = workspace.store
    entry, units_entry = manifest.published.get(lane.table), manifest.published.get(UNITS)
    units: Sequence[Unit] = store.units(units_entry) if units_entry else ()
    records = records_of(lane, store.read(entry)) if entry else []
    tries = [store.latest_attempt(manifest.source_id, t) for t in (lane.candidates_table, lane.table)]
    return {
        "lane": lane.key,
        "title": lane.title,
        "published": entry is not None,
        "records": [
            {
                **record,
                "evidence": [
                    {
                        "unit": e.unit_id,
                        "label": e.label,
                        "speakers": list(e.speakers),
                        "text": e.text,
                        "cited": e.cited,
                    }
                    for e in lane.project(record, units, context)
                ],
            }
            for record in records
        ],
        "attempts": [_attempt(a) for a in tries if a],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "table": attempt.table,
        "state": str(attempt.state),
        "reason": attempt.reason,
        "next_step": attempt.next_step,
        "findings": [
            {"check": v["validator"], "severity": v["severity"], "total": v["total"], "findings": v["findings"]}
            for v in attempt.verdicts
            if not v["passed"]
        ],
        "rejected_candidates": list(attempt.rejected_candidates),
        "merges": list(attempt.merges),
    }


def _print_lane(entry: Mapping[str, Any]) -> None:
    out(f"{entry['title']} ({entry['lane']}): {counted(len(entry['records']), 'record')}")
    if not entry["published"]:
        out("  nothing accepted yet")
    for record in entry["records"]:
        kind = f"  {record['kind']}" if "kind" in record else ""
        out(f"\n  {record['name']}{kind}")
        for line in record["evidence"]:
            mark = "│" if line["cited"] else " "
            out(f"    {mark} {line['unit']:>5} {', '.join(line['speakers']) or '(nobody)'}: {line['text']}")
    for attempt in entry["attempts"]:
        _print_attempt(attempt)
    out()


def _print_attempt(attempt: Mapping[str, Any]) -> None:
    if attempt["state"] != State.ACCEPTED:
        out(f"\n  latest try at {attempt['table']}: {attempt['state']}: {attempt['reason']}")
    for found in attempt["findings"]:
        out(f"\n  {attempt['table']}, check {found['check']} ({found['severity']}): {found['total']} found")
        for finding in found["findings"][:5]:
            at = "" if finding["record_index"] is None else f" record {finding['record_index']}"
            out(f"      {finding['code']}{at} {finding['detail']}".rstrip())
        if found["total"] > 5:
            out(f"      … {found['total'] - 5} more")
    for rejected in attempt["rejected_candidates"][:20]:
        where = f"chunk {rejected['chunk_id']}, candidate {rejected['position']}"
        out(f"  rejected candidate ({where}): {rejected['code']} by {rejected['rule']}: {rejected['answer']}")
    for merge in attempt["merges"][:MAX_MERGES]:
        out(f"  {_merge(merge)}")
    if len(attempt["merges"]) > MAX_MERGES:
        out(f"  … {len(attempt['merges']) - MAX_MERGES} more unions, in the view merges")


def _merge(merge: Mapping[str, Any]) -> str:
    members = " + ".join(f"{m['name']} ({_units(m['source_refs'])})" for m in merge["members"]) or "no known records"
    stated = f", stated in unit {merge['stated_in']}" if merge["stated_in"] else ""
    if merge["refused"]:
        return f"kept apart: {members}: {merge['refused']} ({merge['rule']}{stated})"
    return f"one record: {members} as {merge['name']} ({merge['rule']}{stated})"


def _units(refs: Sequence[Mapping[str, Any]]) -> str:
    spans = [(r["start_unit_id"], r["end_unit_id"]) for r in refs]
    listed = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:3])
    return listed + (f" and {len(spans) - 3} more" if len(spans) > 3 else "")


def export(workspace: Workspace, name: str, folder: Path) -> int:
    """Write the published documents of a session, canonical bytes; those of lanes without one are not written."""
    source_id = one(workspace, name)
    manifest = workspace.store.manifest(source_id)
    written = []
    for bound in workspace.pipeline.lanes:
        entry = manifest.published.get(bound.lane.table)
        if entry is None:
            note(
                f"notarius: {source_id}: {bound.lane.table} has nothing accepted, {bound.lane.export_name} not written"
            )
            continue
        path = folder / bound.lane.export_name
        try:
            write_atomically(path, lane_document(workspace, bound.lane, entry))
        except OSError as error:
            raise NotariusError(f"{path}: can't be written ({error.strerror})", next_step="check the folder") from error
        written.append(path)
        out(f"{path}: {counted(entry.rows, 'record')}")
    return 0 if len(written) == len(workspace.pipeline.lanes) else 1


def prompt(workspace: Workspace, lane_key: str, name: str, chunk_id: int) -> int:
    """Print what a model would be asked about one chunk."""
    from notarius_assets.prompting import assemble, prompt_text

    bound = workspace.pipeline.bound(lane_key)
    source_id = one(workspace, name)
    inputs = inputs_of(workspace, bound, source_id)
    if chunk_id not in inputs.chunks:
        raise ConfigurationError(
            f"{source_id}: no chunk {chunk_id}", next_step=f"give one from 1 to {len(inputs.chunks)}"
        )
    planned = windows_of(workspace, bound.lane, source_id, inputs)
    if not planned:
        out(f"Nothing is asked: the registry that {lane_key} reads has no records.")
        return 0
    window = next(w for w in planned if w.chunk_id == chunk_id)
    out(prompt_text(assemble(bound.lane, window)))
    return 0
