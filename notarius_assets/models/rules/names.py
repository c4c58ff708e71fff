"""Whose name it is: cues around every capitalised phrase, added up; persons against places and things."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from notarius_assets.models.rules.ruleset import NpcRules
from notarius_assets.models.rules.spans import Span, Vocabulary
from notarius_assets.models.rules.text import Line

_BEFORE = 48
"""So many characters before a name are read for a phrase that ends there."""

_AFTER = 90
_SENTENCE = re.compile(r"[.?!]")

PERSON_CUES = frozenset(
    (
        "introduction",
        "answer",
        "title",
        "vocative",
        "spoken_to",
        "person_verb",
        "person_noun",
        "possessive",
        "pronoun",
        "gazetteer",
    )
)
"""Cues that places and things do not have."""


@dataclass(slots=True)
class Evidence:
    """What speaks for one name: cue sums, the lines it stands in, the forms it has."""

    key: tuple[str, ...]
    cues: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    lines: set[int] = field(default_factory=set)
    forms: Counter[str] = field(default_factory=Counter)
    inside: int = 0
    by_dm: int = 0
    addressed_as_player: int = 0

    def add(self, cue: str, value: float) -> None:
        """Note one cue."""
        self.cues[cue].append(value)

    def total(self, cap: int, only: frozenset[str] | None = None) -> float:
        """Return the sum, of every cue at most the `cap` strongest."""
        return sum(
            sum(sorted(values, key=abs, reverse=True)[:cap])
            for cue, values in self.cues.items()
            if only is None or cue in only
        )


def gather(lines: Sequence[Line], spans: Iterable[Span], words: Vocabulary) -> dict[tuple[str, ...], Evidence]:
    """Return the evidence of every phrase that is not plainly something else, by its key."""
    people = words.rules.people
    out: dict[tuple[str, ...], Evidence] = {}
    offstage = {i for i, line in enumerate(lines) if words.rules.table.out_of_game_pattern.search(line.lowered)}
    for span in spans:
        line = lines[span.line]
        if span.line in offstage:
            continue
        keys = span.key
        place = any(k in people.place_nouns for k in keys)
        thing = any(k in people.thing_nouns for k in keys)
        introduced = _introduction(line, span, people)
        plain = all(words.ordinary(k) or k in words.rules.table.name_connectors for k in keys)
        if (place or (thing and not span.titled)) and not (introduced and not plain):
            continue
        # An ordinary word is a name only behind a title or an introduction ("Captain Stone", "a man named Ash").
        if plain and not ((span.titled and not span.opens) or introduced == "introduction"):
            continue
        evidence = out.setdefault(keys, Evidence(keys))
        if not plain and not evidence.lines:
            evidence.add("unfamiliar", people.weights.unfamiliar)
        _note(evidence, line, span, lines, words)
    return out


def _introduction(line: Line, span: Span, people: NpcRules) -> str | None:
    before = line.lowered[max(0, line.words[span.first].start - _BEFORE) : line.words[span.first].start].rstrip(' "')
    before = before.rstrip(",")
    if people.introduction_pattern.search(before):
        return "introduction"
    quoted = line.by_dm
    if quoted and people.quoted_introduction_pattern.search(before):
        return "introduction"
    return None


def _note(evidence: Evidence, line: Line, span: Span, lines: Sequence[Line], words: Vocabulary) -> None:
    people = words.rules.people
    weights, share = people.weights, 1.0 if line.by_dm else people.player_share
    first, last = line.words[span.first], line.words[span.last]
    before_text = line.lowered[max(0, first.start - _BEFORE) : first.start]
    after_text = line.lowered[last.end : last.end + _AFTER]
    after_mark = after_text.lstrip()[:1]
    previous = line.words[span.first - 1].key if span.first and first.before == " " else ""
    following = line.words[span.last + 1] if span.last + 1 < len(line.words) else None
    adjoining = following.key if following is not None and following.before == " " else ""
    quoted = line.quoted(first.start)
    evidence.lines.add(span.line)
    evidence.forms[span.text] += 1
    evidence.by_dm += line.by_dm
    evidence.inside += not span.opens

    def add(cue: str, factor: float = 1.0) -> None:
        evidence.add(cue, getattr(weights, cue) * share * factor)

    if _introduction(line, span, people):
        # An introduction counts in full, whoever makes it.
        evidence.add("introduction", weights.introduction)
    elif _answers(line, span, lines, people):
        evidence.add("answer", weights.answer)
    if span.titled:
        add("title")
    if not span.opens:
        add("plain")
    _place_cues(add, before_text, previous, people, span)
    if previous in people.determiners and not span.titled:
        add("article")
    elif previous in people.thing_words:
        add("thing")
    if previous in people.spoken_to or people.spoken_to_pattern.search(before_text.rstrip()):
        add("spoken_to")
    if last.possessive and following is not None and following.capital and following.before == " ":
        # "Hilda's Embrace" is a book, a spell or an inn.
        add("thing")
    elif last.possessive:
        add("person_noun" if adjoining in people.person_owned else "possessive")
    elif adjoining in people.person_verbs:
        add("person_verb", 0.4 if adjoining in people.weak_verbs else 1.0)
    elif adjoining.endswith("s") and len(adjoining) > 3:
        add("any_verb")
    elif (
        adjoining
        and adjoining not in words.rules.english.function_words
        and following is not None
        and not following.capital
    ):
        add("attribute")
    vocative = (first.before.strip()[-1:] == "," and after_mark in ("", ".", "!", "?", '"', "-", ",", ")")) or (
        span.opens and after_mark in (",", "!", "?")
    )
    if vocative and (not line.by_dm or quoted):
        add("vocative", 1.0 if not span.opens else 0.7)
    elif vocative and line.by_dm and span.opens and following is not None and following.key in people.player_address:
        evidence.addressed_as_player += 1
    sentence = _SENTENCE.split(after_text, maxsplit=2)
    if people.pronoun_pattern.search(" ".join(sentence[:2])):
        add("pronoun")


def _answers(line: Line, span: Span, lines: Sequence[Line], people: NpcRules) -> bool:
    """Tell whether the phrase is the short answer of the DM to a question for a name."""
    if not line.by_dm or span.first > 3 or len(line.words) > 8 + len(span.words):
        return False
    asked = lines[max(0, span.line - 2) : span.line]
    return any(people.name_question_pattern.search(a.lowered) for a in asked)


def _place_cues(add: Callable[[str], None], before_text: str, previous: str, people: NpcRules, span: Span) -> None:
    if span.titled:
        return
    before = before_text.rstrip()
    if people.belonging_pattern.search(before):
        add("place_noun")
    elif people.travel_pattern.search(before):
        add("travel")
    elif previous in people.place_words:
        looked = people.spoken_to_pattern.search(before)
        if not looked:
            add("place")


def accepted(evidence: Mapping[tuple[str, ...], Evidence], people: NpcRules) -> dict[tuple[str, ...], Evidence]:
    """Return the names whose cues reach the declared thresholds."""
    return {key: e for key, e in evidence.items() if _is_person(e, people)}


def _is_person(evidence: Evidence, people: NpcRules) -> bool:
    if evidence.addressed_as_player and not evidence.cues.get("gazetteer"):
        return False
    total = evidence.total(people.cue_cap)
    person = evidence.total(people.cue_cap, PERSON_CUES)
    needed = people.threshold if evidence.by_dm else people.players_only_threshold
    if not evidence.inside:
        needed = people.opening_only_threshold
    return total >= needed and person >= people.person_minimum
