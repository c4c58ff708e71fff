"""Occurrences of one NPC: what each sighting shows, and where one passage ends and the next begins."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from notarius_assets.models.rules.forms import Hit
from notarius_assets.models.rules.ruleset import InteractionRules
from notarius_assets.models.rules.scenes import Stage
from notarius_assets.models.rules.sightings import Sighting
from notarius_assets.models.rules.text import Line

_RANK = {"mentioned": 0, "other": 0, "noncombat_presence": 1, "dialogue": 2, "combat": 3}
"""Precedence inside one passage."""


@dataclass(slots=True)
class Moment:
    """One line where an NPC is named or speaks on, and what it shows there."""

    line: int
    kind: str
    hits: tuple[Hit, ...] = ()

    @property
    def named(self) -> bool:
        """Whether the NPC is named there."""
        return bool(self.hits)


@dataclass(slots=True)
class Passage:
    """One occurrence: a kind and its moments."""

    kind: str
    moments: list[Moment] = field(default_factory=list)

    @property
    def lines(self) -> list[int]:
        """The lines of its evidence."""
        return [m.line for m in self.moments]


def moments(
    seen: Mapping[str, Sequence[Sighting]], lines: Sequence[Line], stage: Stage, deeds: InteractionRules
) -> dict[str, list[Moment]]:
    """Return what every sighting shows, and the DM's lines around it in which a speaking NPC goes on without its name.

    The word passes on where another NPC speaks or is played. Lines after a name are given away first, for a speaker
    is named before it goes on; what nobody claimed goes to the NPC who is named after ("I am Hilda").
    """
    found = {
        name: {s.line: Moment(s.line, _kind(s, lines, stage, deeds), s.hits) for s in sightings}
        for name, sightings in seen.items()
    }
    active: dict[int, set[str]] = defaultdict(set)
    for name, at in found.items():
        _join_fights(at, stage, deeds)
        for i, moment in at.items():
            if moment.kind != "mentioned":
                active[i].add(name)
    claimed: set[int] = set()
    for step in (1, -1):
        for at in found.values():
            for start in [i for i, m in at.items() if m.kind == "dialogue" and m.named]:
                for i in _replies(start, step, active, claimed, lines, stage, deeds):
                    if i not in at:
                        at[i] = Moment(i, "dialogue")
        claimed = {i for at in found.values() for i, m in at.items() if m.kind == "dialogue"}
    return {name: [at[i] for i in sorted(at)] for name, at in found.items()}


def _replies(
    start: int,
    step: int,
    active: Mapping[int, set[str]],
    claimed: set[int],
    lines: Sequence[Line],
    stage: Stage,
    deeds: InteractionRules,
) -> list[int]:
    """Return the DM's lines of quoted speech or "he" and "she" before or after a line, while nobody else is active."""
    out: list[int] = []
    last = start
    if step > 0 and _departs(lines[start], deeds):
        return out
    i = start + step
    while 0 <= i < len(lines) and abs(i - last) <= deeds.reply_reach:
        if i in claimed or active.get(i) or stage.scene[i] != stage.scene[start]:
            break
        line = lines[i]
        if line.by_dm and (line.quotes or (step > 0 and any(w.key in deeds.third_person for w in line.words))):
            if step < 0 and _departs(line, deeds):
                break
            out.append(i)
            last = i
            if _departs(line, deeds):
                break
        i += step
    return out


def _departs(line: Line, deeds: InteractionRules) -> bool:
    return line.by_dm and deeds.departure_pattern.search(line.unquoted) is not None


def _join_fights(found: dict[int, Moment], stage: Stage, deeds: InteractionRules) -> None:
    """Let what is said of a fighter between its deeds of one fight count to the fight."""
    fighting = [i for i, m in sorted(found.items()) if m.kind == "combat"]
    for i, moment in found.items():
        if moment.kind not in ("mentioned", "noncombat_presence") or not stage.fight_number[i]:
            continue
        after = bisect_left(fighting, i)
        for j in fighting[max(0, after - 1) : after + 1]:
            if stage.fight_number[i] == stage.fight_number[j] and abs(i - j) <= deeds.absence_limit:
                moment.kind = "combat"


def _kind(sighting: Sighting, lines: Sequence[Line], stage: Stage, deeds: InteractionRules) -> str:
    i = sighting.line
    line = lines[i]
    if stage.recap[i] or stage.offstage[i]:
        return "mentioned"
    spoken = all(line.quoted(line.words[h.first].start) for h in sighting.hits)
    if stage.fight[i] and not spoken and _fights(sighting, line, deeds):
        return "combat"
    if _speaks(sighting, spoken, lines, deeds, stage):
        return "dialogue"
    if (
        line.by_dm
        and not spoken
        and any(deeds.presence_pattern.search(around(line, h.first, h.last)) for h in sighting.hits)
    ):
        return "noncombat_presence"
    return "mentioned"


def _fights(sighting: Sighting, line: Line, deeds: InteractionRules) -> bool:
    """Tell whether the NPC takes part in the fight around: the DM plays it, or a player acts on it."""
    return line.by_dm or any(deeds.combat_act_pattern.search(around(line, h.first, h.last)) for h in sighting.hits)


def around(line: Line, first: int, last: int, reach: int = 80) -> str:
    """Return the lower-case text around some words of a line."""
    return line.lowered[max(0, line.words[first].start - reach) : line.words[last].end + reach]


def _speaks(sighting: Sighting, spoken: bool, lines: Sequence[Line], deeds: InteractionRules, stage: Stage) -> bool:
    i, line = sighting.line, lines[sighting.line]
    if line.by_dm:
        if spoken:
            # "I am Hilda." The speaker names itself; another name in quoted speech is only spoken of.
            return any(_self_named(line, h, lines, i, deeds) or _called(line, h) for h in sighting.hits)
        return line.speech and any(deeds.speech_pattern.search(around(line, h.first, h.last)) for h in sighting.hits)
    addressed = any(_addressed(line, h.first, h.last, deeds) for h in sighting.hits)
    return addressed and _answered(i, lines, stage, deeds)


def _self_named(line: Line, hit: Hit, lines: Sequence[Line], i: int, deeds: InteractionRules) -> bool:
    before = line.lowered[max(0, line.words[hit.first].start - 16) : line.words[hit.first].start].rstrip(' "')
    if deeds.self_naming_ending.search(before):
        return True
    alone = len(line.words) <= hit.last - hit.first + 2
    return alone and any(deeds.name_question_pattern.search(lines[j].lowered) for j in range(max(0, i - 2), i))


def _called(line: Line, hit: Hit) -> bool:
    """Tell whether one NPC calls another who answers in the same unit: two quoted stretches, the name in the first."""
    word = line.words[hit.first]
    after = line.lowered[line.words[hit.last].base_end :][:1]
    return word.opens and after in ("!", ",") and line.quotes[-1][0] > word.start


def _addressed(line: Line, first: int, last: int, deeds: InteractionRules) -> bool:
    """Tell whether a player speaks to the NPC: by its name, or as told ("I ask Hilda")."""
    word = line.words[first]
    after = line.lowered[line.words[last].base_end :].lstrip()[:1]
    if word.before.strip()[-1:] == "," and after in ("", ".", "!", "?", ",", "-"):
        return True
    if word.opens and after in (",", "!"):
        return True
    if deeds.address_later_pattern.search(line.lowered, line.words[last].end, line.words[last].end + 80):
        return True
    return deeds.address_ending.search(line.lowered[max(0, word.start - 40) : word.start].rstrip()) is not None


def _answered(i: int, lines: Sequence[Line], stage: Stage, deeds: InteractionRules) -> bool:
    """Tell whether the DM's quoted speech is near: the NPC is in the talk."""
    for j in range(max(0, i - deeds.answer_reach), min(len(lines), i + 1 + deeds.answer_reach)):
        if lines[j].by_dm and lines[j].quotes and stage.scene[j] == stage.scene[i]:
            return True
    return False


def divide(found: Sequence[Moment], stage: Stage, deeds: InteractionRules) -> list[Passage]:
    """Divide moments into passages: by absence, by scene, then by what comes before the NPC does more."""
    runs: list[list[Moment]] = []
    for moment in sorted(found, key=lambda m: m.line):
        last = runs[-1][-1] if runs else None
        if last is None or _apart(last, moment, stage, deeds):
            runs.append([])
        runs[-1].append(moment)
    return [passage for run in runs for passage in _by_kind(run, deeds)]


def _apart(last: Moment, moment: Moment, stage: Stage, deeds: InteractionRules) -> bool:
    """Tell whether absence or a new scene parts two moments; the turns of one fight do not."""
    if stage.scene[last.line] != stage.scene[moment.line]:
        return True
    gap = moment.line - last.line
    if stage.fight_number[last.line] and stage.fight_number[last.line] == stage.fight_number[moment.line]:
        return gap > deeds.fight_absence_limit
    return gap > deeds.absence_limit


def _by_kind(run: list[Moment], deeds: InteractionRules) -> list[Passage]:
    """Cut a run where a lesser kind goes on for some units before or after the strongest; else the strongest holds."""
    top = max(_RANK[m.kind] for m in run)
    strongest = [i for i, m in enumerate(run) if _RANK[m.kind] == top]
    first, last = strongest[0], strongest[-1]
    out: list[Passage] = []
    if first and run[first].line - run[0].line >= deeds.lead_limit:
        out.extend(_by_kind(run[:first], deeds))
        start = first
    else:
        start = 0
    tail = last + 1 < len(run) and run[-1].line - run[last].line > deeds.lead_limit
    stop = last + 1 if tail else len(run)
    kind = next(m.kind for m in run if _RANK[m.kind] == top)
    out.append(Passage(kind, run[start:stop]))
    if tail:
        out.extend(_by_kind(run[stop:], deeds))
    return [p for p in out if any(m.named for m in p.moments)]
