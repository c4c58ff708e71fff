"""Who sits at the table: the DM's labels, and the words that mean a player or a party character."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from notarius_assets.models.rules.ruleset import CommonRules
from notarius_assets.models.rules.text import fold
from notarius_assets.models.window import WindowRequest

_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")
_SHORTEST_PREFIX = 3
"""A nickname shares at least so many letters with its long form."""


@dataclass(frozen=True)
class Roles:
    """Labels of the DM (empty: everybody narrates) and the folded words of players and party characters."""

    dms: frozenset[str]
    table: frozenset[str]

    @cached_property
    def table_by_beginning(self) -> dict[str, list[str]]:
        """The words of the table by their first letters, which every nickname shares."""
        out: dict[str, list[str]] = {}
        for word in sorted(self.table):
            out.setdefault(word[:_SHORTEST_PREFIX], []).append(word)
        return out

    def at_table(self, key: str) -> bool:
        """Tell whether a folded word is a player, a party character, or a short or long form of one."""
        if key in self.table:
            return True
        return any(_nickname(key, known) for known in self.table_by_beginning.get(key[:_SHORTEST_PREFIX], ()))


def _nickname(word: str, known: str) -> bool:
    """Tell whether one of the two words is a common short form of the other ("Percy" and "Percival")."""
    short, long = sorted((word, known), key=len)
    if len(short) < _SHORTEST_PREFIX:
        return False
    if long.startswith(short):
        # "Al" and "Alaric", but not "Sam" and "Samuel's daughter": a short form is a word's beginning.
        return len(short) > _SHORTEST_PREFIX or known == long or "'" in long
    if short[-1] in "yi" and long.startswith(short[:-1]) and len(short) > _SHORTEST_PREFIX:
        return True
    return short.endswith("ie") and long.startswith(short[:-2]) and len(short) > _SHORTEST_PREFIX + 1


def roles(request: WindowRequest, rules: CommonRules) -> Roles:
    """Return who is who, from the campaign's declaration and the labels of the window."""
    labels = [s.casefold().strip() for u in (*request.before, *request.units, *request.after) for s in u.speakers]
    declared = frozenset(d.casefold().strip() for d in request.campaign.dms)
    dms = declared & frozenset(labels) or frozenset(label for label in labels if label in rules.dm_labels)
    table: set[str] = set()
    players = (*request.campaign.players, *request.campaign.dms)
    for name in (*players, *request.campaign.characters, *dict.fromkeys(labels)):
        words = [w.casefold() for w in _WORD.findall(fold(name))]
        table.update(w for w in words if w not in rules.weak_tokens and w not in rules.titles)
    # A party character may be called by a word such as "Old"; that must not hide every other name.
    table -= rules.group_labels | rules.weak_tokens
    return Roles(dms=dms, table=frozenset(table))
