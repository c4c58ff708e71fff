"""The windows of a lane in a session: what is planned to be asked, and who takes note of how it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from notarius_assets.flow.extract import request
from notarius_assets.flow.inputs import Inputs, chunks_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.ledger import Ledger
from notarius_assets.lanes.base import Lane
from notarius_assets.models.calls import Call, cost, total
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowRequest
from notarius_assets.pipeline import Pipeline
from notarius_assets.prompting import prompts_digest, reconciliation_digest
from notarius_assets.references import Registry
from notarius_assets.transcripts.model import Chunk, Unit


def windows_of(workspace: Workspace, lane: Lane, source_id: str, inputs: Inputs) -> list[WindowRequest]:
    """Return the windows of a lane, made from what its step reads."""
    return windows_over(workspace.pipeline, lane, source_id, inputs.units, chunks_of(inputs), inputs.registries)


def windows_over(
    pipeline: Pipeline,
    lane: Lane,
    source_id: str,
    units: tuple[Unit, ...],
    chunks: Sequence[Chunk],
    registries: Mapping[str, Registry],
) -> list[WindowRequest]:
    """Return the windows of a lane in the order of the chunks; none where a registry has no records to ask about."""
    if any(not registry.records for registry in registries.values()):
        return []
    return [
        request(lane, source_id, chunk, units, pipeline.chunking, pipeline.references, registries) for chunk in chunks
    ]


def ledger_of(workspace: Workspace, lane: Lane, source_id: str, run_id: str = "") -> Ledger:
    """Return the ledger of one step; `run_id` is the Dagster run, empty for answers that were imported."""
    step = {"lane": lane.key, "prompts": prompts_digest(lane), "run_id": run_id}
    return Ledger(workspace.store, source_id, lane.candidates_table, step)


def reconciliation_ledger_of(workspace: Workspace, lane: Lane, source_id: str, run_id: str = "") -> Ledger:
    """Return the ledger of one step that asks for duplicate groups of a registry."""
    step = {"lane": lane.key, "prompts": reconciliation_digest(lane), "run_id": run_id}
    return Ledger(workspace.store, source_id, lane.table, step)


class StepWatch:
    """Enters every attempt of one step in its ledger, counts, and tells who follows the run by the step's name."""

    def __init__(self, workspace: Workspace, name: str, ledger: Callable[[], Ledger]) -> None:
        self._progress = workspace.progress
        self._name = name
        self._may_call = workspace.model.name == "anthropic"
        self._open = ledger
        self._calls: list[Call] = []
        self._from_cache = 0

    @cached_property
    def _ledger(self) -> Ledger:
        # most steps call nobody, and rules read no prompt
        return self._open()

    def call(self, call: Call) -> None:
        """Enter one attempt."""
        self._ledger.enter(call)
        self._calls.append(call)
        self._progress.call(self._name, call)

    def window(self, answer: WindowAnswer) -> None:
        """Count one window."""
        self._from_cache += answer.answered_by is AnsweredBy.CACHE
        self._progress.window(self._name, answer)

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the step used of a model; empty where none was asked."""
        if not self._calls and not self._from_cache:
            return {}
        if not self._calls and not self._may_call:
            return {"answers_from_cache": self._from_cache}
        used = total(self._calls)
        return {
            "answers_from_cache": self._from_cache,
            "model_calls": len(self._calls),
            "input_tokens": used.input,
            "cache_write_tokens": used.cache_write,
            "cache_read_tokens": used.cache_read,
            "output_tokens": used.output,
            "cost_usd": cost(self._calls),
        }
