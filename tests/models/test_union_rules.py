"""Which candidates the offline rules propose to be one: stated and declared aliases, and proper names of places."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.lanes.base import Lane
from notarius_assets.models.rules import reconciliation as proposer
from notarius_assets.models.rules.reconciliation import is_proper
from notarius_assets.models.rules.ruleset import load
from notarius_assets.models.rules.union_rules import UnionRules
from notarius_assets.reconcile.nodes import Node
from notarius_assets.reconcile.proposal import ProposedGroup
from notarius_assets.transcripts.model import Unit
from tests.reconcile.building import LOCATIONS, NOBODY, NPCS, asked, how, judged, node, said

RULES = load(proposer.RULE_FILES)
STATEMENTS = RULES.unions.statements
INTRODUCTIONS = RULES.unions.introductions


def proposed(
    given_nodes: list[Node], units: tuple[Unit, ...], campaign: CampaignReferences = NOBODY, lane: Lane = LOCATIONS
) -> list[ProposedGroup]:
    """Return what the rules propose of candidates; every group may be applied."""
    found = []
    for request in asked(given_nodes, units, campaign, lane):
        groups = list(how(lane).propose(request, RULES))
        assessed = judged(request, *({"members": list(g.members), "canonical": g.canonical} for g in groups))
        assert assessed.refused == ()
        found += groups
    return found


def stated(text: str, first: str = "Stennet", second: str = "Greytown", lane: Lane = LOCATIONS) -> bool:
    """Tell whether a sentence makes two candidates one."""
    found = proposed([node(first, 1), node(second, 1, at=(1, 1))], said(text), lane=lane)
    if found:
        (group,) = found
        assert group.reason.rule == "stated_alias"
        assert group.reason.unit_id == 1
    return bool(found)


def spoken(statement: str, who: str = "everyone", first: str = "Stennet", second: str = "Greytown") -> str:
    sentence = re.sub(r"\bA\b", "\0", statement).replace("{who}", who)
    return re.sub(r"\bB\b", second, sentence).replace("\0", first)


# --- statements ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", STATEMENTS)
def test_each_statement(statement: str) -> None:
    sentence = spoken(statement)
    assert stated(sentence)
    assert stated(f"We come to {sentence}." if not sentence[0].islower() else f"I say: {sentence}.")
    assert stated(sentence.replace(",", "")), "commas are often not heard"
    assert stated(sentence.upper()), "some transcripts shout"
    assert stated(sentence, lane=NPCS), "the same sentences are for both registries"
    assert stated(spoken(statement, first="Greytown", second="Stennet")), "either may be said first"
    assert stated(spoken(statement, first='"Stennet"', second='"Greytown"').replace('""', '"'))
    assert stated(spoken(statement, second="the Greytown"), second="the Greytown")
    assert stated(spoken(statement, second="“Greytown”"))


@pytest.mark.parametrize("statement", INTRODUCTIONS)
def test_each_introduction_needs_its_comma_or_an_article(statement: str) -> None:
    sentence = spoken(statement)
    assert stated(sentence)
    assert stated(sentence, lane=NPCS)
    assert not stated(sentence.replace(",", "")), "somebody calls somebody"
    assert not stated(f"Then {sentence.replace(',', '')} over.", lane=NPCS)
    assert stated(f"a {sentence.replace(',', '')}")


@pytest.mark.parametrize("statement", [s for s in STATEMENTS if "{who}" in s])
@pytest.mark.parametrize("who", ["they", "everyone", "the locals", "the old sailors", "old-timers", "people's mothers"])
def test_whoever_calls_it_so(statement: str, who: str) -> None:
    assert stated(spoken(statement, who))


@pytest.mark.parametrize("statement", [s for s in STATEMENTS if "{who}" in s and not s.endswith("{who}")])
def test_four_words_are_not_who_calls_it_so(statement: str) -> None:
    assert not stated(spoken(statement, "those who never were there"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Stennet is not also called Greytown.",
        "Stennet was never the true name of Greytown.",
        "If Stennet is also called Greytown, we are there.",
        "I wonder whether Stennet is also called Greytown.",
        "Perhaps Stennet, also known as Greytown.",
        "Maybe Stennet is another name for Greytown.",
        "Suppose Stennet and Greytown are one and the same.",
        "Let's pretend Stennet and Greytown are the same place.",
        "Stennet isn't another name for Greytown.",
        "Stennet, not better known as Greytown.",
        "Stennet is also called Greytown?",
        "Who says Stennet and Greytown are the same place?",
        "I doubt that Stennet is also called Greytown.",
        "I don't think Stennet is also called Greytown.",
        "Stennet, which nobody calls Greytown.",
        "Stennet, which no one calls Greytown.",
        "Stennet, which you wouldn't call Greytown.",
        "The brother of Stennet, also called Greytown.",
        "Stennet, also called Greytown Voss.",
        "Stennet and Greytown.",
        "Stennet, Greytown",
        "From Stennet to Greytown.",
        "Stennet and Greytown are the same colour.",
        "Stennet is near Greytown.",
        "Stennet is larger, also called Greytown.",
        "Stennet also called Greytowner.",
        "Upper-Stennet, also called Greytown.",
        "Stennet, also called Greytown-on-Sea.",
        "Stennet, also called Greytown's mill.",
        "Stennet, also called Greytown’s mill.",
        f"Stennet, also called {'very ' * 20}Greytown.",
    ],
)
def test_what_states_nothing(sentence: str) -> None:
    assert not stated(sentence)


@pytest.mark.parametrize(
    "text",
    ["She is the true Stennet, also called Greytown.", "Not so. " + "x" * 40 + " Stennet, also called Greytown."],
)
def test_a_denial_far_before_denies_something_else(text: str) -> None:
    assert stated(text)


def test_a_statement_names_the_first_unit_that_makes_it() -> None:
    units = said("Stennet.", "Greytown is another name for Stennet.", "Stennet, also called Greytown.")
    (group,) = proposed([node("Stennet", 1), node("Greytown", 3, at=(1, 1))], units)
    assert (group.reason.rule, group.reason.unit_id) == ("stated_alias", 2)


def test_a_statement_in_no_window_of_theirs_is_heard_for_proper_names() -> None:
    units = said(*["We walk."] * 40, "Stennet, also called Greytown.")
    assert len(proposed([node("Stennet", 1), node("Greytown", 10, at=(1, 1))], units)) == 1


@pytest.mark.parametrize(("unit", "one"), [(3, True), (4, False)])
def test_a_label_is_only_the_one_identified_right_there(unit: int, one: bool) -> None:
    texts = ["We walk."] * 6
    texts[unit - 1] = "the barkeep is what everyone calls Umbrelda."
    found = proposed([node("the barkeep", 1), node("Umbrelda", 1, at=(1, 1))], said(*texts), lane=NPCS)
    assert bool(found) is one


def test_of_places_of_one_name_the_nearest_is_meant() -> None:
    units = said(*["We walk."] * 30, "the tavern is another name for Lantern Inn.")
    given_nodes = [
        node("the tavern", 2, at=(1, 0)),
        node("the tavern", 30, at=(1, 1)),
        node("Lantern Inn", 31, at=(1, 2)),
    ]
    (group,) = proposed(given_nodes, units)
    assert group.members == ("c002", "c003")
    assert group.canonical == "c003", "a proper name goes before a label"


def test_the_longer_name_is_heard() -> None:
    given_nodes = [node("Orrick", 1), node("Orrick Thane", 1, at=(1, 1)), node("the Miller", 1, at=(1, 2))]
    (group,) = proposed(given_nodes, said("Orrick Thane, also called the Miller, nods."), lane=NPCS)
    assert group.members == ("c002", "c003"), "by name: Orrick, Orrick Thane, the Miller"


def test_statements_chain() -> None:
    units = said("Stennet, also called Greytown.", "Greytown is another name for Old Rest.")
    (group,) = proposed([node("Stennet", 1), node("Greytown", 1, at=(1, 1)), node("Old Rest", 2, at=(1, 2))], units)
    assert group.members == ("c001", "c002", "c003")
    assert group.reason.unit_id == 1


ODD = [
    "A.B",
    "(Mara)",
    "K'Varn",
    "K’Varn",
    "C++",
    "[3]",
    "a|b",
    "x{2}",
    "\\d",
    "^Mara$",
    "Márá",
    "王",
    "Ⅷ",
    "Mara-Lin",
    "ﬁn",
]


@pytest.mark.parametrize("name", ODD)
def test_names_with_odd_characters_are_looked_for_as_they_are(name: str) -> None:
    proposed([node(name, 1), node("Wenna", 1, at=(1, 1))], said(f"Wenna, also called {name}, and AxB, ab, 33, xx."))
    assert not stated("Wenna, also called AxB, 33, xx or 7.", "Wenna", name)


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_no_name_and_no_text_stops_the_rules(first: str, second: str, text: str) -> None:
    units = said(text, f"{first}, also called {second}", f"{second} is the true name of {first}")
    for lane in (NPCS, LOCATIONS):
        proposed(
            [node(first, 1), node(second, 2, at=(1, 1)), node(first, 3, at=(1, 2))][: 2 if lane is NPCS else 3],
            units,
            lane=lane,
        )


# --- the rule file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["A is great", "B is A", "A, B and A", "is"])
def test_a_statement_without_both_names_is_refused(statement: str) -> None:
    with pytest.raises(ValidationError, match="must name A once, then B once"):
        UnionRules(statements=(statement,), introductions=(), denials=(), others=())


def test_no_statement_stands_twice() -> None:
    assert len(set(STATEMENTS)) == len(STATEMENTS)


def test_without_denials_and_others_nothing_is_denied() -> None:
    rules = UnionRules(statements=("A is B",), introductions=(), denials=(), others=())
    assert rules.states("not x is y", (4, 5), (9, 10))
    assert not rules.other_pattern.search("another")


# --- the gazetteer ---------------------------------------------------------------------------------------------------

KNOWN = CampaignReferences(
    npcs=(KnownName("Old Marta", ("the Needle", "Marta")),),
    locations=(KnownName("Greyspine", ("the Old Mine", "Spine")),),
)


def test_declared_aliases_are_one_under_the_declared_name() -> None:
    given_nodes = [node("the needle", 1), node("Marta", 5, at=(1, 1)), node("old marta", 9, at=(1, 2))]
    (group,) = proposed(given_nodes, said(*["..."] * 9), KNOWN, NPCS)
    assert (group.members, group.canonical) == (("c001", "c002", "c003"), "c003")
    assert (group.reason.rule, group.reason.unit_id) == ("known_alias", None)


def test_each_registry_has_its_own_gazetteer() -> None:
    given_nodes = [node("Marta", 1), node("Old Marta", 5, at=(1, 1))]
    assert proposed(given_nodes, said(*["..."] * 9), KNOWN, LOCATIONS) == []


def test_an_alias_that_is_not_among_the_candidates_makes_nothing() -> None:
    assert proposed([node("Marta", 1), node("Wenna", 5, at=(1, 1))], said(*["..."] * 9), KNOWN, NPCS) == []


def test_a_label_that_two_candidates_bear_is_no_alias_of_either() -> None:
    campaign = CampaignReferences(locations=(KnownName("Lantern Inn", ("the inn",)),))
    one = [node("Lantern Inn", 1), node("the inn", 5, at=(1, 1))]
    assert len(proposed(one, said(*["..."] * 9), campaign)) == 1
    two = [*one, node("the inn", 8, at=(1, 2))]
    assert proposed(two, said(*["..."] * 9), campaign) == []


def test_a_form_that_two_declared_names_share_makes_them_not_one() -> None:
    campaign = CampaignReferences(
        npcs=(KnownName("Marta", ("the Captain",)), KnownName("Tom", ("The  captain", "Tommy")))
    )
    given_nodes = [node(n, at + 1, at=(1, at)) for at, n in enumerate(("Marta", "Tom", "the Captain", "Tommy"))]
    (group,) = proposed(given_nodes, said(*["..."] * 9), campaign, NPCS)
    assert group.members == ("c002", "c004")


def test_several_rules_for_one_group_are_all_named() -> None:
    units = said("Greyspine.", "The Old Mine is another name for Greyspine.", "Greyspine.", "...")
    given_nodes = [node("Greyspine", 1), node("the Old Mine", 2, at=(1, 1)), node("Greyspine", 3, at=(1, 2))]
    (group,) = proposed(given_nodes, units, KNOWN)
    assert group.members == ("c001", "c002", "c003")
    assert group.reason.rule == "equal_proper_name+known_alias+stated_alias"
    assert group.reason.unit_id == 2


# --- equal names of places ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Stennet", "Greyspine Manor", "the Lantern Inn", "Temple of Umbra", "K'Varn", "Ærik's Rest"]
)
def test_a_proper_name_said_again_is_one_place(name: str) -> None:
    assert is_proper(name, RULES)
    given_nodes = [node(name, 1), node(name.upper(), 20, at=(2, 0)), node(name, 30, at=(3, 0))]
    (group,) = proposed(given_nodes, said(*["..."] * 30))
    assert (group.members, group.canonical) == (("c001", "c002", "c003"), "c001")
    assert group.reason.rule == "equal_proper_name"


@pytest.mark.parametrize(
    "name",
    [
        "the tavern",
        "The Tavern",
        "Tavern",
        "the Temple",
        "A Bridge",
        "the city",
        "The",
        "tavern of the city",
        "stennet",
        "12",
        "!",
    ],
)
def test_a_generic_label_said_again_is_not(name: str) -> None:
    assert not is_proper(name, RULES)
    assert proposed([node(name, 1), node(name, 2, at=(2, 0))], said("...", "...")) == []


@pytest.mark.parametrize(
    "text",
    ["There is another Stennet.", "A DIFFERENT Stennet, that is.", "a second Stennet", "not this, the other Stennet"],
)
def test_a_citing_unit_that_speaks_of_two_keeps_its_candidate_apart(text: str) -> None:
    given_nodes = [node("Stennet", 1), node("Stennet", 2, at=(2, 0)), node("Stennet", 3, at=(3, 0))]
    (group,) = proposed(given_nodes, said("Stennet.", text, "Stennet."))
    assert group.members == ("c001", "c003")
    assert proposed(given_nodes[:2], said("Stennet.", text, "Stennet.")) == []


def test_a_unit_beside_the_evidence_keeps_nobody_apart() -> None:
    units = said("Stennet.", "another day, another dragon", "Stennet.")
    assert len(proposed([node("Stennet", 1), node("Stennet", 3, at=(2, 0))], units)) == 1
    assert proposed([node("Stennet", (1, 2)), node("Stennet", 3, at=(2, 0))], units) == []


def test_equal_names_make_no_npcs_one_as_they_are_one_already() -> None:
    assert proposed([node("Mara", 1), node("Tamara", 2, at=(1, 1))], said("Mara", "Tamara"), lane=NPCS) == []


# --- how long it takes ---------------------------------------------------------------------------------------------


def seconds(work: Callable[[], object]) -> float:
    """Return the shorter of two times."""
    times = []
    for _ in range(2):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def test_twice_the_session_takes_about_twice_as_long() -> None:
    def work(count: int) -> Callable[[], object]:
        units = said(
            *[f"We leave Hold{n % 200}, also called nothing, and go to Hold{n % 7}. Another day." for n in range(count)]
        )
        spots = [(k, min(count, k + 249)) for k in range(1, count, 250)]
        given_nodes = [node(f"Hold{n}", *spots, at=(1, n)) for n in range(200)]
        (request,) = asked(given_nodes, units, lane=LOCATIONS)
        return lambda: proposer.propose_locations(request, RULES)

    small, large = work(1500), work(3000)
    seconds(small)
    assert seconds(large) < 4 * seconds(small) + 0.05


def test_one_endless_unit_takes_time_by_its_length() -> None:
    def work(count: int) -> Callable[[], object]:
        (request,) = asked([node("Mara", 1), node("Tom", 1, at=(1, 1))], said("mara tom " * count), lane=NPCS)
        return lambda: proposer.propose_npcs(request, RULES)

    small, large = work(10_000), work(40_000)
    seconds(small)
    assert seconds(large) < 9 * seconds(small) + 0.05, "four times as long; sixteen times where it is quadratic"


def test_what_is_proposed_does_not_depend_on_how_texts_hash() -> None:
    code = (
        "from tests.models.test_union_rules import *\n"
        "n = [node(f'Hold {c}', k, at=(1, k)) for k, c in enumerate('ABCABDDEAB', 1)]\n"
        "u = said(*['Hold A, also called Hold E.'] * 10)\n"
        "print(proposed(n, u, CampaignReferences(locations=(KnownName('Hold B', ('Hold D',)),))))\n"
    )
    root = Path(__file__).resolve().parents[2]
    said_by = {
        run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(said_by) == 1
    assert b"c001" in said_by.pop()
