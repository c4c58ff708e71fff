"""`notarius prune`: only answers that nothing uses any more go, also while another process is at work."""

from __future__ import annotations

import re

import pytest

from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import CampaignFactory
from tests.models import world
from tests.robustness.support import change, documents, notarius, retell

LOW, HIGH = "provider: anthropic\n", "provider: anthropic\n  effort: high\n"


def counts(said: str) -> tuple[int, int]:
    """Return how many answers were removed and kept, as `prune` says."""
    found = re.match(r"([\d,]+) answers? (?:would be )?removed \(.* MB\), ([\d,]+) kept\.", said)
    assert found, said
    return int(found[1]), int(found[2])


def test_exactly_the_answers_to_questions_of_the_past_go(campaign: CampaignFactory) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=2, extra=world.model(server.url, windows=2))
        assert notarius("run", on=c).code == 0
        old = world.kept(c)
        nothing = world.program(c, "prune", key=None)
        assert (nothing.code, counts(nothing.out)) == (0, (0, 12))

        change(c, LOW, HIGH)
        # what is accepted stands on the old ones until a run has made it anew
        assert counts(notarius("prune", on=c).out) == (0, 12)
        assert notarius("run", on=c).code == 0
        new = world.kept(c) - old
        assert len(new) == 12
        dry = world.program(c, "prune", "--dry-run", key=None)
        assert (dry.code, counts(dry.out), world.kept(c)) == (0, (12, 12), old | new)
        pruned = world.program(c, "prune", key=None)
        assert (pruned.code, counts(pruned.out), world.kept(c)) == (0, (12, 12), new)

        since = len(server.asked)
        assert notarius("run", "--force", on=c).code == 0
        assert len(server.asked) == since

        retell(c, "session-01", "He laughs", "He smiles")
        assert notarius("run", "session-01", on=c).code == 0
        assert counts(notarius("prune", on=c).out) == (2, 12), "the window that changed, in both lanes"


def test_the_answers_of_a_rejected_try_and_of_what_it_did_not_replace_stay(campaign: CampaignFactory) -> None:
    garbled = {"on": False}

    def script(asked: Asked) -> Reply:
        hit = garbled["on"] and world.window_of(asked) == ("npcs", 3)
        return replies.text("No.") if hit else world.answered(asked)

    with ModelServer(script) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=2))
        assert notarius("run", on=c).code == 0
        accepted, made = world.kept(c), documents(c)
        garbled["on"] = True
        change(c, LOW, HIGH)
        assert notarius("run", on=c).code == 1
        tried = world.kept(c) - accepted
        assert len(tried) == 2
        assert counts(notarius("prune", on=c).out) == (0, 6 + 2)

        # back to what is accepted: nothing is asked
        change(c, HIGH, LOW)
        since = len(server.asked)
        assert notarius("run", on=c).code == 0
        assert len(server.asked) == since
        assert documents(c) == made
        assert counts(notarius("prune", on=c).out) == (2, 6), "the try is no longer the newest, and asked for no more"


@pytest.mark.parametrize("answers", [2, 4], ids=["in the first lane", "in the second lane"])
def test_beside_a_run_nothing_is_lost(campaign: CampaignFactory, answers: int) -> None:
    with ModelServer(world.answered) as server:
        c = campaign(sessions=1, extra=world.model(server.url, windows=2, in_flight=2))
        assert notarius("run", on=c).code == 0
        old = world.kept(c)
        change(c, LOW, HIGH)
        begun = len(server.asked)
        server.hold_after(begun + answers)
        running = world.begin(c, "run")
        world.until(lambda: len(world.kept(c)) == 6 + answers and server.held > 0, "the run waits for answers")
        pruned = world.program(c, "prune", key=None)
        assert pruned.code == 0, pruned
        new = world.kept(c) - old
        assert len(new) == answers
        server.release()
        said = world.end(running)
        assert said.code == 0, said
        assert len(server.asked) == begun + 6, "nothing was asked twice"
        assert world.kept(c) >= new
        since = len(server.asked)
        assert notarius("run", "--force", on=c).code == 0
        assert len(server.asked) == since
        notarius("prune", on=c)
        assert len(world.kept(c)) == 6
        assert world.kept(c).isdisjoint(old)
