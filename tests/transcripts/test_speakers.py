from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from notarius_assets.transcripts.speakers import MAX_PAIRS, fold, variants

from .shared import unhurried


def steps(one: str, two: str) -> int:
    """Damerau-Levenshtein distance of neighbours swapped at most once, written as the definition has it."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(two) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(two) + 1):
            same = one[i - 1] == two[j - 1]
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (not same))
            if i > 1 and j > 1 and one[i - 1] == two[j - 2] and one[i - 2] == two[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one), len(two)]


@unhurried
@given(st.lists(st.text("ABC", min_size=4, max_size=7), unique=True, max_size=8))
def test_variants_are_the_labels_one_step_apart(labels: list[str]) -> None:
    want = {frozenset((a, b)) for n, a in enumerate(labels) for b in labels[n + 1 :] if steps(a, b) == 1}
    assert {frozenset(pair) for pair in variants(labels)} == want


def test_equal_when_folded() -> None:
    assert variants(["ZHA'REL", "Zha’rel", "Zhárel", "Bram"]) == (("ZHA'REL", "Zha’rel"), ("ZHA'REL", "Zhárel"))


def test_short_labels_and_numbers_are_no_variants() -> None:
    assert variants(["SAM", "SAN", "PAM", "SPEAKER_01", "SPEAKER_02", "Speaker 12", "Speaker 13"]) == ()


def test_many_labels_stay_cheap() -> None:
    assert len(variants(f"{'A' * 100}{chr(65 + n % 26)}{'B' * (n // 26)}" for n in range(20_000))) == MAX_PAIRS


@unhurried
@given(st.text())
def test_fold_is_stable(label: str) -> None:
    assert fold(label).isalnum() or fold(label) == ""
