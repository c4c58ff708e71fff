"""What becomes of a model's answers in a session's steps: records kept or rejected, windows counted, costs summed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from notarius_assets.flow import steps
from notarius_assets.lake.attempts import Attempt, State
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import TABLES, Campaign, CampaignFactory, write_campaign
from tests.models.asking import SOON, quick
from tests.models.world import answered, but, honest, lane_of, model, window_of
from tests.robustness.support import ask, documents, notarius, run_steps

ORRICK = {"name": "Orrick Thane", "ranges": [{"start": 1, "end": 1}]}
TALK = {"name": "Orrick Thane", "kind": "dialogue", "ranges": [{"start": 1, "end": 3}]}
FAILING = replies.error(500, "api_error", "Internal server error", SOON)
SURROGATE = "\ud800Orrick"


def run(
    campaign: CampaignFactory, script: Callable[[Asked], Reply], *, windows: int = 6
) -> tuple[Campaign, dict[str, Attempt], int]:
    """Run every step of a campaign; return it, the attempts by table, and the calls made."""
    with ModelServer(script) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=windows))
        ended = run_steps(c)
    return c, {o.attempt.table: o.attempt for o in ended}, len(server.asked)


def answering(lane: str, payload: object) -> Callable[[Asked], Reply]:
    """Return a script that answers one lane with a payload, the other honestly."""
    # escapes as a model writes them: half a surrogate pair has no UTF-8
    return lambda asked: replies.text(json.dumps(payload)) if lane_of(asked) == lane else answered(asked)


def npc(**change: Any) -> dict[str, Any]:
    return {**ORRICK, **change}


def deed(**change: Any) -> dict[str, Any]:
    return {**TALK, **change}


def span(start: Any, end: Any) -> list[dict[str, Any]]:
    return [{"start": start, "end": end}]


DEEP: list[Any] = []
for _ in range(40):
    DEEP = [DEEP]

BAD_NPCS = [
    (npc(note="seen twice"), "shape", "extra_field"),
    (npc(ranges=[{"start": 1, "end": 1, "why": "x"}]), "shape", "extra_field"),
    (npc(name=None), "shape", "wrong_type"),
    (npc(name=7), "shape", "wrong_type"),
    (npc(name=SURROGATE), "shape", "not_unicode"),
    (npc(name=" \u200b "), "shape", "blank_name"),
    ({"name": "Orrick Thane"}, "shape", "missing_field"),
    (npc(ranges=[]), "shape", "no_evidence"),
    (npc(ranges=span("1", 1)), "shape", "wrong_type"),
    (npc(ranges=span(1.0, 1)), "shape", "wrong_type"),
    (npc(ranges=span(True, 1)), "shape", "wrong_type"),
    (npc(ranges=span(None, 1)), "shape", "wrong_type"),
    (npc(ranges=DEEP), "shape", "wrong_type"),
    ("Orrick Thane", "shape", "wrong_type"),
    (None, "shape", "wrong_type"),
    ([], "shape", "wrong_type"),
    (npc(ranges=span(2, 1)), "source_ranges", "reversed_range"),
    (npc(ranges=span(0, 1)), "source_ranges", "range_outside_source"),
    (npc(ranges=span(-3, 1)), "source_ranges", "range_outside_source"),
    (npc(ranges=span(1, 10**18)), "source_ranges", "range_outside_source"),
    (npc(ranges=span(10**4000, 10**4000)), "source_ranges", "range_outside_source"),
    # the numbers of the prompt's own example
    (npc(name="Ploverine", ranges=span(9001, 9001)), "source_ranges", "range_outside_source"),
    (npc(name="Tib Farrow"), "not_party", None),
]


@pytest.mark.parametrize(("bad", "rule", "code"), BAD_NPCS)
def test_a_bad_record_is_rejected_visibly_and_the_rest_is_kept(
    bad: Any, rule: str, code: str | None, campaign: CampaignFactory
) -> None:
    with ModelServer(answering("npcs", {"npcs": [bad, ORRICK]})) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=6))
        workspace = c.open()
        ended = {}
        for table in ("transcript_units", "transcript_chunks", "npc_candidates", "npcs"):
            ended[table] = steps.run(workspace, table, c.source_ids[0])
    candidates = ended["npc_candidates"].attempt
    assert candidates.state is State.ACCEPTED, candidates.reason
    assert (candidates.proposed, candidates.rows) == (2, 1)
    (rejected,) = candidates.rejected_candidates
    assert (rejected["chunk_id"], rejected["position"], rejected["rule"]) == (1, 0, rule)
    assert rejected["code"] == code or code is None
    assert len(rejected["answer"].encode()) <= 2048
    assert [r["name"] for r in ended["npcs"].records] == ["Orrick Thane"]
    assert candidates.windows[0]["end"] == "done"
    assert candidates.windows[0]["candidates"] == 2


BAD_DEEDS = [
    (deed(name="Captain Hestrel"), "reference_membership"),
    (deed(name="Orrick"), "reference_membership"),
    (deed(kind="romance"), "shape"),
    (deed(kind=None), "shape"),
    (deed(kind="Dialogue"), "shape"),
    (deed(ranges=span(1, 7)), "source_ranges"),
    (deed(name="Ploverine", ranges=span(1, 1)), "reference_membership"),
]


@pytest.mark.parametrize(("bad", "rule"), BAD_DEEDS)
def test_a_bad_interaction_is_rejected_visibly_and_the_rest_is_kept(
    bad: Any, rule: str, campaign: CampaignFactory
) -> None:
    _, ended, _ = run(campaign, answering("interactions", {"interactions": [TALK, bad]}))
    candidates = ended["npc_interaction_candidates"]
    assert (candidates.state, candidates.proposed, candidates.rows) == (State.ACCEPTED, 2, 1)
    assert [(r["position"], r["rule"]) for r in candidates.rejected_candidates] == [(1, rule)]
    assert ended["npc_interactions"].rows == 1


def test_rejected_records_stand_in_the_history(campaign: CampaignFactory) -> None:
    c, _, _ = run(campaign, answering("npcs", {"npcs": [npc(name=SURROGATE), ORRICK]}))
    ((rule, code, answer),) = ask(c, "SELECT rule, code, answer FROM rejected_candidates")
    assert (rule, code) == ("shape", "not_unicode")
    assert answer.startswith('{"name":"\\ud800Orrick"')


def test_a_range_of_another_chunk_is_rejected_though_the_unit_exists(campaign: CampaignFactory) -> None:
    script = but({("npcs", 1): replies.answer({"npcs": [npc(ranges=span(3, 4)), ORRICK]})})
    _, ended, _ = run(campaign, script, windows=3)
    found = [(r["rule"], r["code"]) for r in ended["npc_candidates"].rejected_candidates]
    assert found == [("source_ranges", "range_outside_chunk")]


def test_names_of_the_prompts_own_example_are_flagged_as_not_in_the_window(campaign: CampaignFactory) -> None:
    named = [npc(name=name) for name in ("Ploverine", "Umbrelda Voot", "Quasmo")]
    _, ended, _ = run(campaign, answering("npcs", {"npcs": [ORRICK, *named]}))
    for table in ("npc_candidates", "npcs"):
        (verdict,) = [v for v in ended[table].verdicts if v["validator"] == "relatedness"]
        assert verdict["severity"] == "WARN"
        assert verdict["total"] == 3
        assert {f["code"] for f in verdict["findings"]} == {"name_not_in_evidence"}
    assert ended["npcs"].state is State.ACCEPTED, "a hint never blocks"


def test_half_of_ten_or_more_rejected_rejects_the_artifact(campaign: CampaignFactory) -> None:
    bad = [npc(ranges=span(9000 + n, 9000 + n)) for n in range(9)]
    _, ended, _ = run(campaign, answering("npcs", {"npcs": [ORRICK, *bad]}))
    candidates = ended["npc_candidates"]
    assert (candidates.state, len(candidates.rejected_candidates)) == (State.REJECTED, 9)
    assert "reject_share found 1" in str(candidates.reason)


@pytest.mark.parametrize(
    ("reply", "end", "said"),
    [
        (replies.truncated('{"npcs":[]}'), "truncated", "max_tokens: the answer was cut off"),
        (replies.refusal(), "refused", "refusal: claude-haiku-5-5 refused to answer"),
        (replies.text("None here."), "invalid", "no_object: asked twice"),
        (FAILING, "failed", "server_error: "),
        (replies.not_json(), "failed", "bad_response: "),
        (
            replies.rate_limited("3600"),
            "failed",
            "rate_limited: {url} asked to wait 3,600 s; at most 0.05 s are waited",
        ),
    ],
)
def test_every_window_is_counted_once_and_one_without_an_answer_keeps_the_result_aside(
    reply: Reply, end: str, said: str, campaign: CampaignFactory
) -> None:
    c, ended, _ = run(campaign, but({("npcs", 3): reply}), windows=2)
    candidates = ended["npc_candidates"]
    assert candidates.state is State.REJECTED
    assert [w["end"] for w in candidates.windows] == ["done", end, "empty"]
    (server,) = re.findall(r"base_url: (\S+)", c.pipeline.read_text(encoding="utf-8"))
    assert f"coverage: 1 of 3 windows {said.format(url=server)}" in str(candidates.reason)
    assert candidates.next_step
    counted = "SELECT window_end, count(*) FROM windows WHERE table_name = 'npc_candidates' GROUP BY ALL"
    assert dict(ask(c, counted)) == {"done": 1, end: 1, "empty": 1}
    assert ended["npc_interaction_candidates"].state is State.BLOCKED
    said_of_it = notarius("status", on=c)
    assert "rejected" in said_of_it.out


def test_empty_answers_are_answers(campaign: CampaignFactory) -> None:
    def script(asked: Asked) -> Reply:
        return replies.answer({"npcs": []})

    _, ended, calls = run(campaign, script)
    assert ended["npc_candidates"].windows[0]["end"] == "empty"
    assert ended["npcs"].state is State.ACCEPTED
    assert ended["npc_interactions"].state is State.ACCEPTED
    assert calls == 1, "without NPCs there is nothing to ask the second lane"


def test_failed_then_mended_then_nothing_left_to_ask(campaign: CampaignFactory) -> None:
    refused = {("npcs", 3): replies.refusal()}
    with ModelServer(but(refused)) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=2))
        run_steps(c)
        assert [window_of(a) for a in server.asked].count(("npcs", 3)) == 1
        before = len(server.asked)
        refused.clear()
        assert all(o.accepted for o in run_steps(c))
        later = [window_of(a) for a in server.asked[before:]]
        assert later.count(("npcs", 3)) == 1
        assert [w for w in later if w[0] == "npcs"] == [("npcs", 3)], "only what failed is asked again"
        done = len(server.asked)
        assert run_steps(c) == [], "all is current"
        assert all(steps.run(c.open(), table, c.source_ids[0]).accepted for table in TABLES)
        assert len(server.asked) == done, "all answers were kept"


# --- what was paid -------------------------------------------------------------------------------------------------


def messy(asked: Asked) -> Reply:
    """Fail, misunderstand and refuse now and then, by the number of the request alone."""
    ways: Mapping[int, Reply] = {1: FAILING, 2: replies.text("Sorry?"), 5: replies.truncated("{"), 7: replies.refusal()}
    return ways.get(asked.number) or answered(asked)


def test_the_ledger_is_the_sum_of_all_attempts_failed_ones_too(campaign: CampaignFactory) -> None:
    replied: list[Reply] = []

    def script(asked: Asked) -> Reply:
        replied.append(messy(asked))
        return replied[-1]

    c, ended, calls = run(campaign, script, windows=1)
    rows = ask(
        c,
        "SELECT count(*), sum(input_tokens), sum(cache_write_tokens), sum(cache_read_tokens), sum(output_tokens), "
        "sum(cost_usd) FROM model_calls",
    )
    ((count, fresh, written, read, output, cost),) = rows
    assert count == calls == len(replied)
    by_status = dict(ask(c, "SELECT status, count(*) FROM model_calls GROUP BY status"))
    assert by_status["server_error"] == by_status["invalid"] == by_status["truncated"] == by_status["refused"] == 1
    assert sum(by_status.values()) == calls
    # every message the server sent was billed, whatever became of it
    assert ask(c, "SELECT count(*) FROM model_calls WHERE input_tokens + cache_read_tokens > 0") == [
        (sum(r.is_message for r in replied),)
    ]
    assert cost == pytest.approx((fresh * 0.10 + written * 0.125 + read * 0.01 + output * 0.50) / 1e6)
    assert cost > 0
    notes = [a.notes for a in ended.values() if a.notes.get("model_calls")]
    assert sum(n["model_calls"] for n in notes) == calls
    assert sum(n["cost_usd"] for n in notes) == pytest.approx(cost)
    assert sum(n["output_tokens"] for n in notes) == output


def test_an_attempt_that_recovered_leaves_both_lines_in_the_ledger(campaign: CampaignFactory) -> None:
    with ModelServer([FAILING, replies.answer({"npcs": []})]) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=6))
        run_steps(c)
    (ledger,) = c.home.rglob("calls/**/*.jsonl")
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [(e["status"], e["http_status"], e["attempt"]) for e in lines] == [
        ("server_error", 500, 1),
        ("answered", 200, 2),
    ]
    assert {e["lane"] for e in lines} == {"dnd/npcs"}


def test_the_price_of_an_unknown_model_is_unknown(campaign: CampaignFactory) -> None:
    with ModelServer(answered) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=6, model="qwen-of-the-cellar"))
        run_steps(c)
    assert ask(c, "SELECT DISTINCT model, cost_usd FROM model_calls") == [("qwen-of-the-cellar", None)]
    assert ask(c, "SELECT count(*) FROM model_calls WHERE output_tokens > 0") == [(2,)], "its tokens are known"


def test_counts_that_no_server_has_are_not_added_up(campaign: CampaignFactory) -> None:
    def script(asked: Asked) -> Reply:
        usage = {"input_tokens": 10**400, "output_tokens": -1, "cache_read_input_tokens": "7"}
        content = [{"type": "text", "text": json.dumps(honest(asked))}]
        # without a type it is no message of the server's own making, whose usage it would fill in
        return replies.document({"content": content, "stop_reason": "end_turn", "usage": usage})

    c, ended, _ = run(campaign, script)
    assert ended["npcs"].state is State.ACCEPTED
    assert ask(c, "SELECT sum(input_tokens + output_tokens + cache_read_tokens) FROM model_calls") == [(0,)]


# --- order ---------------------------------------------------------------------------------------------------------


def test_the_order_in_which_answers_arrive_changes_nothing(campaign: CampaignFactory) -> None:
    seen: list[tuple[dict[str, bytes], list[Any]]] = []
    root = campaign(sessions=1).root
    for seed in range(3):
        chance = random.Random(seed)

        def script(asked: Asked, chance: random.Random = chance) -> Reply:
            return answered(asked).after(chance.random() * 0.06)

        with ModelServer(script) as server, quick():
            c = write_campaign(root.parent / f"seed-{seed}", sessions=2, extra=model(server.url, windows=1))
            ended = run_steps(c)
        assert all(o.accepted for o in ended)
        workspace = c.open()
        rows = [
            workspace.store.read(m.accepted[b.lane.candidates_table]).to_pylist()
            for m in workspace.store.manifests()
            for b in workspace.pipeline.lanes
        ]
        seen.append((documents(c), rows))
    assert len(seen[0][0]) == 4
    assert all(again == seen[0] for again in seen[1:])
