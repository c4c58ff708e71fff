"""The section of reconciliation.yaml: sentences that state two names of one person or place."""

from __future__ import annotations

import re
from functools import cached_property

from pydantic import field_validator

from notarius_assets.models.rules.sections import Phrases, Section, phrase_pattern

_WHO = r"[\w'\-]+(?: [\w'\-]+){0,2}"
_OPEN, _CLOSE = r"(?: ?[\"'])?(?:the |an? )?[\"']?", r"[\"']?"
_REACH = 40
"""Characters before a statement in which a denial or a condition takes it back."""


class UnionRules(Section):
    """reconciliation.yaml: which candidates of a registry are one."""

    statements: tuple[str, ...]
    denials: Phrases
    others: Phrases

    @field_validator("statements")
    @classmethod
    def _has_both_names(cls, statements: tuple[str, ...]) -> tuple[str, ...]:
        for statement in statements:
            if statement.count("A") != 1 or statement.count("B") != 1 or statement.index("A") > statement.index("B"):
                raise ValueError(f"{statement!r} must name A once, then B once")
        return statements

    @cached_property
    def other_pattern(self) -> re.Pattern[str]:
        """Finds that a unit speaks of one place beside another."""
        return phrase_pattern(self.others)

    @cached_property
    def _denial(self) -> re.Pattern[str]:
        return phrase_pattern(self.denials)

    @cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]], ...]:
        found = []
        for statement in self.statements:
            before, _, rest = statement.partition("A")
            between, _, after = rest.partition("B")
            found.append(
                (
                    re.compile(rf"(?:^|(?<=\W)){_words(before)}{_OPEN}\Z" if before else r"\Z"),
                    re.compile(rf"{_CLOSE}{_words(between)}{_OPEN}"),
                    # what is somebody's is not called as he is
                    re.compile(rf"{_CLOSE}{_words(after)}(?!'?\w)"),
                )
            )
        return tuple(found)

    def states(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
        """Tell whether a folded lower-case text states that the names at these two places are of one."""
        lead, between = text[max(0, first[0] - _REACH) : first[0]], text[first[1] : second[0]]
        if self._denial.search(lead) or self._denial.search(between):
            return False
        return any(b.fullmatch(between) and a.search(lead) and c.match(text, second[1]) for a, b, c in self._patterns)


def _words(text: str) -> str:
    """Return a pattern for a piece of a statement; commas may be left out."""
    return re.escape(text.casefold()).replace(",", ",?").replace(r"\ ", " ").replace(r"\{who\}", _WHO)
