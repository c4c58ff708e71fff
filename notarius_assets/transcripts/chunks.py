"""Cutting a transcript into windows, and the units around a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from notarius_assets.transcripts.model import Chunk, Unit


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """How large a window may be: at most `max_units` units and `max_characters` characters of text.

    `context_units` units before and after a window may be shown beside it; they are not citable there.
    """

    max_units: int = 250
    max_characters: int = 24_000
    context_units: int = 2

    def __post_init__(self) -> None:
        if self.max_units < 1 or self.max_characters < 1 or self.context_units < 0:
            raise ValueError(f"chunk limits must be at least 1 unit, 1 character and 0 context units: {self}")


DEFAULT_LIMITS = ChunkLimits()


def chunk(units: Sequence[Unit], limits: ChunkLimits = DEFAULT_LIMITS) -> tuple[Chunk, ...]:
    """Return consecutive chunks, each as long as the limits allow; every unit is in exactly one.

    A unit is never cut: one that is longer than `max_characters` stands in a chunk of its own.
    """
    chunks: list[Chunk] = []
    start = characters = 0
    for n, unit in enumerate(units):
        length = len(unit.text)
        full = n - start == limits.max_units or characters + length > limits.max_characters
        if full and n > start:
            chunks.append(Chunk(len(chunks) + 1, tuple(units[start:n])))
            start, characters = n, 0
        characters += length
    if len(units) > start:
        chunks.append(Chunk(len(chunks) + 1, tuple(units[start:])))
    return tuple(chunks)


def neighbours(
    chunk: Chunk, units: Sequence[Unit], limits: ChunkLimits = DEFAULT_LIMITS
) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Return the `context_units` units before and after a chunk, fewer at the ends of the session.

    `units` are all units of the session, so that unit n stands at index n - 1.
    """
    first, after = chunk.start_unit_id - 1, chunk.end_unit_id
    before = max(0, first - limits.context_units)
    return tuple(units[before:first]), tuple(units[after : after + limits.context_units])
