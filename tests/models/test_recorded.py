"""Fingerprints change with exactly what an answer depends on; `replay` reads what was recorded and asks nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notarius_assets import lanes, prompting
from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.lanes.base import Lane
from notarius_assets.lanes.records import Closed
from notarius_assets.lanes.schemas import response_schema
from notarius_assets.models import request as requests
from notarius_assets.models.answers import Answers
from notarius_assets.models.recorded import ReplayProvider
from notarius_assets.models.request import asked_again, model_request
from notarius_assets.models.settings import Access, Settings
from notarius_assets.models.window import AnsweredBy
from notarius_assets.prompting import Message
from notarius_assets.testing import replies
from notarius_assets.testing.server import ModelServer
from tests.conftest import CampaignFactory
from tests.models.asking import (
    CAMPAIGN,
    DEEDS,
    GOOD,
    NPCS,
    SETTINGS,
    Told,
    ask,
    end_of,
    kept,
    provider,
    quick,
    units,
    window,
    windows,
)
from tests.models.world import answered, model
from tests.robustness.support import change, documents, run_steps, status_of


def prints(lane: Lane = DEEDS, settings: Settings = SETTINGS, second: dict[str, Any] | None = None, **both: Any) -> Any:
    """Return the fingerprints of two windows; `second` changes one of them, `both` the two."""
    given = [window(1, "One.", lane, **both), window(2, "Two.", lane, **{**both, **(second or {})})]
    return [model_request(lane, w, settings).fingerprint for w in given]


# --- what an answer depends on -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        replace(SETTINGS, model="claude-sonnet-5-5"),
        replace(SETTINGS, effort="high"),
        replace(SETTINGS, effort=None),
        replace(SETTINGS, max_tokens=1001),
    ],
)
def test_another_setting_is_another_question_in_every_window(settings: Settings) -> None:
    assert not {*prints()} & {*prints(settings=settings)}
    before, after = (ReplayProvider(s, Answers(Path("no"))).fingerprint_parts(NPCS) for s in (SETTINGS, settings))
    assert len([key for key in before if before[key] != after[key]]) == 1


@pytest.mark.parametrize(
    "both",
    [
        {"registry": ("Wenna", "Dunstan")},
        {"registry": ()},
        {"campaign": replace(CAMPAIGN, dms=("KAT",))},
        {"campaign": replace(CAMPAIGN, players={"ANNA": "Tib Farrow", "BEN": "Ludo Marsh"})},
        {"campaign": replace(CAMPAIGN, npcs=(KnownName("Wenna", ("the Heron",)),))},
    ],
)
def test_another_reference_is_another_question_in_every_window(both: dict[str, Any]) -> None:
    assert not {*prints()} & {*prints(**both)}


@pytest.mark.parametrize(
    "second",
    [
        {"units": units(2, "Two!")},
        {"units": units(3, "Two.")},
        {"units": units(2, "Two.", "Three.")},
        {"before": units(1, "One.")},
        {"after": units(3, "Three.")},
    ],
)
def test_another_text_is_another_question_in_its_own_window_alone(second: dict[str, Any]) -> None:
    before, after = prints(), prints(second=second)
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_another_prompt_is_another_question_of_the_lanes_that_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = prompting._text

    def edited(path: str) -> Callable[[str], str]:
        return lambda asked: told(asked) + (" Please." if asked == path else "")

    def all_prints() -> dict[str, Any]:
        return {lane.key: (prints(lane), prompting.prompts_digest(lane)) for lane in (NPCS, DEEDS)}

    before = all_prints()
    own = {lane.key: [p for p in lane.prompts if lane.key.replace("/", "-") in p] for lane in (NPCS, DEEDS)}
    for lane, other in ((NPCS, DEEDS), (DEEDS, NPCS)):
        (path,) = own[lane.key]
        monkeypatch.setattr(prompting, "_text", edited(path))
        after = all_prints()
        assert after[other.key] == before[other.key], path
        assert after[lane.key][1] != before[lane.key][1]
        assert not {*after[lane.key][0]} & {*before[lane.key][0]}
    for path in ("shared/extraction.md", "shared/campaign.md", "shared/chunk.md"):
        monkeypatch.setattr(prompting, "_text", edited(path))
        after = all_prints()
        assert all(after[key][1] != before[key][1] and after[key][0] != before[key][0] for key in before), path


def test_another_schema_is_another_question() -> None:
    class Wider(Closed):
        name: str
        mood: str

    class Response(Closed):
        interactions: list[Wider]

    changed = replace(DEEDS, response=Response)
    assert not {*prints()} & {*prints(changed)}
    before, after = (ReplayProvider(SETTINGS, Answers(Path("no"))).fingerprint_parts(one) for one in (DEEDS, changed))
    assert [key for key in before if before[key] != after[key]] == ["response schema"]


def test_where_a_prefix_may_be_cached_is_no_part_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_request(DEEDS, window(lane=DEEDS), SETTINGS)
    assemble = prompting.assemble

    def unmarked(*given: Any) -> tuple[Message, ...]:
        return tuple(replace(m, cache_breakpoint=False) for m in assemble(*given))

    monkeypatch.setattr(requests, "assemble", unmarked)
    after = model_request(DEEDS, window(lane=DEEDS), SETTINGS)
    assert after.fingerprint == before.fingerprint
    assert "cache_control" in json.dumps(before.params)
    assert "cache_control" not in json.dumps(after.params)


def test_how_the_server_is_reached_is_no_part_of_it(tmp_path: Path) -> None:
    ways = [Access(), Access("http://127.0.0.1:1", 1, 1.0, 1.0, "another")]
    parts = [ReplayProvider(SETTINGS, Answers(tmp_path), way).fingerprint_parts(NPCS) for way in ways]
    assert parts[0] == parts[1]
    with ModelServer(replies.answer(GOOD)) as one, ModelServer([]) as other:
        ask(provider(one.url, tmp_path))
        (ended,), _ = ask(provider(other.url, tmp_path, key="another", in_flight=1))
    assert ended.answered_by is AnsweredBy.CACHE


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert model_request(NPCS, window(), SETTINGS).fingerprint == model_request(NPCS, window(), SETTINGS).fingerprint
    assert all(re.fullmatch("[0-9a-f]{64}", p) for p in prints())


@hypothesis.settings(deadline=None)
@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_windows_with_different_words_have_different_fingerprints(one: str, other: str) -> None:
    asked = [model_request(NPCS, window(text=text), SETTINGS) for text in (one, other)]
    same = asked[0].params == asked[1].params
    assert (asked[0].fingerprint == asked[1].fingerprint) is same


def test_asking_again_leaves_the_first_request_as_it_was() -> None:
    params = model_request(NPCS, window(), SETTINGS).params
    before = json.dumps(params)
    again = asked_again(params, "Once more.")
    assert json.dumps(params) == before
    assert again["messages"][0]["content"][-1] == {"type": "text", "text": "Once more."}


# --- the schema ----------------------------------------------------------------------------------------------------


def keywords(node: Any) -> set[str]:
    """Return the keywords of a schema; the names of properties are none."""
    if isinstance(node, list):
        return {k for child in node for k in keywords(child)}
    if not isinstance(node, dict):
        return set()
    found = set(node)
    for key, value in node.items():
        below = list(value.values()) if key in ("properties", "$defs") else value
        found |= keywords(below)
    return found


@pytest.mark.parametrize("lane", lanes.BUILT_IN, ids=lambda lane: str(lane.key))
def test_the_schema_sent_is_structural_and_the_sdk_would_change_nothing_in_it(lane: Lane) -> None:
    schema = response_schema(lane)
    assert anthropic.transform_schema(schema) == schema
    allowed = {"type", "properties", "required", "additionalProperties", "items", "$ref", "$defs"}
    assert keywords(schema) <= allowed, "no title, description, enum or pattern"
    assert model_request(lane, window(lane=lane), SETTINGS).params["output_config"]["format"]["schema"] == schema


# --- replay --------------------------------------------------------------------------------------------------------


def test_replay_gives_what_was_recorded_and_says_what_is_missing(tmp_path: Path) -> None:
    with ModelServer(replies.answer(GOOD)) as server:
        ask(provider(server.url, tmp_path), 2)
        replay = ReplayProvider(SETTINGS, Answers(tmp_path), Access(server.url))
        told = Told()
        with quick():
            ended = replay.answer(NPCS, windows(3), told)
        assert len(server.asked) == 2, "replay asks nobody"
    assert [end_of(a) for a in ended] == ["done", "done", "failed: no_recording"]
    assert [a.answered_by for a in ended] == [AnsweredBy.CACHE, AnsweredBy.CACHE, None]
    assert "no answer is recorded for it. Next: notarius requests export" in str(ended[2].advice)
    assert told.calls == []
    assert len(told.ends) == 3
    assert len(kept(tmp_path)) == 2


def test_replay_and_the_provider_that_recorded_have_equal_parts(tmp_path: Path) -> None:
    for lane in (NPCS, DEEDS):
        recorded = provider("http://127.0.0.1:1", tmp_path).fingerprint_parts(lane)
        assert recorded == ReplayProvider(SETTINGS, Answers(tmp_path)).fingerprint_parts(lane)
        assert set(recorded) == {"provider", "model", "effort", "max_tokens", "prompts", "response schema"}


def test_a_session_answered_by_a_model_is_current_under_replay(campaign: CampaignFactory) -> None:
    with ModelServer(answered) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=6))
        run_steps(c)
    made = documents(c)
    change(c, "provider: anthropic", "provider: replay")
    assert status_of(c, "session-01").state == "current"
    assert run_steps(c) == []
    assert documents(c) == made


def test_a_session_without_recordings_fails_visibly_under_replay(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1, extra="chunking: {max_units: 3}\nmodel: {provider: replay}\n")
    ended = {o.attempt.table: o.attempt for o in run_steps(c)}
    candidates = ended["npc_candidates"]
    assert candidates.state == "rejected"
    assert [w["reason"] for w in candidates.windows] == ["no_recording"] * 2
    assert "requests export" in str(candidates.next_step)


def test_editing_one_line_asks_for_its_own_window_again(campaign: CampaignFactory) -> None:
    from tests.models.world import window_of
    from tests.robustness.support import retell

    with ModelServer(answered) as server, quick():
        c = campaign(sessions=1, extra=model(server.url, windows=2))
        run_steps(c)
        first = documents(c)
        before = len(server.asked)
        retell(c, "session-01", "two tired people", "three tired people")
        run_steps(c)
        later = [window_of(a) for a in server.asked[before:]]
        assert later == [("npcs", 1), ("interactions", 1)], "the other windows say what they said"
        assert documents(c) == first
        before = len(server.asked)
        change(c, "players: {ANNA: Tib Farrow", "players: {ANNA: Tib Harrow")
        run_steps(c)
        assert len(server.asked) - before == 6, "campaign references are part of every window"


def test_references_of_a_campaign_are_compared_by_value() -> None:
    again = CampaignReferences(("DM",), {"ANNA": "Tib Farrow"}, (KnownName("Wenna"),))
    assert prints(campaign=again) == prints()
