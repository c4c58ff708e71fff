from __future__ import annotations

import pytest

from notarius_assets.evaluation.relatedness import relatedness
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.relatedness import is_named
from tests.evaluation.builders import interaction, npc, occurrence, place, prediction

TEXTS = ["You see the ferrywoman’s boat.", "Who?", "BRENNA waves.", "At the old mill."]
UNITS = tuple(Unit(i, ("DM",), text) for i, text in enumerate(TEXTS, 1))


@pytest.mark.parametrize(
    ("forms", "text", "named"),
    [
        (["Brenna Holt"], "brenna!", True),
        (["the ferrywoman"], "a Ferrywoman’s boat", True),
        (["Odo of the Mill"], "of the and", False),
        (["Mara"], "Tamara came", False),
        (["Odo", "the miller"], "the miller nods", True),
        (["Vex'ra"], "Vex’ra's bow", True),
        ([], "anything", False),
    ],
)
def test_a_word_of_the_name_stands_in_the_text(forms: list[str], text: str, named: bool) -> None:
    assert is_named(forms, [text]) is named


def test_share_of_records_whose_evidence_says_the_name() -> None:
    guess = prediction(
        [npc("Brenna", (102, 102)), npc("Odo", (101, 103))],
        [interaction("Brenna", "dialogue", (100, 101))],
        locations=[place("L1", "the Mill", (103, 103))],
        occurrences=[occurrence("L1", "visited", (103, 103))],
    )
    assert relatedness(guess, UNITS) == 3 / 5
    assert relatedness(guess, UNITS, {"brenna": ["the ferrywoman"], "Odo": ["who"]}) == 1.0


def test_evidence_outside_the_session_says_nothing_and_no_records_are_no_fault() -> None:
    assert relatedness(prediction([npc("Brenna", (0, 99), (104, 10**9))]), UNITS) == 0.0
    assert relatedness(prediction(), UNITS) == 1.0
