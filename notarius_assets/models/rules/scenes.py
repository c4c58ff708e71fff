"""What a window is about, unit by unit: scenes, recaps, talk about the show, fights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from notarius_assets.models.rules.ruleset import CommonRules, InteractionRules
from notarius_assets.models.rules.text import Line


@dataclass(frozen=True)
class Stage:
    """Per line: the number of its scene, and whether it is a recap, about the show, or in a fight."""

    scene: tuple[int, ...]
    recap: tuple[bool, ...]
    offstage: tuple[bool, ...]
    fight: tuple[bool, ...]
    fight_number: tuple[int, ...]
    """Which fight a line is in, counted from 1; 0 outside."""


def stage(lines: Sequence[Line], table: CommonRules, deeds: InteractionRules) -> Stage:
    """Read the stage of every line."""
    scene, number = [], 0
    for line in lines:
        number += bool(table.scene_pattern.search(line.lowered))
        scene.append(number)
    fight = _fights(lines, scene, deeds)
    fight_number, count = [], 0
    for i, on in enumerate(fight):
        count += on and not (i and fight[i - 1])
        fight_number.append(count if on else 0)
    return Stage(
        scene=tuple(scene),
        recap=tuple(bool(table.recap_pattern.search(line.lowered)) for line in lines),
        offstage=tuple(bool(table.out_of_game_pattern.search(line.lowered)) for line in lines),
        fight=fight,
        fight_number=tuple(fight_number),
    )


def _fights(lines: Sequence[Line], scene: Sequence[int], deeds: InteractionRules) -> tuple[bool, ...]:
    """A line is in a fight where enough lines around it have combat words, or between two such lines not far apart."""
    counts = [0]
    for line in lines:
        hit = bool(deeds.combat_word_pattern.search(line.lowered))
        start = bool(deeds.combat_start_pattern.search(line.lowered))
        counts.append(counts[-1] + hit + start * deeds.combat_minimum)
    reach, size = deeds.combat_reach, len(lines)
    fight = [counts[min(size, i + reach + 1)] - counts[max(0, i - reach)] >= deeds.combat_minimum for i in range(size)]
    last: int | None = None
    for i, on in enumerate(list(fight)):
        if not on:
            continue
        if last is not None and 1 < i - last <= deeds.combat_bridge and scene[i] == scene[last]:
            fight[last + 1 : i] = [True] * (i - last - 1)
        last = i
    return tuple(fight)
