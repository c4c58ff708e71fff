"""What a gold set should hold: the situations the specification wants the interaction lane evaluated on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeAlias

from notarius_assets.evaluation.gold import Gold
from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.evaluation.ranges import Ranges
from notarius_assets.evaluation.records import Event

ChunkOf: TypeAlias = Callable[[str, int], int | None]
"""`(label of the gold file, unit id) -> chunk id`, unit ids from 1; None where the session's chunks are not known."""

NEEDS_CHUNKS = "not decidable without chunks"

_NPCS = LAYERS[0]
_COMBAT = ("combat_ally", "combat_opponent")


@dataclass(frozen=True, slots=True)
class Case:
    """One situation: whether the set holds it, and where it was found first.

    `where` is None unless held. `remark` says why a case that is not held could not be decided.
    """

    name: str
    title: str
    held: bool
    where: str | None = None
    remark: str | None = None


def cases(golds: Sequence[Gold], chunk_of: ChunkOf | None = None) -> tuple[Case, ...]:
    """Return every case of the list, in a fixed order. Only records that are not optional can hold one.

    "An NPC" is one of one gold file: sessions know nothing of each other. Turns are numbered as in the gold file.
    """
    every_kind = tuple(
        _case(f"kind_{kind}", f"an interaction of kind {kind}", _of_kind(golds, kind)) for kind in _NPCS.kinds
    )
    return (
        *every_kind,
        _case("kind_transition", "an NPC's next interaction has another kind", _transitions(golds)),
        _case("several_occurrences", "several interactions of one NPC", _several(golds)),
        _case("mention_then_appearance", "an NPC mentioned first and present later", _appearances(golds)),
        _case("alignment_change", "an NPC that fights for the party and against it", _alignments(golds)),
        _case(
            "repeated_across_chunks",
            "one kind of one NPC evidenced in two chunks",
            _across_chunks(golds, chunk_of),
            _undecided(golds, chunk_of),
        ),
        _case(
            "empty_output",
            "a gold file or a chunk without any NPC",
            _empty(golds, chunk_of),
            _undecided(golds, chunk_of),
        ),
    )


def _case(name: str, title: str, found: Iterator[str], remark: str | None = None) -> Case:
    where = next(found, None)
    return Case(name, title, where is not None, where, remark if where is None else None)


def _undecided(golds: Sequence[Gold], chunk_of: ChunkOf | None) -> str | None:
    if chunk_of is None:
        return NEEDS_CHUNKS
    unknown = [gold.label for gold in golds if chunk_of(gold.label, 1) is None]
    return f"{NEEDS_CHUNKS} of {', '.join(unknown)}" if unknown else None


def _start(event: Event) -> int:
    return min(start for start, _ in event.refs)


def _events(gold: Gold) -> list[Event]:
    """The events that count, by their first turn."""
    events = [e for e in gold.events.get(_NPCS.events, ()) if e.refs and not e.optional]
    return sorted(events, key=_start)


def _per_npc(golds: Sequence[Gold]) -> Iterator[tuple[Gold, list[Event]]]:
    for gold in golds:
        grouped: dict[str, list[Event]] = {}
        for event in _events(gold):
            grouped.setdefault(event.entity, []).append(event)
        for events in grouped.values():
            yield gold, events


def _at(gold: Gold, *events: Event) -> str:
    names = {e.key: e.name for e in gold.entities.get(_NPCS.entities, ())}
    name = names.get(events[0].entity, events[0].entity)
    return f"{gold.label}: {name}, " + ", ".join(f"turn {_start(e)} {e.kind}" for e in events)


def _of_kind(golds: Sequence[Gold], kind: str) -> Iterator[str]:
    return (_at(gold, event) for gold in golds for event in _events(gold) if event.kind == kind)


def _transitions(golds: Sequence[Gold]) -> Iterator[str]:
    for gold, events in _per_npc(golds):
        for one, two in pairwise(events):
            if one.kind != two.kind and _start(one) < _start(two):
                yield _at(gold, one, two)


def _several(golds: Sequence[Gold]) -> Iterator[str]:
    return (_at(gold, *events[:2]) for gold, events in _per_npc(golds) if len(events) > 1)


def _appearances(golds: Sequence[Gold]) -> Iterator[str]:
    for gold, events in _per_npc(golds):
        for one, two in combinations(events, 2):
            if one.kind == "mentioned" != two.kind and _start(one) < _start(two):
                yield _at(gold, one, two)


def _alignments(golds: Sequence[Gold]) -> Iterator[str]:
    for gold, events in _per_npc(golds):
        for one, two in pairwise([e for e in events if e.kind in _COMBAT]):
            if one.kind != two.kind:
                yield _at(gold, one, two)


def _across_chunks(golds: Sequence[Gold], chunk_of: ChunkOf | None) -> Iterator[str]:
    if chunk_of is None:
        return
    for gold, events in _per_npc(golds):
        first: dict[str, tuple[Event, int]] = {}
        for event in events:
            for chunk in _chunks(gold, event.refs, chunk_of):
                other, seen = first.setdefault(event.kind, (event, chunk))
                if seen != chunk:
                    yield f"{_at(gold, *dict.fromkeys((other, event)))}, chunks {seen} and {chunk}"


def _chunks(gold: Gold, refs: Ranges, chunk_of: ChunkOf) -> Iterator[int]:
    for turn in (t for span in sorted(refs) for t in span):
        chunk = chunk_of(gold.label, turn - gold.first + 1)
        if chunk is not None:
            yield chunk


def _empty(golds: Sequence[Gold], chunk_of: ChunkOf | None) -> Iterator[str]:
    for gold in golds:
        judged = [
            found for found in (gold.entities.get(_NPCS.entities), gold.events.get(_NPCS.events)) if found is not None
        ]
        if judged and not any(judged):
            yield f"{gold.label}: no NPC at all"
        elif judged and chunk_of is not None:
            # An optional record is one a reader may find: its chunk is not surely empty.
            evidence = [span for records in judged for record in records for span in record.refs]
            yield from _empty_chunks(gold, evidence, chunk_of)


def _empty_chunks(gold: Gold, evidence: Sequence[tuple[int, int]], chunk_of: ChunkOf) -> Iterator[str]:
    low, high = gold.range
    cited = {turn for start, end in evidence for turn in range(max(start, low), min(end, high) + 1)}
    all_chunks: dict[int, None] = {}
    used: set[int] = set()
    for turn in range(low, high + 1):
        chunk = chunk_of(gold.label, turn - gold.first + 1)
        if chunk is None:
            continue
        all_chunks[chunk] = None
        if turn in cited:
            used.add(chunk)
    return (f"{gold.label}: chunk {chunk}" for chunk in all_chunks if chunk not in used)
