"""Which groups of a proposal may be applied, whatever it holds."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.reconcile.assessment import Assessment, RefusedGroup, SafeGroup
from notarius_assets.reconcile.merges import apply_groups
from notarius_assets.reconcile.response import GroupsResponse, groups_schema
from tests.reconcile.building import group, judged, nodes, one, silent

REQUEST = one(
    nodes(*((name, n) for n, name in enumerate(("Mara", "Tamara", "Orrick", "Wenna", "Dunstan"), 1))), silent(9)
)
KEYS = ("c001", "c002", "c003", "c004", "c005")


def reasons(*groups: Any) -> list[str]:
    """Return why each group is refused; an empty text for one that is safe."""
    found = judged(REQUEST, *groups)
    why = {r.index: r.reason for r in found.refused} | {g.index: "" for g in found.groups}
    return [why[n] for n in range(len(groups))]


def test_a_good_group_is_safe_and_its_keys_stand_in_the_order_of_the_request() -> None:
    found = judged(REQUEST, group("c003", "c001", "c002", canonical="c002"))
    assert found == Assessment((SafeGroup(0, ("c001", "c002", "c003"), "c002"),), ())
    assert found.usable


def test_no_groups_are_a_usable_answer() -> None:
    assert judged(REQUEST) == Assessment()
    assert judged(REQUEST).usable


DEEP: list[Any] = []
for _ in range(45):
    DEEP = [DEEP]

REFUSED = {
    "one member": (group("c001"), "too_few_members"),
    "no member": ({"members": [], "canonical": "c001"}, "too_few_members"),
    "a key twice": (group("c001", "c001"), "repeated_key"),
    "a key twice among others": (group("c001", "c002", "c001"), "repeated_key"),
    "an unknown key": (group("c001", "c006"), "unknown_key"),
    "a key in other case": (group("C001", "c002"), "unknown_key"),
    "a key without its zeros": (group("c1", "c2"), "unknown_key"),
    "a key in other digits": (group("c００1", "c002"), "unknown_key"),
    "a key with white space": (group(" c001", "c002"), "unknown_key"),
    "an empty key": (group("", "c002"), "unknown_key"),
    "a name for a key": (group("Mara", "Tamara"), "unknown_key"),
    "half a surrogate pair": (group("\ud800", "c001"), "malformed_group"),
    "canonical is no member": (group("c001", "c002", canonical="c003"), "canonical_not_a_member"),
    "canonical is a name": (group("c001", "c002", canonical="Mara"), "canonical_not_a_member"),
    "canonical is empty": ({"members": ["c001", "c002"], "canonical": ""}, "canonical_not_a_member"),
    "no canonical": ({"members": ["c001", "c002"]}, "malformed_group"),
    "canonical is a list": ({"members": ["c001", "c002"], "canonical": ["c001"]}, "malformed_group"),
    "canonical is null": ({"members": ["c001", "c002"], "canonical": None}, "malformed_group"),
    "an extra field": ({**group("c001", "c002"), "reason": "both are Mara"}, "malformed_group"),
    "a key of half a pair": ({**group("c001", "c002"), "\udfff": 1}, "malformed_group"),
    "members is a text": ({"members": "c001", "canonical": "c001"}, "malformed_group"),
    "members is an object": ({"members": {"c001": 1, "c002": 2}, "canonical": "c001"}, "malformed_group"),
    "members are numbers": ({"members": [1, 2], "canonical": 1}, "malformed_group"),
    "members are lists": ({"members": [["c001"], ["c002"]], "canonical": "c001"}, "malformed_group"),
    "members are deep": ({"members": DEEP, "canonical": "c001"}, "malformed_group"),
    "a list": (["c001", "c002"], "malformed_group"),
    "a text": ("c001", "malformed_group"),
    "a number": (7, "malformed_group"),
    "a large number": (10**4000, "malformed_group"),
    "null": (None, "malformed_group"),
    "a truth": (True, "malformed_group"),
    "nothing in it": ({}, "malformed_group"),
}


@pytest.mark.parametrize(("bad", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_bad_group_is_refused_and_the_good_one_beside_it_is_safe(bad: Any, reason: str) -> None:
    found = judged(REQUEST, bad, group("c004", "c005"))
    ((said,), (safe,)) = found.refused, found.groups
    # half a surrogate pair is no text, for whoever reads strictly; either way the group is refused
    assert said.reason in (reason, "unknown_key")
    assert (said.index, safe.index, safe.members) == (0, 1, ("c004", "c005"))
    assert found.usable
    assert not judged(REQUEST, bad).usable


def test_a_key_in_two_groups_refuses_both_and_no_other() -> None:
    assert reasons(group("c001", "c002"), group("c002", "c003"), group("c004", "c005")) == [
        "key_in_two_groups",
        "key_in_two_groups",
        "",
    ]


def test_three_groups_in_a_chain_are_all_refused() -> None:
    assert set(reasons(group("c001", "c002"), group("c002", "c003"), group("c003", "c004"))) == {"key_in_two_groups"}


def test_the_same_group_twice_is_refused_twice() -> None:
    assert reasons(group("c001", "c002"), group("c001", "c002")) == ["key_in_two_groups"] * 2


@pytest.mark.parametrize(
    "other",
    [
        group("c001"),
        group("c001", "c001"),
        group("c001", "c999"),
        group("c001", "c003", canonical="c005"),
        {**group("c001", "c003"), "sure": True},
        {"members": ["c001", 7], "canonical": "c001"},
        {"members": ["c001", "c003"]},
    ],
)
def test_a_key_that_a_bad_group_names_too_is_in_doubt(other: Any) -> None:
    found = judged(REQUEST, group("c001", "c002"), other)
    assert found.groups == ()
    assert found.refused[0] == RefusedGroup(0, "key_in_two_groups", ("c001", "c002"))
    assert not found.usable


def test_a_refused_group_names_the_candidates_that_it_is_about() -> None:
    found = judged(REQUEST, {**group("c002", "c001", "c999"), "why": "so"}, group("c004", "c888"))
    assert [r.members for r in found.refused] == [("c001", "c002"), ("c004",)]


def test_everything_in_one_group_is_one_group() -> None:
    (safe,) = judged(REQUEST, group(*reversed(KEYS))).groups
    assert safe.members == KEYS
    assert safe.canonical == "c005"


def test_the_response_has_one_schema_that_is_structural() -> None:
    schema = json.dumps(groups_schema())
    assert not any(f'"{word}"' in schema for word in ("enum", "pattern", "minItems", "maxItems", "const", "default"))
    assert schema.count('"additionalProperties": false') == 2
    assert list(GroupsResponse.model_fields) == ["groups"]


# --- whatever is answered -----------------------------------------------------------------------------------------

ANY_TEXT = st.one_of(st.text(max_size=6), st.sampled_from(["\ud800", "\udfffx", "c001\x00", "C001"]))
ANY_KEY = st.one_of(st.sampled_from([*KEYS, "c006", "C001", ""]), ANY_TEXT)
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), ANY_KEY),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_KEY, inner, max_size=3)),
    max_leaves=12,
)
GROUP_LIKE = st.fixed_dictionaries(
    {"members": st.one_of(st.lists(ANY_KEY, max_size=5), ANY_JSON), "canonical": st.one_of(ANY_KEY, ANY_JSON)},
    optional={"why": ANY_JSON},
)
WELL_FORMED = st.lists(st.sampled_from(KEYS), min_size=2, max_size=4, unique=True).flatmap(
    lambda keys: st.sampled_from(keys).map(lambda canonical: group(*keys, canonical=canonical))
)
PROPOSALS = st.lists(st.one_of(WELL_FORMED, GROUP_LIKE, ANY_JSON), max_size=6)


@given(PROPOSALS)
@settings(max_examples=400, deadline=None)
def test_any_json_is_judged_and_what_is_safe_can_be_applied(groups: list[Any]) -> None:
    found = judged(REQUEST, *groups)
    assert sorted([*(g.index for g in found.groups), *(r.index for r in found.refused)]) == list(range(len(groups)))
    taken = Counter(key for safe in found.groups for key in safe.members)
    assert set(taken.values()) <= {1}, "safe groups share no candidate"
    assert set(taken) <= set(KEYS)
    for safe in found.groups:
        assert len(safe.members) >= 2
        assert safe.canonical in safe.members
        assert safe.members == tuple(sorted(safe.members))
        assert set(groups[safe.index]["members"]) == set(safe.members)
    left, rows = apply_groups(list(REQUEST.by_key.values()), REQUEST, {"groups": groups}, found, ())
    assert len(left) == len(KEYS) - sum(len(g.members) - 1 for g in found.groups)
    assert len(rows) == len(groups)
    for row in rows:
        # a row is written as UTF-8, whatever the answer holds
        json.dumps(row.as_json([]), ensure_ascii=False).encode()


@given(st.lists(st.one_of(WELL_FORMED, GROUP_LIKE), max_size=6), st.integers())
@settings(max_examples=200, deadline=None)
def test_the_order_of_groups_and_members_changes_nothing(groups: list[Any], seed: int) -> None:
    rng = random.Random(seed)
    mixed = [
        {**g, "members": rng.sample(g["members"], len(g["members"]))} if isinstance(g["members"], list) else g
        for g in groups
    ]
    rng.shuffle(mixed)

    def safe(proposed: list[Any]) -> set[tuple[tuple[str, ...], str]]:
        return {(g.members, g.canonical) for g in judged(REQUEST, *proposed).groups}

    assert safe(mixed) == safe(groups)
    assert Counter(r.reason for r in judged(REQUEST, *mixed).refused) == Counter(
        r.reason for r in judged(REQUEST, *groups).refused
    )


@given(PROPOSALS)
@settings(max_examples=50, deadline=None)
def test_judging_changes_neither_the_proposal_nor_its_own_result(groups: list[Any]) -> None:
    before = json.dumps(groups)
    found = judged(REQUEST, *groups)
    again = judged(REQUEST, *groups)
    assert json.dumps(groups) == before
    assert found == again
    assert hash(found) == hash(again), "tuples all the way down"


def test_a_result_can_not_be_changed() -> None:
    found = judged(REQUEST, group("c001", "c002"), group("c003"))
    for value, name in ((found, "groups"), (found.groups[0], "members"), (found.refused[0], "reason")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, ())
