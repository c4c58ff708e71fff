"""The private response is found in whatever a model wrote around it, and nothing else is taken for it."""

from __future__ import annotations

import json
import time
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notarius_assets.models.parsing import MAX_DEPTH, UnreadableError, private_response

GOOD = '{"npcs":[{"name":"Wenna","ranges":[{"start":1,"end":1}]}]}'

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
_TEXTS = st.one_of(st.text(), st.sampled_from(['{"npcs":[]}', "```", "}{", '"', "\\", "\ud800", "NaN", "```json\n{"]))
_ITEMS = st.recursive(
    st.one_of(_SCALARS, _TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)
_PAYLOADS = st.lists(_ITEMS, max_size=5).map(lambda items: {"npcs": items})
_PROSE = st.text().map(lambda text: text.replace("{", "("))


def code(text: str, root: str = "npcs") -> str:
    with pytest.raises(UnreadableError) as raised:
        private_response(text, root)
    return str(raised.value)


@hypothesis.settings(deadline=None)
@given(_PAYLOADS, st.booleans(), st.sampled_from([None, 1, 2]))
def test_any_payload_is_read_as_it_was_written(payload: Any, escaped: bool, indent: int | None) -> None:
    assert private_response(json.dumps(payload, ensure_ascii=escaped, indent=indent), "npcs") == payload


@hypothesis.settings(deadline=None)
@given(_PAYLOADS, _PROSE, _PROSE)
def test_any_payload_survives_sentences_around_it(payload: Any, before: str, after: str) -> None:
    assert private_response(before + json.dumps(payload) + after, "npcs") == payload


@hypothesis.settings(deadline=None)
@given(_PAYLOADS, st.sampled_from(["```json", "```", "~~~", "```JSON  "]), _PROSE)
def test_any_payload_survives_a_fence(payload: Any, fence: str, before: str) -> None:
    text = f"{before}\n{fence}\n{json.dumps(payload, indent=2)}\n{fence[:3]}\nThat is all."
    assert private_response(text, "npcs") == payload


@hypothesis.settings(deadline=None)
@given(_PAYLOADS, _PAYLOADS, _PROSE)
def test_of_two_objects_neither_is_chosen(one: Any, other: Any, between: str) -> None:
    assert code(json.dumps(one) + between + json.dumps(other)) == "several_objects"


@hypothesis.settings(deadline=None)
@given(_PAYLOADS, st.text().filter(lambda name: name != "npcs"), _ITEMS, st.booleans())
def test_a_field_beside_the_list_is_one_too_many(payload: Any, name: str, value: Any, first: bool) -> None:
    given_too = {name: value, **payload} if first else {**payload, name: value}
    assert code(json.dumps(given_too)) == "extra_field"


@hypothesis.settings(deadline=None)
@given(_PAYLOADS, st.data())
def test_a_payload_that_was_cut_off_is_never_an_empty_list(payload: Any, data: st.DataObject) -> None:
    whole = json.dumps({"npcs": [*payload["npcs"], {"name": "Wenna"}]})
    text = whole[: data.draw(st.integers(1, len(whole) - 1))]
    assert code(text) in ("no_object", "no_answer")


@hypothesis.settings(deadline=None)
@given(st.text())
def test_any_text_gives_a_payload_or_a_code(text: str) -> None:
    try:
        found, said = private_response(text, "npcs"), ""
    except UnreadableError as error:
        found, said = {"npcs": []}, str(error)
    assert list(found) == ["npcs"]
    assert said in ("", "no_answer", "no_object", "several_objects", "extra_field", "too_deep")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no_answer"),
        (" \n\u2003", "no_answer"),
        ("Nobody.", "no_object"),
        ("[]", "no_object"),
        ("null", "no_object"),
        ("{}", "no_object"),
        ('[{"name":"Wenna"}]', "no_object"),
        ('{"npcs":null}', "no_object"),
        ('{"npcs":{}}', "no_object"),
        ('{"npcs":"Wenna"}', "no_object"),
        ('{"NPCs":[]}', "no_object"),
        ('{"interactions":[]}', "no_object"),
        ('{"answer":{"npcs":[]}}', "no_object"),
        ("{'npcs':[]}", "no_object"),
        ('{"npcs":[],}', "no_object"),
        ('{"npcs":[1,]}', "no_object"),
        ('{"npcs":[] // none\n}', "no_object"),
        ('{"npcs":[NaN]}', "no_object"),
        ('{"npcs":[Infinity]}', "no_object"),
        ('{"npcs":[-Infinity]}', "no_object"),
        ('{"npcs":[1e400]}', "no_object"),
        ('{"npcs":[-1e400]}', "no_object"),
        ('{"npcs":[],"npcs":[]}', "no_object"),
        ('{"npcs":[{"name":"A","name":"B"}]}', "no_object"),
        ('{"npcs":[' + "9" * 5000 + "]}", "no_object"),
        ('{"npcs":[]} {"npcs":[]}', "several_objects"),
        ('{"npcs":[],"note":null}', "extra_field"),
    ],
)
def test_what_is_not_exactly_one_such_object_is_named_by_a_code(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        'The form is {"npcs":[...]}, so: ' + GOOD,
        'First {"thoughts": 1}, then ' + GOOD + ' and {"done": true}.',
        "{{ " + GOOD,
        "\ufeff" + GOOD,
        GOOD + "}",
        "```json\n" + GOOD,
    ],
)
def test_other_braces_are_passed_over(text: str) -> None:
    assert private_response(text, "npcs") == json.loads(GOOD)


@pytest.mark.parametrize("opened", ["[", '{"a":'])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 300, 700, 3_000, 100_000])
def test_what_is_nested_without_end_is_no_answer(opened: str, levels: int) -> None:
    closed = "]" if opened == "[" else "}"
    text = '{"npcs":[' + opened * levels + "1" + closed * levels + "]}"
    begun = time.monotonic()
    assert code(text) == "too_deep"
    assert time.monotonic() - begun < 2, "other calls wait while an answer is read"


def test_what_is_nested_as_deep_as_allowed_is_read() -> None:
    text = '{"npcs":' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "}"
    assert list(private_response(text, "npcs")) == ["npcs"]
    assert code(text.replace("[", "[[", 1).replace("]", "]]", 1)) == "too_deep"
