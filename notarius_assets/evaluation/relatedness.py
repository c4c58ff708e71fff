"""How often the evidence says the name at all: a cheap hint at wrong evidence that needs no gold file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.evaluation.prediction import Prediction
from notarius_assets.evaluation.ranges import Ranges, disjoint
from notarius_assets.identity import comparison_name
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.relatedness import is_named


def relatedness(
    prediction: Prediction, units: Sequence[Unit], aliases: Mapping[str, Sequence[str]] | None = None
) -> float:
    """Return the share of predicted records, entities and events, whose cited units say a word of the name.

    `units` are all units of the session, unit n at index n - 1; evidence outside them says nothing. `aliases` maps a
    name to the other forms it is known by. A prediction without records has 1.0.
    """
    known = {comparison_name(name): tuple(forms) for name, forms in (aliases or {}).items()}
    total = related = 0
    for name, refs in _named_evidence(prediction):
        total += 1
        related += is_named((name, *known.get(comparison_name(name), ())), _texts(refs, prediction.first, units))
    return related / total if total else 1.0


def _named_evidence(prediction: Prediction) -> Iterator[tuple[str, Ranges]]:
    for layer in LAYERS:
        names: dict[str, str] = {}
        for entity in prediction.entities.get(layer.entities, ()):
            names[entity.key] = entity.name
            yield entity.name, entity.refs
        for event in prediction.events.get(layer.events, ()):
            yield names.get(event.entity, event.entity), event.refs


def _texts(refs: Ranges, first: int, units: Sequence[Unit]) -> Iterator[str]:
    for start, end in disjoint(refs):
        for unit in units[max(0, start - first) : max(0, end - first + 1)]:
            yield unit.text
