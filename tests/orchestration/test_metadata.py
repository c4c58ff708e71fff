"""Previews and findings: text of strangers, shown in somebody's browser."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from notarius_assets.orchestration.metadata import PREVIEW_ROWS, findings, plain, preview, ranges
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Finding, Verdict
from notarius_assets.validators.shape import NORMALIZATION

HOSTILE = "<script>alert(1)</script> | `x` [a](javascript:b) ![p](q) **b** &lt; \\"


def record(name: str, *spans: tuple[int, int], **rest: str) -> dict[str, Any]:
    refs = [{"source_id": "c/s", "start_unit_id": a, "end_unit_id": b} for a, b in spans]
    return {"name": name, **rest, "source_refs": refs}


def cells(row: str) -> list[str]:
    """Split a Markdown table row as a renderer does: at every pipe that is not escaped."""
    marked = row.replace("\\\\", "\0").replace("\\|", "\1")
    return [c.strip().replace("\1", "\\|").replace("\0", "\\\\") for c in marked.strip("|").split("|")]


def test_a_hostile_name_or_unit_is_text_in_one_cell() -> None:
    units = (Unit(1, ("X",), HOSTILE),)
    row = preview([record(HOSTILE, (1, 1))], units).splitlines()[2]
    name, where, words = cells(row)
    assert (where, words) == ("1", f"1: {name}")
    assert name == (
        "&lt;script&gt;alert\\(1\\)&lt;/script&gt; \\| \\`x\\` \\[a\\]\\(javascript:b\\) \\!\\[p\\]\\(q\\) "
        "\\*\\*b\\*\\* &amp;lt; \\\\"
    )
    told = findings(Verdict(NORMALIZATION, (Finding("code", 3, HOSTILE),), 1, 1)).splitlines()[2]
    assert cells(told) == ["code", "3", name]


@given(st.text(max_size=40))
def test_plain_text_opens_no_tag_and_no_cell(text: str) -> None:
    shown = plain(text)
    assert not {"<", ">", "\n", "\r"} & set(shown)
    assert len(cells(f"| {shown} | next |")) == 2


def test_long_previews_say_what_they_leave_out() -> None:
    many = preview([record(f"N{n}", (n, n)) for n in range(1, PREVIEW_ROWS + 4)])
    assert many.endswith("\n\n3 more: see the history.")
    assert ranges(record("x", *[(n, n + 1) for n in range(1, 40, 4)])["source_refs"]).endswith("21–22 and 4 more")
    long = preview([record("x", (1, 9))], tuple(Unit(n, (), "word " * 50) for n in range(1, 10))).splitlines()
    assert long[2].endswith("… |")
    assert cells(long[-1])[-1] == "…"
    assert preview([]) == "No records."
