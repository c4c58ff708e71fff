"""Which side a fighter is on: signs of the party's and of the other side, and who strikes whom."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from notarius_assets.models.rules import passages
from notarius_assets.models.rules.forms import Hit
from notarius_assets.models.rules.passages import Passage
from notarius_assets.models.rules.ruleset import InteractionRules
from notarius_assets.models.rules.text import Line

_BEFORE = 40
_AFTER = 24
_STRIKE_REACH = 120
"""So many characters lie between a striker and the one it strikes at most."""

_SENTENCE_END = re.compile(r"[.?!]")


@dataclass(slots=True)
class Sides:
    """How much speaks for the party's side, less what speaks for the other, by passage and by NPC."""

    passage: Counter[int] = field(default_factory=Counter)
    npc: Counter[str] = field(default_factory=Counter)

    def kind(self, name: str, passage: Passage) -> str:
        """Return the kind of a passage of combat; where it is silent, all the NPC does in the window decides."""
        lean = self.passage[id(passage)] or self.npc[name]
        return "combat_ally" if lean > 0 else "combat_opponent"


def weigh(divided: Mapping[str, Sequence[Passage]], lines: Sequence[Line], deeds: InteractionRules) -> Sides:
    """Return what every NPC's passages of combat say of its side.

    Of two NPCs one of whom strikes the other, the one with more signs of the other side is the enemy, and the other
    fights it with the party.
    """
    out = Sides()
    fighters: dict[int, list[tuple[Hit, str, Passage]]] = defaultdict(list)
    for name, found in divided.items():
        for passage in found:
            if passage.kind != "combat":
                continue
            for moment in passage.moments:
                for hit in moment.hits:
                    lean = _lean(hit, lines[moment.line], deeds)
                    out.passage[id(passage)] += lean
                    out.npc[name] += lean
                    fighters[moment.line].append((hit, name, passage))
    gained = []
    for line, at in fighters.items():
        for (_, striker, by), (_, struck, of) in _strikes(sorted(at, key=lambda f: f[0].first), lines[line], deeds):
            if out.npc[striker] != out.npc[struck]:
                gained.append((striker, by) if out.npc[striker] > out.npc[struck] else (struck, of))
    for name, passage in gained:
        out.passage[id(passage)] += deeds.strike_weight
        out.npc[name] += deeds.strike_weight
    return out


def _lean(hit: Hit, line: Line, deeds: InteractionRules) -> int:
    near = passages.around(line, hit.first, hit.last)
    lean = len(deeds.ally_pattern.findall(near)) - len(deeds.opponent_pattern.findall(near))
    start, end = line.words[hit.first].start, line.words[hit.last].base_end
    before = line.lowered[max(0, start - _BEFORE) : start].rstrip()
    after = line.lowered[end : end + _AFTER]
    lean += deeds.joined_beginning.match(after) is not None
    if line.by_dm:
        return lean + (deeds.granted_ending.search(before) is not None)
    if deeds.command_ending.search(before) or deeds.run_beginning.match(after):
        return lean + 1
    return lean - (deeds.target_ending.search(before) is not None)


def _strikes(
    at: Sequence[tuple[Hit, str, Passage]], line: Line, deeds: InteractionRules
) -> Iterable[tuple[tuple[Hit, str, Passage], tuple[Hit, str, Passage]]]:
    """Give the striker and the struck where the DM tells of it: two NPCs of one sentence, a blow between them."""
    if not line.by_dm:
        return
    for first, second in pairwise(at):
        start, end = line.words[first[0].last].end, line.words[second[0].first].start
        between = line.lowered[start:end]
        if first[1] == second[1] or end - start > _STRIKE_REACH or line.quoted(start) or line.quoted(end):
            continue
        if deeds.strike_pattern.search(between) and not _SENTENCE_END.search(between):
            yield first, second
