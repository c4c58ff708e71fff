"""A message of the API is read the same way wherever it comes from."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notarius_assets.models.messages import NotAMessageError, Usage, read_message
from notarius_assets.models.window import WindowEnd

TEXT = '{"npcs":[{"name":"Wenna","ranges":[]}]}'


def message(**change: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn", **change}


def test_a_message_is_read() -> None:
    used = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 11,
        "output_tokens": 13,
        "service_tier": "standard",
    }
    reading = read_message(message(usage=used, model="m", role="assistant"), "npcs")
    assert reading.end is WindowEnd.DONE
    assert reading.payload == {"npcs": [{"name": "Wenna", "ranges": []}]}
    assert (reading.reason, reading.stop_reason) == (None, "end_turn")
    assert reading.usage == Usage(5, 7, 11, 13)
    assert reading.usage.prompt == 23


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        [{"type": "thinking", "thinking": '{"npcs":[]}'}, {"type": "text", "text": TEXT}],
        [{"type": "text", "text": TEXT[:20]}, {"type": "text", "text": TEXT[20:]}],
        [{"type": "redacted_thinking", "data": "x"}, None, 7, {"type": "text"}, {"type": "text", "text": TEXT}],
        [{"type": "tool_use", "text": '{"npcs":[]}'}, {"type": "text", "text": TEXT, "citations": None}],
    ],
)
def test_text_blocks_are_joined_and_others_passed_over(content: Any) -> None:
    assert read_message(message(content=content), "npcs").end is WindowEnd.DONE


@pytest.mark.parametrize(
    "content", ["", [], [{"type": "thinking", "thinking": TEXT}], [{"type": "text", "text": None}]]
)
def test_a_message_without_text_is_no_answer(content: Any) -> None:
    reading = read_message(message(content=content), "npcs")
    assert (reading.end, reading.reason) == (WindowEnd.INVALID, "no_answer")


@pytest.mark.parametrize("found", [None, [], "text", 7, {}, {"content": None}, {"content": {}}, {"error": {}}])
def test_what_has_no_content_is_no_message(found: object) -> None:
    with pytest.raises(NotAMessageError):
        read_message(found, "npcs")


@pytest.mark.parametrize(
    ("stop", "end", "reason"),
    [
        ("max_tokens", WindowEnd.TRUNCATED, "max_tokens"),
        ("model_context_window_exceeded", WindowEnd.TRUNCATED, "model_context_window_exceeded"),
        ("refusal", WindowEnd.REFUSED, "refusal"),
        ("stop_sequence", WindowEnd.FAILED, "stop_reason_stop_sequence"),
        ("tool_use", WindowEnd.FAILED, "stop_reason_tool_use"),
        ("", WindowEnd.FAILED, "stop_reason_unknown"),
        (None, WindowEnd.FAILED, "stop_reason_none"),
        (["end_turn"], WindowEnd.FAILED, "stop_reason_end_turn"),
        ("END_TURN ", WindowEnd.FAILED, "stop_reason_end_turn"),
        ("Wenna\n\u00e9 says \x1b[31m: " + "no" * 50, WindowEnd.FAILED, "stop_reason_wennasaysm" + "no" * 15),
    ],
)
def test_the_stop_reason_goes_before_the_text(stop: Any, end: WindowEnd, reason: str) -> None:
    reading = read_message(message(stop_reason=stop, usage={"output_tokens": 3}), "npcs")
    assert (reading.end, reading.payload, reading.reason) == (end, None, reason)
    assert reading.usage.output == 3, "it was paid for"


@pytest.mark.parametrize("text", ['{"npcs":[]}', '```\n{"npcs":[]}\n```'])
def test_an_empty_list_is_an_answer(text: str) -> None:
    reading = read_message(message(content=text), "npcs")
    assert (reading.end, reading.payload) == (WindowEnd.EMPTY, {"npcs": []})
    assert reading.end.answered


@pytest.mark.parametrize("usage", [None, [], "many", {"input_tokens": None}, {"input_tokens": "5"}])
@pytest.mark.parametrize("count", [-1, True, 1.5, 10**30, 10**400, float("nan")], ids=lambda count: str(count)[:40])
def test_counts_that_are_none_count_nothing(usage: object, count: object) -> None:
    assert read_message(message(usage=usage), "npcs").usage == Usage()
    assert read_message(message(usage={"output_tokens": count, "input_tokens": 2}), "npcs").usage == Usage(input=2)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@hypothesis.settings(deadline=None)
@given(_JSON, _JSON, _JSON)
def test_any_json_has_one_end_or_is_no_message(content: Any, stop: Any, usage: Any) -> None:
    try:
        reading = read_message({"content": content, "stop_reason": stop, "usage": usage}, "npcs")
    except NotAMessageError:
        assert not isinstance(content, list | str)
        return
    assert (reading.payload is not None) is reading.end.answered
    assert (reading.reason is None) is reading.end.answered
    assert reading.reason is None or reading.reason.replace("_", "").isalpha()
