"""One small set holds every case; without one record it lacks exactly the case that record is there for."""

from __future__ import annotations

from typing import Any

import pytest

from notarius_assets.evaluation.cases import NEEDS_CHUNKS, Case, cases
from notarius_assets.evaluation.gold import Gold
from tests.evaluation.builders import Span, gold, interaction, npc, place

KINDS = {
    "kind_mentioned",
    "kind_noncombat_presence",
    "kind_dialogue",
    "kind_combat_ally",
    "kind_combat_opponent",
    "kind_other",
}
OTHERS = {
    "kind_transition",
    "several_occurrences",
    "mention_then_appearance",
    "alignment_change",
    "repeated_across_chunks",
    "empty_output",
}


def tens(label: str, unit: int) -> int:
    """Chunks of ten units, counted from 1."""
    return (unit - 1) // 10 + 1


def lacking(*golds: Gold, chunks: bool = True) -> set[str]:
    return {c.name for c in cases(golds, tens if chunks else None) if not c.held}


def one(kind: str, *refs: Span, name: str = "Odo", optional: bool = False) -> dict[str, Any]:
    return interaction(name, kind, *refs, optional=optional)


def of(*events: dict[str, Any], span: Span = (100, 139)) -> Gold:
    """A gold file of these interactions, each NPC evidenced where they are."""
    evidence: dict[str, list[Span]] = {}
    for event in events:
        evidence.setdefault(event["name"], []).extend(tuple(ref) for ref in event["refs"])
    return gold([npc(name, *refs) for name, refs in evidence.items()], [*events], span=span)


FULL = of(
    one("mentioned", (100, 100)),
    one("dialogue", (105, 108)),
    one("combat_ally", (112, 114)),
    one("combat_opponent", (118, 119)),
    one("noncombat_presence", (121, 121), name="Ilse"),
    one("other", (123, 123), name="Ilse"),
    one("other", (131, 131), name="Ilse"),
    span=(100, 149),
)


def by_name(*golds: Gold, chunks: bool = True) -> dict[str, Case]:
    return {c.name: c for c in cases(golds, tens if chunks else None)}


def test_a_full_set_lacks_nothing_and_says_where() -> None:
    found = by_name(FULL)
    assert {n: c.where for n, c in found.items()} == {
        "kind_mentioned": "T1: Odo, turn 100 mentioned",
        "kind_noncombat_presence": "T1: Ilse, turn 121 noncombat_presence",
        "kind_dialogue": "T1: Odo, turn 105 dialogue",
        "kind_combat_ally": "T1: Odo, turn 112 combat_ally",
        "kind_combat_opponent": "T1: Odo, turn 118 combat_opponent",
        "kind_other": "T1: Ilse, turn 123 other",
        "kind_transition": "T1: Odo, turn 100 mentioned, turn 105 dialogue",
        "several_occurrences": "T1: Odo, turn 100 mentioned, turn 105 dialogue",
        "mention_then_appearance": "T1: Odo, turn 100 mentioned, turn 105 dialogue",
        "alignment_change": "T1: Odo, turn 112 combat_ally, turn 118 combat_opponent",
        "repeated_across_chunks": "T1: Ilse, turn 123 other, turn 131 other, chunks 3 and 4",
        "empty_output": "T1: chunk 5",
    }
    assert all(c.held and c.remark is None for c in found.values())
    assert set(found) == KINDS | OTHERS


def test_an_empty_set_lacks_everything() -> None:
    assert lacking() == KINDS | OTHERS


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("mentioned", "other"),
        ("noncombat_presence", "other"),
        ("dialogue", "other"),
        ("combat_ally", "other"),
        ("combat_opponent", "other"),
        ("other", "dialogue"),
    ],
)
def test_each_kind_can_lack_alone(kind: str, other: str) -> None:
    swapped = [
        one(other if event.kind == kind else event.kind, *event.refs, name=event.entity)
        for event in FULL.events["interactions"]
    ]
    assert lacking(of(*swapped, span=(100, 149))) & KINDS == {f"kind_{kind}"}


def test_transitions_can_lack_alone() -> None:
    # A kind never follows another at once: the two kinds of each NPC begin on the same turn.
    same_turn = of(one("dialogue", (100, 101)), one("combat_ally", (100, 109)))
    assert {"kind_transition"} <= lacking(same_turn)
    assert "several_occurrences" not in lacking(same_turn)


def test_an_npc_with_one_occurrence_has_no_several() -> None:
    apart = of(one("mentioned", (100, 100)), one("dialogue", (105, 105), name="Ilse"))
    assert {"several_occurrences", "kind_transition", "mention_then_appearance"} <= lacking(apart)
    twice = of(one("mentioned", (100, 100)), one("mentioned", (105, 105)))
    assert {"several_occurrences", "kind_transition"} & lacking(twice) == {"kind_transition"}


def test_npcs_of_two_sessions_are_two() -> None:
    early, late = of(one("mentioned", (100, 100))), of(one("dialogue", (105, 105)))
    assert {"several_occurrences", "kind_transition", "mention_then_appearance"} <= lacking(early, late)


def test_a_mention_after_the_appearance_is_none_before_it() -> None:
    assert "mention_then_appearance" in lacking(of(one("dialogue", (100, 101)), one("mentioned", (105, 105))))
    between = of(one("mentioned", (100, 100)), one("mentioned", (102, 102)), one("other", (105, 105)))
    assert "mention_then_appearance" not in lacking(between)
    assert by_name(between)["mention_then_appearance"].where == "T1: Odo, turn 100 mentioned, turn 105 other"


def test_alignment_changes_also_after_a_talk() -> None:
    fights = [one("combat_opponent", (100, 100)), one("dialogue", (102, 102)), one("combat_ally", (105, 105))]
    assert "alignment_change" not in lacking(of(*fights))
    assert "alignment_change" in lacking(of(*fights[:2], one("combat_opponent", (105, 105))))
    assert "alignment_change" in lacking(of(fights[0], one("combat_ally", (105, 105), name="Ilse")))


def test_evidence_is_repeated_across_chunks_within_a_record_or_between_two() -> None:
    assert "repeated_across_chunks" not in lacking(of(one("dialogue", (108, 111))))
    assert "repeated_across_chunks" not in lacking(of(one("dialogue", (101, 101), (111, 111))))
    assert "repeated_across_chunks" not in lacking(of(one("dialogue", (101, 101)), one("dialogue", (111, 111))))
    assert "repeated_across_chunks" in lacking(of(one("dialogue", (101, 109)), one("dialogue", (102, 102))))
    assert "repeated_across_chunks" in lacking(of(one("dialogue", (101, 101)), one("other", (111, 111))))


def test_without_chunks_two_cases_are_not_known() -> None:
    found = by_name(FULL, chunks=False)
    undecided = {n for n, c in found.items() if c.remark}
    assert undecided == {"repeated_across_chunks", "empty_output"}
    assert all(found[n].remark == NEEDS_CHUNKS and not found[n].held for n in undecided)


def test_a_session_whose_chunks_are_not_known_is_named() -> None:
    busy = of(one("dialogue", (100, 109)), span=(100, 109))
    found = {c.name: c for c in cases([busy], lambda label, unit: None)}
    assert found["empty_output"].remark == f"{NEEDS_CHUNKS} of T1"
    assert not found["empty_output"].held


def test_empty_output_is_a_file_or_a_chunk_without_npcs() -> None:
    busy = of(one("dialogue", (100, 109)), span=(100, 109))
    assert "empty_output" in lacking(busy)
    assert "empty_output" not in lacking(busy, gold([], [], span=(1, 9)))
    assert by_name(busy, gold([], [], span=(1, 9)), chunks=False)["empty_output"].where == "T1: no NPC at all"
    assert by_name(of(one("dialogue", (100, 109)), span=(100, 110)))["empty_output"].where == "T1: chunk 2"


def test_a_file_that_was_not_read_for_npcs_is_not_empty() -> None:
    places_only = gold(locations=[place("L1", "the mill", (100, 100))], occurrences=[], span=(100, 109))
    assert lacking(places_only) == KINDS | OTHERS


def test_an_npc_of_the_registry_alone_fills_its_chunk() -> None:
    assert "empty_output" in lacking(gold([npc("Odo", (101, 101))], [], span=(100, 109)))


def test_optional_records_hold_no_case_but_empty_nothing() -> None:
    maybe = [one("mentioned", (100, 100), optional=True), one("dialogue", (105, 115), optional=True)]
    assert lacking(of(*maybe, span=(100, 119))) == KINDS | OTHERS
