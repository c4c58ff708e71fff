"""How good a run is, held against gold files: scores, evidence overlap, and what the gold set does not test."""

from notarius_assets.evaluation.cases import Case, ChunkOf
from notarius_assets.evaluation.evaluation import Evaluation, evaluate
from notarius_assets.evaluation.gold import Gold, load_gold
from notarius_assets.evaluation.prediction import Prediction, from_documents
from notarius_assets.evaluation.relatedness import relatedness
from notarius_assets.evaluation.sessions import session_candidates
from notarius_assets.evaluation.unions import Unions, unions

__all__ = [
    "Case",
    "ChunkOf",
    "Evaluation",
    "Gold",
    "Prediction",
    "Unions",
    "evaluate",
    "from_documents",
    "load_gold",
    "relatedness",
    "session_candidates",
    "unions",
]
