"""The `rules` answer to a request for duplicate groups: names stated or declared to be one, and proper place names."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from notarius_assets.campaign import KnownName
from notarius_assets.identity import comparison_name
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import fold, lower
from notarius_assets.reconcile.proposal import ProposedGroup, Reason
from notarius_assets.reconcile.request import WINDOW, Entry, ReconcileRequest
from notarius_assets.transcripts.model import Unit

RULE_FILES = ("words", "common", "locations", "reconciliation")
"""What the proposers need loaded."""

_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")
_GOES_ON = re.compile(r" [A-Z]")
_FARTHEST = 60
"""Characters between two names of one statement."""

KNOWN_ALIAS, STATED_ALIAS, PROPER_NAME = "known_alias", "stated_alias", "equal_proper_name"


@dataclass(frozen=True, slots=True)
class _Link:
    """Two candidates that are one, by which rule."""

    first: str
    second: str
    reason: Reason


def propose_npcs(request: ReconcileRequest, rules: Ruleset) -> list[ProposedGroup]:
    """Propose by aliases alone: declared in the gazetteer, or stated in the transcript."""
    links = [*_declared(request, request.campaign.npcs, rules), *_stated(request, rules)]
    return _groups(request, links, rules)


def propose_locations(request: ReconcileRequest, rules: Ruleset) -> list[ProposedGroup]:
    """Propose by aliases, and where a proper name is said again and nothing says that another place bears it."""
    links = [
        *_declared(request, request.campaign.locations, rules),
        *_stated(request, rules),
        *_same_name(request, rules),
    ]
    return _groups(request, links, rules)


def is_proper(name: str, rules: Ruleset) -> bool:
    """Tell whether a name has a capitalised word that is no place noun, article or stop word."""
    words = [w for w in _WORD.findall(fold(name)) if w[0].isupper()]
    return any(w.casefold().removesuffix("'s") not in rules.common_in_places for w in words)


def _declared(request: ReconcileRequest, known: Sequence[KnownName], rules: Ruleset) -> Iterator[_Link]:
    # a form that two names are known by tells nobody which of them is meant
    borne = Counter(form for entry in known for form in {comparison_name(f) for f in entry.forms})
    for entry in known:
        forms = {form for f in entry.forms if borne[form := comparison_name(f)] == 1}
        found = [e for e in request.entries if e.node.comparison in forms]
        # a label that several candidates bear may be several of them
        sure = [e for e in found if is_proper(e.node.name, rules) or _is_only_one(e, found)]
        for other in sure[1:]:
            # that names are equal is the business of another rule
            if other.node.comparison != sure[0].node.comparison:
                yield _Link(sure[0].key, other.key, Reason(KNOWN_ALIAS))


def _is_only_one(entry: Entry, among: Sequence[Entry]) -> bool:
    return sum(e.node.comparison == entry.node.comparison for e in among) == 1


def _same_name(request: ReconcileRequest, rules: Ruleset) -> Iterator[_Link]:
    others = rules.unions.other_pattern
    of_two = [unit.unit_id for unit in request.units if others.search(lower(fold(unit.text)))]
    named: dict[str, Entry] = {}
    for entry in request.entries:
        if not is_proper(entry.node.name, rules):
            continue
        if any(bisect_left(of_two, r.start_unit_id) < bisect_right(of_two, r.end_unit_id) for r in entry.node.refs):
            continue
        first = named.setdefault(entry.node.comparison, entry)
        if first is not entry:
            yield _Link(first.key, entry.key, Reason(PROPER_NAME))


def _stated(request: ReconcileRequest, rules: Ruleset) -> Iterator[_Link]:
    named: dict[str, list[Entry]] = {}
    for entry in request.entries:
        named.setdefault(_bare(entry.node.comparison), []).append(entry)
    if len(named) < 2:
        return
    longest_first = sorted(named, key=lambda n: (-len(n), n))
    # a name inside a hyphenated one is another name
    names = re.compile(rf"(?<!\w)(?<!\w-)(?:{'|'.join(map(re.escape, longest_first))})(?!-?\w)")
    for unit in request.units:
        written = fold(unit.text)
        text = lower(written)
        # "Marta" of "Marta Voss" is not all of the name
        hits = [h for h in names.finditer(text) if written.isupper() or not _GOES_ON.match(written, h.end())]
        for a, b in pairwise(hits):
            if a.group() == b.group() or b.start() - a.end() > _FARTHEST:
                continue
            if rules.unions.states(text, a.span(), b.span()):
                first, second = (_meant(named[hit.group()], unit, rules) for hit in (a, b))
                if first and second:
                    yield _Link(first.key, second.key, Reason(STATED_ALIAS, unit.unit_id))


def _bare(comparison: str) -> str:
    return re.sub(r"^(?:the|a|an) ", "", comparison)


def _meant(entries: Sequence[Entry], unit: Unit, rules: Ruleset) -> Entry | None:
    """Return the candidate that a statement names: the nearest one; a label names only one identified right there."""
    near = [e for e in entries if _distance(e, unit) <= WINDOW]
    if not near and is_proper(entries[0].node.name, rules):
        near = list(entries)
    return min(near, key=lambda e: (_distance(e, unit), e.key), default=None)


def _distance(entry: Entry, unit: Unit) -> int:
    at = unit.unit_id
    return min(max(r.start_unit_id - at, at - r.end_unit_id, 0) for r in entry.node.refs)


def _groups(request: ReconcileRequest, links: Sequence[_Link], rules: Ruleset) -> list[ProposedGroup]:
    leader = {entry.key: entry.key for entry in request.entries}
    why: dict[str, list[Reason]] = {key: [] for key in leader}
    for link in links:
        first, second = sorted((_find(leader, link.first), _find(leader, link.second)))
        why[first].append(link.reason)
        if first != second:
            leader[second] = first
            why[first] += why[second]
    groups: dict[str, list[Entry]] = {}
    for entry in request.entries:
        groups.setdefault(_find(leader, entry.key), []).append(entry)
    return [
        ProposedGroup(tuple(e.key for e in members), _canonical(members, request, rules), _reason(why[first]))
        for first, members in groups.items()
        if len(members) > 1
    ]


def _find(leader: dict[str, str], key: str) -> str:
    while leader[key] != key:
        key = leader[key]
    return key


def _canonical(members: Sequence[Entry], request: ReconcileRequest, rules: Ruleset) -> str:
    """Return whose name stands: a declared one, a proper one, one without an article, the first."""
    declared = set(request.campaign.declared_names.values())

    def rank(entry: Entry) -> tuple[bool, bool, bool, str]:
        name = entry.node.comparison
        return (name not in declared, not is_proper(entry.node.name, rules), _bare(name) != name, entry.key)

    return min(members, key=rank).key


def _reason(reasons: Sequence[Reason]) -> Reason:
    rules = "+".join(sorted({r.rule for r in reasons}))
    return Reason(rules, min((r.unit_id for r in reasons if r.unit_id), default=None))
