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
from notarius_assets.flow import steps
from notarius_assets.flow.workspace import Workspace
from tests.evaluation import reference

GOLD, EXCERPTS = reference.FOLDER, reference.DEV
LEAST_NPCS_F1 = 0.40
LEAST_INTERACTIONS_F1 = 0.20
LEAST_ABOVE_CONSTANT_KIND = 0.08
LEAST_RELATEDNESS = 0.9


@pytest.fixture(scope="module")
def excerpts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workspace]:
    """Each excerpt run as a campaign of its own, with the players its gold file names."""
    if not GOLD.is_dir():
        pytest.skip(f"no annotated excerpts: {GOLD} is not there")
    found = {}
    for name in EXCERPTS:
        gold = json.loads((GOLD / f"{name}.gold.json").read_text(encoding="utf-8"))
        folder = tmp_path_factory.mktemp(name)
        (folder / "pipeline.yaml").write_text(
            yaml.safe_dump(
                {
                    "campaign": "gold",
                    "transcripts": [str(GOLD / f"{name}.transcript.json")],
                    "speakers": {"dm": ["MATT"], "players": gold["players"]},
                    "steps": [
                        {"name": "registries", "lanes": [{"lane": "dnd/npcs"}]},
                        {
                            "name": "occurrences",
                            "lanes": [{"lane": "dnd/npc-interactions", "references": {"npcs": "dnd/npcs"}}],
                        },
                    ],
                },
                allow_unicode=True,
            ),
            encoding="utf-8",
        )
        workspace = Workspace.open(folder / "pipeline.yaml", folder / "home")
        (session,) = workspace.pipeline.sessions()
        for table in ("transcript_units", "transcript_chunks"):
            assert steps.run(workspace, table, session.source_id).accepted
        for bound in workspace.pipeline.lanes:
            assert steps.run(workspace, bound.lane.candidates_table, session.source_id).accepted
            assert steps.run(workspace, bound.lane.table, session.source_id).accepted
        found[name] = workspace
    return found


def evaluated(workspace: Workspace, name: str, capfd: pytest.CaptureFixture[str]) -> Any:
    evaluating.run(workspace, [str(GOLD / f"{name}.gold.json")], kinds=False, as_json=True)
    return json.loads(capfd.readouterr().out)


def f1(counts: list[tuple[int, int, int]]) -> float:
    hits, predicted, expected = (sum(c[n] for c in counts) for n in range(3))
    return 2 * hits / (predicted + expected)


def test_the_rules_keep_their_promises(excerpts: dict[str, Workspace], capfd: pytest.CaptureFixture[str]) -> None:
    results = {name: evaluated(w, name, capfd)["total"] for name, w in excerpts.items()}

    def micro(layer: str) -> float:
        return f1([(r[layer]["hits"], r[layer]["predicted"], r[layer]["gold"]) for r in results.values()])

    constant = sum(r["interactions_kind"]["constant_kind_f1"] for r in results.values()) / len(results)
    assert micro("npcs") >= LEAST_NPCS_F1
    assert micro("interactions_kind") >= LEAST_INTERACTIONS_F1
    assert micro("interactions_kind") >= constant + LEAST_ABOVE_CONSTANT_KIND


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
    theirs = scorer.score(gold, {k: bundle[k] for k in ("npcs", "interactions")})
    ours = evaluated(workspace, name, capfd)["total"]
    for layer, numbers in theirs.items():
        assert (ours[layer]["hits"], ours[layer]["predicted"], ours[layer]["gold"]) == (
            numbers["tp"],
            numbers["pred"],
            numbers["gold"],
        )
        assert ours[layer]["f1"] == numbers["f1"]
