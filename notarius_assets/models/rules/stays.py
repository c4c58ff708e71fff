"""What a sighting of a place says of the party, and where one occurrence ends and the next begins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from notarius_assets.models.rules.place_rules import StayRules
from notarius_assets.models.rules.place_sightings import PlaceSighting
from notarius_assets.models.rules.ruleset import CommonRules
from notarius_assets.models.rules.text import Line

VISITED, PLANNED, RECALLED, MENTIONED = KINDS = ("visited", "planned", "recalled", "mentioned")
"""In order of precedence."""

_STOP = re.compile(r'[.?!;"]')
_WORD = re.compile(r"[\w'-]+")
_REACH = 160
"""So many characters before and behind a place are read for the sentence it stands in."""


@dataclass(slots=True)
class Stay:
    """One occurrence: a kind and the lines of its evidence, in order."""

    kind: str
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Reader:
    """Tells the kind of a sighting; `seated` are the folded words that mean somebody of the party."""

    lines: Sequence[Line]
    seated: frozenset[str]
    table: CommonRules
    rules: StayRules

    @cached_property
    def offstage(self) -> frozenset[int]:
        """The lines about the show or the table."""
        return frozenset(i for i, x in enumerate(self.lines) if self.table.out_of_game_pattern.search(x.lowered))

    @cached_property
    def recap(self) -> frozenset[int]:
        """The lines that tell of earlier sessions: those that say so, and the DM's long ones right behind."""
        out: set[int] = set()
        last: int | None = None
        for i, line in enumerate(self.lines):
            if not line.by_dm:
                continue
            marked = self.table.recap_pattern.search(line.lowered) or self.rules.recap_pattern.search(line.lowered)
            near = last is not None and i - last <= self.rules.recap_reach
            long = len(line.text) >= self.rules.recap_length
            if marked or (near and long and not self.table.scene_pattern.search(line.lowered)):
                last = i
                out.add(i)
        return frozenset(out)

    def kind(self, sighting: PlaceSighting) -> str:
        """Return what one sighting shows."""
        line, rules = self.lines[sighting.line], self.rules
        start = line.words[sighting.first].start
        lead = _STOP.split(line.lowered[max(0, start - _REACH) : start])[-1]
        if sighting.line in self.offstage:
            return MENTIONED
        # "Nobody sleeps in this tavern" is said there all the same.
        here = sighting.sort == "deictic" or rules.here_ending.search(lead.rstrip()) is not None
        if not here and self._unreal(lead):
            return MENTIONED
        if sighting.line in self.recap:
            return MENTIONED if line.quoted(start) else self._retold(lead)
        if here:
            return VISITED
        if not line.by_dm:
            return self._played(lead)
        # What an NPC says of places is lore, directions or its own affair.
        return MENTIONED if line.quoted(start) else self._narrated(lead, line.words[sighting.first].key)

    def _unreal(self, lead: str) -> bool:
        """Tell whether the place stands behind a negation or a condition."""
        rules = self.rules
        clause = rules.not_negation_pattern.sub(" ", lead)
        clause = clause[max((m.end() for m in rules.clause_mark_pattern.finditer(clause)), default=0) :]
        if rules.condition_pattern.search(clause):
            return True
        return rules.negation_pattern.search(clause.rpartition(",")[2]) is not None

    def _party(self, lead: str, subjects: frozenset[str]) -> bool | None:
        """Tell whether the nearest word for a person is the party's; None without one."""
        for word in reversed(_WORD.findall(lead)):
            if word in subjects or word in self.seated:
                return True
            if word in self.rules.third_subjects:
                return False
        return None

    def _retold(self, lead: str) -> str:
        rules = self.rules
        if rules.recap_plan_pattern.search(lead):
            return PLANNED
        return RECALLED if rules.arrival_ending.search(_to_preposition(lead)) else MENTIONED

    def _narrated(self, lead: str, pointer: str) -> str:
        rules = self.rules
        # "Your camp" is the party's, whoever goes there.
        if pointer not in rules.dm_party_subjects and not self._party(lead, rules.dm_party_subjects):
            return MENTIONED
        if rules.recall_pattern.search(lead):
            return RECALLED
        if rules.far_pattern.search(lead) or not rules.arrival_ending.search(_to_preposition(lead)):
            return MENTIONED
        return VISITED

    def _played(self, lead: str) -> str:
        rules = self.rules
        if rules.hearsay_pattern.search(lead):
            return MENTIONED
        near = _to_preposition(lead)
        if rules.being_ending.search(near):
            return VISITED
        act = rules.acting_pattern.search(lead)
        if act and rules.entering_ending.search(near):
            return VISITED
        leads_there = rules.goal_ending.search(near) is not None
        plan = rules.plan_pattern.search(lead)
        willing = plan and self._party(lead[: plan.end()], rules.party_subjects) is not False
        if plan and willing and leads_there and rules.going_pattern.search(lead, plan.start()):
            return PLANNED
        party = self._party(lead, rules.party_subjects)
        if party and (rules.past_pattern.search(lead) or rules.recall_pattern.search(lead)):
            return RECALLED
        return PLANNED if act and party and leads_there else MENTIONED


def _to_preposition(lead: str) -> str:
    """Return the text before a place without the article right before it."""
    near = lead.rstrip()
    return near.removesuffix(" the").rstrip()


def divide(sightings: Sequence[PlaceSighting], reader: Reader) -> list[Stay]:
    """Divide the sightings of one place into occurrences."""
    rules = reader.rules
    at: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for sighting in sightings:
        at[reader.kind(sighting)].add(sighting.line)
    stays = _runs(at[VISITED], VISITED, rules.stay_gap)
    others = [run for kind in (PLANNED, RECALLED) for run in _runs(at[kind], kind, rules.mention_gap)]
    loose = set()
    for i in sorted(at[MENTIONED]):
        # What is said of a place during a stay is no occurrence of its own; what leads up to a plan belongs to it.
        if any(stay.lines[0] <= i <= stay.lines[-1] + rules.after_stay for stay in stays):
            continue
        near = next((x for x in others if x.lines[0] - rules.lead_gap <= i <= x.lines[-1] + rules.lead_gap), None)
        if near is None:
            loose.add(i)
        else:
            near.lines = sorted({*near.lines, i})
    return [*stays, *others, *_runs(loose, MENTIONED, rules.mention_gap)]


def _runs(lines: Iterable[int], kind: str, gap: int) -> list[Stay]:
    """Return lines as occurrences; more than `gap` lines without the place end one."""
    out: list[Stay] = []
    for i in sorted(lines):
        if not out or i - out[-1].lines[-1] > gap:
            out.append(Stay(kind))
        out[-1].lines.append(i)
    return out
