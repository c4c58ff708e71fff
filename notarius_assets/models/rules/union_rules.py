"""The section of reconciliation.yaml: sentences that state two names of one person or place."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from pydantic import field_validator

from notarius_assets.models.rules.sections import Phrases, Section, phrase_pattern

_WHO = r"[\w'\-]+(?: [\w'\-]+){0,2}"
_OPEN, _CLOSE = r"(?: ?[\"'])?(?:the |an? )?[\"']?", r"[\"']?"
_SENTENCE_END = re.compile(r"[.!?]")
_INTRODUCED = re.compile(r"\b(?:a|an)(?: [\w'\-]+)? \Z")
"""Right before a name: somebody or something is introduced."""

_LONGEST_END = 200
"""Characters behind a statement in which a question mark is looked for."""

_REACH = 40
"""Characters before a statement in which a denial or a condition takes it back."""


class _Statement(NamedTuple):
    """One sentence as patterns: before the first name, between the two, behind the second."""

    before: re.Pattern[str]
    between: re.Pattern[str]
    after: re.Pattern[str]


class UnionRules(Section):
    """reconciliation.yaml: which candidates of a registry are one."""

    statements: tuple[str, ...]
    introductions: tuple[str, ...]
    denials: Phrases
    others: Phrases

    @field_validator("statements", "introductions")
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
    def _statements(self) -> tuple[_Statement, ...]:
        return tuple(map(_statement, self.statements))

    @cached_property
    def _introductions(self) -> tuple[_Statement, ...]:
        return tuple(map(_statement, self.introductions))

    @cached_property
    def _with_commas(self) -> tuple[_Statement, ...]:
        return tuple(_statement(text, commas=True) for text in self.introductions)

    def states(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
        """Tell whether a folded lower-case text states that the names at these two places are of one.

        A question states nothing, nor does what is denied or doubted.
        """
        lead, between = text[max(0, first[0] - _REACH) : first[0]], text[first[1] : second[0]]
        if self._denial.search(lead) or self._denial.search(between):
            return False
        ends = _SENTENCE_END.search(text, second[1], second[1] + _LONGEST_END)
        if ends and ends.group() == "?":
            return False
        introductions = self._introductions if _INTRODUCED.search(lead) else self._with_commas
        return any(
            s.between.fullmatch(between) and s.before.search(lead) and s.after.match(text, second[1])
            for s in (*self._statements, *introductions)
        )


def _statement(text: str, *, commas: bool = False) -> _Statement:
    """Return the patterns around and between the two names; commas may be left out unless they are asked for."""
    before, _, rest = text.partition("A")
    between, _, after = rest.partition("B")
    joins = _words(between)
    return _Statement(
        # "the brother of A" is not A
        re.compile(rf"(?:^|(?<=\W)){_words(before)}{_OPEN}\Z" if before else r"(?<!\bof )(?<!\bof the )\Z"),
        re.compile(rf"{_CLOSE}{joins.replace(',?', ',') if commas else joins}{_OPEN}"),
        # what is somebody's is not called as he is
        re.compile(rf"{_CLOSE}{_words(after)}(?!'?\w)"),
    )


def _words(text: str) -> str:
    """Return a pattern for a piece of a statement; commas may be left out."""
    return re.escape(text.casefold()).replace(",", ",?").replace(r"\ ", " ").replace(r"\{who\}", _WHO)
