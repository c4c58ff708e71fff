"""The whole evaluation of a gold set: scores per file, their sum, and the cases the set holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from notarius_assets.evaluation.cases import Case, ChunkOf, cases
from notarius_assets.evaluation.gold import Gold
from notarius_assets.evaluation.matching import SLACK
from notarius_assets.evaluation.prediction import Prediction
from notarius_assets.evaluation.scoring import Scores, micro, score


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`files` are `(label of the gold file, its scores)` in the order given; `total` is their sum."""

    files: tuple[tuple[str, Scores], ...]
    total: Scores
    cases: tuple[Case, ...]

    @property
    def lacking(self) -> tuple[Case, ...]:
        """The cases no gold file holds, or of which that could not be decided."""
        return tuple(case for case in self.cases if not case.held)


def evaluate(
    pairs: Sequence[tuple[Gold, Prediction]], chunk_of: ChunkOf | None = None, slack: int = SLACK
) -> Evaluation:
    """Score every prediction against its gold file and look at what the gold set holds.

    `slack` is in units. `chunk_of` decides two cases that need to know where chunks end; its first argument is the
    gold's label, its second a unit id (1 is the turn `gold.range[0]`).
    """
    files = tuple((gold.label, score(gold, prediction, slack)) for gold, prediction in pairs)
    return Evaluation(files, micro([scores for _, scores in files]), cases([gold for gold, _ in pairs], chunk_of))
