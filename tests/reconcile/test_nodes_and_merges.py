"""Records before and while they are united: evidence, names, ids, rows, and that no order of arrival matters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.evidence import SourceRef
from notarius_assets.flow.normalize import normalize, registry_of
from notarius_assets.flow.reconcile import Question, Reconciled, reconcile
from notarius_assets.identity import location_id, npc_id
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.calls import Unwatched, Watch
from notarius_assets.models.provider import Proposal, RulesProvider
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd
from notarius_assets.reconcile.declared import Decision
from notarius_assets.reconcile.lineage import members
from notarius_assets.reconcile.merges import MAX_ANSWER_CHARACTERS, Merge, apply_declared, apply_groups
from notarius_assets.reconcile.nodes import Node, in_registry_order, unite
from notarius_assets.reconcile.request import ReconcileRequest, eligible
from tests.lanes import world
from tests.reconcile.building import (
    LOCATIONS,
    NPCS,
    SOURCE,
    asked,
    candidate,
    group,
    how,
    judged,
    made,
    node,
    nodes,
    one,
    separate,
    shape,
    silent,
    together,
)

UNITS = silent(60)


class Says(RulesProvider):
    """A proposer that answers each request by a function of it."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def propose(self, lane: Lane, requests: Sequence[ReconcileRequest], watch: Watch) -> Sequence[Proposal]:
        found = [self._groups(request) if callable(self._groups) else self._groups for request in requests]
        return [Proposal(WindowAnswer(WindowEnd.of(g), {"groups": g}, answered_by=AnsweredBy.CALL)) for g in found]


def reconciled(
    lane: Lane, candidates: Sequence[Candidate], groups: Any, decisions: Sequence[Decision] = ()
) -> Reconciled:
    """Reconcile candidates of a lane by these groups."""
    left, declared = apply_declared(how(lane).nodes(lane.merge(candidates)), decisions)
    requests = tuple(asked(left, UNITS, lane=lane))
    question = Question(tuple(left), tuple(declared), tuple(decisions), requests, len(eligible(left, SOURCE, UNITS)))
    return reconcile(lane, question, Says(groups), Unwatched())


def document(lane: Lane, found: Reconciled) -> bytes:
    return registry_of(lane, how(lane), found.nodes, SOURCE).document


def rows(found: Reconciled, lane: Lane) -> list[dict[str, Any]]:
    records = made(lane, found.nodes)
    return [merge.as_json(records) for merge in found.merges]


# --- nodes ---------------------------------------------------------------------------------------------------------


def test_a_node_has_its_display_name_and_evidence_in_order() -> None:
    found = node("  Old\u200b  Marta ", 9, (2, 3), 9, (2, 3))
    assert shape(found) == ("Old Marta", [(2, 3), (9, 9)])
    assert (found.comparison, found.atoms) == ("old marta", (found,))


def test_uniting_takes_the_name_of_the_earliest_evidence_and_all_evidence_once() -> None:
    late, early = node("the Needle", 4, 9), node("Old Marta", 2, 9, at=(2, 0))
    found = unite([late, early])
    assert shape(found) == ("Old Marta", [(2, 2), (4, 4), (9, 9)])
    assert shape(unite([late, early], late)) == ("the Needle", [(2, 2), (4, 4), (9, 9)])
    assert found.order == early.order
    assert set(found.atoms) == {late, early}


def test_of_equal_evidence_the_lower_chunk_then_the_position_names_it() -> None:
    found = [node("c", 4, at=(2, 0)), node("b", 4, at=(1, 3)), node("a", 4, at=(1, 7))]
    assert unite(found).name == "b"


def test_atoms_are_those_that_were_proposed_however_often_they_were_united() -> None:
    a, b, c = nodes(("a", 1), ("b", 2), ("c", 3))
    assert unite([unite([a, b]), c]).atoms == (a, b, c)
    assert unite([a, b], keep_parts=False).atoms == (unite([a, b], keep_parts=False),)
    chained = a
    for n in range(2000):
        chained = unite([chained, node("link", 4, at=(2, n))])
    assert (chained.name, len(chained.atoms)) == ("a", 2001), "however long the chain"


def test_registry_order_is_earliest_evidence_then_name() -> None:
    found = [node("b", 2), node("A", 2), node("z", 1), node("c", (2, 3))]
    assert [n.name for n in in_registry_order(found)] == ["z", "A", "b", "c"]


# --- NPCs ----------------------------------------------------------------------------------------------------------

PEOPLE = [
    candidate("Marta", 2, at=(1, 0)),
    candidate("the Needle", 1, at=(1, 1)),
    candidate("marta", 12, at=(2, 0)),
    candidate("Old Marta", 22, at=(3, 0)),
    candidate("Wenna", 23, at=(3, 1)),
]


def test_a_union_has_all_evidence_the_canonical_name_and_the_id_of_that_name() -> None:
    found = reconciled(NPCS, PEOPLE, [group("c001", "c002", "c003", canonical="c003")])
    first, second = made(NPCS, found.nodes)
    assert shape(first) == ("Old Marta", [(1, 1), (2, 2), (12, 12), (22, 22)])
    assert first["id"] == npc_id("Old Marta", SOURCE)
    assert shape(second) == ("Wenna", [(23, 23)])
    (row,) = rows(found, NPCS)
    assert (row["rule"], row["refused"], row["name"], row["record_id"]) == ("proposed", None, "Old Marta", first["id"])
    assert [shape(m) for m in row["members"]] == [
        ("the Needle", [(1, 1)]),
        ("Marta", [(2, 2), (12, 12)]),
        ("Old Marta", [(22, 22)]),
    ]


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [group("c001")],
        [group("c001", "c002"), group("c002", "c003")],
        [group("C001", "C002")],
        [None, 7, "c001", {"members": ["c001", "c002"]}],
        [group("c001", "c002", canonical="c003")],
    ],
)
def test_with_an_empty_or_rejected_proposal_the_document_is_the_ungrouped_one(groups: list[Any]) -> None:
    for lane, candidates in ((NPCS, PEOPLE), (LOCATIONS, world.candidates(LOCATIONS))):
        found = reconciled(lane, candidates, groups)
        assert document(lane, found) == normalize(lane, candidates, SOURCE, {}).document
        codes = [w.code for w in found.warnings]
        assert ("no_usable_proposal" in codes) is bool(groups)
        assert len(found.merges) == len(groups)
        assert all(row["refused"] and row["record_id"] is None for row in rows(found, lane))


def test_a_failed_request_leaves_the_records_as_they_are() -> None:
    class Unreachable(RulesProvider):
        def propose(self, lane: Lane, requests: Sequence[ReconcileRequest], watch: Watch) -> Sequence[Proposal]:
            return [Proposal(WindowAnswer(WindowEnd.FAILED, None, "timeout")) for _ in requests]

    left = tuple(how(NPCS).nodes(PEOPLE))
    question = Question(left, (), (), tuple(asked(left, UNITS)), len(left))
    found = reconcile(NPCS, question, Unreachable(), Unwatched())
    assert found.nodes == left
    assert [f"{w.code} {w.detail}" for w in found.warnings] == [
        "no_usable_proposal request=1 end=failed reason=timeout"
    ]
    assert found.notes == {
        "reconciliation_requests": 1,
        "reconciliation_unanswered": 1,
        "merges": 0,
        "merges_refused": 0,
    }


@pytest.mark.parametrize(
    ("canonical", "name"), [("c001", "the Needle"), ("c002", "Marta"), ("c003", "Old Marta"), ("c004", "Wenna")]
)
def test_everything_in_one_group_is_one_record_and_ids_stay_unique(canonical: str, name: str) -> None:
    found = reconciled(NPCS, PEOPLE, [group("c001", "c002", "c003", "c004", canonical=canonical)])
    (record,) = made(NPCS, found.nodes)
    assert (record["name"], record["id"]) == (name, npc_id(name, SOURCE))
    assert len(record["source_refs"]) == 5


def test_groups_of_several_requests_are_all_applied() -> None:
    crowd = [candidate(f"Person {n}", 1 + n % 60, at=(1, n)) for n in range(450)]
    found = reconciled(NPCS, crowd, [group("c001", "c002")])
    assert len(found.answers) == 3
    assert len(made(NPCS, found.nodes)) == 447
    assert [w.code for w in found.warnings] == ["set_cut"]
    assert all(row["record_id"] for row in rows(found, NPCS))


def test_one_bad_request_of_several_spoils_no_other() -> None:
    crowd = [candidate(f"Person {n}", 1 + n % 60, at=(1, n)) for n in range(410)]
    found = reconciled(NPCS, crowd, lambda r: [group("c001", "c002")] if r.number != 2 else [group("c001", "c999")])
    assert len(made(NPCS, found.nodes)) == 408
    assert [f"{w.code} {w.detail}" for w in found.warnings][1:] == [
        "no_usable_proposal request=2 reason=all_groups_refused",
        "groups_refused request=2 reason=unknown_key groups=1",
    ]


# --- places --------------------------------------------------------------------------------------------------------


def test_places_of_one_name_stay_apart_until_they_are_proposed_to_be_one() -> None:
    given_candidates = [candidate("the tavern", n, at=(1, n)) for n in (4, 12, 30)]
    apart_all = reconciled(LOCATIONS, given_candidates, [])
    assert len(made(LOCATIONS, apart_all.nodes)) == 3
    found = reconciled(LOCATIONS, given_candidates, [group("c003", "c001", canonical="c003")])
    first, second = made(LOCATIONS, found.nodes)
    assert shape(first) == ("the tavern", [(4, 4), (30, 30)])
    assert first["id"] == location_id("the tavern", SOURCE, 4, 4), "the earliest evidence of all anchors it"
    assert shape(second) == ("the tavern", [(12, 12)])


def test_equal_name_and_equal_earliest_evidence_are_one_place_and_a_finding_says_so() -> None:
    given_candidates = [candidate("Stennet", 4, 9, at=(1, 0)), candidate("stennet", 4, at=(1, 1))]
    left = how(LOCATIONS).nodes(given_candidates)
    records, findings = how(LOCATIONS).records(left, SOURCE)
    assert [shape(r) for r in records] == [("Stennet", [(4, 4), (9, 9)])]
    assert [(f.code, f.record_index, f.detail) for f in findings] == [("same_anchor_united", 0, "members=2")]


def test_a_union_that_comes_to_the_anchor_of_another_record_is_one_place_with_it() -> None:
    given_candidates = [
        candidate("Stennet", 4, at=(1, 0)),
        candidate("the town", 4, at=(1, 1)),
        candidate("Stennet", 9, at=(1, 2)),
    ]
    found = reconciled(LOCATIONS, given_candidates, [group("c002", "c003", canonical="c003")])
    records, findings = how(LOCATIONS).records(found.nodes, SOURCE)
    assert [shape(r) for r in records] == [("Stennet", [(4, 4), (9, 9)])]
    assert [f.code for f in findings] == ["same_anchor_united"]
    (row,) = rows(found, LOCATIONS)
    assert row["record_id"] == records[0]["id"]


# --- rows ----------------------------------------------------------------------------------------------------------


def test_a_row_names_the_record_also_where_another_has_its_name_and_evidence() -> None:
    given_candidates = [
        candidate("the tavern", 3, 10, 20, at=(1, 0)),
        candidate("the tavern", 10, at=(1, 1)),
        candidate("the tavern", 20, at=(1, 2)),
    ]
    found = reconciled(LOCATIONS, given_candidates, [group("c002", "c003")])
    (row,) = rows(found, LOCATIONS)
    assert row["record_id"] == location_id("the tavern", SOURCE, 10, 10)


def test_the_name_of_a_declared_union_stands_whatever_is_proposed() -> None:
    found = reconciled(NPCS, PEOPLE, [group("c001", "c003", canonical="c003")], [together("Marta", "the Needle")])
    declared, proposed = rows(found, NPCS)
    assert (declared["rule"], declared["name"]) == ("declared", "Marta")
    assert (proposed["rule"], proposed["name"]) == ("proposed", "Marta")
    assert declared["record_id"] == proposed["record_id"] == npc_id("Marta", SOURCE)


def test_a_refused_group_is_a_row_with_its_own_json() -> None:
    bad = {**group("c002", "c001"), "why": "\ud800 both smell of fish"}
    found = reconciled(NPCS, PEOPLE, [bad, group("c003", "c004")])
    refused, united = rows(found, NPCS)
    assert (refused["refused"], refused["name"], refused["record_id"]) == ("malformed_group", None, None)
    assert [m["name"] for m in refused["members"]] == ["the Needle", "Marta"]
    assert refused["answer"].startswith('{"members":["c002","c001"],"canonical":"c002","why":"? both')
    assert united["answer"] is None


def test_of_an_endless_group_only_the_beginning_is_kept() -> None:
    bad = group(*["c999"] * 10_000)
    (row,) = rows(reconciled(NPCS, PEOPLE, [bad]), NPCS)
    assert len(row["answer"]) == MAX_ANSWER_CHARACTERS


def test_a_group_that_a_decision_keeps_apart_is_a_row_that_says_so() -> None:
    found = reconciled(NPCS, PEOPLE, [group("c001", "c002"), group("c003", "c004")], [separate("marta", "The Needle")])
    assert [(m.refused, m.rule) for m in found.merges] == [("declared_apart", "proposed"), (None, "proposed")]
    assert found.warnings == (), "it is what was asked for"
    assert [r["name"] for r in made(NPCS, found.nodes)] == ["the Needle", "Marta", "Old Marta"]


def test_a_merge_says_nothing_of_a_record_before_it_is_settled() -> None:
    (union,) = apply_declared(nodes(("a", 1), ("b", 2)), [together("a", "b")])[1]
    assert union.as_json([])["record_id"] is None
    assert union == Merge("declared", tuple(nodes(("a", 1), ("b", 2))), "a")


# --- order of arrival --------------------------------------------------------------------------------------------

ANY_NAME = st.sampled_from(["Mara", "mara", "Tamara", "the tavern", "The  Tavern", "K'Varn", "K’Varn", "Stennet"])


@st.composite
def candidate_sets(draw: st.DrawFn) -> list[Candidate]:
    found = []
    for at in range(draw(st.integers(2, 12))):
        spans = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4)), min_size=1, max_size=3))
        found.append(candidate(draw(ANY_NAME), *((a, a + b) for a, b in spans), at=(1 + at // 4, at % 4)))
    return found


def by_chance(seed: int) -> Any:
    """Return a proposer whose groups depend on the request alone."""

    def groups(request: ReconcileRequest) -> list[dict[str, Any]]:
        rng = random.Random(f"{seed} {request.candidate_lines}")
        keys = list(request.by_key)
        rng.shuffle(keys)
        found = []
        while len(keys) > 1:
            size = rng.randint(1, 4)
            mine, keys = keys[:size], keys[size:]
            if len(mine) > 1:
                found.append(group(*mine, canonical=rng.choice(mine)))
        return found

    return groups


@pytest.mark.parametrize("lane", [NPCS, LOCATIONS], ids=["npcs", "locations"])
@given(found=candidate_sets(), seed=st.integers(0, 10**6), decided=st.booleans())
@settings(max_examples=120, deadline=None)
def test_the_order_of_arrival_never_matters(lane: Lane, found: list[Candidate], seed: int, decided: bool) -> None:
    decisions = [together("Mara", "Stennet", lane=lane), separate("the tavern", "K'Varn", lane=lane)] if decided else []
    shuffled = list(found)
    random.Random(seed).shuffle(shuffled)
    first = reconciled(lane, found, by_chance(seed), decisions)
    second = reconciled(lane, shuffled, by_chance(seed), decisions)
    assert document(lane, first) == document(lane, second)
    assert rows(first, lane) == rows(second, lane)
    records = made(lane, first.nodes)
    ids = [r["id"] for r in records]
    assert len(set(ids)) == len(ids)
    assert all(lane.derive_id and lane.derive_id(r, SOURCE) == r["id"] for r in records)
    evidence = {SourceRef(**ref) for c in found for ref in c.record["source_refs"]}
    assert {SourceRef(**ref) for r in records for ref in r["source_refs"]} == evidence, "none is lost, none is made up"
    for row in rows(first, lane):
        assert (row["record_id"] in ids) is (row["refused"] is None)
    proposed = [n for c in found for n in how(lane).nodes([c])]
    became = members(proposed, rows(first, lane), one_a_name=how(lane).one_a_name)
    assert len(became) == len(records), "read back from the rows alone"


def test_the_order_of_groups_changes_no_record() -> None:
    request = one(nodes(("a", 1), ("b", 2), ("c", 3), ("d", 4)), UNITS)
    groups = [group("c004", "c001"), group("c003", "c002", canonical="c003")]
    documents = []
    for proposal in (groups, groups[::-1]):
        left, _ = apply_groups(
            list(request.by_key.values()), request, {"groups": proposal}, judged(request, *proposal), ()
        )
        documents.append(made(NPCS, left))
    assert documents[0] == documents[1]


def test_a_thousand_candidates_become_five_hundred_records_each_with_its_row() -> None:
    found = reconciled(
        NPCS,
        [candidate(f"Person {n}", 1 + n % 60, at=(1, n)) for n in range(1000)],
        lambda r: [group(a, b) for a, b in zip(list(r.by_key)[::2], list(r.by_key)[1::2], strict=True)],
    )
    assert len(made(NPCS, found.nodes)) == 500
    assert len({row["record_id"] for row in rows(found, NPCS)}) == 500


def test_nodes_left_alone_are_the_very_same() -> None:
    left: list[Node] = nodes(("a", 1), ("b", 2), ("c", 3))
    request = one(left, UNITS)
    after, _ = apply_groups(
        left, request, {"groups": [group("c001", "c003")]}, judged(request, group("c001", "c003")), ()
    )
    assert left[1] in after
    assert len(left) == 3, "what was given is not changed"
