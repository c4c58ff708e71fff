"""Steps of one session: what is rejected stays aside, what belongs together is shown together, order never matters."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from notarius_assets import lanes, prompting
from notarius_assets.flow import steps
from notarius_assets.flow.audit import audit_session
from notarius_assets.flow.documents import records_of
from notarius_assets.flow.extract import ChunkResult, chunk_result, judge
from notarius_assets.flow.inputs import inputs_of
from notarius_assets.flow.normalize import normalize
from notarius_assets.flow.windows import windows_of
from notarius_assets.identity import comparison_name
from notarius_assets.lake.attempts import State
from notarius_assets.models.calls import Unwatched
from notarius_assets.models.provider import RulesProvider
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View
from tests.conftest import Campaign, CampaignFactory
from tests.robustness.support import SMALL_CHUNKS, ask, documents, notarius, retell, run_steps, status_of

SESSION = "session-01"


def refuse(word: str) -> Validator:
    """Return a blocking validator that finds a fault in every record that names `word`."""

    def check(view: View, context: Context) -> Iterator[Finding]:
        for item in view.items:
            if item.record and word in item.record["name"]:
                yield Finding("refused_name", item.index)

    return Validator("refusal", Boundary.NORMALIZATION, Level.ARTIFACT, Severity.ERROR, "Refuses a name.", check)


def refusing(monkeypatch: pytest.MonkeyPatch, n: int, word: str) -> None:
    """Let the lane number `n` refuse a name."""
    changed = [
        replace(lane, normalization=(*lane.normalization, refuse(word))) if i == n else lane
        for i, lane in enumerate(lanes.BUILT_IN)
    ]
    monkeypatch.setattr(lanes, "BUILT_IN", tuple(changed))


def names_resolve(campaign: Campaign) -> bool:
    """Tell whether every interaction that the history shows names an NPC that it shows."""
    return ask(campaign, "SELECT count(*) = count(npc_id) AND count(*) > 0 FROM npc_interactions") == [(True,)]


def test_a_new_registry_is_not_shown_before_the_lane_that_consumes_it(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = campaign(sessions=1)
    refusing(monkeypatch, 1, "Hestrel")
    run_steps(c)
    old = documents(c)
    assert names_resolve(c)
    retell(c, SESSION, "Orrick Thane", "Hestrel Thane")
    retell(c, SESSION, "Orrick", "Hestrel")
    ended = {o.attempt.table: o.attempt.state for o in run_steps(c)}
    assert ended["npcs"] is State.ACCEPTED
    assert ended["npc_interactions"] is State.REJECTED
    store = c.open().store
    manifest = store.manifest(c.source_ids[0])
    assert manifest.accepted["npcs"] != manifest.published["npcs"]
    assert manifest.waiting_for == ("npc_interactions",)
    assert documents(c) == old
    assert names_resolve(c)
    assert ask(c, "SELECT text FROM units WHERE contains(text, 'Hestrel')") == []
    said = notarius("status", on=c)
    assert "held back by npc_interactions" in " ".join(said.out.split())
    to = c.root / "out"
    assert notarius("export", SESSION, "--to", str(to), on=c).code == 0
    assert {f"{c.source_ids[0]}/{p.name}": p.read_bytes() for p in to.iterdir()} == old
    shown = notarius("show", SESSION, on=c)
    assert "Orrick" in shown.out
    assert "Held back: " in shown.out
    monkeypatch.undo()
    run_steps(c)
    assert store.manifest(c.source_ids[0]).held_back == ()
    assert documents(c) != old
    assert names_resolve(c)


def test_a_rejected_registry_blocks_its_consumer_and_nothing_else(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = campaign(sessions=2)
    refusing(monkeypatch, 0, "Orrick")
    ended = {(o.attempt.source_id[-2:], o.attempt.table): o.attempt for o in run_steps(c)}
    assert ended["01", "npcs"].state is State.REJECTED
    assert ended["01", "npcs"].reason == "refusal found 1 (refused_name)"
    for table in ("npc_interaction_candidates", "npc_interactions"):
        assert ended["01", table].state is State.BLOCKED
        assert ended["02", table].state is State.ACCEPTED
    assert "reference 'npcs' (npcs) was rejected" in str(ended["01", "npc_interaction_candidates"].reason)
    assert status_of(c, SESSION).state == "rejected"
    assert set(c.open().store.manifest(c.source_ids[0]).published) == {
        "transcript_units",
        "transcript_chunks",
        "npc_candidates",
    }


def test_candidates_asked_with_another_registry_are_not_normalized(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    retell(c, SESSION, "Orrick Thane", "Hestrel Thane")
    retell(c, SESSION, "Orrick", "Hestrel")
    workspace = c.open()
    for table in ("transcript_units", "transcript_chunks", "npc_candidates", "npcs"):
        assert steps.run(workspace, table, c.source_ids[0]).accepted
    blocked = steps.run(workspace, "npc_interactions", c.source_ids[0])
    assert blocked.attempt.state is State.BLOCKED
    assert "npc_interaction_candidates is outdated" in str(blocked.attempt.reason)
    assert names_resolve(c)


def test_an_error_nobody_expected_is_an_attempt_and_goes_on_up(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = campaign(sessions=1)
    workspace = c.open()
    monkeypatch.setattr(steps, "chunk", lambda *_: 1 / 0)
    assert steps.run(workspace, "transcript_units", c.source_ids[0]).accepted
    with pytest.raises(ZeroDivisionError):
        steps.run(workspace, "transcript_chunks", c.source_ids[0])
    newest = workspace.store.latest_attempt(c.source_ids[0], "transcript_chunks")
    assert newest is not None
    assert (newest.state, newest.reason) == (State.FAILED, "internal error ZeroDivisionError")


def test_answers_in_any_order_give_the_same_candidates_and_document(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1, extra="chunking: {max_units: 1}\n")
    run_steps(c)
    workspace = c.open()
    for bound in workspace.pipeline.lanes:
        inputs = inputs_of(workspace, bound, c.source_ids[0])
        references = workspace.pipeline.references
        windows = windows_of(workspace, bound.lane, c.source_ids[0], inputs)
        answers = RulesProvider().answer(bound.lane, windows, Unwatched())
        results = [chunk_result(bound.lane, w, a) for w, a in zip(windows, answers, strict=True)]
        assert len(results) == 6
        assert sum(len(r.answers) for r in results) > 2
        seen = set()
        for seed in range(6):
            shuffled: list[ChunkResult] = random.Random(seed).sample(results, len(results))
            found = judge(
                bound.lane,
                bound.extraction,
                shuffled,
                source_id=c.source_ids[0],
                units=inputs.units,
                chunks=inputs.chunks,
                campaign=references,
                registries=inputs.registries,
                allow=bound.allow,
            )
            mixed = random.Random(seed).sample(found.candidates, len(found.candidates))
            document = normalize(bound.lane, mixed, c.source_ids[0], inputs.registries).document
            seen.add((repr(found), document))
        assert len(seen) == 1


def test_rules_read_no_prompt(campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: str) -> str:
        raise AssertionError(f"{path} is nothing that rules need")

    monkeypatch.setattr(prompting, "_text", read)
    c = campaign(sessions=1)
    result = notarius("run", on=c)
    assert result.code == 0
    assert documents(c)


def test_an_npc_named_in_three_chunks_is_one_record_with_all_evidence(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1, extra="chunking: {max_units: 1}\n")
    run_steps(c)
    lane = c.open().pipeline.lanes[0].lane
    store = c.open().store
    accepted = store.manifest(c.source_ids[0]).accepted
    proposed = [
        (comparison_name(row["name"]), row["chunk_id"]) for row in store.read(accepted["npc_candidates"]).to_pylist()
    ]
    assert len(proposed) >= 3
    records = records_of(lane, store.read(accepted["npcs"]))
    found = {(comparison_name(r["name"]), ref["start_unit_id"]) for r in records for ref in r["source_refs"]}
    assert len(records) == len({name for name, _ in proposed}), records
    assert found == set(proposed), "a chunk is one unit here"


def test_the_audit_of_today_passes_what_was_accepted_and_sees_a_new_rule(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = campaign(sessions=1, extra=SMALL_CHUNKS)
    run_steps(c)
    assert all(a.passed for a in audit_session(c.open(), c.source_ids[0]))
    refusing(monkeypatch, 0, "Orrick")
    failed = [a.table for a in audit_session(c.open(), c.source_ids[0]) if not a.passed]
    assert failed == ["npcs"]
