from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.evaluation.evaluation import evaluate
from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.evaluation.prediction import from_gold_form
from notarius_assets.evaluation.scoring import Counts, Scores, micro, score
from tests.evaluation.builders import Span, gold, interaction, npc, occurrence, place, prediction

KINDS = LAYERS[0].kinds

BRENNA = npc("Brenna Holt", (110, 112), aliases=("the ferrywoman",))
ODO = npc("Odo", (150, 150))
TALK = interaction("Brenna Holt", "dialogue", (110, 119))
WORD_OF_ODO = interaction("Odo", "mentioned", (150, 150))
SET = gold([BRENNA, ODO], [TALK, WORD_OF_ODO])


def counts(scores: Scores) -> dict[str, tuple[int, int, int]]:
    return {n: (s.counts.hits, s.counts.predicted, s.counts.gold) for n, s in scores.layers.items()}


def test_nothing_to_find_and_nothing_predicted_is_perfect() -> None:
    nothing = Counts(0, 0, 0)
    assert (nothing.precision, nothing.recall, nothing.f1) == (1.0, 1.0, 1.0)
    assert (Counts(0, 2, 0).precision, Counts(0, 2, 0).recall, Counts(0, 2, 0).f1) == (0.0, 0.0, 0.0)
    assert (Counts(0, 0, 2).precision, Counts(0, 0, 2).recall, Counts(0, 0, 2).f1) == (0.0, 0.0, 0.0)
    assert (Counts(1, 2, 4).precision, Counts(1, 2, 4).recall, Counts(1, 2, 4).f1) == (0.5, 0.25, 1 / 3)


def test_a_wrong_kind_is_found_but_not_with_its_kind() -> None:
    guess = prediction(
        [npc("Brenna Holt", (110, 110)), npc("Odo", (150, 150)), npc("Nobody", (110, 110))],
        [interaction("Brenna Holt", "noncombat_presence", (115, 124)), WORD_OF_ODO],
    )
    scores = score(SET, guess)
    assert counts(scores) == {"npcs": (2, 3, 2), "interactions": (2, 2, 2), "interactions_kind": (1, 2, 2)}
    # Turns 115-119 of 110-124, and all of Odo's one turn.
    assert scores.layers["interactions"].overlaps == (5 / 15, 1.0)
    assert scores.layers["interactions"].evidence_iou == 0.667
    assert scores.layers["interactions_kind"].kinds == {
        "mentioned": Counts(1, 1, 1),
        "noncombat_presence": Counts(0, 1, 0),
        "dialogue": Counts(0, 0, 1),
    }
    # One kind for all: either kind gets one of two; ties go to the kind that comes last in the alphabet.
    baseline = scores.layers["interactions_kind"].baseline
    assert baseline is not None
    assert (baseline.kind, baseline.f1) == ("mentioned", 0.5)


def test_evidence_that_names_half_the_session_is_no_hit() -> None:
    def predicted(last: int) -> tuple[int, int, int]:
        events = [interaction("Odo", "mentioned", (150, last))]
        return counts(score(SET, prediction([BRENNA, ODO], events)))["interactions"]

    assert predicted(162) == (1, 1, 2)
    assert predicted(163) == (0, 1, 2)


def test_optional_records_count_neither_way() -> None:
    rumour = npc("the last hermit", (170, 170), optional=True)
    told = interaction("the last hermit", "mentioned", (170, 170), optional=True)
    again = interaction("Odo", "mentioned", (180, 180), optional=True)
    some = gold([BRENNA, ODO, rumour], [TALK, WORD_OF_ODO, told, again])
    bare = prediction([BRENNA, ODO], [TALK, WORD_OF_ODO])
    full = prediction(
        [BRENNA, ODO, rumour], [TALK, WORD_OF_ODO, told, again, interaction("the last hermit", "other", (199, 199))]
    )
    assert counts(score(some, bare)) == counts(score(some, full)) == counts(score(SET, bare))


def test_a_layer_is_scored_only_where_both_sides_have_it() -> None:
    with_places = gold([ODO], [], locations=[place("L1", "the mill", (150, 150))], occurrences=[])
    assert list(score(with_places, prediction([ODO], [])).layers) == ["npcs", "interactions", "interactions_kind"]
    assert list(score(with_places, prediction([ODO])).layers) == ["npcs"]
    assert list(score(gold([ODO]), prediction([ODO], [WORD_OF_ODO])).layers) == ["npcs"]
    assert list(score(with_places, prediction(None, [WORD_OF_ODO])).layers) == []


def test_places_are_tied_by_key_not_by_name() -> None:
    inns = [place("L1", "the inn", (110, 110)), place("L2", "the inn", (150, 150))]
    stays = [occurrence("L1", "visited", (110, 110)), occurrence("L2", "planned", (150, 150))]
    some = gold(locations=inns, occurrences=stays)
    swapped = [occurrence("L2", "visited", (110, 110)), occurrence("L1", "planned", (150, 150))]
    assert counts(score(some, prediction(locations=inns, occurrences=stays)))["occurrences_kind"] == (2, 2, 2)
    assert counts(score(some, prediction(locations=inns, occurrences=swapped)))["occurrences_kind"] == (0, 2, 2)


def test_a_sum_adds_counts_and_averages_baselines_over_all_files() -> None:
    one = score(SET, prediction([BRENNA, ODO], [TALK, WORD_OF_ODO]))
    two = score(SET, prediction([BRENNA], [TALK]))
    three = score(gold([ODO]), prediction([ODO]))
    total = micro([one, two, three])
    assert counts(total) == {"npcs": (4, 4, 5), "interactions": (3, 3, 4), "interactions_kind": (3, 3, 4)}
    assert total.layers["interactions"].overlaps == (1.0, 1.0, 1.0)
    assert total.layers["interactions_kind"].kinds == {"mentioned": Counts(1, 1, 2), "dialogue": Counts(2, 2, 2)}
    baseline = total.layers["interactions_kind"].baseline
    assert baseline is not None
    # 0.5 (one of two, two predicted), 0.667 (one of two, one predicted), nothing to score
    assert (baseline.kind, baseline.f1) == (None, round((0.5 + 0.667) / 3, 3))


def test_the_sum_of_nothing_is_nothing() -> None:
    assert micro([]).layers == {}
    assert evaluate([]).total.layers == {}


def test_two_names_for_one_npc_make_the_order_of_the_registry_matter() -> None:
    # Both spellings are the innkeeper's, one gold record can be taken once: by the record that comes first.
    some = gold([npc("the innkeeper", (110, 110))], [interaction("the innkeeper", "dialogue", (110, 110))])
    registry = [npc("innkeeper", (110, 110)), npc("the innkeeper", (110, 110))]
    events = [interaction("innkeeper", "dialogue", (110, 110))]
    assert counts(score(some, prediction(registry, events)))["interactions"] == (1, 1, 1)
    assert counts(score(some, prediction(registry[::-1], events)))["interactions"] == (0, 1, 1)


NAMES = ["Odo", "Brenna", "Ilse", "Corvin", "Maud"]


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """A gold file as readers write it: names are unique, records of one NPC and kind do not share evidence."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    spans = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), unique_by=lambda t: t[0], max_size=12))
    npcs = [npc(name, (100, 100 + i), optional=draw(st.booleans())) for i, name in enumerate(names)]
    events = [
        interaction(
            draw(st.sampled_from(names)), draw(st.sampled_from(KINDS)), span(t, n), optional=draw(st.booleans())
        )
        for t, n in spans
        if names
    ]
    return {"npcs": npcs, "interactions": events}


def span(tenth: int, length: int) -> Span:
    return (100 + 10 * tenth, 100 + 10 * tenth + length)


@settings(max_examples=60, deadline=None)
@given(files())
def test_gold_against_itself_is_perfect(raw: dict[str, Any]) -> None:
    scores = score(gold(**raw), from_gold_form(raw))
    for layer in scores.layers.values():
        assert (layer.counts.precision, layer.counts.recall, layer.counts.f1) == (1.0, 1.0, 1.0)
        assert all(c.f1 == 1.0 for c in layer.kinds.values())
        assert layer.overlaps is None or set(layer.overlaps) <= {1.0}


@settings(max_examples=60, deadline=None)
@given(files(), files(), st.randoms(use_true_random=False))
def test_the_order_of_events_never_changes_the_hits(one: dict[str, Any], two: dict[str, Any], rng: Any) -> None:
    shuffled = rng.sample(two["interactions"], len(two["interactions"]))
    gold_shuffled = rng.sample(one["interactions"], len(one["interactions"]))
    before = score(gold(**one), from_gold_form(two))
    after = score(gold(one["npcs"], gold_shuffled), from_gold_form({**two, "interactions": shuffled}))
    assert [s.counts.hits for s in before.layers.values()] == [s.counts.hits for s in after.layers.values()]


@settings(max_examples=60, deadline=None)
@given(files(), files())
def test_kinds_add_up_to_their_layer(one: dict[str, Any], two: dict[str, Any]) -> None:
    layer = score(gold(**one), from_gold_form(two)).layers["interactions_kind"]
    assert sum(layer.kinds.values(), Counts(0, 0, 0)) == layer.counts
    assert list(layer.kinds) == [kind for kind in KINDS if kind in layer.kinds]
