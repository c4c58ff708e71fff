"""From chunks to candidates: ask every window, map answers to records, apply the record rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.lake.attempts import Rejected
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.window import WindowAnswer, WindowEnd, WindowRequest, is_response
from notarius_assets.references import Registry
from notarius_assets.transcripts.chunks import ChunkLimits, neighbours
from notarius_assets.transcripts.model import Chunk, Unit
from notarius_assets.validators import chain
from notarius_assets.validators.base import Allow, Context, Item, Validator, Verdict, View, WindowState
from notarius_assets.validators.shape import problem


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What one window gave: its end, and the answer's items as they stood."""

    window: WindowState
    answers: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """What all windows of a session and lane gave, after the record rules."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    windows: tuple[WindowState, ...]
    verdicts: tuple[Verdict, ...]
    reasons: tuple[str, ...]

    @property
    def proposed(self) -> int:
        """How many candidates were proposed."""
        return len(self.candidates) + len(self.rejected)


def request(
    lane: Lane,
    source_id: str,
    chunk: Chunk,
    units: tuple[Unit, ...],
    limits: ChunkLimits,
    campaign: CampaignReferences,
    registries: Mapping[str, Registry],
) -> WindowRequest:
    """Return all that a provider may see of one chunk."""
    before, after = neighbours(chunk, units, limits)
    bound = registries[lane.slots[0].name] if lane.slots else None
    projection = lane.slots[0].project(bound) if bound else None
    return WindowRequest(lane.key, source_id, chunk.chunk_id, chunk.units, before, after, campaign, projection, bound)


def chunk_result(lane: Lane, window: WindowRequest, answer: WindowAnswer) -> ChunkResult:
    """Return what a window gave. An answer that is not `{"<root>": [...]}` is `invalid`; nothing is guessed from it."""
    payload = answer.payload
    end, reason = answer.end, answer.reason
    items: tuple[Any, ...] = ()
    if end.answered:
        if payload is not None and is_response(payload, lane.root):
            items = tuple(payload[lane.root])
            end = WindowEnd.of(items)
        else:
            end, reason = WindowEnd.INVALID, "not_the_private_response"
    return ChunkResult(state_of(window.chunk_id, replace(answer, end=end, reason=reason), len(items)), items)


def state_of(chunk_id: int | None, answer: WindowAnswer, items: int) -> WindowState:
    """Return how a window ended, as validators and tables see it."""
    return WindowState(
        chunk_id=chunk_id,
        end=str(answer.end),
        answered=answer.end.answered,
        candidates=items,
        reason=answer.reason,
        advice=answer.advice,
        answered_by=str(answer.answered_by) if answer.answered_by else None,
        fingerprint=answer.fingerprint,
    )


def judge(
    lane: Lane,
    validators: Sequence[Validator],
    results: Sequence[ChunkResult],
    *,
    source_id: str,
    units: tuple[Unit, ...],
    chunks: Mapping[int, tuple[int, int]],
    campaign: CampaignReferences,
    registries: Mapping[str, Registry],
    allow: Allow,
) -> Extraction:
    """Apply the extraction chain to all windows; the order of arrival of `results` does not matter."""
    ordered = sorted(results, key=lambda r: r.window.chunk_id or 0)
    items: list[Item] = []
    for result in ordered:
        for position, answer in enumerate(result.answers):
            well_formed = problem(lane.response_item, answer) is None
            record = lane.to_record(answer, source_id) if well_formed else None
            items.append(Item(len(items), record, answer, result.window.chunk_id, position))
    context = Context(
        lane=lane,
        source_id=source_id,
        units=units,
        chunks=chunks,
        campaign=campaign,
        registries=registries,
        windows=tuple(r.window for r in ordered),
        allow=allow,
        proposed=len(items),
    )
    judged = chain.run(validators, View(tuple(items)), context)
    kept = [i for i in items if i.index not in judged.condemned]
    rejected = [
        Rejected.of(items[index].chunk_id or 0, items[index].position, rule, finding.code, items[index].answer)
        for index, (rule, finding) in sorted(judged.condemned.items())
    ]
    candidates = [Candidate(i.chunk_id or 0, i.position, dict(i.record or {})) for i in kept]
    return Extraction(tuple(lane.merge(candidates)), tuple(rejected), context.windows, judged.verdicts, judged.reasons)
