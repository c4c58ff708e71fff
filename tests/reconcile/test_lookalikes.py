"""Different people and places whose names look alike: nothing but a valid proposal makes them one."""

from __future__ import annotations

import pytest

from notarius_assets.flow.normalize import normalize
from notarius_assets.flow.reconcile import Question, reconcile
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.calls import Unwatched
from notarius_assets.models.provider import RulesProvider
from notarius_assets.references import Registry
from notarius_assets.transcripts.model import Unit
from tests.lanes.world import interaction
from tests.reconcile.building import (
    INTERACTIONS,
    LOCATIONS,
    NPCS,
    SOURCE,
    asked,
    candidate,
    group,
    how,
    made,
    said,
    shape,
)
from tests.reconcile.test_nodes_and_merges import reconciled

PAIRS = [
    ("Mara", "Tamara"),
    ("King", "Viking"),
    ("Marcus", "Marcia"),
    ("Ana", "Diana"),
    ("Orrick", "Orrick Thane"),
    ("Captain Stone", "Captain Hestrel"),
    ("Mara", "Márá"),
    ("Lady Voss", "Lord Voss"),
]


def by_rules(lane: Lane, candidates: list[Candidate], units: tuple[Unit, ...]) -> list[str]:
    """Return the names of the records that the offline rules make."""
    left = tuple(how(lane).nodes(candidates))
    question = Question(left, (), (), tuple(asked(left, units, lane=lane)), len(left))
    return [r["name"] for r in made(lane, reconcile(lane, question, RulesProvider(), Unwatched()).nodes)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("lane", [NPCS, LOCATIONS], ids=["npcs", "locations"])
def test_names_that_look_alike_are_two_records_until_a_valid_proposal(one: str, other: str, lane: Lane) -> None:
    units = said(
        f"{one} greets {other}.",
        f"{other} and {one} come in, {one} first.",
        f"Is that {one} or {other}? {one}, {other}!",
    )
    candidates = [candidate(one, 1, at=(1, 0)), candidate(other, 1, 2, at=(1, 1))]
    assert sorted(by_rules(lane, candidates, units)) == sorted([one, other])
    assert len(normalize(lane, candidates, SOURCE, {}).records) == 2
    for invalid in ([group("c001", "c003")], [group("c001", "c002", canonical=one)], [group("c001")]):
        assert len(made(lane, reconciled(lane, candidates, invalid).nodes)) == 2
    (both,) = made(lane, reconciled(lane, candidates, [group("c001", "c002")]).nodes)
    assert len(both["source_refs"]) == 2


def test_two_places_called_the_tavern_are_two() -> None:
    units = said("You enter the tavern.", "The tavern is full.", "In the next town the tavern is empty.", "The tavern.")
    candidates = [candidate("the tavern", 1, at=(1, 0)), candidate("The Tavern", 3, at=(2, 0))]
    assert len(by_rules(LOCATIONS, candidates, units)) == 2
    records = normalize(LOCATIONS, candidates, SOURCE, {}).records
    assert len({r["id"] for r in records}) == 2


def test_two_guards_are_one_npc_by_the_name_while_their_interactions_stay_apart() -> None:
    candidates = [candidate("the guard", 2, at=(1, 0)), candidate("The Guard", 12, at=(2, 0))]
    (guard,) = normalize(NPCS, candidates, SOURCE, {}).records
    assert shape(guard) == ("the guard", [(2, 2), (12, 12)])
    deeds = [
        Candidate(1, 0, interaction("the guard", "dialogue", (2, 3))),
        Candidate(2, 0, interaction("The guard", "dialogue", (12, 14))),
    ]
    found = normalize(INTERACTIONS, deeds, SOURCE, {"npcs": Registry([guard], "0" * 64)}).records
    assert [shape(r) for r in found] == [("the guard", [(2, 3)]), ("the guard", [(12, 14)])]
