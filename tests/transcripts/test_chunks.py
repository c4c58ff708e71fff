from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notarius_assets.transcripts.chunks import ChunkLimits, chunk, neighbours
from notarius_assets.transcripts.model import Unit

from .shared import unhurried

sessions = st.lists(st.integers(1, 60), max_size=60).map(
    lambda lengths: tuple(Unit(n, (), "x" * length) for n, length in enumerate(lengths, 1))
)
limits = st.builds(ChunkLimits, st.integers(1, 20), st.integers(1, 100), st.integers(0, 4))


@unhurried
@given(sessions, limits)
def test_every_unit_is_in_exactly_one_chunk(units: tuple[Unit, ...], within: ChunkLimits) -> None:
    chunks = chunk(units, within)
    assert tuple(u for c in chunks for u in c.units) == units
    assert [c.chunk_id for c in chunks] == list(range(1, len(chunks) + 1))


@unhurried
@given(sessions, limits)
def test_limits_hold_but_for_one_long_unit(units: tuple[Unit, ...], within: ChunkLimits) -> None:
    for c in chunk(units, within):
        assert 1 <= len(c.units) <= within.max_units
        assert len(c.units) == 1 or sum(len(u.text) for u in c.units) <= within.max_characters


@unhurried
@given(sessions, limits)
def test_no_chunk_could_take_the_next_unit(units: tuple[Unit, ...], within: ChunkLimits) -> None:
    chunks = chunk(units, within)
    for c, following in pairwise(chunks):
        taken = sum(len(u.text) for u in (*c.units, following.units[0]))
        assert len(c.units) == within.max_units or taken > within.max_characters


@unhurried
@given(sessions, limits)
def test_neighbours_are_the_units_around(units: tuple[Unit, ...], within: ChunkLimits) -> None:
    for c in chunk(units, within):
        before, after = neighbours(c, units, within)
        around = [u.unit_id for u in (*before, *c.units, *after)]
        assert around == list(range(around[0], around[-1] + 1))
        assert len(before) == min(within.context_units, c.start_unit_id - 1)
        assert len(after) == min(within.context_units, len(units) - c.end_unit_id)


def test_defaults() -> None:
    assert ChunkLimits() == ChunkLimits(250, 24_000, 2)
    assert chunk(()) == ()


@pytest.mark.parametrize("bad", [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_limits_that_can_not_hold(bad: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="chunk limits"):
        ChunkLimits(*bad)
