"""The offline rules against annotated excerpts of real sessions, through the product: lake, export, evaluation.

The bounds are promises of the product, not of this machine: the rules are deterministic.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from notarius_assets.commands import evaluating, showing
from notarius_assets.evaluation import unions
from notarius_assets.evaluation.prediction import from_gold_form
from notarius_assets.flow import steps
from notarius_assets.flow.reconcile import question_of, reconcile
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lanes.base import Candidate
from notarius_assets.models.calls import Unwatched
from notarius_assets.reconcile.lineage import members
from notarius_assets.transcripts.chunks import ChunkLimits, chunk
from notarius_assets.transcripts.reader import read
from tests.evaluation import reference

GOLD, EXCERPTS = reference.FOLDER, reference.DEV
LEAST_NPCS_F1 = 0.40
LEAST_INTERACTIONS_F1 = 0.20
LEAST_LOCATIONS_F1 = 0.40
LEAST_OCCURRENCES_F1 = 0.20
LEAST_ABOVE_CONSTANT_KIND = 0.08
MOST_WRONG_UNIONS = 2
WHOLE = "session-C2E002.registry"
LEAST_RELATEDNESS = 0.9


STEPS = [
    {"name": "registries", "lanes": [{"lane": "dnd/npcs"}, {"lane": "dnd/locations"}]},
    {
        "name": "occurrences",
        "lanes": [
            {"lane": "dnd/npc-interactions", "references": {"npcs": "dnd/npcs"}},
            {"lane": "dnd/location-occurrences", "references": {"locations": "dnd/locations"}},
        ],
    },
]


def campaign(folder: Path, transcript: Path, gold: dict[str, Any], steps: list[dict[str, Any]]) -> Workspace:
    """Return a campaign of one transcript with the players its gold file names; nothing is run yet."""
    file = {
        "campaign": "gold",
        "transcripts": [str(transcript)],
        "speakers": {"dm": ["MATT"], "players": gold["players"], "party": gold["party"]},
        "steps": steps,
    }
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(file, allow_unicode=True), encoding="utf-8")
    return Workspace.open(folder / "pipeline.yaml", folder / "home")


def run_all(workspace: Workspace) -> None:
    (session,) = workspace.pipeline.sessions()
    for table in ("transcript_units", "transcript_chunks"):
        assert steps.run(workspace, table, session.source_id).accepted
    for bound in workspace.pipeline.lanes:
        assert steps.run(workspace, bound.lane.candidates_table, session.source_id).accepted
        assert steps.run(workspace, bound.lane.table, session.source_id).accepted


@pytest.fixture(scope="module")
def excerpts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workspace]:
    """Each excerpt run as a campaign of its own, with the players its gold file names."""
    if not GOLD.is_dir():
        pytest.skip(f"no annotated excerpts: {GOLD} is not there")
    found = {}
    for name in EXCERPTS:
        gold = json.loads((GOLD / f"{name}.gold.json").read_text(encoding="utf-8"))
        folder = tmp_path_factory.mktemp(name)
        workspace = campaign(folder, GOLD / f"{name}.transcript.json", gold, STEPS)
        run_all(workspace)
        found[name] = workspace
    return found


def evaluated(workspace: Workspace, name: str, capfd: pytest.CaptureFixture[str]) -> Any:
    evaluating.run(workspace, [str(GOLD / f"{name}.gold.json")], kinds=False, as_json=True)
    return json.loads(capfd.readouterr().out)


def f1(counts: list[tuple[int, int, int]]) -> float:
    hits, predicted, expected = (sum(c[n] for c in counts) for n in range(3))
    return 2.0 * hits / (predicted + expected)


def test_the_rules_keep_their_promises(excerpts: dict[str, Workspace], capfd: pytest.CaptureFixture[str]) -> None:
    results = {name: evaluated(w, name, capfd)["total"] for name, w in excerpts.items()}

    def micro(layer: str) -> float:
        return f1([(r[layer]["hits"], r[layer]["predicted"], r[layer]["gold"]) for r in results.values()])

    def above_constant(layer: str) -> float:
        constant: list[float] = [r[layer]["constant_kind_f1"] for r in results.values()]
        return micro(layer) - sum(constant) / len(constant)

    assert micro("npcs") >= LEAST_NPCS_F1
    assert micro("interactions_kind") >= LEAST_INTERACTIONS_F1
    assert micro("locations") >= LEAST_LOCATIONS_F1
    assert micro("occurrences_kind") >= LEAST_OCCURRENCES_F1
    assert above_constant("interactions_kind") >= LEAST_ABOVE_CONSTANT_KIND
    assert above_constant("occurrences_kind") >= LEAST_ABOVE_CONSTANT_KIND


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The whole session whose registry was read, not yet run."""
    transcript = GOLD.parent / "crd3" / "C2E002.json"
    if not transcript.is_file() or not (GOLD / f"{WHOLE}.gold.json").is_file():
        pytest.skip(f"no whole session: {transcript} or its gold file is not there")
    gold = json.loads((GOLD / f"{WHOLE}.gold.json").read_text(encoding="utf-8"))
    return campaign(tmp_path_factory.mktemp("whole"), transcript, gold, STEPS[:1])


def test_a_whole_session_has_hardly_a_wrong_union(whole: Workspace, capfd: pytest.CaptureFixture[str]) -> None:
    run_all(whole)

    found = evaluated(whole, WHOLE, capfd)

    assert {u["layer"] for u in found["unions"]} == {"npcs", "locations"}
    for of in found["unions"]:
        assert of["wrong"] <= MOST_WRONG_UNIONS
        assert of["missed"] >= 0
        assert of["told"] > of["candidates"] / 3


def test_perfect_candidates_of_a_whole_session_are_united_rightly(whole: Workspace) -> None:
    gold = json.loads((GOLD / f"{WHOLE}.gold.json").read_text(encoding="utf-8"))
    (session,) = whole.pipeline.sessions()
    units = read(session.path).units
    chunks = [(c.start_unit_id, c.end_unit_id) for c in chunk(units, ChunkLimits(max_units=100))]
    entities = from_gold_form({"npcs": gold["npcs"], "locations": gold["locations"]}, gold["range"][0]).entities
    shift = 1 - gold["range"][0]
    for bound in whole.pipeline.lanes:
        lane, how = bound.lane, bound.lane.reconciliation
        assert how is not None
        proposed = []
        for number, (first, last) in enumerate(chunks, 1):
            for at, entity in enumerate(entities[lane.root]):
                mine = [(a + shift, b + shift) for a, b in entity.refs if first <= a + shift <= b + shift <= last]
                if mine:
                    answer = {"name": entity.name, "ranges": [{"start": a, "end": b} for a, b in mine]}
                    proposed.append(Candidate(number, at, lane.to_record(answer, session.source_id)))
        question = question_of(whole.pipeline, lane, proposed, session.source_id, units)
        found = reconcile(lane, question, whole.model, Unwatched())
        records, _ = how.records(found.nodes, session.source_id)
        nodes = [node for candidate in proposed for node in how.nodes([candidate])]
        merges = [m.as_json(records) for m in found.merges]
        groups = members(nodes, merges, one_a_name=how.one_a_name)
        as_turns = [
            [(n.name, tuple((r.start_unit_id - shift, r.end_unit_id - shift) for r in n.refs)) for n in group]
            for group in groups
        ]
        counted = unions(as_turns, entities[lane.root])
        assert len(groups) == len(records)
        assert counted.wrong <= MOST_WRONG_UNIONS
        # without any proposal each candidate of a place would be a record
        assert lane.root != "locations" or len(records) < len(proposed) * 0.8


@pytest.mark.parametrize("name", EXCERPTS)
def test_the_evidence_says_the_name(
    name: str, excerpts: dict[str, Workspace], capfd: pytest.CaptureFixture[str]
) -> None:
    (share,) = evaluated(excerpts[name], name, capfd)["relatedness"].values()
    assert share >= LEAST_RELATEDNESS


@pytest.mark.parametrize("name", EXCERPTS)
def test_evaluate_gives_the_numbers_of_the_reference_scorer(
    name: str, excerpts: dict[str, Workspace], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    workspace = excerpts[name]
    assert showing.export(workspace, workspace.pipeline.sessions()[0].slug, tmp_path) == 0
    capfd.readouterr()
    scorer = reference.load()
    gold = json.loads((GOLD / f"{name}.gold.json").read_text(encoding="utf-8"))
    bundle = scorer.from_bundle(tmp_path, gold["range"][0])
    theirs = scorer.score(gold, bundle)
    ours = evaluated(workspace, name, capfd)["total"]
    for layer, numbers in theirs.items():
        assert (ours[layer]["hits"], ours[layer]["predicted"], ours[layer]["gold"]) == (
            numbers["tp"],
            numbers["pred"],
            numbers["gold"],
        )
        assert ours[layer]["f1"] == numbers["f1"]
