"""One person, several forms in one chunk: the fullest proper form stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from notarius_assets.models.rules.names import Evidence
from notarius_assets.models.rules.ruleset import Ruleset


@dataclass(slots=True)
class Person:
    """A name as shown, its folded core, and the lines of all its forms."""

    name: str
    key: tuple[str, ...]
    lines: set[int]


def unify(
    accepted: Mapping[tuple[str, ...], Evidence], every: Mapping[tuple[str, ...], Evidence], rules: Ruleset
) -> list[Person]:
    """Return persons: a form whose words all stand in exactly one longer form is that person's.

    "Briar" of "Lord Briar" and "Lady Briar" stays by itself, for it may be either. A longer form that was not
    accepted by itself is taken when a shorter one was: "Hilda" carries "Hilda Stone".
    """
    table = rules.table
    strong = {k: set(_strong(k, rules)) for k in every}
    owner: dict[tuple[str, ...], tuple[str, ...]] = {}
    by_word: dict[str, list[tuple[str, ...]]] = {}
    for k, parts in strong.items():
        for part in parts:
            by_word.setdefault(part, []).append(k)
    for key in accepted:
        near = by_word.get(min(strong[key]), ()) if strong[key] else ()
        longer = [
            k
            for k in near
            if len(k) > len(key) and strong[key] and strong[key] <= strong[k] and (k in accepted or every[k].inside)
        ]
        # Of "Ann Stone" and "Ann Stone of the Hill" the longest stands for both.
        tops = [k for k in longer if not any(strong[k] < strong[other] for other in longer)]
        if len(tops) == 1:
            owner[key] = tops[0]
    owned: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for key, top in owner.items():
        owned.setdefault(top, []).append(key)
    out: dict[tuple[str, ...], Person] = {}
    for key in sorted({owner.get(k, k) for k in accepted}):
        members = [key, *sorted(owned.get(key, ()))]
        forms = sorted(
            ((form, count) for k in members for form, count in every[k].forms.items()),
            key=lambda item: (-_fullness(item[0], table.weak_tokens, key), -item[1], item[0]),
        )
        out[key] = Person(forms[0][0], key, set().union(*(every[k].lines for k in members)))
    return list(out.values())


def _strong(key: tuple[str, ...], rules: Ruleset) -> list[str]:
    return [w for w in key if w not in rules.table.weak_tokens]


def _fullness(form: str, weak: frozenset[str], key: tuple[str, ...]) -> int:
    """Count the words of a form; those of the name itself count most, a title less."""
    words = form.casefold().split()
    return 10 * sum(w in key and w not in weak for w in words) + len(words)
