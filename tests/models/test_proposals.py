"""Duplicate groups asked of a scripted server: what is usable, what is asked again, what stands where nothing is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from notarius_assets.errors import ConfigurationError
from notarius_assets.flow import steps
from notarius_assets.flow.currency import SessionState
from notarius_assets.flow.steps import Outcome
from notarius_assets.lake import history
from notarius_assets.lake.attempts import State
from notarius_assets.models.request import PROPOSAL_ASKS, ModelRequest, proposal_requests
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply, compact
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.models import asking, world
from tests.models.asking import SETTINGS, SOON, Told, quick
from tests.models.world import DUPLICATES, STORY, answered, lane_of, model
from tests.reconcile.building import LOCATIONS, NPCS, group, nodes, one, silent
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import ask, change, documents, notarius, run_steps, status_of

SESSION, SOURCE = "session-01", "hill-road/session-01"
NAMES = ["Orrick Thane", "Captain Hestrel", "Wenna", "Dunstan"]
"""The registry of `STORY` without any union; their keys are c001 to c004."""

UNITED = {"groups": [group("c003", "c004", canonical="c004")]}
TOGETHER = ["Orrick Thane", "Captain Hestrel", "Dunstan"]
PAIR = {"groups": [group("c001", "c002")]}
NO_GROUPS: dict[str, Any] = {"groups": []}
FAILING = replies.error(500, "api_error", "Internal server error", SOON)
ALL_BAD = replies.answer({"groups": [group("c001"), group("C002", "C003"), group("c001", "c004", canonical="c002")]})
TABLES = ("transcript_units", "transcript_chunks", "npc_candidates", "npcs")

Script = Callable[[Asked], Reply]


class Duplicates:
    """Answers requests for duplicates in order, the last reply for all that come then; everything else honestly."""

    def __init__(self, *given: Reply) -> None:
        self.given = list(given)
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Reply:
        if lane_of(asked) != DUPLICATES:
            return answered(asked)
        self.asked.append(asked)
        return self.given[min(len(self.asked), len(self.given)) - 1]


def written(root: Path, url: str, windows: int = 12, **rest: Any) -> Campaign:
    """Write a campaign of one session whose registry has four names."""
    extra = model(url, windows=windows, **rest)
    return write_campaign(root / "campaign", sessions=0, stories={SESSION: STORY}, extra=extra)


def registry(campaign: Campaign) -> Outcome:
    """Make the registry of the session, whether or not it is current."""
    workspace = campaign.open()
    ended = [steps.run(workspace, table, SOURCE) for table in TABLES]
    assert all(o.accepted for o in ended), [o.message for o in ended]
    return ended[-1]


def asked_for(tmp_path: Path, *given: Reply) -> tuple[Outcome, Duplicates, Campaign]:
    """Make a registry whose duplicates are answered so."""
    script = Duplicates(*given)
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        return registry(campaign), script, campaign


def names(outcome: Outcome) -> list[str]:
    return [r["name"] for r in outcome.records]


def warnings(outcome: Outcome) -> list[str]:
    """Return what the normalizer warns of."""
    (verdict,) = [v for v in outcome.attempt.verdicts if v["validator"] == "reconciliation"]
    assert verdict["severity"] == "WARN"
    return [f"{f['code']} {f['detail']}" for f in verdict["findings"]]


def state(campaign: Campaign) -> tuple[SessionState, tuple[str, ...]]:
    """Return how the registry stands now, and by what."""
    (found,) = [t for t in status_of(campaign, SESSION).tables if t.table == "npcs"]
    return found.state, found.because


CURRENT = (SessionState.CURRENT, ())
STALE = (SessionState.STALE, ("reconciliation not answered",))


# --- what is an answer ---------------------------------------------------------------------------------------------

USABLE = {
    "no groups": (replies.answer(NO_GROUPS), NAMES),
    "groups": (replies.answer(UNITED), TOGETHER),
    "prose around them": (replies.prose(UNITED), TOGETHER),
    "a fence": (replies.fenced(UNITED), TOGETHER),
    "thinking first": (replies.thinking_first(UNITED), TOGETHER),
    "a good group and a bad one": (
        replies.answer({"groups": [*UNITED["groups"], group("c001", "c009"), "c002"]}),
        TOGETHER,
    ),
    "everything in one": (replies.answer({"groups": [group("c001", "c002", "c003", "c004")]}), ["Orrick Thane"]),
}


@pytest.mark.parametrize(("reply", "expected"), USABLE.values(), ids=USABLE)
def test_what_can_be_used_is_asked_for_once(reply: Reply, expected: list[str], tmp_path: Path) -> None:
    ended, script, campaign = asked_for(tmp_path, reply)
    assert names(ended) == expected
    assert len(script.asked) == 1
    assert state(campaign) == CURRENT
    assert ended.attempt.notes["reconciliation_requests"] == ended.attempt.notes["model_calls"] == 1
    assert registry(campaign).attempt.content_digest == ended.attempt.content_digest, "and never again"


UNREADABLE = {
    "prose alone": replies.text("There are no duplicates."),
    "nothing": replies.no_content(),
    "half an object": replies.text('{"groups":[{"members":["c001","c00'),
    "another field": replies.answer({**UNITED, "notes": "sure"}),
    "another root": replies.answer({"duplicates": []}),
    "two answers": replies.text(compact(UNITED) + compact(NO_GROUPS)),
    "groups that are no list": replies.answer({"groups": {}}),
    "groups of which none is good": ALL_BAD,
    "keys in other case": replies.answer({"groups": [group("C001", "C002")]}),
    "groups of anything": replies.text(
        '{"groups":[null,7,"c001",[],{"members":["\\ud800","c001"],"canonical":"c001"}]}'
    ),
    "one key in all groups": replies.answer({"groups": [group("c001", "c002"), group("c001", "c003")]}),
}


@pytest.mark.parametrize("reply", UNREADABLE.values(), ids=UNREADABLE)
def test_what_can_not_be_used_is_asked_again_twice_at_most(reply: Reply, tmp_path: Path) -> None:
    for before in (1, 2):
        end, watch = told([reply] * before + [replies.answer(PAIR)], tmp_path / str(before))
        assert (end, [c.ask for c in watch.calls]) == ("done", [1, 2, 3][: before + 1])
        assert len({c.fingerprint for c in watch.calls}) == before + 1, "each ask is a request of its own"
    _, watch = told([reply] * 4, tmp_path / "never")
    assert [c.ask for c in watch.calls] == [1, 2, 3]
    assert PROPOSAL_ASKS == 3


@pytest.mark.parametrize("reply", [replies.text("None."), ALL_BAD])
def test_what_is_asked_again_is_used_as_if_it_came_at_once(reply: Reply, tmp_path: Path) -> None:
    ended, script, campaign = asked_for(tmp_path, reply, reply, replies.answer(UNITED))
    assert (names(ended), warnings(ended)) == (TOGETHER, [])
    assert [again(a) for a in script.asked] == [1, 2, 3]
    assert state(campaign) == CURRENT
    assert [r[:2] for r in ask_ledger(campaign)] == [(1, None), (2, None), (3, None)]


def again(asked: Asked) -> int:
    """Return which ask a request says that it is."""
    last = asked.body["messages"][0]["content"][-1]["text"]
    return next((n for n in (2, 3) if f"attempt {n}," in last), 1)


def ask_ledger(campaign: Campaign) -> list[tuple[Any, ...]]:
    """Return ask, chunk, status and fingerprint of each attempt at the duplicates, as they were made."""
    workspace = campaign.open()
    history.refresh(workspace.store, [b.lane for b in workspace.pipeline.lanes])
    return ask(
        campaign,
        "SELECT ask, chunk_id, status, fingerprint FROM model_calls WHERE table_name = 'npcs' ORDER BY step, call",
    )


@pytest.mark.parametrize("reply", [replies.text("None."), ALL_BAD])
def test_three_times_nothing_usable_leaves_the_records_as_they_are(reply: Reply, tmp_path: Path) -> None:
    ended, script, campaign = asked_for(tmp_path, reply)
    plain, _, _ = asked_for(tmp_path / "plain", replies.answer(NO_GROUPS))
    assert (names(ended), ended.attempt.content_digest) == (NAMES, plain.attempt.content_digest)
    assert len(script.asked) == PROPOSAL_ASKS == 3
    assert warnings(ended)[0].startswith("no_usable_proposal request=1 ")
    assert state(campaign) == CURRENT, "whoever was asked three times is not asked by every run"
    assert [r[0] for r in ask_ledger(campaign)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (replies.refusal(), "no_usable_proposal request=1 end=refused reason=refusal"),
        (replies.truncated('{"groups":[]}'), "no_usable_proposal request=1 end=truncated reason=max_tokens"),
    ],
)
def test_a_refusal_and_a_cut_answer_are_asked_once_and_warned_of(reply: Reply, said: str, tmp_path: Path) -> None:
    ended, script, campaign = asked_for(tmp_path, reply)
    assert (names(ended), warnings(ended), len(script.asked)) == (NAMES, [said], 1)
    assert state(campaign) == CURRENT
    assert len(world.kept(campaign)) == 1, "that of the candidates"


@pytest.mark.parametrize(
    ("reply", "status", "reason", "calls"),
    [
        (replies.rate_limited("0.01"), "rate_limited", "rate_limited", 4),
        (replies.rate_limited("3600"), "rate_limited", "rate_limited", 4),
        (FAILING, "server_error", "server_error", 4),
        (replies.wrong_key(), "not_accepted", "no_key", 1),
        (replies.stopped("tool_use", "{}"), "stopped", "stop_reason_tool_use", 1),
        (replies.not_json(), "bad_response", "bad_response", 1),
    ],
)
def test_where_nobody_answers_the_registry_stands_is_stale_and_the_next_run_asks_just_that(
    reply: Reply, status: str, reason: str, calls: int, tmp_path: Path
) -> None:
    script = Duplicates(reply)
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        run_steps(campaign)
        assert state(campaign) == STALE
        before, asked = documents(campaign), len(server.asked)
        assert len(script.asked) == calls
        assert {r[2] for r in ask_ledger(campaign)} == {status}
        (attempt,) = [a for a in campaign.open().store.attempts() if a.table == "npcs"]
        assert (attempt.state, attempt.rows) == (State.ACCEPTED, 4)
        assert attempt.windows[0]["reason"] == reason
        script.given = [replies.answer(NO_GROUPS)]
        run_steps(campaign)
        assert [lane_of(a) for a in server.asked[asked:]] == [DUPLICATES]
        assert run_steps(campaign) == []
    assert state(campaign) == CURRENT
    assert documents(campaign) == before
    assert_whole(campaign)


def test_a_registry_that_was_asked_about_does_not_give_way_to_one_that_was_not(tmp_path: Path) -> None:
    script = Duplicates(replies.answer(UNITED))
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        run_steps(campaign)
        before = documents(campaign)
        workspace = campaign.open()
        (source_id,) = campaign.source_ids
        for _, kept in workspace.answers.kept():
            if "groups" in kept.read_text(encoding="utf-8"):
                kept.unlink()
        script.given = [FAILING]
        outcome = steps.run(workspace, "npcs", source_id)
        assert (outcome.attempt.state, outcome.attempt.windows[0]["reason"]) == (State.FAILED, "server_error")
        assert (outcome.attempt.reason or "").startswith("reconciliation: 1 of 1 windows server_error: ")
        assert outcome.attempt.next_step
        assert documents(campaign) == before
        assert state(campaign)[0] is SessionState.FAILED
        script.given = [replies.answer(UNITED)]
        run_steps(campaign)
    assert state(campaign) == CURRENT
    assert documents(campaign) == before


def test_a_union_that_comes_late_is_carried_through(tmp_path: Path) -> None:
    script = Duplicates(FAILING)
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        run_steps(campaign)
        asked = len(server.asked)
        script.given = [replies.answer(UNITED)]
        ended = run_steps(campaign)
        assert [lane_of(a) for a in server.asked[asked:]] == [DUPLICATES, "interactions"]
    by_table = {o.attempt.table: o for o in ended}
    assert names(by_table["npcs"]) == TOGETHER
    assert by_table["npc_interactions"].accepted
    assert {r["name"] for r in by_table["npc_interactions"].records} == set(TOGETHER)


def test_where_nobody_answers_a_registry_that_was_reconciled_is_not_undone(tmp_path: Path) -> None:
    script = Duplicates(replies.answer(UNITED))
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        run_steps(campaign)
        before = documents(campaign)
        script.given = [FAILING]
        change(campaign, "speakers:", "gazetteer: {glossary: {ferry: a boat}}\nspeakers:")
        run_steps(campaign)
        assert documents(campaign) == before
        script.given = [replies.answer(UNITED)]
        assert all(o.accepted for o in run_steps(campaign))
    assert documents(campaign) == before
    assert state(campaign) == CURRENT
    assert_whole(campaign)


# --- what is kept, and what was paid -------------------------------------------------------------------------------


def test_a_second_run_asks_nothing_and_replay_makes_the_same(tmp_path: Path) -> None:
    script = Duplicates(ALL_BAD, replies.answer(UNITED))
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        run_steps(campaign)
        before, calls = documents(campaign), len(server.asked)
        assert run_steps(campaign) == []
        registry(campaign)
        change(campaign, "provider: anthropic", "provider: replay")
        again_made = registry(campaign)
        assert len(server.asked) == calls
    assert again_made.attempt.windows[0]["answered_by"] == "cache"
    assert again_made.attempt.notes["answers_from_cache"] == 1
    assert documents(campaign) == before


def test_three_unusable_proposals_that_were_read_are_not_paid_for_again(tmp_path: Path) -> None:
    ended, script, campaign = asked_for(tmp_path, ALL_BAD)
    change(campaign, "provider: anthropic", "provider: replay")
    again_made = registry(campaign)
    assert len(script.asked) == 3
    assert (again_made.attempt.content_digest, warnings(again_made)) == (
        ended.attempt.content_digest,
        warnings(ended),
    )
    assert state(campaign) == CURRENT


def test_the_last_unusable_proposal_is_enough_to_know_that_all_were_made(tmp_path: Path) -> None:
    ended, script, campaign = asked_for(tmp_path, replies.text("None."), ALL_BAD)
    assert len(world.kept(campaign)) == 3, "the first could not be read"
    assert notarius("prune", on=campaign).code == 0
    assert registry(campaign).attempt.content_digest == ended.attempt.content_digest
    change(campaign, "provider: anthropic", "provider: replay")
    assert registry(campaign).attempt.content_digest == ended.attempt.content_digest
    assert (len(script.asked), state(campaign)) == (3, CURRENT)


def test_after_a_failure_it_goes_on_with_the_ask_that_failed(tmp_path: Path) -> None:
    script = Duplicates(replies.text("None."), ALL_BAD, FAILING)
    with ModelServer(script) as server, quick():
        campaign = written(tmp_path, server.url)
        registry(campaign)
        assert state(campaign) == STALE
        before = len(script.asked)
        script.given = [replies.answer(UNITED)]
        assert names(registry(campaign)) == TOGETHER
    assert [again(a) for a in script.asked[before:]] == [3]


def test_replay_without_a_recording_says_that_it_is_not_answered(tmp_path: Path) -> None:
    with ModelServer(Duplicates(FAILING)) as server, quick():
        campaign = written(tmp_path, server.url)
        registry(campaign)
        change(campaign, "provider: anthropic", "provider: replay")
        ended = registry(campaign)
    assert warnings(ended) == ["no_usable_proposal request=1 end=failed reason=no_recording"]
    assert state(campaign) == STALE


def test_the_ledger_has_every_ask_with_its_price(tmp_path: Path) -> None:
    with ModelServer(Duplicates(FAILING, replies.text("None."), ALL_BAD, replies.answer(UNITED))) as server, quick():
        campaign = written(tmp_path, server.url)
        ended = {o.attempt.table: o.attempt for o in run_steps(campaign)}
        calls = len(server.asked)
    rows = ask(
        campaign,
        "SELECT lane, chunk_id, ask, attempt, status, input_tokens + cache_read_tokens + cache_write_tokens > 0, "
        "cost_usd FROM model_calls WHERE table_name = 'npcs' ORDER BY call",
    )
    assert [r[:6] for r in rows] == [
        ("dnd/npcs", None, 1, 1, "server_error", False),
        ("dnd/npcs", None, 1, 2, "invalid", True),
        ("dnd/npcs", None, 2, 1, "answered", True),
        ("dnd/npcs", None, 3, 1, "answered", True),
    ]
    notes = ended["npcs"].notes
    assert (notes["model_calls"], notes["merges"], notes["merges_refused"]) == (4, 1, 0)
    assert notes["cost_usd"] == pytest.approx(sum(r[6] for r in rows if r[6] is not None))
    ((count, paid),) = ask(campaign, "SELECT count(*), sum(cost_usd) FROM model_calls")
    assert count == calls
    assert paid == pytest.approx(sum(a.notes.get("cost_usd", 0) for a in ended.values()))
    ((prompts,),) = ask(campaign, "SELECT count(DISTINCT prompts) FROM model_calls WHERE lane = 'dnd/npcs'")
    assert prompts == 2, "candidates and duplicates are asked for by prompts of their own"
    assert ask(
        campaign, "SELECT chunk_id, window_end, candidates, answered_by FROM windows WHERE table_name = 'npcs'"
    ) == [(None, "done", 1, "call")]


def test_fewer_than_two_candidates_are_nothing_to_ask_about(campaign: CampaignFactory) -> None:
    with ModelServer(answered) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=6))
        ended = {o.attempt.table: o.attempt for o in run_steps(c)}
        assert "duplicates" not in map(lane_of, server.asked)
    assert ended["npcs"].rows == 1
    assert ended["npcs"].windows == []
    assert "reconciliation_requests" not in ended["npcs"].notes


# --- several requests ----------------------------------------------------------------------------------------------


def crowd(size: int) -> Reply:
    """Return an answer with so many NPCs in two units."""
    return replies.answer(
        {"npcs": [{"name": f"Person {n:03d}", "ranges": [{"start": 1 + n % 2, "end": 2}]} for n in range(size)]}
    )


def crowded(duplicates: Callable[[Asked], Reply], size: int = 405) -> Script:
    return lambda asked: duplicates(asked) if lane_of(asked) == DUPLICATES else crowd(size)


def test_of_several_requests_only_the_unusable_one_is_asked_again(tmp_path: Path) -> None:
    asks: list[tuple[str, int]] = []

    def duplicates(asked: Asked) -> Reply:
        first = asked.text.partition('c001 | "')[2][:10]
        asks.append((first, again(asked)))
        bad = first == "Person 400" and again(asked) == 1
        return ALL_BAD if bad else replies.answer({"groups": [group("c001", "c002")]})

    with ModelServer(crowded(duplicates)) as server, quick():
        campaign = written(tmp_path, server.url)
        ended = registry(campaign)
    # by earliest evidence, then by name: the even ones, then the odd ones
    assert sorted(asks) == sorted([("Person 000", 1), ("Person 400", 1), ("Person 395", 1), ("Person 400", 2)])
    assert len(ended.records) == 402
    assert warnings(ended) == ["set_cut requests=3 candidates=200+200+5 alone=0"]
    assert ended.attempt.notes["reconciliation_requests"] == 3


def test_the_order_in_which_proposals_arrive_changes_nothing(tmp_path: Path) -> None:
    made = []
    for seed in range(3):
        rng = random.Random(seed)

        def duplicates(asked: Asked, rng: random.Random = rng) -> Reply:
            return replies.answer({"groups": [group("c001", "c003"), group("c004", "c002")]}).after(rng.random() * 0.1)

        with ModelServer(crowded(duplicates)) as server, quick():
            campaign = written(tmp_path / str(seed), server.url)
            ended = registry(campaign)
        made.append((ended.attempt.content_digest, ended.attempt.merges))
    assert made[0] == made[1] == made[2]


# --- what is sent --------------------------------------------------------------------------------------------------


def request() -> ReconcileRequest:
    return one(nodes(("Orrick", 1), ("Orrick Thane", 2)), silent(5))


def blocks(asked: ModelRequest) -> list[Any]:
    return [*asked.params["system"], *asked.params["messages"][0]["content"]]


def test_later_asks_are_the_first_one_with_a_sentence_more() -> None:
    first, second, third = proposal_requests(NPCS, request(), SETTINGS)
    assert blocks(second)[:-1] == blocks(third)[:-1] == blocks(first)
    assert len({first.fingerprint, second.fingerprint, third.fingerprint}) == 3
    assert [r.asks for r in (first, second, third)] == [(1,), (2,), (3,)]
    assert {r.chunk_id for r in (first, second, third)} == {None}


def test_the_shared_instructions_are_the_same_bytes_in_both_registries_and_come_first() -> None:
    npcs, places = (proposal_requests(lane, request(), SETTINGS)[0] for lane in (NPCS, LOCATIONS))
    assert blocks(npcs)[0] == blocks(places)[0]
    assert blocks(npcs)[1] != blocks(places)[1]
    assert blocks(npcs)[2:] == blocks(places)[2:]
    assert npcs.params["output_config"] == places.params["output_config"]
    assert [i for i, block in enumerate(blocks(npcs)) if "cache_control" in block] == [2]


def test_a_request_shows_no_id_and_nothing_that_a_session_is_called_by() -> None:
    text = json.dumps(proposal_requests(NPCS, request(), SETTINGS)[0].params)
    assert "sha256" not in text
    assert "emberfall" not in text


def told(given: Sequence[Reply], folder: Path) -> tuple[str, Told]:
    """Ask for duplicates of one request; return how it ended, and what the watch was told."""
    with ModelServer(list(given)) as server, quick():
        watch = Told()
        (found,) = asking.provider(server.url, folder).propose(NPCS, [request()], watch)
    return asking.end_of(found.answer), watch


def test_how_a_request_ends_is_told_once_however_often_it_was_asked(tmp_path: Path) -> None:
    end, watch = told([replies.text("?"), ALL_BAD, replies.answer(NO_GROUPS)], tmp_path)
    assert (end, len(watch.ends)) == ("empty", 1)
    assert watch.statuses == ["invalid", "answered", "answered"]
    assert [c.ask for c in watch.calls] == [1, 2, 3]
    assert {c.chunk_id for c in watch.calls} == {None}


def test_a_kept_answer_to_a_later_ask_is_used_before_anybody_is_asked(tmp_path: Path) -> None:
    end, _ = told([replies.text("?"), replies.text("?"), replies.answer(NO_GROUPS)], tmp_path)
    again_end, watch = told([], tmp_path)
    assert (end, again_end, watch.calls) == ("empty", "empty", [])


def test_nobody_is_asked_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="key"):
        asking.provider(None, tmp_path, key=None).propose(NPCS, [request()], Told())


# --- killed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_flight", [1, 5])
def test_killed_between_candidates_and_duplicates(tmp_path: Path, in_flight: int) -> None:
    with ModelServer(answered) as server:
        campaign = world.killed_and_made_good(tmp_path, server, 12, in_flight)
    assert_whole(campaign)
    assert list(documents(campaign)) == [f"{SOURCE}/npcs.json", f"{SOURCE}/npc_interactions.json"]


def test_killed_while_duplicates_are_asked_for_again(tmp_path: Path) -> None:
    held = {"on": True}

    def script(asked: Asked) -> Reply:
        if lane_of(asked) != DUPLICATES:
            return answered(asked)
        if again(asked) == 1:
            return ALL_BAD
        return replies.answer(UNITED).after(600 if held["on"] else 0)

    with ModelServer(script) as server:
        campaign = written(tmp_path, server.url)
        process = world.forked(campaign)
        world.until(lambda: len(world.kept(campaign)) == 2 and server.in_flight == 1, "the second ask is under way")
        process.kill()
        process.join(60)
        held["on"] = False
        asked = len(server.asked)
        run_steps(campaign)
        later = [(lane_of(a), again(a)) for a in server.asked[asked:]]
    assert later == [(DUPLICATES, 2), ("interactions", 1)], (
        "what was answered is not asked again, though it is unusable"
    )
    assert state(campaign) == CURRENT
    assert_whole(campaign)


# --- answered elsewhere --------------------------------------------------------------------------------------------


def result(line: str, payload: object) -> str:
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": payload if isinstance(payload, str) else compact(payload)}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 30},
    }
    return (
        compact({"custom_id": json.loads(line)["custom_id"], "result": {"type": "succeeded", "message": message}})
        + "\n"
    )


def exported(campaign: Campaign) -> list[str]:
    """Return the request lines that `notarius requests export` writes."""
    said = notarius("requests", "export", "--to", "-", on=campaign)
    assert said.code == 0, said
    return said.out.splitlines()


def imported(campaign: Campaign, line: str, payload: object) -> int:
    """Import one result; return how the command ended."""
    results = campaign.root / "results.jsonl"
    results.write_text(result(line, payload), encoding="utf-8")
    return notarius("requests", "import", str(results), on=campaign).code


def test_each_ask_is_exported_when_the_one_before_is_answered_and_unusable(tmp_path: Path) -> None:
    with ModelServer(Duplicates(FAILING)) as server, quick():
        campaign = written(tmp_path, server.url)
        registry(campaign)
    change(campaign, "provider: anthropic", "provider: replay")
    seen = []
    for payload in ({"groups": [group("c001")]}, {"groups": [group("c001", "c009")]}):
        (line,) = exported(campaign)
        seen.append(line)
        assert imported(campaign, line, payload) == 0
    (line,) = exported(campaign)
    asks = [json.loads(x)["params"]["messages"][0]["content"][-1]["text"] for x in (*seen, line)]
    assert [n for n in (2, 3) if f"attempt {n}," in asks[n - 1]] == [2, 3]
    assert imported(campaign, line, "I see none.") == 1, "what can't be read is not kept"
    assert exported(campaign) == [line], "so it is asked for again"
    assert imported(campaign, line, UNITED) == 0
    ended = registry(campaign)
    assert (names(ended), state(campaign)) == (TOGETHER, CURRENT)
    rows = ask_ledger(campaign)
    assert [r[:3] for r in rows][4:] == [
        (1, None, "imported"),
        (2, None, "imported"),
        (3, None, "invalid"),
        (3, None, "imported"),
    ]


def test_all_asks_answered_and_none_usable_is_nothing_to_export(tmp_path: Path) -> None:
    _, _, campaign = asked_for(tmp_path, ALL_BAD)
    registry_lines = [line for line in exported(campaign) if '{\\"groups\\":[...]}' in line]
    assert registry_lines == []


# --- shown ---------------------------------------------------------------------------------------------------------


def test_unions_are_rows_and_lines(tmp_path: Path) -> None:
    proposal = {"groups": [group("c003", "c004", canonical="c004"), group("c002", "c001"), {"members": ["c007"]}]}
    with ModelServer(Duplicates(replies.answer(proposal))) as server, quick():
        campaign = written(tmp_path, server.url)
        change(
            campaign,
            "steps:\n",
            "reconciliation:\n  - {lane: dnd/npcs, apart: [Orrick Thane, captain hestrel]}\nsteps:\n",
        )
        run_steps(campaign)
    rows = ask(
        campaign,
        "SELECT table_name, merge, outcome, rule, refused, name, stated_unit_id, [m.name FOR m IN members], answer, "
        "(SELECT name FROM npcs AS n WHERE n.id = record_id) FROM merges ORDER BY merge",
    )
    apart = '{"members":["c002","c001"],"canonical":"c002"}'
    assert rows == [
        ("npcs", 0, "united", "proposed", None, "Dunstan", None, ["Wenna", "Dunstan"], None, "Dunstan"),
        ("npcs", 1, "kept apart", "proposed", "declared_apart", None, None, NAMES[:2], apart, None),
        ("npcs", 2, "kept apart", "proposed", "malformed_group", None, None, [], '{"members":["c007"]}', None),
    ]
    said = notarius("show", SESSION, "--lane", "dnd/npcs", on=campaign).out.splitlines()
    lines = [line.strip() for line in said if line.strip().startswith(("one record:", "kept apart:"))]
    assert lines == [
        "one record: Wenna (9, 10) + Dunstan (11) as Dunstan (proposed)",
        "kept apart: Orrick Thane (1, 2) + Captain Hestrel (5, 6, 11): declared_apart (proposed)",
        "kept apart: no known records: malformed_group (proposed)",
    ]
    shown = json.loads(notarius("show", SESSION, "--lane", "dnd/npcs", "--json", on=campaign).out)
    (attempt,) = [a for a in shown["lanes"][0]["attempts"] if a["table"] == "npcs"]
    assert [m["refused"] for m in attempt["merges"]] == [None, "declared_apart", "malformed_group"]


def test_very_many_unions_are_counted_not_listed(tmp_path: Path) -> None:
    def duplicates(asked: Asked) -> Reply:
        return replies.answer({"groups": [group(f"c{n:03d}", f"c{n + 1:03d}") for n in range(1, 100, 2)]})

    with ModelServer(crowded(duplicates, 100)) as server, quick():
        campaign = written(tmp_path, server.url)
        assert len(registry(campaign).records) == 50
    said = notarius("show", SESSION, "--lane", "dnd/npcs", on=campaign).out
    assert said.count("one record: ") == 40
    assert "… 10 more unions, in the view merges" in said
