"""Prices by hand-worked numbers, and what the data file must hold."""

from __future__ import annotations

from datetime import date

import pytest

from notarius_assets.models.calls import Call, CallStatus, total
from notarius_assets.models.facts import facts
from notarius_assets.models.messages import Usage

HAIKU = "claude-haiku-5-5"
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        (HAIKU, Usage(), 0.0),
        # 10,000 x 0.10 + 1,000 x 0.50 millionths
        (HAIKU, Usage(input=10_000, output=1_000), 0.0015),
        # 2,000 x 0.10 + 4,000 x 0.125 + 40,000 x 0.01 + 800 x 0.50 = 200 + 500 + 400 + 400
        (HAIKU, Usage(2_000, 4_000, 40_000, 800), 0.0015),
        # the last prompt of the cheap band: 100,000 x 0.10 + 100 x 0.50
        (HAIKU, Usage(input=100_000, output=100), 0.01005),
        # one token more, and all of it is dear: 100,001 x 0.50 + 100 x 2.50
        (HAIKU, Usage(input=100_001, output=100), 0.0502505),
        # all input counts for the band, cached or not: 1 x 0.50 + 60,000 x 0.05 + 40,000 x 0.625
        (HAIKU, Usage(1, 40_000, 60_000, 0), 0.0280005),
        (HAIKU, Usage(0, 40_000, 60_000, 0), 0.0056),
        # output does not: 10 x 0.10 + 128,000 x 0.50
        (HAIKU, Usage(input=10, output=128_000), 0.064001),
        ("claude-sonnet-5-5", Usage(MILLION, 0, 0, 0), 2.0),
        # 1,000 x 2.00 + 1,000 x 2.50 + 1,000 x 0.10 + 1,000 x 10.00
        ("claude-sonnet-5-5", Usage(1_000, 1_000, 1_000, 1_000), 0.0146),
        # 1,000 x 4.00 + 1,000 x 5.00 + 1,000 x 0.20 + 1,000 x 20.00
        ("claude-opus-5-5", Usage(1_000, 1_000, 1_000, 1_000), 0.0292),
        # longer than any row says: the last one
        (HAIKU, Usage(input=2 * MILLION), 1.0),
    ],
)
def test_the_list_price_of_a_call(model: str, usage: Usage, dollars: float) -> None:
    assert facts().cost(model, usage) == pytest.approx(dollars, rel=1e-12)


@pytest.mark.parametrize("model", ["", "claude-haiku-5-5-20261101", "Claude-Haiku-5-5", "llama"])
def test_of_an_unknown_model_the_price_is_unknown(model: str) -> None:
    assert facts().of(model) is None
    assert facts().cost(model, Usage(1, 1, 1, 1)) is None


def test_the_file_is_dated_and_its_rows_are_in_order() -> None:
    known = facts()
    assert date(2026, 1, 1) <= date.fromisoformat(known.as_of)
    assert 0 < known.batch < 1
    for name, model in known.models.items():
        bounds = [row.up_to for row in model.prices]
        assert bounds == sorted(set(bounds)), name
        assert bounds[-1] == model.context, name
        for row in model.prices:
            assert 0 < row.cache_read < row.input < row.cache_write < row.output, name


def test_the_default_model_is_known() -> None:
    from notarius_assets.pipeline_file import ModelSection

    assert facts().of(ModelSection().model) is not None


def test_attempts_are_added_up_whatever_became_of_them() -> None:
    used = [Usage(1, 10, 100, 1_000), Usage(), Usage(2, 20, 200, 2_000)]
    statuses = [CallStatus.INVALID, CallStatus.SERVER_ERROR, CallStatus.ANSWERED]
    calls = [
        Call("c/s", 1, "f", 1, n, HAIKU, status, usage=usage)
        for n, (status, usage) in enumerate(zip(statuses, used, strict=True), 1)
    ]
    assert total(calls) == Usage(3, 30, 300, 3_000)
    assert total([]) == Usage()
