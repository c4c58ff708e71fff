"""Runs against a scripted server: one window that fails, answers in any order, what is asked again, what is said."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from notarius_assets import resources
from notarius_assets.models.advice import NO_KEY, NO_KEY_STEP, advice
from notarius_assets.models.settings import KEY_VARIABLE
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, CampaignFactory
from tests.models import world
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import change, documents, notarius, retell, run_steps, status_of

QUIET = "DM: He laughs and lets you in. It smells of flour and of wet dog."
LAST = "ANNA: We sleep. I take the side without the rat."
"""Fifth and last line of the first session, one window where there are two units in each; they name nobody."""


def asks(server: ModelServer, since: int = 0) -> Counter[tuple[str, tuple[str, ...]]]:
    """Return the windows asked for, by lane and words, and how often."""
    return Counter(world.other_words(a) for a in server.asked[since:])


def accepted_files(campaign: Campaign, source_id: str) -> dict[Path, bytes]:
    """Return the bytes of every file that a session's manifest names."""
    store = campaign.open().store
    named = store.manifest(source_id).files
    assert len(named) == 6
    return {Path(name): (store.root / name).read_bytes() for name in named}


def test_one_window_without_an_answer_rejects_its_session_alone(campaign: CampaignFactory) -> None:
    garbled = {"on": True}

    def script(asked: Asked) -> Reply:
        hit = garbled["on"] and world.lane_of(asked) == "npcs" and QUIET in world.chunk_of(asked).values()
        return replies.text("I would rather talk about something else.") if hit else world.answered(asked)

    with ModelServer(script) as server:
        c = campaign(sessions=2, extra=world.model(server.url, windows=2))
        first = world.program(c, "run")
        assert first.code == 1, first
        workspace = c.open()
        said = advice("no_object", workspace.pipeline.file.model.settings, workspace.pipeline.file.model.access)
        rejected = f"hill-road/session-01: rejected: npc_candidates: coverage: 1 of 3 windows no_object: {said}\n"
        assert ". Next: run again" in said
        assert rejected in first.out
        assert "2 sessions: 1 current, 1 rejected. 2 run in" in first.out
        assert [status_of(c, s).state for s in c.sessions] == ["rejected", "current"]
        assert len(world.kept(c)) == 2 + 6, "the answers beside it are kept"
        assert asks(server)["npcs", (QUIET, LAST)] == 2, "asked once more, then left"

        garbled["on"] = False
        since = len(server.asked)
        second = world.program(c, "run")
        assert second.code == 0, second
        assert Counter(lane for lane, _ in asks(server, since)) == {"npcs": 1, "interactions": 3}
        assert ("npcs", (QUIET, LAST)) in asks(server, since)
        assert "2 sessions: 2 current. 1 run in" in second.out

        # the same happens to a session that has something accepted
        before, files = documents(c), accepted_files(c, "hill-road/session-01")
        garbled["on"] = True
        change(c, "provider: anthropic", "provider: anthropic\n  effort: high")
        third = notarius("run", on=c)
        assert third.code == 1, third
        assert rejected in third.out
        assert accepted_files(c, "hill-road/session-01") == files
        assert documents(c) == before
        assert_whole(c)

        garbled["on"] = False
        since = len(server.asked)
        assert notarius("run", on=c).code == 0
        assert Counter(lane for lane, _ in asks(server, since)) == {"npcs": 1, "interactions": 3}
    assert documents(c) == before


def test_answers_in_any_order_make_the_same_documents(tmp_path: Path) -> None:
    rng = random.Random()

    def script(asked: Asked) -> Reply:
        return world.answered(asked).after(rng.random() * 0.15)

    found, orders = [], []
    with ModelServer(script) as server:
        for seed in range(6):
            rng.seed(seed)
            c = world.twelve(tmp_path / str(seed), server.url, 12)
            if seed:
                run_steps(c)
            else:
                assert world.program(c, "run").code == 0
            found.append(world.exported(c, tmp_path / f"out-{seed}"))
            ledger = [e for e in world.calls(c) if e["lane"] == "dnd/npcs"]
            orders.append(tuple(e["chunk_id"] for e in ledger))
    assert len(set(orders)) == 6, "the answers came in another order each time"
    assert all(other == found[0] for other in found)


def test_what_is_answered_is_not_asked_again(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=2, extra=world.model(server.url, windows=2))
        assert world.program(c, "run").code == 0
        assert len(server.asked) == 12
        made = documents(c)

        again = world.program(c, "run")
        assert (again.code, len(server.asked)) == (0, 12)
        assert "2 sessions: 2 current. 0 run in" in again.out
        assert "window" not in again.out

        forced = world.program(c, "run", "--force")
        assert (forced.code, len(server.asked)) == (0, 12)
        assert "12 windows: 10 done, 2 empty; 12 answers were there before.\n" in forced.out
        assert " call" not in forced.out
        assert forced.err.count("  hill-road/") == 4
        assert "tokens" not in forced.err
        assert documents(c) == made


def test_other_words_of_the_instructions_ask_every_window_of_the_lane_again(
    campaign: CampaignFactory, tmp_path: Path
) -> None:
    prompts = tmp_path / "data"
    for name in ("prompts", "schemas", "sql"):
        shutil.copytree(resources.ROOT / name, prompts / name)
    with ModelServer(world.answered) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=2))
        assert notarius("run", on=c).code == 0
        since = len(server.asked)
        said = world.end(world.begin(c, "run", prompts=prompts))
        assert (said.code, len(server.asked)) == (0, since), "the same words in another place"

        task = prompts / "prompts" / "dnd-npc-interactions" / "task.md"
        task.write_text(task.read_text(encoding="utf-8") + "\nBe brief.\n", encoding="utf-8")
        said = world.end(world.begin(c, "run", prompts=prompts))
        assert said.code == 0, said
        assert Counter(lane for lane, _ in asks(server, since)) == {"interactions": 3}
        assert "Be brief." in server.asked[-1].text

        since = len(server.asked)
        change(c, "provider: anthropic", "provider: anthropic\n  effort: high")
        assert notarius("run", on=c).code == 0
        assert Counter(lane for lane, _ in asks(server, since)) == {"npcs": 3, "interactions": 3}
        assert {a.body["output_config"]["effort"] for a in server.asked[since:]} == {"high"}

        since = len(server.asked)
        change(c, "max_wait_seconds: 0.05", "max_wait_seconds: 0.1\n  in_flight: 2")
        said = notarius("run", "--force", on=c)
        assert (said.code, len(server.asked)) == (0, since), "how the server is reached is no part of the question"


def test_one_other_line_asks_the_windows_that_it_touches(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=2, extra=world.model(server.url, windows=2))
        assert notarius("run", on=c).code == 0

        since = len(server.asked)
        retell(c, "session-01", QUIET, QUIET.replace("laughs", "smiles"))
        assert notarius("run", on=c).code == 0
        changed = (QUIET.replace("laughs", "smiles"), LAST)
        assert asks(server, since) == {("npcs", changed): 1, ("interactions", changed): 1}, "the registry is the same"

        since = len(server.asked)
        retell(c, "session-01", "He smiles and lets", "Dunstan smiles and lets")
        assert notarius("run", on=c).code == 0
        changed = (QUIET.replace("He laughs", "Dunstan smiles"), LAST)
        now = asks(server, since)
        assert [words for lane, words in now if lane == "npcs"] == [changed]
        asked = Counter(lane for lane, _ in now)
        assert asked == {"npcs": 1, "duplicates": 1, "interactions": 3}, "all that show the registry"
        assert not any("Hestrel" in str(words) for _, words in now), "nothing of the other session"
    assert [status_of(c, s).state for s in c.sessions] == ["current", "current"]


def test_what_a_run_says(campaign: CampaignFactory, tmp_path: Path) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=2, extra=world.model(server.url, windows=2, in_flight=2))
        said = world.program(c, "run")
        usage = [server_usage(e) for e in world.calls(c)]
    prompt, read, output = (sum(u[n] for u in usage) for n in range(3))
    cost = sum(cost_of(c))
    assert said.code == 0, said
    windows, used, sessions = said.out.splitlines()
    assert windows == "12 windows: 10 done, 2 empty."
    share = f"{prompt:,} in ({read / prompt:.0%} from the prompt cache), {output:,} out"
    assert used.startswith(f"12 calls; tokens: {share}; ${cost:,.4f} at list prices of ")
    assert 0.5 < read / prompt < 1
    assert sessions.startswith("2 sessions: 2 current. 2 run in ")
    lines = said.err.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "  hill-road/session-01 dnd/npcs",
        "  hill-road/session-01 dnd/npc-interactions",
        "[1/2] hill-road/session-01",
        "  hill-road/session-02 dnd/npcs",
        "  hill-road/session-02 dnd/npc-interactions",
        "[2/2] hill-road/session-02",
    ]
    assert lines[0].startswith("  hill-road/session-01 dnd/npcs: 3 calls; tokens: ")

    with ModelServer(world.answered) as server:
        change(c, "provider: anthropic", "provider: anthropic\n  effort: high")
        _point_at(c, server)
        as_json = notarius("run", "--json", "session-01", on=c)
        told = json.loads(as_json.out)["model"]
        assert told["cost_usd"] == pytest.approx(sum(cost_of(c)) - cost)
        assert told["windows"] == {"done": 4, "empty": 2}
        assert (told["calls"], told["answers_from_cache"]) == (6, 0)
        assert told["input_tokens"] > 0
        assert told["cache_write_tokens"] > 0
        assert told["cache_read_tokens"] > 0
        assert told["output_tokens"] > 0
        quiet = notarius("run", "-q", on=c)
        assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
        assert len(server.asked) == 12


def cost_of(campaign: Campaign) -> list[float]:
    """Return what each call cost."""
    return [e["cost_usd"] for e in world.calls(campaign)]


def server_usage(entry: object) -> tuple[int, int, int]:
    """Return tokens in, those read from the cache, and out, of one line of the ledger."""
    assert isinstance(entry, dict)
    used = entry["usage"]
    return used["input"] + used["cache_write"] + used["cache_read"], used["cache_read"], used["output"]


def _point_at(campaign: Campaign, server: ModelServer) -> None:
    text = campaign.pipeline.read_text(encoding="utf-8")
    (line,) = (x for x in text.splitlines() if "base_url" in x)
    change(campaign, line, f"  base_url: {server.url}")


WARNING = (
    "was read from the prompt cache, though they begin alike. Next: check that `model.base_url` is a server that caches"
)


@pytest.mark.parametrize(
    ("cache_minimum", "in_flight", "warned"),
    [(10**9, 2, True), (512, 2, False), (10**9, 6, False)],
    ids=["never read, more windows than go out at once", "read", "never read, all go out at once"],
)
def test_a_server_that_never_caches_is_named(tmp_path: Path, cache_minimum: int, in_flight: int, warned: bool) -> None:
    story = "".join(line + "\n" for line in world.STORY.splitlines()[:6])
    with ModelServer(world.answered, cache_minimum=cache_minimum) as server:
        c = world.twelve(tmp_path, server.url, in_flight)
        c.transcript("session-01").write_text(story, encoding="utf-8")
        said = notarius("run", on=c)
    assert said.code == 0, said
    warnings = [line for line in said.err.splitlines() if line.startswith("notarius: ")]
    expected = [f"notarius: {lane}: no input of 6 calls {WARNING}" for lane in ("dnd/npcs", "dnd/npc-interactions")]
    assert warnings == (expected if warned else [])


def test_without_a_key_nothing_is_run_where_one_is_needed(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=3))
        line = f"  base_url: {server.url}\n"
        change(c, line, "")
        refused = world.program(c, "run", key=None)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1), refused
        assert refused.err == f"notarius: {NO_KEY}. Next: {NO_KEY_STEP}\n"
        assert KEY_VARIABLE in refused.err
        assert list(c.open().store.attempts()) == []
        assert not (c.home / "dagster" / "history").exists(), "no run was begun"

        # a server of one's own needs none
        change(c, "provider: anthropic\n", f"provider: anthropic\n{line}")
        own = world.program(c, "run", key=None)
        assert (own.code, len(server.asked)) == (0, 4), own

        # what is kept needs none either, and no server
        change(c, line, "")
        kept = world.program(c, "run", "--force", key=None)
        assert (kept.code, len(server.asked)) == (0, 4), kept
        assert "4 windows: 4 done; 4 answers were there before." in kept.out
        change(c, "provider: anthropic", "provider: anthropic\n  effort: high")
        assert world.program(c, "run", key=None).code == 2


def test_the_key_is_in_no_file_and_in_no_output(campaign: CampaignFactory) -> None:
    with ModelServer(world.but({("npcs", 1): replies.wrong_key()}), key=world.KEY) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=3))
        said = world.program(c, "run")
        assert said.code == 1
        assert {a.key for a in server.asked} == {world.KEY}
    assert f"{server.url} refused the key. Next: correct {KEY_VARIABLE}" in said.out
    assert world.KEY not in said.out + said.err
    found = {p: p.read_bytes() for p in c.root.rglob("*") if p.is_file()}
    assert len(found) > 10
    assert [p for p, data in found.items() if world.KEY.encode() in data] == []
