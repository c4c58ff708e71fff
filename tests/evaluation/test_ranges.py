from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.evaluation.ranges import RangeIndex, Ranges, disjoint, iou, near, size

spans = st.tuples(st.integers(0, 40), st.integers(0, 8)).map(lambda t: (t[0], t[0] + t[1]))
ranges = st.lists(spans, max_size=4).map(tuple)


def expanded(of: Ranges) -> set[int]:
    return {n for start, end in of for n in range(start, end + 1)}


@settings(deadline=None)
@given(ranges, ranges)
def test_size_and_iou_count_single_numbers(left: Ranges, right: Ranges) -> None:
    one, two = expanded(left), expanded(right)
    assert size(left) == len(one)
    assert expanded(disjoint(left)) == one
    assert iou(left, right) == (len(one & two) / len(one | two) if one | two else 0.0)


@settings(deadline=None)
@given(st.lists(ranges, max_size=8), ranges, st.integers(0, 11))
def test_the_index_finds_what_is_near(many: list[Ranges], wanted: Ranges, slack: int) -> None:
    found = RangeIndex(list(enumerate(many))).within(wanted, slack)
    assert found == [i for i, other in enumerate(many) if near(wanted, other, slack)]


def test_next_to_each_other_is_near_by_one() -> None:
    assert near(((5, 6),), ((7, 9),), 1)
    assert not near(((5, 6),), ((7, 9),), 0)
    assert not near(((5, 6),), ((8, 9),), 1)
    assert not near((), ((8, 9),), 100)


def test_long_ranges_cost_nothing() -> None:
    assert size(((0, 10**15), (5, 10**12))) == 10**15 + 1
