"""What the owner decided: records that are one and records that stay apart, in the pipeline file and when applied."""

from __future__ import annotations

from pathlib import Path

import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.flow.reconcile import question_of, reconcile
from notarius_assets.lanes.base import Candidate, Lane
from notarius_assets.models.calls import Unwatched
from notarius_assets.models.provider import RulesProvider
from notarius_assets.pipeline import Pipeline, load
from notarius_assets.reconcile.assessment import assess
from notarius_assets.reconcile.declared import Decision, apart
from notarius_assets.reconcile.merges import apply_declared, apply_groups
from notarius_assets.reconcile.nodes import Node, unite
from notarius_assets.reconcile.request import Entry, ReconcileRequest
from tests.four_lanes import STEPS
from tests.reconcile.building import LOCATIONS, NPCS, candidate, made, node, nodes, separate, shape, silent, together

MARA, TAMARA, KING, VIKING = nodes(("Mara", 1), ("Tamara", 2), ("King", 3), ("Viking", 4))
TAVERNS = [node("the tavern", n, at=(1, n)) for n in (4, 12, 30)]


def united(given: list[Node], *decisions: Decision) -> list[tuple[str, list[int]]]:
    """Return what is left after decisions: name and units of each, in order."""
    left, _ = apply_declared(given, decisions)
    return [(n.name, [r.start_unit_id for r in n.refs]) for n in sorted(left, key=lambda n: n.registry_key)]


# --- one -----------------------------------------------------------------------------------------------------------


def test_what_is_declared_one_is_one_under_the_first_name_that_is_found() -> None:
    assert united([MARA, TAMARA, KING], together("tamara", "MARA")) == [("Tamara", [1, 2]), ("King", [3])]
    assert united([MARA, KING], together("Nobody", "King", "Mara")) == [("King", [1, 3])]


@pytest.mark.parametrize("decision", [together("Mara", "Nobody"), together("No", "Body"), together("Mara", "mara")])
def test_a_decision_that_finds_fewer_than_two_does_nothing(decision: Decision) -> None:
    left, rows = apply_declared([MARA, TAMARA], [decision])
    assert (left, rows) == ([MARA, TAMARA], [])


def test_decisions_chain() -> None:
    chained = [together("Mara", "Tamara"), together("Tamara", "King"), together("King", "Viking")]
    assert united([MARA, TAMARA, KING, VIKING], *chained) == [("Mara", [1, 2, 3, 4])]
    assert united([MARA, TAMARA, KING, VIKING], *chained[::-1])[0][1] == [1, 2, 3, 4]


def test_a_name_means_every_place_of_that_name_and_a_unit_one_of_them() -> None:
    inn = node("Lantern Inn", 20, at=(2, 0))
    assert united([*TAVERNS, inn], together("Lantern Inn", "The tavern", lane=LOCATIONS)) == [
        ("Lantern Inn", [4, 12, 20, 30])
    ]
    by_unit = together(("the tavern", 12), "Lantern Inn", lane=LOCATIONS)
    assert united([*TAVERNS, inn], by_unit) == [
        ("the tavern", [4]),
        ("the tavern", [12, 20]),
        ("the tavern", [30]),
    ]
    both = together(("the tavern", 4), ("the tavern", 30), lane=LOCATIONS)
    assert united(TAVERNS, both) == [("the tavern", [4, 30]), ("the tavern", [12])]


def test_a_unit_that_is_cited_by_another_name_alone_means_nobody() -> None:
    assert united([MARA, TAMARA], together(("Mara", 2), "Tamara")) == [("Mara", [1]), ("Tamara", [2])]


def test_a_unit_within_a_range_is_enough() -> None:
    wide = node("Mara", (10, 20), at=(2, 0))
    assert united([wide, KING], together(("Mara", 15), "King")) == [("Mara", [3, 10])]


# --- apart ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "decision", "expected"),
    [
        ([MARA, TAMARA], separate("Tamara", "mara"), True),
        ([MARA, KING], separate("Tamara", "Mara"), False),
        ([MARA, TAMARA, KING], separate("King", "Mara"), True),
        ([MARA, TAMARA], separate("Mara", "Tamara", "King"), True),
        ([MARA, TAMARA], separate("Ma", "Ra"), False),
        (TAVERNS[:2], separate(("the tavern", 4), ("the tavern", 12)), True),
        (TAVERNS[1:], separate(("the tavern", 4), ("the tavern", 12)), False),
        (TAVERNS[:2], separate("the tavern", "the tavern"), True),
        (TAVERNS[:2], separate("the tavern", "Lantern Inn"), False),
        ([MARA], separate("Mara", "Tamara"), False),
    ],
)
def test_two_records_that_a_decision_names_are_kept_apart(
    given: list[Node], decision: Decision, expected: bool
) -> None:
    assert apart(given, [decision]) is expected
    assert apart(given[::-1], [decision]) is expected


def test_a_union_is_kept_apart_from_what_one_of_its_members_is_kept_apart_from() -> None:
    both = unite([MARA, KING], KING)
    assert apart([both, TAMARA], [separate("Mara", "Tamara")])
    assert not apart([both, VIKING], [separate("Mara", "Tamara")])


def test_that_records_are_one_keeps_nobody_apart() -> None:
    assert not apart([MARA, TAMARA], [together("Mara", "Tamara")])


# --- the pipeline file ----------------------------------------------------------------------------------------------

HEAD = "campaign: Hill Road\ntranscripts: [transcripts/*.txt]\n"


def written(folder: Path, *entries: str) -> Pipeline:
    """Load a pipeline file with these decisions; the first stands in line 4."""
    path = folder / "pipeline.yaml"
    lines = "".join(f"  - {entry}\n" for entry in entries)
    path.write_text(f"{HEAD}reconciliation:\n{lines}{STEPS}", encoding="utf-8")
    return load(path)


def applied(pipeline: Pipeline, lane: Lane, candidates: list[Candidate], session: str) -> list[tuple[str, list[int]]]:
    """Return the records that the offline rules and the decisions make of candidates."""
    question = question_of(pipeline, lane, candidates, f"hill-road/{session}", silent(60))
    found = reconcile(lane, question, RulesProvider(), Unwatched())
    return [(name, [a for a, _ in spans]) for name, spans in map(shape, made(lane, found.nodes))]


PAIR = [candidate("Mara", 1, at=(1, 0)), candidate("Tamara", 2, at=(1, 1))]


def test_decisions_are_read_for_a_lane_and_a_session(tmp_path: Path) -> None:
    pipeline = written(tmp_path, "{lane: dnd/npcs, session: s01, one: [Tamara, Mara]}")
    assert applied(pipeline, NPCS, PAIR, "s01") == [("Tamara", [1, 2])]
    assert applied(pipeline, NPCS, PAIR, "s02") == [("Mara", [1]), ("Tamara", [2])]
    assert applied(pipeline, LOCATIONS, PAIR, "s01") == [("Mara", [1]), ("Tamara", [2])]


def test_a_record_by_its_unit(tmp_path: Path) -> None:
    entry = "{lane: dnd/locations, one: [{name: the tavern, unit: 4}, {name: The Tavern, unit: 30}]}"
    taverns = [candidate("the tavern", n, at=(1, n)) for n in (4, 12, 30)]
    assert applied(written(tmp_path, entry), LOCATIONS, taverns, "s01") == [
        ("the tavern", [4, 30]),
        ("the tavern", [12]),
    ]


def test_a_name_that_yaml_takes_for_something_else_is_a_name(tmp_path: Path) -> None:
    pipeline = written(tmp_path, "{lane: dnd/npcs, one: [No, 7, 2024-01-05]}")
    given = [candidate(name, n, at=(1, n)) for n, name in enumerate(("no", "7", "2024-01-05"), 1)]
    assert applied(pipeline, NPCS, given, "s01") == [("no", [1, 2, 3])]


def test_a_decision_about_one_session_that_names_nobody_in_it_is_a_warning(tmp_path: Path) -> None:
    pipeline = written(
        tmp_path, "{lane: dnd/npcs, one: [Mara, Anybody]}", "{lane: dnd/npcs, session: s01, apart: [Mara, Nobody]}"
    )
    question = question_of(pipeline, NPCS, PAIR, "hill-road/s01", silent(60))
    found = reconcile(NPCS, question, RulesProvider(), Unwatched())
    assert [f"{w.code} {w.detail}" for w in found.warnings] == ["declared_record_not_found reconciliation=1 form=1"]
    assert found.merges == ()


def test_the_registry_of_an_empty_session_is_empty_whatever_is_decided(tmp_path: Path) -> None:
    assert applied(written(tmp_path, "{lane: dnd/npcs, one: [Mara, Tamara]}"), NPCS, [], "s01") == []


APART = "{lane: dnd/npcs, apart: [Mara, Tamara]}"

REFUSED = {
    "both": (["{lane: dnd/npcs, one: [a, b], apart: [c, d]}"], 4, "give either one: or apart:"),
    "neither": (["{lane: dnd/npcs}"], 4, "give either one: or apart:"),
    "one name": (["{lane: dnd/npcs, one: [a]}"], 4, "reconciliation[0].one:"),
    "no name": (["{lane: dnd/npcs, apart: []}"], 4, "reconciliation[0].apart:"),
    "a blank name": (["{lane: dnd/npcs, one: [Mara, ' ']}"], 4, "a name is blank"),
    "an invisible name": (["{lane: dnd/npcs, one: [Mara, '\u200b']}"], 4, "a name is blank"),
    "unit zero": (["{lane: dnd/npcs, one: [Mara, {name: b, unit: 0}]}"], 4, "reconciliation[0].one"),
    "a unit in words": (["{lane: dnd/npcs, one: [Mara, {name: b, unit: two}]}"], 4, "reconciliation[0].one"),
    "an unknown key": (["{lane: dnd/npcs, one: [Mara, {name: b, chunk: 2}]}"], 4, "reconciliation[0].one"),
    "no lane": (["{one: [Mara, Tamara]}"], 4, "reconciliation[0].lane: required"),
    "an unknown lane": (["{lane: dnd/npc, one: [a, b]}"], 4, "'dnd/npc' is no registry of this pipeline"),
    "a lane that is no registry": (
        ["{lane: dnd/npc-interactions, one: [a, b]}"],
        4,
        "use one of dnd/locations, dnd/npcs",
    ),
    "an NPC apart from itself": (["{lane: dnd/npcs, apart: [Mara, MARA]}"], 4, "one record a name"),
    "the same two": ([APART, "{lane: dnd/npcs, one: [tamara, Mara]}"], 5, "reconciliation[1].one: another entry"),
    "the same two first": (["{lane: dnd/npcs, one: [Tamara, Mara]}", APART], 4, "reconciliation[0].one: another entry"),
    "two of three": (["{lane: dnd/npcs, one: [Mara, King, Tamara]}", APART], 4, "keeps two of these records apart"),
    "in all and in one": (
        ["{lane: dnd/npcs, session: s01, one: [Mara, Tamara]}", APART],
        4,
        "keeps two of these records apart",
    ),
    "in one and in all": (
        ["{lane: dnd/npcs, one: [Mara, Tamara]}", "{lane: dnd/npcs, session: s01, apart: [Mara, Tamara]}"],
        4,
        "keeps two of these records apart",
    ),
}


@pytest.mark.parametrize(("entries", "line", "said"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_is_refused_at_load_with_file_and_line(
    entries: list[str], line: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        written(tmp_path, *entries)
    assert f"{tmp_path / 'pipeline.yaml'}:{line}: " in refused.value.message
    assert said in f"{refused.value.message} {refused.value.next_step}"


@pytest.mark.parametrize(
    "entries",
    [
        [
            "{lane: dnd/npcs, session: s01, one: [Mara, Tamara]}",
            "{lane: dnd/npcs, session: s02, apart: [Mara, Tamara]}",
        ],
        ["{lane: dnd/locations, one: [Mara, Tamara]}", APART],
        ["{lane: dnd/npcs, one: [Mara, King]}", "{lane: dnd/npcs, one: [Tamara, Viking]}", APART],
        ["{lane: dnd/locations, apart: [the tavern, the tavern]}"],
    ],
)
def test_what_does_not_contradict_is_taken(entries: list[str], tmp_path: Path) -> None:
    assert len(written(tmp_path, *entries).decisions) == len(entries)


def test_what_shows_to_contradict_only_in_a_session_stays_apart_and_is_told() -> None:
    """One with a name, the other with units, or through a third record: no key of the file alone tells."""
    decisions = (together("Mara", "Tamara"), together("Tamara", "King"), separate(("Mara", 1), ("King", 3)))

    left, merges = apply_declared([MARA, TAMARA, KING], decisions)

    assert sorted(n.name for n in left) == ["King", "Mara"]
    assert [(m.rule, m.refused) for m in merges] == [("declared", None), ("declared", "declared_apart")]


CONTRADICTING = {
    "by a chain": (
        ["{lane: dnd/npcs, one: [Mara, King]}", "{lane: dnd/npcs, one: [King, Tamara]}", APART],
        [("Mara", [1, 3]), ("Tamara", [2])],
    ),
    "by a unit": (
        ["{lane: dnd/npcs, one: [Mara, Tamara]}", "{lane: dnd/npcs, apart: [{name: Mara, unit: 1}, Tamara]}"],
        [("Mara", [1]), ("Tamara", [2]), ("King", [3])],
    ),
}


@pytest.mark.parametrize(("entries", "expected"), CONTRADICTING.values(), ids=CONTRADICTING)
def test_what_contradicts_only_when_it_is_applied_stays_apart_and_is_warned_of(
    entries: list[str], expected: list[tuple[str, list[int]]], tmp_path: Path
) -> None:
    pipeline = written(tmp_path, *entries)
    given = [*PAIR, candidate("King", 3, at=(1, 2))]
    assert applied(pipeline, NPCS, given, "s01") == expected
    question = question_of(pipeline, NPCS, given, "hill-road/s01", silent(60))
    found = reconcile(NPCS, question, RulesProvider(), Unwatched())
    assert [f"{w.code} {w.detail}" for w in found.warnings] == ["decisions_contradict unions=1"]
    assert [m.refused for m in found.merges if m.refused] == ["declared_apart"]


def test_what_stays_apart_is_not_united_through_name_and_first_evidence_either() -> None:
    """A union that would take over the name and the anchor of a record it is kept apart from is refused."""
    inn, other, tavern = node("the inn", 3), node("the inn", 9), node("the tavern", 3, at=(1, 5))
    request = ReconcileRequest(LOCATIONS.key, "a/b", 1, (Entry("c001", tavern), Entry("c002", other)), silent(9))
    proposal = {"groups": [{"members": ["c001", "c002"], "canonical": "c002"}]}
    decision = separate(("the inn", 3), ("the inn", 9), lane=LOCATIONS)

    left, (merge,) = apply_groups([inn, other, tavern], request, proposal, assess(proposal, request), [decision])

    assert merge.refused == "declared_apart"
    assert left == [inn, other, tavern]
