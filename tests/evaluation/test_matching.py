from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.evaluation.matching import as_mask, bare_name, match_entities, maximum_matching, name_words
from notarius_assets.evaluation.records import Entity


def entity(name: str, *refs: tuple[int, int], aliases: tuple[str, ...] = ()) -> Entity:
    return Entity(key=name, name=name, aliases=aliases, refs=refs)


def test_names_are_compared_without_article_and_case() -> None:
    assert bare_name("The  Innkeeper") == "innkeeper"
    assert bare_name("Theodric") == "theodric"
    assert name_words("Old Captain Brenna of the Reach") == {"brenna", "reach"}
    assert name_words("the Captain") == frozenset()


def test_an_alias_is_as_good_as_the_name() -> None:
    gold = [entity("Brenna Holt", (10, 10), aliases=("the ferrywoman",))]
    assert match_entities([entity("Ferrywoman", (12, 12))], gold) == {0: 0}


@pytest.mark.parametrize(("turn", "found"), [(21, {0: 0}), (22, {})])
def test_evidence_may_be_eleven_units_away(turn: int, found: dict[int, int]) -> None:
    assert match_entities([entity("Brenna", (turn, turn))], [entity("Brenna", (10, 10))]) == found


def test_of_two_with_one_name_the_nearer_is_meant() -> None:
    gold = [entity("the guard", (10, 10)), entity("the guard", (18, 18))]
    assert match_entities([entity("guard", (18, 19))], gold) == {0: 1}
    assert match_entities([entity("guard", (18, 19)), entity("guard", (17, 17))], gold) == {0: 1, 1: 0}


def test_part_of_a_name_counts_when_only_one_is_meant() -> None:
    brenna, holt = entity("Brenna Holt", (10, 10)), entity("Marten Holt", (12, 12))
    assert match_entities([entity("Holt", (11, 11))], [brenna]) == {0: 0}
    assert match_entities([entity("Holt", (11, 11))], [brenna, holt]) == {}
    assert match_entities([entity("Brenna", (11, 11)), entity("Holt", (11, 11))], [brenna, holt]) == {0: 0}


def test_a_title_alone_is_part_of_nobody() -> None:
    assert match_entities([entity("the Captain", (10, 10))], [entity("Captain Brenna", (10, 10))]) == {}


def test_the_first_of_two_spellings_takes_the_gold_record() -> None:
    gold = [entity("the innkeeper", (10, 10))]
    assert match_entities([entity("innkeeper", (10, 10)), entity("The innkeeper", (10, 10))], gold) == {0: 0}


edges = st.lists(st.sets(st.integers(0, 4)), max_size=4)


@settings(deadline=None)
@given(edges)
def test_no_larger_matching_exists(options: list[set[int]]) -> None:
    found = maximum_matching([as_mask(s) for s in options])
    assert len(set(found.values())) == len(found)
    assert all(right in options[left] for left, right in found.items())
    padded = [*range(5), *[-1] * len(options)]
    best = max(
        sum(r in s for r, s in zip(chosen, options, strict=False)) for chosen in permutations(padded, len(options))
    )
    assert len(found) == best


def test_a_path_through_all_records_needs_no_recursion() -> None:
    n = 3000
    chain = [as_mask([i, i + 1]) for i in range(n)]
    assert len(maximum_matching([*chain, as_mask([0])])) == n + 1


def test_what_a_failed_search_saw_is_not_searched_again() -> None:
    everyone = as_mask(range(800))
    assert len(maximum_matching([everyone] * 2400)) == 800
