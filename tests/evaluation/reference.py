"""The scorer delivered with the gold files, loaded from where it lies; this project holds no copy of it."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from notarius_assets.evaluation.scoring import DIGITS, LayerScore, Scores

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "gold"
DEV = ("dev1", "dev2", "dev3", "dev4")

needs_folder = pytest.mark.skipif(
    not (FOLDER / "score.py").exists(), reason=f"the delivered scorer and gold files are not at {FOLDER}"
)


@functools.cache
def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("delivered_score", FOLDER / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_their_words(scores: Scores) -> dict[str, dict[str, Any]]:
    """Our scores under the scorer's names, what it does not measure left out."""
    return {name: _layer(layer) for name, layer in scores.layers.items()}


def _layer(layer: LayerScore) -> dict[str, Any]:
    c = layer.counts
    out: dict[str, Any] = {
        "p": round(c.precision, DIGITS),
        "r": round(c.recall, DIGITS),
        "f1": round(c.f1, DIGITS),
        "tp": c.hits,
        "pred": c.predicted,
        "gold": c.gold,
    }
    if layer.evidence_iou is not None:
        out["evidence_iou"] = layer.evidence_iou
    if layer.baseline is not None:
        out["constant_kind_f1"] = layer.baseline.f1
        if layer.baseline.kind is not None:
            out["constant_kind"] = layer.baseline.kind
    return out


def without_overlap(scores: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Sums: the scorer pools no overlaps, we do."""
    return {name: {k: v for k, v in layer.items() if k != "evidence_iou"} for name, layer in scores.items()}
