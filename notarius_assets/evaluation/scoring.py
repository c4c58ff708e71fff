"""Counts: precision, recall and F1 per layer and kind, evidence overlap, and what one kind for all would score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from notarius_assets.evaluation.layers import LAYERS, Layer
from notarius_assets.evaluation.matching import SLACK, as_mask, match_entities, maximum_matching
from notarius_assets.evaluation.ranges import RangeIndex, iou, size
from notarius_assets.evaluation.records import Event, Records

DIGITS = 3
"""Decimals of every share that is given out."""


@dataclass(frozen=True, slots=True)
class Counts:
    """`hits` of `predicted` records were found among `gold` records; optional ones are in none of the three."""

    hits: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the predicted that are right; of none predicted, 1.0 if there was nothing to find."""
        return self.hits / self.predicted if self.predicted else float(not self.gold)

    @property
    def recall(self) -> float:
        """Share of the gold that was found; of none to find, 1.0 if nothing was predicted."""
        return self.hits / self.gold if self.gold else float(not self.predicted)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0.0 when both are."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.hits + other.hits, self.predicted + other.predicted, self.gold + other.gold)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The best F1 (rounded) the same records would reach if all had one kind; `kind` is None in a sum of files."""

    kind: str | None
    f1: float


@dataclass(frozen=True, slots=True)
class LayerScore:
    """One scored layer.

    `overlaps` are the evidence IoUs of the hits (events, kind aside), else None. `baseline` and `kinds`, counts per
    kind in vocabulary order, belong to events with kind; a kind that nobody used is not listed.
    """

    counts: Counts
    overlaps: tuple[float, ...] | None = None
    baseline: Baseline | None = None
    kinds: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def evidence_iou(self) -> float | None:
        """The mean evidence IoU of the hits, rounded; 0.0 without a hit, None where it is not measured."""
        if self.overlaps is None:
            return None
        return round(sum(self.overlaps) / len(self.overlaps), DIGITS) if self.overlaps else 0.0


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores by layer name ("npcs", "interactions", "interactions_kind", …), in the order of LAYERS."""

    layers: Mapping[str, LayerScore]


def score(gold: Records, prediction: Records, slack: int = SLACK) -> Scores:
    """Score a prediction; a layer only where both sides have it.

    `slack` is in units. Numbers depend on the order of the records where names are ambiguous: give them in document
    order.
    """
    out: dict[str, LayerScore] = {}
    for layer in LAYERS:
        if layer.entities not in gold.entities or layer.entities not in prediction.entities:
            continue
        entities, theirs = prediction.entities[layer.entities], gold.entities[layer.entities]
        matched = match_entities(entities, theirs, slack)
        bonus = sum(1 for j in matched.values() if theirs[j].optional)
        required = sum(1 for g in theirs if not g.optional)
        out[layer.entities] = LayerScore(Counts(len(matched) - bonus, len(entities) - bonus, required))
        if layer.events in gold.events and layer.events in prediction.events:
            out |= _score_events(layer, gold, prediction, matched, slack)
    return Scores(out)


def micro(scores: Sequence[Scores]) -> Scores:
    """Return the sum of several files: counts added up, overlaps pooled.

    The baseline is the mean of the files' baselines over all files, so a file without the layer counts as 0.
    """
    out: dict[str, LayerScore] = {}
    for name in _names():
        parts = [s.layers[name] for s in scores if name in s.layers]
        if parts:
            out[name] = _sum(parts, len(scores))
    return Scores(out)


def _names() -> list[str]:
    return [name for layer in LAYERS for name in (layer.entities, layer.events, layer.events_with_kind)]


def _sum(parts: Sequence[LayerScore], files: int) -> LayerScore:
    overlaps = [p.overlaps for p in parts if p.overlaps is not None]
    baselines = [p.baseline.f1 for p in parts if p.baseline is not None]
    vocabulary = {kind: None for layer in LAYERS for kind in layer.kinds}
    return LayerScore(
        counts=sum((p.counts for p in parts), Counts(0, 0, 0)),
        overlaps=tuple(x for part in overlaps for x in part) if overlaps else None,
        baseline=Baseline(None, round(sum(baselines) / files, DIGITS)) if baselines else None,
        kinds={
            kind: sum((p.kinds[kind] for p in parts if kind in p.kinds), Counts(0, 0, 0))
            for kind in vocabulary
            if any(kind in p.kinds for p in parts)
        },
    )


def _score_events(
    layer: Layer, gold: Records, prediction: Records, matched: Mapping[int, int], slack: int
) -> dict[str, LayerScore]:
    pairing = _Pairing.of(layer, gold, prediction, matched, slack)
    hits, skipped = pairing.match(None)
    kinds = [p.kind for p in pairing.predicted]
    kind_hits, kind_skipped = pairing.match(kinds)
    overlaps = tuple(iou(pairing.predicted[i].refs, pairing.gold[j].refs) for i, j in hits.items())
    return {
        layer.events: LayerScore(pairing.counts(hits, skipped), overlaps=overlaps),
        layer.events_with_kind: LayerScore(
            pairing.counts(kind_hits, kind_skipped),
            baseline=_constant_kind(pairing),
            kinds={
                kind: counts
                for kind in layer.kinds
                if (counts := pairing.counts(kind_hits, kind_skipped, kind)) != Counts(0, 0, 0)
            },
        ),
    }


def _constant_kind(pairing: _Pairing) -> Baseline:
    best = (0.0, "")
    for kind in sorted({g.kind for g in pairing.gold}):
        hits, skipped = pairing.match([kind] * len(pairing.predicted))
        best = max(best, (round(pairing.counts(hits, skipped).f1, DIGITS), kind))
    return Baseline(best[1], best[0])


@dataclass(frozen=True, slots=True)
class _Pairing:
    """Events of both sides and, per predicted one, the gold ones it could be if kinds were no matter."""

    predicted: Sequence[Event]
    gold: Sequence[Event]
    candidates: Sequence[Sequence[int]]
    forgiven: frozenset[int]
    """Predicted events of optional entities: never held against the prediction."""

    @classmethod
    def of(cls, layer: Layer, gold: Records, prediction: Records, matched: Mapping[int, int], slack: int) -> _Pairing:
        entities, theirs = prediction.entities[layer.entities], gold.entities[layer.entities]
        predicted, events = prediction.events[layer.events], gold.events[layer.events]
        # Where a key is listed twice the last one stands, on both sides.
        ours = {entities[i].key: j for i, j in matched.items()}
        keys = {g.key: j for j, g in enumerate(theirs)}

        evidence: dict[int, list[tuple[int, tuple[tuple[int, int], ...]]]] = {}
        for j, event in enumerate(events):
            if event.entity in keys:
                evidence.setdefault(keys[event.entity], []).append((j, event.refs))
        indexes = {entity: RangeIndex(of_entity) for entity, of_entity in evidence.items()}
        most = [3 * size(event.refs) + 10 for event in events]

        def candidates(event: Event) -> list[int]:
            index = indexes.get(ours.get(event.entity, -1))
            if index is None:
                return []
            length = size(event.refs)
            return [j for j in index.within(event.refs, slack) if length <= most[j]]

        return cls(
            predicted,
            events,
            [candidates(p) for p in predicted],
            frozenset(i for i, p in enumerate(predicted) if p.entity in ours and theirs[ours[p.entity]].optional),
        )

    def match(self, kinds: Sequence[str] | None) -> tuple[dict[int, int], set[int]]:
        """Return hits `{predicted: gold}`, and the predicted events that count neither way.

        `kinds` are the kinds the predicted events are taken to have; None leaves kinds out of account.
        """
        options = [
            js if kinds is None else [j for j in js if self.gold[j].kind == kinds[i]]
            for i, js in enumerate(self.candidates)
        ]
        hits = maximum_matching([as_mask(j for j in js if not self.gold[j].optional) for js in options])
        spare = maximum_matching(
            [0 if i in hits else as_mask(j for j in js if self.gold[j].optional) for i, js in enumerate(options)]
        )
        return hits, (set(self.forgiven) - hits.keys()) | spare.keys()

    def counts(self, hits: Mapping[int, int], skipped: set[int], kind: str | None = None) -> Counts:
        """Count all, or those of one kind: hits and gold by the gold's kind, predicted by their own."""
        return Counts(
            sum(1 for j in hits.values() if kind in (None, self.gold[j].kind)),
            sum(1 for i, p in enumerate(self.predicted) if i not in skipped and kind in (None, p.kind)),
            sum(1 for g in self.gold if not g.optional and kind in (None, g.kind)),
        )
