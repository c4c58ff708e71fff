"""`kind_overlap` sorts ranges instead of comparing all pairs; it has to warn exactly when comparing all pairs would."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.validators.base import Item, View
from notarius_assets.validators.kind_overlap import NORMALIZATION
from tests.lanes.world import INTERACTIONS, context, interaction

_SPAN = st.tuples(st.integers(1, 30), st.integers(0, 6)).map(lambda s: (s[0], s[0] + s[1]))
_RECORD = st.builds(
    lambda name, kind, spans: interaction(name, kind, *spans),
    st.sampled_from(["Old Marta", "K'Varn"]),
    st.sampled_from(["dialogue", "mentioned", "combat_ally"]),
    st.lists(_SPAN, min_size=1, max_size=3),
)


def units(record: dict[str, Any]) -> set[int]:
    return {n for r in record["source_refs"] for n in range(r["start_unit_id"], r["end_unit_id"] + 1)}


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["name"] == other["name"] and one["kind"] != other["kind"] and bool(units(one) & units(other))


@given(records=st.lists(_RECORD, max_size=8))
@settings(max_examples=200, deadline=None)
def test_it_warns_when_and_only_when_two_kinds_share_a_unit(records: list[dict[str, Any]]) -> None:
    view = View(tuple(Item(n, r) for n, r in enumerate(records)))

    found = list(NORMALIZATION.check(view, context(INTERACTIONS)))

    pairs = {(b, a) for b in range(len(records)) for a in range(b) if overlap(records[a], records[b])}
    assert bool(found) is bool(pairs)
    assert {(f.record_index, int(f.detail.removeprefix("with="))) for f in found} <= pairs
