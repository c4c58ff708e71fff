"""An evaluation as rows of text and as JSON; whoever calls prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from notarius_assets.evaluation.cases import Case
from notarius_assets.evaluation.evaluation import Evaluation
from notarius_assets.evaluation.scoring import DIGITS, Counts, LayerScore, Scores

TOTAL = "all"
"""What stands for the gold file in the rows of the sum."""

COLUMNS = ("gold", "layer", "kind", "precision", "recall", "f1", "hits", "predicted", "expected", "iou", "baseline")
"""Columns of `rows`, in order."""

CASE_COLUMNS = ("case", "meaning", "held", "where")
"""Columns of `case_rows`, in order."""


def rows(evaluation: Evaluation, *, kinds: bool = False) -> list[dict[str, str]]:
    """Return the score table, one row a file and layer, the sum last; every row has all COLUMNS.

    With `kinds`, a row per kind follows its layer. A sum of a single file is left out.
    """
    files = list(evaluation.files)
    if len(files) != 1:
        files.append((TOTAL, evaluation.total))
    return [row for label, scores in files for row in _file_rows(label, scores, kinds)]


def case_rows(evaluation: Evaluation) -> list[dict[str, str]]:
    """Return the case table: every case, whether it is held, and where first, or why that is not known."""
    return [
        dict(zip(CASE_COLUMNS, (case.name, case.title, _held(case), case.where or case.remark or ""), strict=True))
        for case in evaluation.cases
    ]


def lacking_lines(evaluation: Evaluation) -> list[str]:
    """Return one line per case the gold set lacks; none when it holds all."""
    return [f"{case.name}: {case.title}" + (f" ({case.remark})" if case.remark else "") for case in evaluation.lacking]


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return plain data: `files`, `total`, `cases`. Shares are rounded to three decimals."""
    return {
        "files": [{"gold": label, "layers": _scores(scores)} for label, scores in evaluation.files],
        "total": _scores(evaluation.total),
        "cases": [
            {"name": c.name, "title": c.title, "held": c.held, "where": c.where, "remark": c.remark}
            for c in evaluation.cases
        ],
    }


def _file_rows(label: str, scores: Scores, kinds: bool) -> Iterator[dict[str, str]]:
    for name, layer in scores.layers.items():
        yield _row(label, name, "", layer.counts, layer)
        if kinds:
            for kind, counts in layer.kinds.items():
                yield _row(label, name, kind, counts, None)


def _row(label: str, layer: str, kind: str, counts: Counts, extra: LayerScore | None) -> dict[str, str]:
    shares = (f"{x:.{DIGITS}f}" for x in (counts.precision, counts.recall, counts.f1))
    numbers = (str(n) for n in (counts.hits, counts.predicted, counts.gold))
    overlap = "" if extra is None or extra.evidence_iou is None else f"{extra.evidence_iou:.{DIGITS}f}"
    return dict(zip(COLUMNS, (label, layer, kind, *shares, *numbers, overlap, _baseline(extra)), strict=True))


def _baseline(layer: LayerScore | None) -> str:
    if layer is None or layer.baseline is None:
        return ""
    f1 = f"{layer.baseline.f1:.{DIGITS}f}"
    return f"{f1} ({layer.baseline.kind})" if layer.baseline.kind else f1


def _held(case: Case) -> str:
    if case.held:
        return "yes"
    return "not known" if case.remark else "no"


def _scores(scores: Scores) -> dict[str, Any]:
    return {name: _layer(layer) for name, layer in scores.layers.items()}


def _layer(layer: LayerScore) -> dict[str, Any]:
    out = _counts(layer.counts)
    if layer.evidence_iou is not None:
        out["evidence_iou"] = layer.evidence_iou
    if layer.baseline is not None:
        out["constant_kind"] = layer.baseline.kind
        out["constant_kind_f1"] = layer.baseline.f1
    if layer.kinds:
        out["kinds"] = {kind: _counts(counts) for kind, counts in layer.kinds.items()}
    return out


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "precision": round(counts.precision, DIGITS),
        "recall": round(counts.recall, DIGITS),
        "f1": round(counts.f1, DIGITS),
        "hits": counts.hits,
        "predicted": counts.predicted,
        "gold": counts.gold,
    }
