"""Where the registry's names stand in a window: full names, their telling parts, declared aliases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from notarius_assets.campaign import KnownName
from notarius_assets.identity import comparison_name
from notarius_assets.models.rules.forms import Form, FormIndex, Hit, is_proper, keys_of
from notarius_assets.models.rules.ruleset import Ruleset
from notarius_assets.models.rules.text import Line


@dataclass(frozen=True, slots=True)
class Sighting:
    """All hits of one name in one line."""

    line: int
    hits: tuple[Hit, ...]


def find(
    lines: Sequence[Line], registry: Sequence[str], known: Sequence[KnownName], seated: frozenset[str], rules: Ruleset
) -> dict[str, list[Sighting]]:
    """Return the sightings of every registry name, by name and in order of lines.

    `known` are other forms of names; of two entries of one name the later holds.
    """
    index = FormIndex(_forms(registry, known, seated, rules))
    by_name: dict[str, dict[int, list[Hit]]] = defaultdict(lambda: defaultdict(list))
    for hit in index.hits(lines):
        if _meant(hit, lines, rules):
            by_name[hit.name][hit.line].append(hit)
    return {
        name: [Sighting(line, tuple(hits)) for line, hits in sorted(by_name[name].items())]
        for name in registry
        if name in by_name
    }


def _meant(hit: Hit, lines: Sequence[Line], rules: Ruleset) -> bool:
    """Tell whether a generic label stands there as a label: behind "the", "this", "that" or a possessive."""
    line = lines[hit.line]
    if hit.proper:
        return True
    word = line.words[hit.first]
    if not hit.first or word.before != " ":
        return False
    previous = line.words[hit.first - 1]
    return previous.key in rules.table.pointers or previous.possessive


def _forms(registry: Sequence[str], known: Sequence[KnownName], seated: frozenset[str], rules: Ruleset) -> list[Form]:
    aliases: Mapping[str, tuple[str, ...]] = {comparison_name(form): k.forms for k in known for form in k.forms}
    forms: list[Form] = []
    parts: Counter[tuple[str, ...]] = Counter()
    wanted: list[tuple[str, tuple[str, ...]]] = []
    for name in registry:
        for text in (name, *aliases.get(comparison_name(name), ())):
            keys = keys_of(text)
            while len(keys) > 1 and keys[0] in rules.table.articles:
                keys = keys[1:]
            if not keys or set(keys) <= seated:
                continue
            forms.append(Form(keys, name, is_proper(text)))
            if is_proper(text):
                for part in _parts(keys, rules):
                    if part not in seated:
                        wanted.append((name, (part,)))
    titles = Counter(keys_of(name)[:1] for name in registry)
    for name in registry:
        title = keys_of(name)[:1]
        # "The watchman" stands for "Watchman Stone" where no other name begins so.
        if len(keys_of(name)) > 1 and title[0] in rules.table.titles and titles[title] == 1:
            forms.append(Form(title, name, False))
    for _, keys in set(wanted):
        parts[keys] += 1
    taken = {f.keys for f in forms}
    # A part that two names share ("Stone" of Ann Stone and Bob Stone) points at nobody.
    forms.extend(Form(keys, name, True) for name, keys in wanted if parts[keys] == 1 and keys not in taken)
    return forms


def _parts(keys: tuple[str, ...], rules: Ruleset) -> list[str]:
    table = rules.table
    if len(keys) < 2 or keys[-1] in table.relations:
        return []
    return [
        k
        for k in keys
        if k not in table.weak_tokens
        and k not in table.titles
        and k not in table.name_connectors
        and k not in table.name_adjectives
        and k not in rules.english.ordinary_words
    ]
