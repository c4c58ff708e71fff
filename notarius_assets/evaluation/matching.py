"""Who is who: which predicted entity is which gold entity, one to one.

Among matchings of one size the choice is fixed: predictions in their order, each trying gold records in theirs. The
choice decides evidence overlap and which names are left over, so numbers agree with another tool only under this order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from notarius_assets.evaluation.ranges import RangeIndex, near
from notarius_assets.evaluation.records import Entity
from notarius_assets.identity import comparison_name

SLACK = 1
"""Units by which the evidence of an event may miss the gold's."""

ENTITY_SLACK = 10
"""Units more by which the evidence of an entity may miss: a registry cites some places, not all."""

_ARTICLE = re.compile(r"^(?:the|a|an) ")
_WORD = re.compile(r"[\w']+")
_NO_IDENTITY = frozenset({"the", "a", "an", "of"}) | frozenset(
    {"sir", "lady", "lord", "captain", "master", "mr", "mrs", "ms", "old", "young"}
)
"""Words that many names share and that make nobody the same person."""


def bare_name(name: str) -> str:
    """Return the comparison name without a leading article."""
    return _ARTICLE.sub("", comparison_name(name))


def name_words(name: str) -> frozenset[str]:
    """Return the words of a name in comparison form, titles and articles out; may be empty."""
    return frozenset(_WORD.findall(comparison_name(name))) - _NO_IDENTITY


def as_mask(positions: Iterable[int]) -> int:
    """Return positions as the set bits of one number."""
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def maximum_matching(edges: Sequence[int]) -> dict[int, int]:
    """Return a largest one-to-one choice `{left: right}`; `edges[i]` has a bit for every right i may take.

    By augmenting paths: lefts in order, rights in ascending order, depth first. A left once matched stays matched.
    The dictionary's order is the order in which rights were first taken.
    """
    holder: dict[int, int] = {}
    alive = -1
    for left in range(len(edges)):
        path, unseen = [left], alive
        taken: list[int] = []
        while path:
            open_rights = edges[path[-1]] & unseen
            if not open_rights:
                path.pop()
                if taken:
                    taken.pop()
                continue
            lowest = open_rights & -open_rights
            unseen &= ~lowest
            right = lowest.bit_length() - 1
            taken.append(right)
            if right not in holder:
                holder.update(zip(taken, path, strict=True))
                break
            path.append(holder[right])
        else:
            # No free right can be reached from what a failed search saw, now or later: not looked at again.
            alive = unseen
    return {left: right for right, left in holder.items()}


def match_entities(predicted: Sequence[Entity], gold: Sequence[Entity], slack: int = SLACK) -> dict[int, int]:
    """Return `{predicted position: gold position}`.

    Evidence must come within `ENTITY_SLACK + slack` units. First by equal names or aliases, articles aside; where
    several gold entities answer to the name, those with evidence within one unit come first. What is then left over
    is matched where the words of its name contain, or are contained in, those of exactly one free gold entity.
    """
    index = RangeIndex([(j, g.refs) for j, g in enumerate(gold)])
    close = [index.within(p.refs, ENTITY_SLACK + slack) for p in predicted]
    forms = [{bare_name(form) for form in (g.name, *g.aliases)} for g in gold]
    names = [bare_name(p.name) for p in predicted]
    same = [[j for j in js if name in forms[j]] for name, js in zip(names, close, strict=True)]

    found = maximum_matching(
        [
            as_mask(js if len(js) == 1 else (j for j in js if near(p.refs, gold[j].refs, 1)))
            for p, js in zip(predicted, same, strict=True)
        ]
    )
    free = as_mask(range(len(gold))) & ~as_mask(found.values())
    found |= maximum_matching([0 if i in found else as_mask(js) & free for i, js in enumerate(same)])

    taken = set(found.values())
    words = [[w for w in map(name_words, (g.name, *g.aliases)) if w] for g in gold]

    def only_alike(i: int) -> int:
        own = name_words(predicted[i].name)
        alike = [j for j in close[i] if j not in taken and any(own <= w or w <= own for w in words[j])] if own else []
        return as_mask(alike) if len(alike) == 1 else 0

    found |= maximum_matching([0 if i in found else only_alike(i) for i in range(len(predicted))])
    return found
