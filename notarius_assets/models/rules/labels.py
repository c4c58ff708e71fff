"""Generic labels: "the barkeep", "the dire wolf", "Hilda's brother", where they mean one individual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from notarius_assets.models.rules.ruleset import CommonRules, Ruleset
from notarius_assets.models.rules.text import Line, Word

_MOST_ADJECTIVES = 2


@dataclass(slots=True)
class Label:
    """What speaks for one label: its score, the lines it stands in."""

    name: str
    score: float = 0.0
    lines: set[int] = field(default_factory=set)
    by_dm: int = 0
    uses: int = 0


def find(lines: Sequence[Line], rules: Ruleset, people: Mapping[str, str]) -> list[Label]:
    """Return the labels used for one individual, in order of appearance.

    `people` maps the folded last word of an accepted proper name to the name as shown: "Hilda's brother" needs Hilda.
    """
    table, wanted = rules.table, rules.people.labels
    found: dict[str, Label] = {}
    masses: Counter[str] = Counter()
    nouns = table.person_nouns | table.creature_nouns
    plurals = {p: n for n in nouns for p in _plurals(n)}
    for number, line in enumerate(lines):
        if table.out_of_game_pattern.search(line.lowered):
            continue
        for i, word in enumerate(line.words):
            if word.key in plurals:
                masses[plurals[word.key]] += 1
            if word.key in nouns:
                _noun(found, masses, line, number, i, rules)
            elif word.key in table.relations and i:
                _relation(found, line, number, i, people)
    out = []
    for label in found.values():
        relation = "'s " in label.name
        head = label.name.rsplit(" ", 1)[-1]
        if relation:
            if len(label.lines) >= wanted.relation_units:
                out.append(label)
            continue
        # Of many alike none is "the" one.
        single = label.uses / (label.uses + masses.get(head, 0))
        if label.by_dm and label.score >= wanted.minimum_score and single >= wanted.single_share:
            out.append(label)
    return _longest(out)


def _plurals(noun: str) -> Iterable[str]:
    if noun.endswith("man"):
        yield noun[:-3] + "men"
    elif noun.endswith(("f", "fe")):
        yield noun.rstrip("e")[:-1] + "ves"
    elif noun.endswith("y") and noun[-2:-1] not in "aeiou":
        yield noun[:-1] + "ies"
    elif noun.endswith(("s", "x", "ch", "sh")):
        yield noun + "es"
    yield noun + "s"


def _noun(found: dict[str, Label], masses: Counter[str], line: Line, number: int, i: int, rules: Ruleset) -> None:
    table, people = rules.table, rules.people
    words, noun = line.words, line.words[i]
    first = i
    while first and i - first < _MOST_ADJECTIVES and noun_part(words[first - 1], table) and words[first].before == " ":
        first -= 1
    if not first or words[first].before != " ":
        return
    article = words[first - 1].key
    if article in table.mass_markers or (article == "of" and first > 1):
        masses[noun.key] += 1
        return
    if article not in table.pointers:
        return
    if first > 1 and words[first - 2].key in ("of", "like", "as") and words[first - 1].before == " ":
        return
    after = words[i + 1] if i + 1 < len(words) and words[i + 1].before == " " else None
    # "the guard captain", "the giant monstrosity": the noun goes on, so this is not the head.
    if after is not None and not noun.possessive and not _ends_phrase(after, rules):
        return
    name = "the " + " ".join(w.base.casefold() for w in words[first : i + 1])
    label = found.setdefault(name, Label(name))
    label.lines.add(number)
    label.uses += 1
    label.by_dm += line.by_dm
    weights = people.labels
    label.score += weights.plain
    acting = noun.possessive or (after is not None and after.key in people.person_verbs)
    if acting and line.by_dm:
        label.score += weights.acting
    if line.by_dm and line.speech and not line.quoted(noun.start):
        label.score += weights.speaking


def _ends_phrase(after: Word, rules: Ruleset) -> bool:
    return (
        after.key in rules.people.person_verbs
        or after.key in rules.english.function_words
        or after.key.endswith(("ing", "ed", "s"))
    )


def noun_part(word: Word, table: CommonRules) -> bool:
    """Tell whether a word may belong to a label before its noun."""
    return word.key in table.label_adjectives


def _relation(found: dict[str, Label], line: Line, number: int, i: int, people: Mapping[str, str]) -> None:
    owner = line.words[i - 1]
    if not owner.possessive or owner.key not in people or line.words[i].before != " ":
        return
    name = f"{people[owner.key]}'s {line.words[i].key}"
    label = found.setdefault(name, Label(name))
    label.lines.add(number)
    label.by_dm += line.by_dm


def _longest(labels: list[Label]) -> list[Label]:
    """Drop "the wolf" where "the dire wolf" is the only label of that noun; add its lines to the longer one."""
    out = list(labels)
    for label in labels:
        head = label.name.rsplit(" ", 1)[-1]
        longer = [x for x in out if x is not label and x.name.endswith(" " + head) and len(x.name) > len(label.name)]
        if label.name == f"the {head}" and len(longer) == 1:
            longer[0].lines |= label.lines
            out.remove(label)
    return out
