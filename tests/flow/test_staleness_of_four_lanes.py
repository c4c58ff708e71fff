"""Four lanes answered by a model: what one edit makes stale, by which part, and what is asked to make it current.

All was asked once of a scripted server. Then `replay` stands in, which asks nobody: the edit is made, `notarius status
--json` says what is stale, the missing answers are recorded, and a run makes everything current again.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from notarius_assets import prompting
from notarius_assets.flow import steps
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign
from tests.four_lanes import GAZETTEER, TABLES, honest, lane_of, write_four
from tests.models.asking import quick
from tests.models.world import model
from tests.robustness.support import change, documents, notarius, retell, run_steps

(
    UNITS,
    CHUNKS,
    NPC_CANDIDATES,
    NPCS,
    LOCATION_CANDIDATES,
    LOCATIONS,
    INTERACTION_CANDIDATES,
    INTERACTIONS,
    OCCURRENCE_CANDIDATES,
    OCCURRENCES,
) = TABLES
ABOVE = set(TABLES)
"""Beside parts, `because` names the tables above that are not current."""

NPC_LANE = {NPC_CANDIDATES: {"prompts"}, NPCS: set[str]()}
LOCATION_LANE = {LOCATION_CANDIDATES: {"prompts"}, LOCATIONS: set[str]()}
READS_NPCS = {INTERACTION_CANDIDATES: set[str](), INTERACTIONS: set[str]()}
READS_LOCATIONS = {OCCURRENCE_CANDIDATES: set[str](), OCCURRENCES: set[str]()}
WINDOWS = 3
"""Windows a lane and session: six units, two a window."""


@dataclass(frozen=True)
class Table:
    """A recorded campaign with the server that can be asked for more."""

    campaign: Campaign
    server: ModelServer

    def stale(self, session: str = "session-01") -> dict[str, set[str]]:
        """Return the tables that `notarius status --json` calls stale with the parts that differ."""
        said = notarius("status", session, "--json", on=self.campaign)
        (found,) = json.loads(said.out)["sessions"]
        states = {t["table"]: t["state"] for t in found["tables"]}
        assert set(states) == ABOVE
        assert set(states.values()) <= {"current", "stale"}, states
        return {t["table"]: set(t["because"]) - ABOVE for t in found["tables"] if t["state"] == "stale"}

    def record(self) -> Counter[str]:
        """Ask for what has no answer yet; return how often each lane was asked."""
        before = len(self.server.asked)
        change(self.campaign, "provider: replay", "provider: anthropic")
        ended = run_steps(self.campaign)
        assert all(o.accepted for o in ended), [o.message for o in ended]
        change(self.campaign, "provider: anthropic", "provider: replay")
        return Counter(map(lane_of, self.server.asked[before:]))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Two sessions of which all is asked and made; `replay` finds it current."""
    with ModelServer(honest) as server, quick():
        extra = GAZETTEER + model(server.url, windows=2, in_flight=4)
        table = Table(write_four(tmp_path_factory.mktemp("recorded") / "campaign", extra=extra), server)
        assert len(run_steps(table.campaign)) == 2 * len(TABLES)
        lanes = ("dnd/npcs", "dnd/locations", "dnd/npc-interactions", "dnd/location-occurrences")
        duplicates = {"dnd/npcs duplicates": 2, "dnd/locations duplicates": 2}
        assert Counter(map(lane_of, server.asked)) == {**dict.fromkeys(lanes, 2 * WINDOWS), **duplicates}
        change(table.campaign, "provider: anthropic", "provider: replay")
        assert table.stale() == table.stale("session-02") == {}
        yield table


@pytest.fixture
def played(recorded: Table, tmp_path: Path) -> Table:
    """A copy of the campaign; the server is shared."""
    shutil.copytree(recorded.campaign.root, tmp_path / "campaign")
    return Table(Campaign(tmp_path / "campaign", recorded.campaign.sessions), recorded.server)


@pytest.fixture
def edit_prompt(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that adds one word to a prompt file, for this test."""
    told = prompting._text

    def edit(path: str) -> None:
        monkeypatch.setattr(prompting, "_text", lambda p: told(p) + ("Please.\n" if p == path else ""))

    return edit


def assert_made_current(table: Table, asked: dict[str, int]) -> None:
    """Exactly this much is asked; then `replay` finds all of it, and a second run asks and makes nothing."""
    assert table.record() == asked
    calls = len(table.server.asked)
    assert table.stale() == table.stale("session-02") == {}
    assert run_steps(table.campaign) == []
    change(table.campaign, "provider: replay", "provider: anthropic")
    assert run_steps(table.campaign) == [], "current under the provider that recorded, too"
    assert len(table.server.asked) == calls


PROMPTS: dict[str, tuple[str, dict[str, set[str]], dict[str, int]]] = {
    "NPCs": ("dnd-npcs/task.md", {**NPC_LANE, **READS_NPCS}, {"dnd/npcs": 6}),
    "NPC interactions": (
        "dnd-npc-interactions/task.md",
        {INTERACTION_CANDIDATES: {"prompts"}, INTERACTIONS: set()},
        {"dnd/npc-interactions": 6},
    ),
    "locations": ("dnd-locations/task.md", {**LOCATION_LANE, **READS_LOCATIONS}, {"dnd/locations": 6}),
    "location occurrences": (
        "dnd-location-occurrences/task.md",
        {OCCURRENCE_CANDIDATES: {"prompts"}, OCCURRENCES: set()},
        {"dnd/location-occurrences": 6},
    ),
    "all lanes": (
        "shared/extraction.md",
        {
            **NPC_LANE,
            **LOCATION_LANE,
            INTERACTION_CANDIDATES: {"prompts"},
            INTERACTIONS: set(),
            OCCURRENCE_CANDIDATES: {"prompts"},
            OCCURRENCES: set(),
        },
        {"dnd/npcs": 6, "dnd/locations": 6, "dnd/npc-interactions": 6, "dnd/location-occurrences": 6},
    ),
    "duplicates of NPCs": (
        "dnd-npcs/reconciliation.md",
        {NPCS: {"reconciliation prompts"}, **READS_NPCS},
        {"dnd/npcs duplicates": 2},
    ),
    "duplicates of locations": (
        "dnd-locations/reconciliation.md",
        {LOCATIONS: {"reconciliation prompts"}, **READS_LOCATIONS},
        {"dnd/locations duplicates": 2},
    ),
    "duplicates of both": (
        "shared/reconciliation.md",
        {
            NPCS: {"reconciliation prompts"},
            LOCATIONS: {"reconciliation prompts"},
            **READS_NPCS,
            **READS_LOCATIONS,
        },
        {"dnd/npcs duplicates": 2, "dnd/locations duplicates": 2},
    ),
}


@pytest.mark.parametrize(("path", "expected", "asked"), PROMPTS.values(), ids=PROMPTS)
def test_a_prompt(
    played: Table,
    edit_prompt: Callable[[str], None],
    path: str,
    expected: dict[str, set[str]],
    asked: dict[str, int],
) -> None:
    before = documents(played.campaign)
    edit_prompt(path)
    assert played.stale() == played.stale("session-02") == expected
    assert_made_current(played, asked)
    assert documents(played.campaign) == before, "the answers are what they were"


# --- what the owner writes ----------------------------------------------------------------------------------------


def test_the_gazetteer(played: Table) -> None:
    """Names known beforehand are shown in every request."""
    change(played.campaign, "{name: Cold Ferry}", "{name: Cold Ferry, aliases: [the ferry]}")
    assert (
        played.stale()
        == played.stale("session-02")
        == {
            NPC_CANDIDATES: {"campaign"},
            NPCS: {"campaign"},
            LOCATION_CANDIDATES: {"campaign"},
            LOCATIONS: {"campaign"},
            INTERACTION_CANDIDATES: {"campaign"},
            INTERACTIONS: set(),
            OCCURRENCE_CANDIDATES: {"campaign"},
            OCCURRENCES: set(),
        }
    )
    assert_made_current(
        played,
        {
            **dict.fromkeys(("dnd/npcs", "dnd/locations", "dnd/npc-interactions", "dnd/location-occurrences"), 6),
            "dnd/npcs duplicates": 2,
            "dnd/locations duplicates": 2,
        },
    )


def test_a_transcript(played: Table) -> None:
    """One word of one session: its own tables, and of each lane the one window that holds the word."""
    retell(played.campaign, "session-01", "two tired people", "three tired people")
    assert played.stale() == {table: {"file"} if table == UNITS else set() for table in TABLES}
    assert played.stale("session-02") == {}
    lanes = ("dnd/npcs", "dnd/locations", "dnd/npc-interactions", "dnd/location-occurrences")
    # and the words around the candidates, which are shown when duplicates are asked for
    duplicates = ("dnd/npcs duplicates", "dnd/locations duplicates")
    assert_made_current(played, dict.fromkeys((*lanes, *duplicates), 1))


def decide(table: Table, entry: str) -> None:
    change(table.campaign, "steps:\n", f"reconciliation: [{entry}]\nsteps:\n")


ONE_PLACE = "{lane: dnd/locations, session: session-01, one: [Greywater Mill, Cold Ferry]}"


def test_a_decision_on_places(played: Table) -> None:
    """One about a session makes the registry of that session alone stale."""
    decide(played, ONE_PLACE)
    assert played.stale() == {LOCATIONS: {"decisions of the session"}, **READS_LOCATIONS}
    assert played.stale("session-02") == {}
    before = documents(played.campaign)
    assert_made_current(played, {"dnd/location-occurrences": WINDOWS})
    after = documents(played.campaign)
    assert {name.partition("/")[2] for name in after if after[name] != before[name]} == {
        "session-01/locations.json",
        "session-01/location_occurrences.json",
    }


def test_a_decision_on_npcs_that_changes_nothing(played: Table) -> None:
    before = documents(played.campaign)
    decide(played, "{lane: dnd/npcs, apart: [Orrick Thane, Captain Hestrel]}")
    assert played.stale() == played.stale("session-02") == {NPCS: {"decisions"}, **READS_NPCS}
    assert_made_current(played, {})
    assert documents(played.campaign) == before


def test_another_registry(played: Table) -> None:
    """What reads it is stale by the reference, and nothing else is."""
    decide(played, ONE_PLACE)
    workspace = played.campaign.open()
    for source_id in played.campaign.source_ids:
        assert steps.run(workspace, LOCATIONS, source_id).accepted
    by = {"reference locations"}
    assert played.stale() == {OCCURRENCE_CANDIDATES: by, OCCURRENCES: by}
    assert played.stale("session-02") == {}
    assert_made_current(played, {"dnd/location-occurrences": WINDOWS})


def test_duplicates_without_an_answer(played: Table, edit_prompt: Callable[[str], None]) -> None:
    """A registry whose duplicates were asked for stays as it is, rather than give way to one that was not asked for."""
    before = documents(played.campaign)
    edit_prompt("shared/reconciliation.md")
    ended = {o.attempt.table: o.attempt.state for o in run_steps(played.campaign, "session-01")}
    assert ended[NPCS] == ended[LOCATIONS] == "failed"
    assert ended[OCCURRENCE_CANDIDATES] == "blocked"
    assert documents(played.campaign) == before
    (found,) = json.loads(notarius("status", "session-01", "--json", on=played.campaign).out)["sessions"]
    states = {t["table"]: (t["state"], t["reason"]) for t in found["tables"]}
    for table in (NPCS, LOCATIONS):
        state, reason = states[table]
        assert state == "failed"
        assert reason.startswith("reconciliation: 1 of 1 windows no_recording")
    assert_made_current(played, {"dnd/npcs duplicates": 2, "dnd/locations duplicates": 2})
    assert documents(played.campaign) == before


# --- the whole way, as a person goes it ---------------------------------------------------------------------------


def test_answered_elsewhere(played: Table, edit_prompt: Callable[[str], None], tmp_path: Path) -> None:
    """`run` says what has no answer, `requests export` writes just that, and after `import` all is current."""
    before, calls = documents(played.campaign), len(played.server.asked)
    edit_prompt("dnd-locations/task.md")
    ended = notarius("run", "session-01", on=played.campaign)
    assert ended.code == 1, ended
    (line,) = [line for line in ended.out.splitlines() if line.startswith("hill-road/")]
    assert line.startswith("hill-road/session-01: rejected: location_candidates: coverage: 3 of 3 windows no_recording")
    assert documents(played.campaign) == before
    requests, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
    said = notarius("requests", "export", "--to", str(requests), on=played.campaign)
    assert "6 requests written to" in said.err
    assert "dnd/locations 6 in 2 sessions" in said.err
    results.write_text("".join(map(answered, requests.read_text().splitlines())), encoding="utf-8")
    assert notarius("requests", "import", str(results), on=played.campaign).code == 0
    ended = notarius("run", on=played.campaign)
    assert ended.code == 0, ended
    assert "2 sessions: 2 current. 2 run in" in ended.out
    assert documents(played.campaign) == before
    assert "2 sessions: 2 current. 0 run in" in notarius("run", on=played.campaign).out
    assert len(played.server.asked) == calls, "nobody was asked"


def answered(line: str) -> str:
    """Return the result line of a request line."""
    asked = json.loads(line)
    message = honest(Asked("/v1/messages", {}, asked["params"], 1)).document
    return json.dumps({"custom_id": asked["custom_id"], "result": {"type": "succeeded", "message": message}}) + "\n"
