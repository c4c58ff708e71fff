"""Small invented gold files, and the shape of theirs."""

from __future__ import annotations

from typing import Any

from notarius_assets.evaluation.gold import Gold
from notarius_assets.evaluation.prediction import Prediction, from_gold_form

Span = tuple[int, int]


def npc(name: str, *refs: Span, aliases: tuple[str, ...] = (), optional: bool = False) -> dict[str, Any]:
    return {"name": name, "aliases": list(aliases), "refs": [list(r) for r in refs], "optional": optional}


def interaction(name: str, kind: str, *refs: Span, optional: bool = False) -> dict[str, Any]:
    return {"name": name, "kind": kind, "refs": [list(r) for r in refs], "optional": optional}


def place(key: str, name: str, *refs: Span) -> dict[str, Any]:
    return {"key": key, "name": name, "refs": [list(r) for r in refs]}


def occurrence(key: str, kind: str, *refs: Span) -> dict[str, Any]:
    return {"location": key, "kind": kind, "refs": [list(r) for r in refs]}


def gold(
    npcs: list[dict[str, Any]] | None = None,
    interactions: list[dict[str, Any]] | None = None,
    *,
    source: str = "T1",
    span: Span = (100, 199),
    **more: Any,
) -> Gold:
    raw: dict[str, Any] = {"source": source, "range": list(span), **more}
    if npcs is not None:
        raw["npcs"] = npcs
    if interactions is not None:
        raw["interactions"] = interactions
    return Gold.model_validate(raw)


def prediction(
    npcs: list[dict[str, Any]] | None = None, interactions: list[dict[str, Any]] | None = None, **more: Any
) -> Prediction:
    raw: dict[str, Any] = dict(more)
    if npcs is not None:
        raw["npcs"] = npcs
    if interactions is not None:
        raw["interactions"] = interactions
    return from_gold_form(raw, first=100)
