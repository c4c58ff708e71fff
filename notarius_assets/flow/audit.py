"""Today's validators over what is accepted: both chains of every lane of a session; publishes and withdraws nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from notarius_assets.flow.documents import records_of
from notarius_assets.flow.inputs import context_of, inputs_of
from notarius_assets.flow.normalize import audit
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.attempts import Attempt
from notarius_assets.lanes.base import Record
from notarius_assets.models.window import WindowEnd
from notarius_assets.pipeline import BoundLane
from notarius_assets.validators import chain, reconciliation
from notarius_assets.validators.base import Finding, Item, Verdict, View, WindowState


@dataclass(frozen=True, slots=True)
class Audited:
    """What today's chain says of one accepted table."""

    source_id: str
    table: str
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing in it would reject the table today."""
        return not any(v.rejects for v in self.verdicts)


def audit_session(workspace: Workspace, source_id: str) -> Iterator[Audited]:
    """Yield the verdicts over each accepted table of a session.

    Raises BlockedError where a lane's inputs can't be read together.
    """
    accepted = workspace.store.manifest(source_id).accepted
    for bound in workspace.pipeline.lanes:
        if bound.lane.candidates_table in accepted:
            yield _candidates(workspace, bound, source_id)
        if bound.lane.table in accepted:
            yield _records(workspace, bound, source_id)


def _records(workspace: Workspace, bound: BoundLane, source_id: str) -> Audited:
    lane = bound.lane
    entry = workspace.store.manifest(source_id).accepted[lane.table]
    document = {lane.root: records_of(lane, workspace.store.read(entry))}
    context = context_of(workspace, bound, source_id, inputs_of(workspace, bound, source_id))
    # what the normalizer noted can't be seen in the document
    context = replace(context, warnings=_warnings(workspace.store.accepted_attempt(source_id, lane.table)))
    return Audited(source_id, lane.table, audit(bound.normalization, document, context).verdicts)


def _warnings(made: Attempt | None) -> tuple[Finding, ...]:
    noted = (v for v in (made.verdicts if made else ()) if v["validator"] == reconciliation.NORMALIZATION.key)
    return tuple(Finding(f["code"], f["record_index"], f["detail"]) for v in noted for f in v["findings"])


def _candidates(workspace: Workspace, bound: BoundLane, source_id: str) -> Audited:
    lane, store = bound.lane, workspace.store
    rows = store.read(store.manifest(source_id).accepted[lane.candidates_table]).to_pylist()
    items = []
    for n, row in enumerate(rows):
        record: Record = {**{f: row[f] for f in lane.candidate_fields}, "source_refs": row["source_refs"]}
        ranges = [{"start": r["start_unit_id"], "end": r["end_unit_id"]} for r in row["source_refs"]]
        answer = {**{f: row[f] for f in lane.answer_fields}, "ranges": ranges}
        items.append(Item(n, record, answer, row["chunk_id"], row["position"]))
    made = store.accepted_attempt(source_id, lane.candidates_table)
    windows = tuple(
        WindowState(w["chunk_id"], w["end"], WindowEnd(w["end"]).answered, w["candidates"], w["reason"])
        for w in (made.windows if made else ())
    )
    context = context_of(workspace, bound, source_id, inputs_of(workspace, bound, source_id))
    context = replace(context, windows=windows, proposed=len(items))
    return Audited(source_id, lane.candidates_table, chain.run(bound.extraction, View(tuple(items)), context).verdicts)
