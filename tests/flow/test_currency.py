"""Change one thing at a time: exactly what depends on it is stale, the part is named, and a run makes it current."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from notarius_assets import lanes
from notarius_assets.flow import steps
from notarius_assets.lanes.base import Lane
from notarius_assets.models import provider
from notarius_assets.models.rules.ruleset import Ruleset
from tests.conftest import TABLES, Campaign, CampaignFactory
from tests.robustness.support import SMALL_CHUNKS, change, retell, run_steps, status_of

UNITS, CHUNKS, NPC_CANDIDATES, NPCS, CANDIDATES, INTERACTIONS = TABLES
EXTRA = SMALL_CHUNKS + "gazetteer: {npcs: [{name: Orrick Thane, aliases: [Orrick]}]}\n"


def stale(campaign: Campaign) -> dict[str, set[str]]:
    """Return the tables that are not current with the parts that differ, those of tables above left out."""
    found = status_of(campaign, "session-01")
    return {t.table: set(t.because) - set(TABLES) for t in found.tables if t.table in found.to_do}


def _rules(monkeypatch: pytest.MonkeyPatch, lane: Lane) -> None:
    real: Callable[[tuple[str, ...]], Ruleset] = provider._ruleset

    def edited(names: tuple[str, ...]) -> Ruleset:
        found = real(names)
        return found.model_copy(update={"digest": "edited"}) if names == lane.profile.rules else found

    monkeypatch.setattr(provider, "_ruleset", edited)


def _version(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    newer = [replace(lane, version="next") if i == n else lane for i, lane in enumerate(lanes.BUILT_IN)]
    monkeypatch.setattr(lanes, "BUILT_IN", tuple(newer))


Change = Callable[[Campaign, pytest.MonkeyPatch], None]
NORMALIZATION = "[shape, source_ranges, identity, order_and_duplicates, durable_schema]"
CHANGES: dict[str, tuple[Change, dict[str, set[str]]]] = {
    "transcript text": (
        lambda c, _: retell(c, "session-01", "two tired people", "three tired people"),
        {UNITS: {"file"}, CHUNKS: set(), NPC_CANDIDATES: set(), NPCS: set(), CANDIDATES: set(), INTERACTIONS: set()},
    ),
    "chunking": (
        lambda c, _: change(c, "max_units: 4", "max_units: 5"),
        {
            CHUNKS: {"chunking"},
            NPC_CANDIDATES: {"chunking"},
            NPCS: set(),
            CANDIDATES: {"chunking"},
            INTERACTIONS: set(),
        },
    ),
    "context": (
        lambda c, _: change(c, "max_units: 4", "max_units: 4, context_units: 1"),
        {NPC_CANDIDATES: {"context"}, NPCS: set(), CANDIDATES: {"context"}, INTERACTIONS: set()},
    ),
    "speakers": (
        lambda c, _: change(c, "Ludo Marsh", "Ludo Brook"),
        {NPC_CANDIDATES: {"campaign"}, NPCS: {"campaign"}, CANDIDATES: {"campaign"}, INTERACTIONS: set()},
    ),
    "gazetteer": (
        lambda c, _: change(c, "aliases: [Orrick]", "aliases: [Orrick, the miller]"),
        {NPC_CANDIDATES: {"campaign"}, NPCS: {"campaign"}, CANDIDATES: {"campaign"}, INTERACTIONS: set()},
    ),
    "allow": (
        lambda c, _: change(c, "steps:", "allow: {rejected_share: 0.4}\nsteps:"),
        {NPC_CANDIDATES: {"allow"}, NPCS: set(), CANDIDATES: {"allow"}, INTERACTIONS: set()},
    ),
    "validators of the registry": (
        lambda c, _: change(
            c, "- lane: dnd/npcs\n", f"- lane: dnd/npcs\n        validators: {{normalization: {NORMALIZATION}}}\n"
        ),
        {NPCS: {"validators"}, CANDIDATES: set(), INTERACTIONS: set()},
    ),
    "rules of the registry": (
        lambda _, patch: _rules(patch, lanes.BUILT_IN[0]),
        {NPC_CANDIDATES: {"rules"}, NPCS: set(), CANDIDATES: set(), INTERACTIONS: set()},
    ),
    "rules of the interactions": (
        lambda _, patch: _rules(patch, lanes.BUILT_IN[1]),
        {CANDIDATES: {"rules"}, INTERACTIONS: set()},
    ),
    "version of the registry's lane": (
        lambda _, patch: _version(patch, 0),
        {NPC_CANDIDATES: {"lane"}, NPCS: {"lane"}, CANDIDATES: set(), INTERACTIONS: set()},
    ),
    "version of the interactions' lane": (
        lambda _, patch: _version(patch, 1),
        {CANDIDATES: {"lane"}, INTERACTIONS: {"lane"}},
    ),
    "how the owner is called": (lambda c, _: change(c, "steps:", "owners: ['team:us']\nsteps:"), {}),
}


@pytest.mark.parametrize(("edit", "expected"), CHANGES.values(), ids=CHANGES)
def test_exactly_the_dependants_are_stale(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch, edit: Change, expected: dict[str, set[str]]
) -> None:
    c = campaign(sessions=2, extra=EXTRA)
    assert len(run_steps(c)) == 12
    assert run_steps(c) == [], "a second run has nothing to do"
    other = status_of(c, "session-02")
    edit(c, monkeypatch)
    assert stale(c) == expected
    again = run_steps(c, "session-01")
    assert [o.attempt.table for o in again] == [t for t in TABLES if t in expected]
    assert all(o.accepted for o in again), [o.message for o in again]
    assert stale(c) == {}
    assert run_steps(c, "session-01") == []
    if edit is CHANGES["transcript text"][0]:
        assert status_of(c, "session-02") == other


def test_a_new_session_is_new_and_a_deleted_transcript_keeps_its_records(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    assert set(stale(c)) == set(TABLES)
    assert {t.state for t in status_of(c, "session-01").tables} == {"new"}
    run_steps(c)
    c.transcript("session-01").unlink()
    assert steps.run(c.open(), UNITS, c.source_ids[0]).attempt.state == "failed"
    assert set(c.open().store.manifest(c.source_ids[0]).published) == set(TABLES)


def test_a_crash_between_accepting_and_recording_is_made_good(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    for path in c.open().store.attempt_paths():
        if path.parent.name == NPCS:
            path.unlink()
    assert stale(c) == {NPCS: {"attempt not recorded"}, CANDIDATES: set(), INTERACTIONS: set()}
    run_steps(c)
    assert stale(c) == {}


def test_a_table_whose_file_is_gone_is_made_again(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    store = c.open().store
    (store.root / store.manifest(c.source_ids[0]).accepted[INTERACTIONS].file).unlink()
    assert stale(c) == {INTERACTIONS: {"file is gone"}}
    run_steps(c)
    assert stale(c) == {}
