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

_DEEDS = frozenset(("introduction", "answer", "title", "spoken_to", "person_verb", "person_noun"))
"""Cues of persons that a place rarely has, whatever is said of it."""

_PLACES = frozenset(("place", "travel", "place_noun"))
"""Cues that only places have."""

_LIST = re.compile(r" *(?:,|,? and|,? or) *\Z")
_SHORTEST_LIST = 3


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
    told = [span for span in spans if span.line not in offstage]
    lists = _lists(told, lines)
    listed = {id(span) for members in lists for span in members}
    for span in told:
        line = lines[span.line]
        keys = span.key
        if not _name_shaped(keys, words):
            continue
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
        _note(evidence, line, span, lines, words, id(span) in listed)
    _list_cues(lists, out, people)
    return out


def _name_shaped(keys: Sequence[str], words: Vocabulary) -> bool:
    """Tell whether a phrase looks like a name: no initial alone, no "Hilda-made"."""
    if len(keys) == 1 and "-" in keys[0]:
        return not words.ordinary(keys[0].rpartition("-")[2])
    return any(len(k) > 1 for k in keys)


def _lists(spans: Sequence[Span], lines: Sequence[Line]) -> list[list[Span]]:
    """Return the phrases that stand in a row with only commas and "and" between them."""
    runs: list[list[Span]] = []
    for span in spans:
        last = runs[-1][-1] if runs else None
        line = lines[span.line]
        if (
            last is not None
            and last.line == span.line
            and not line.words[last.last].possessive
            and _LIST.fullmatch(line.lowered[line.words[last.last].end : line.words[span.first].start])
        ):
            runs[-1].append(span)
        else:
            runs.append([span])
    return [run for run in runs if len(run) >= _SHORTEST_LIST]


def _list_cues(lists: Iterable[Sequence[Span]], out: Mapping[tuple[str, ...], Evidence], people: NpcRules) -> None:
    """Let a list with a place in it speak for more places: lists keep to one kind."""
    cues: list[Evidence] = []
    for members in lists:
        keys = [m.key for m in members]
        if any(
            any(k in people.place_nouns for k in key) or (key in out and _is_place(out[key], people)) for key in keys
        ):
            cues.extend(out[key] for key in keys if key in out)
    for evidence in cues:
        evidence.add("listed", people.weights.listed)


def _is_place(evidence: Evidence, people: NpcRules) -> bool:
    """Tell whether more speaks for a place than the name does or has done to it as a person."""
    place = -evidence.total(people.cue_cap, _PLACES)
    return place > max(0.0, evidence.total(people.cue_cap, _DEEDS))


def _introduction(line: Line, span: Span, people: NpcRules) -> str | None:
    before = line.lowered[max(0, line.words[span.first].start - _BEFORE) : line.words[span.first].start].rstrip(' "')
    before = before.rstrip(",")
    if people.introduction_pattern.search(before):
        return "introduction"
    quoted = line.by_dm
    if quoted and people.quoted_introduction_pattern.search(before):
        return "introduction"
    return None


def _note(evidence: Evidence, line: Line, span: Span, lines: Sequence[Line], words: Vocabulary, listed: bool) -> None:
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
    # Neither "in Captain Stone's bag" nor "to Hilda's" is about a place called so.
    if not (span.titled or last.possessive):
        _place_cues(add, before_text, previous, people)
        if _belongs(line, span, people):
            add("belonging")
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
    if listed:
        vocative = False
    if adjoining in people.plural_verbs and previous not in ("and", "or") and not listed:
        add("plural")
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


def _place_cues(add: Callable[[str], None], before_text: str, previous: str, people: NpcRules) -> None:
    before = before_text.rstrip()
    if people.belonging_pattern.search(before):
        add("place_noun")
    elif people.travel_pattern.search(before):
        add("travel")
    elif not people.spoken_to_pattern.search(before):
        if previous in people.place_words:
            add("place")
        elif people.near_pattern.search(before):
            add("near")


def _belongs(line: Line, span: Span, people: NpcRules) -> bool:
    """Tell whether the phrase stands as a place does: "the bell of X"; what is a person's is "X's"."""
    if span.first < 3:
        return False
    the, noun, of = line.words[span.first - 3 : span.first]
    adjoin = of.before == noun.before == line.words[span.first].before == " "
    return adjoin and of.key == "of" and the.key == "the" and not noun.capital and noun.key not in people.person_owned


def accepted(evidence: Mapping[tuple[str, ...], Evidence], people: NpcRules) -> dict[tuple[str, ...], Evidence]:
    """Return the names whose cues reach the declared thresholds."""
    return {key: e for key, e in evidence.items() if _is_person(e, people)}


def _is_person(evidence: Evidence, people: NpcRules) -> bool:
    if evidence.addressed_as_player and not evidence.cues.get("gazetteer"):
        return False
    if _is_place(evidence, people):
        return False
    total = evidence.total(people.cue_cap)
    person = evidence.total(people.cue_cap, PERSON_CUES)
    needed = people.threshold if evidence.by_dm else people.players_only_threshold
    if not evidence.inside:
        needed = people.opening_only_threshold
    return total >= needed and person >= people.person_minimum
