"""Our numbers are the delivered scorer's numbers."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.evaluation.gold import Gold, load_gold
from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.evaluation.prediction import from_documents, from_gold_form
from notarius_assets.evaluation.scoring import Scores, micro, score
from tests.evaluation import reference

pytestmark = reference.needs_folder

ROUNDS = 30
"""Perturbed predictions per gold file."""

LISTS = [root for layer in LAYERS for root in (layer.entities, layer.events)]


def raw_gold(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((reference.FOLDER / f"{name}.gold.json").read_text())
    return loaded


def perturbed(gold: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A prediction that errs in every way a lane errs, more or less often."""
    rate = rng.choice([0.05, 0.2, 0.5])
    out: dict[str, Any] = {root: copy.deepcopy(gold[root]) for root in LISTS}
    for layer in LAYERS:
        for root in (layer.entities, layer.events):
            out[root] = [r for r in out[root] if rng.random() > rate]
            for record in out[root]:
                record.pop("optional", None)
                if rng.random() < rate:
                    move(record, rng)
            out[root] += [move(copy.deepcopy(r), rng) for r in out[root] if rng.random() < rate]
        for event in out[layer.events]:
            if rng.random() < rate:
                event["kind"] = rng.choice(layer.kinds)
        rename(out, layer.entities, layer.events, rng, rate)
        if rng.random() < 0.3:
            rng.shuffle(out[layer.entities])
            rng.shuffle(out[layer.events])
        for entity in out[layer.entities]:
            entity["aliases"] = []
    return out


def move(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    shift, growth = rng.choice([-30, -12, -11, -2, -1, 0, 1, 2, 11, 12]), rng.choice([0, 0, 1, 5, 60])
    record["refs"] = [[max(0, a + shift), max(0, b + shift + growth)] for a, b in record["refs"]]
    if rng.random() < 0.3:
        record["refs"] = record["refs"][: rng.randint(1, len(record["refs"]))]
    return record


def rename(out: dict[str, Any], entities: str, events: str, rng: random.Random, rate: float) -> None:
    for entity in out[entities]:
        if rng.random() >= rate:
            continue
        old = entity["name"]
        forms = [*entity["aliases"], *old.split(), f"The {old}", old.upper(), f"{old} of Nowhere", "Zzyx"]
        entity["name"] = rng.choice(forms)
        for event in out[events]:
            if event.get("name") == old:
                event["name"] = entity["name"]


@pytest.mark.parametrize("name", reference.DEV)
def test_perturbed_predictions_score_the_same(name: str) -> None:
    delivered, raw = reference.load(), raw_gold(name)
    gold = load_gold(reference.FOLDER / f"{name}.gold.json")
    rng = random.Random(f"perturb {name}")
    seen: set[str] = set()
    for _ in range(ROUNDS):
        guess = perturbed(raw, rng)
        ours = reference.in_their_words(score(gold, from_gold_form(guess)))
        assert ours == delivered.score(raw, guess)
        seen.add(json.dumps(ours))
    assert len(seen) > ROUNDS // 2


@pytest.mark.parametrize("slack", [0, 1, 4])
def test_any_slack_and_the_sum_over_files_are_the_same(slack: int) -> None:
    delivered = reference.load()
    rng = random.Random(f"sum {slack}")
    for _ in range(5):
        theirs: list[dict[str, Any]] = []
        ours: list[Scores] = []
        for name in reference.DEV:
            raw = raw_gold(name)
            guess = perturbed(raw, rng)
            if rng.random() < 0.3:
                del guess["occurrences"]
            theirs.append(delivered.score(raw, guess, slack))
            ours.append(score(Gold.model_validate(raw), from_gold_form(guess), slack))
        assert [reference.in_their_words(s) for s in ours] == theirs
        assert reference.without_overlap(reference.in_their_words(micro(ours))) == delivered.micro(theirs)


@pytest.mark.parametrize("name", [*reference.DEV, "session-C2E002.registry"])
def test_gold_against_itself_is_perfect(name: str) -> None:
    gold = load_gold(reference.FOLDER / f"{name}.gold.json")
    raw = raw_gold(name)
    scores = score(gold, from_gold_form(raw))
    assert reference.in_their_words(scores) == delivered_self(raw)
    assert {layer.counts.f1 for layer in scores.layers.values()} == {1.0}
    assert not gold.remarks()


def delivered_self(raw: dict[str, Any]) -> dict[str, Any]:
    scored: dict[str, Any] = reference.load().score(raw, raw)
    return scored


def test_exported_documents_are_read_the_same(tmp_path: Path) -> None:
    raw = raw_gold("dev3")
    first = raw["range"][0]
    names = {p["key"]: p["name"] for p in raw["locations"]}

    def refs(record: dict[str, Any]) -> list[dict[str, Any]]:
        units = [(a - first + 1, b - first + 1) for a, b in record["refs"]]
        return [{"source_id": "c/s", "start_unit_id": a, "end_unit_id": b} for a, b in units]

    documents = {
        "npcs.json": {"npcs": [{"id": "npc:x", "name": r["name"], "source_refs": refs(r)} for r in raw["npcs"][1:]]},
        "npc_interactions.json": {
            "interactions": [
                {"name": r["name"], "kind": r["kind"], "source_refs": refs(r)} for r in raw["interactions"][2:]
            ]
        },
        "locations.json": {
            "locations": [{"id": r["key"], "name": r["name"], "source_refs": refs(r)} for r in raw["locations"][:-3]]
        },
        "location_occurrences.json": {
            "occurrences": [
                {
                    "location_id": r["location"],
                    "name": names[r["location"]],
                    "kind": r["kind"],
                    "source_refs": refs(r),
                }
                for r in raw["occurrences"]
            ]
        },
    }
    for file, document in documents.items():
        (tmp_path / file).write_text(json.dumps(document))
    delivered = reference.load()
    ours = from_documents({p.name: p.read_bytes() for p in sorted(tmp_path.iterdir())}, first)
    theirs = delivered.score(raw, delivered.from_bundle(tmp_path, first))
    assert reference.in_their_words(score(Gold.model_validate(raw), ours)) == theirs


# Few names and a short episode, so that names collide, ranges touch, and several matchings are possible.
FORMS = ["Ossa", "the Ossa", "Ossa Brand", "Brand", "old Brand", "the guard", "guard", "a young guard", "the", "Tam's"]


@st.composite
def crowded(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    def refs() -> list[list[int]]:
        starts = draw(st.lists(st.integers(0, 40), min_size=1, max_size=3))
        return [[a, a + draw(st.integers(0, 14))] for a in starts]

    def side(gold: bool) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for layer in LAYERS:
            entities = []
            for i in range(draw(st.integers(0, 6))):
                entity: dict[str, Any] = {"name": draw(st.sampled_from(FORMS)), "key": f"L{i}", "refs": refs()}
                if gold:
                    entity["aliases"] = draw(st.lists(st.sampled_from(FORMS), max_size=2))
                    entity["optional"] = draw(st.booleans())
                entities.append(entity)
            events = []
            for _ in range(draw(st.integers(0, 8)) if entities else 0):
                entity = draw(st.sampled_from(entities))
                event: dict[str, Any] = {
                    layer.gold_link: entity[layer.gold_key],
                    "kind": draw(st.sampled_from(layer.kinds[:3])),
                    "refs": refs(),
                }
                if gold:
                    event["optional"] = draw(st.booleans())
                events.append(event)
            out[layer.entities], out[layer.events] = entities, events
        return out

    return side(True), side(False)


@settings(max_examples=150, deadline=None)
@given(crowded())
def test_crowded_records_score_the_same(sides: tuple[dict[str, Any], dict[str, Any]]) -> None:
    raw = {"source": "T1", "range": [0, 60], **sides[0]}
    ours = score(Gold.model_validate(raw), from_gold_form(sides[1]))
    assert reference.in_their_words(ours) == reference.load().score(raw, sides[1])
