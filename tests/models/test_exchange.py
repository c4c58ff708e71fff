"""Requests as lines, results read back: every line ends in a counted state, and none in the wrong window."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notarius_assets.models.answers import Answers
from notarius_assets.models.exchange import Imported, LineEnd, import_lines, request_line
from notarius_assets.models.request import model_request
from notarius_assets.testing.asked import Asked
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.models.asking import DEEDS, GOOD, NPCS, SETTINGS, window
from tests.models.world import honest, model
from tests.robustness.support import ask, change, documents, notarius, run_steps, status_of

MODEL = SETTINGS.model
REQUESTS = [model_request(NPCS, window(n, f"Line {n}."), SETTINGS) for n in range(1, 6)]
ASKED = {r.fingerprint: r for r in REQUESTS}
FIRST = REQUESTS[0].fingerprint
NEVER_SENT = "http://127.0.0.1:1"


def payload(n: int) -> dict[str, Any]:
    return {"npcs": [{"name": f"N{n}", "ranges": [{"start": n, "end": n}]}]}


def message(content: Any, **change: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn", **change}


def succeeded(answer: dict[str, Any], custom_id: str = FIRST) -> bytes:
    return line({"custom_id": custom_id, "result": {"type": "succeeded", "message": answer}})


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


RESULTS = [succeeded(message(json.dumps(payload(n))), r.fingerprint) for n, r in enumerate(REQUESTS, 1)]


def imported(lines: Iterable[bytes], folder: Path) -> list[LineEnd]:
    return import_lines(lines, ASKED, Answers(folder), MODEL)


def answers_in(folder: Path) -> dict[int, Any]:
    """Return the kept payloads by number of their request."""
    found = {n: Answers(folder).get(r.fingerprint, "npcs") for n, r in enumerate(REQUESTS, 1)}
    return {n: answer.payload for n, answer in found.items() if answer}


def counts(ends: Sequence[LineEnd]) -> Counter[Imported]:
    return Counter(e.end for e in ends)


def test_a_request_line_has_the_shape_of_a_message_batch() -> None:
    for request in [*REQUESTS, model_request(DEEDS, window(lane=DEEDS, text="Zeile\u2028\u0085 \U0001f409"), SETTINGS)]:
        written = request_line(request)
        assert written.endswith("\n")
        assert written.count("\n") == 1
        found = json.loads(written)
        assert list(found) == ["custom_id", "params"]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", found["custom_id"])
        assert found["custom_id"] == request.fingerprint
        assert found["params"] == request.params
        assert {"model", "max_tokens", "messages"} <= set(found["params"])
        assert not {"stream", "custom_id"} & set(found["params"])


def test_results_in_any_order_find_their_windows(tmp_path: Path) -> None:
    shuffled = RESULTS[:]
    random.Random(3).shuffle(shuffled)
    assert shuffled != RESULTS
    ends = imported(shuffled, tmp_path)
    assert [e.end for e in ends] == [Imported.KEPT] * 5
    assert answers_in(tmp_path) == {n: payload(n) for n in range(1, 6)}


@hypothesis.settings(deadline=None)
@given(st.lists(st.sampled_from(RESULTS), max_size=12), st.randoms(use_true_random=False), st.integers(0, 12))
def test_order_repetition_and_several_files_never_matter(lines: list[bytes], chance: random.Random, cut: int) -> None:
    shuffled = lines[:]
    chance.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first = imported(lines, Path(one))
        parts = [*imported(shuffled[:cut], Path(other)), *imported(shuffled[cut:], Path(other))]
        files = [{p.name: p.read_bytes() for p in Path(f).rglob("*.json")} for f in (one, other)]
    assert files[0] == files[1]
    assert len(files[0]) == len(set(lines))
    assert counts(first) == counts(parts)
    kept = counts(first)[Imported.KEPT]
    assert (kept, counts(first)[Imported.ALREADY_ANSWERED]) == (len(set(lines)), len(lines) - len(set(lines)))


def test_dropped_results_leave_their_windows_open_and_a_later_file_fills_them(tmp_path: Path) -> None:
    imported(RESULTS[1:3], tmp_path)
    assert set(answers_in(tmp_path)) == {2, 3}
    ends = imported(RESULTS, tmp_path)
    assert counts(ends) == {Imported.KEPT: 3, Imported.ALREADY_ANSWERED: 2}
    assert len(answers_in(tmp_path)) == 5


def test_of_two_results_of_one_request_the_first_usable_one_stands(tmp_path: Path) -> None:
    lines = [succeeded(message("Nobody.")), RESULTS[0], succeeded(message('{"npcs":[]}'))]
    ends = imported(lines, tmp_path)
    assert [e.end for e in ends] == [Imported.NO_RESULT, Imported.KEPT, Imported.ALREADY_ANSWERED]
    assert answers_in(tmp_path) == {1: payload(1)}


def result(value: object) -> bytes:
    return line({"custom_id": FIRST, "result": value})


@pytest.mark.parametrize(
    ("given_line", "end", "reason"),
    [
        (result({"type": "errored", "error": {"type": "api_error"}}), Imported.NO_RESULT, "errored"),
        (result({"type": "expired"}), Imported.NO_RESULT, "expired"),
        (result({"type": "canceled"}), Imported.NO_RESULT, "canceled"),
        (result({"type": "Wenna says"}), Imported.NO_RESULT, "unknown result type"),
        (result({"type": ["errored"]}), Imported.NO_RESULT, "unknown result type"),
        (result({}), Imported.NO_RESULT, "unknown result type"),
        (result({"type": "succeeded"}), Imported.NO_RESULT, "no message"),
        (result({"type": "succeeded", "message": None}), Imported.NO_RESULT, "no message"),
        (result({"type": "succeeded", "message": {"content": None}}), Imported.NO_RESULT, "no message"),
        (succeeded(message("Nobody.")), Imported.NO_RESULT, "invalid: no_object"),
        (succeeded(message('{"npcs":[],"a":1}')), Imported.NO_RESULT, "invalid: extra_field"),
        (succeeded(message("[" * 10)), Imported.NO_RESULT, "invalid: no_object"),
        (succeeded(message('{"npcs":' + "[" * 900 + "]" * 900 + "}")), Imported.NO_RESULT, "invalid: too_deep"),
        (succeeded(message('{"interactions":[]}')), Imported.NO_RESULT, "invalid: no_object"),
        (succeeded(message([])), Imported.NO_RESULT, "invalid: no_answer"),
        (succeeded(message('{"npcs":[', stop_reason="max_tokens")), Imported.NO_RESULT, "truncated: max_tokens"),
        (succeeded(message('{"npcs":[]}', stop_reason="max_tokens")), Imported.NO_RESULT, "truncated: max_tokens"),
        (succeeded(message('{"npcs":[]}', stop_reason="refusal")), Imported.NO_RESULT, "refused: refusal"),
        (succeeded(message('{"npcs":[]}', stop_reason="odd")), Imported.NO_RESULT, "failed: stop_reason_odd"),
        (succeeded(message(json.dumps(GOOD)), "0" * 64), Imported.NOT_ASKED, ""),
        (succeeded(message(json.dumps(GOOD)), ""), Imported.NOT_ASKED, ""),
        (succeeded(message(json.dumps(GOOD)), "../../etc/passwd"), Imported.NOT_ASKED, ""),
        (succeeded(message(json.dumps(GOOD)), FIRST.upper()), Imported.NOT_ASKED, ""),
        (
            request_line(REQUESTS[0]).encode(),
            Imported.UNREADABLE,
            "a request, not a result",
        ),
        (line({"custom_id": FIRST}), Imported.UNREADABLE, "no result"),
        (line({"custom_id": FIRST, "result": "succeeded"}), Imported.UNREADABLE, "no result"),
        (line({"custom_id": None, "result": {}}), Imported.UNREADABLE, "no custom_id"),
        (line({"custom_id": [FIRST], "result": {}}), Imported.UNREADABLE, "no custom_id"),
        (line({"result": {"type": "succeeded"}}), Imported.UNREADABLE, "no custom_id"),
        (line([FIRST]), Imported.UNREADABLE, "not an object"),
        (line(None), Imported.UNREADABLE, "not an object"),
        (RESULTS[0][:-20], Imported.UNREADABLE, "not JSON"),
        (RESULTS[0].strip() + RESULTS[1], Imported.UNREADABLE, "not JSON"),
        (RESULTS[0].decode().encode("utf-16"), Imported.UNREADABLE, "not JSON"),
        (b"\xff\xfe\x00", Imported.UNREADABLE, "not JSON"),
        (b"[" * 100_000, Imported.UNREADABLE, "not JSON"),
        (b'{"custom_id": ' + b"9" * 5000 + b"}", Imported.UNREADABLE, "not JSON"),
    ],
    ids=lambda value: f"{len(value)}-bytes" if isinstance(value, bytes) else None,
)
def test_a_line_that_gives_no_answer_says_why_and_harms_no_other(
    given_line: bytes, end: Imported, reason: str, tmp_path: Path
) -> None:
    ends = imported([RESULTS[1], given_line, RESULTS[2]], tmp_path)
    assert [(e.line, e.end) for e in ends] == [(1, Imported.KEPT), (2, end), (3, Imported.KEPT)]
    assert ends[1].reason == reason
    assert set(answers_in(tmp_path)) == {2, 3}


@pytest.mark.parametrize(
    "answer",
    [
        message(json.dumps(payload(1))),
        message([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": json.dumps(payload(1))}]),
        message(f"Here:\n```json\n{json.dumps(payload(1), indent=1)}\n```"),
        {"content": json.dumps(payload(1))},
        {"content": json.dumps(payload(1)), "stop_reason": None},
        {"content": json.dumps(payload(1)), "stop_reason": "end_turn", "usage": None},
    ],
)
def test_a_message_written_by_other_means_is_read_too(answer: dict[str, Any], tmp_path: Path) -> None:
    (end,) = imported([succeeded(answer)], tmp_path)
    assert end.end is Imported.KEPT
    assert answers_in(tmp_path) == {1: payload(1)}


def test_blank_lines_and_a_byte_order_mark_are_no_lines(tmp_path: Path) -> None:
    lines = [
        b"\xef\xbb\xbf" + RESULTS[0],
        b"\n",
        b"  \t\r\n",
        RESULTS[1].replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf\n",
        b"",
    ]
    ends = imported(lines, tmp_path)
    assert [(e.line, e.end) for e in ends] == [(1, Imported.KEPT), (4, Imported.KEPT)]


def test_a_result_that_names_its_tokens_keeps_them(tmp_path: Path) -> None:
    used = {"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 3}
    (end,) = imported([succeeded(message('{"npcs":[]}', usage=used))], tmp_path)
    assert end.reading is not None
    assert (end.reading.usage.prompt, end.reading.usage.output) == (103, 7)
    found = Answers(tmp_path).get(FIRST, "npcs")
    assert found is not None
    assert (found.usage, found.lane, found.model) == (end.reading.usage, "dnd/npcs", MODEL)


@hypothesis.settings(deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(RESULTS)), max_size=6))
def test_every_line_that_is_not_blank_ends_in_one_counted_state(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ends = imported(lines, Path(folder))
        kept = answers_in(Path(folder))
    assert len(ends) == sum(bool(given_line.strip(b"\xef\xbb\xbf \t\r\n")) for given_line in lines)
    assert len(kept) == counts(ends)[Imported.KEPT]


# --- on the command line -------------------------------------------------------------------------------------------


def answer_elsewhere(exported: Path) -> list[bytes]:
    """Return the result line of every request of a file, as an honest model would answer them."""
    lines = []
    for written in exported.read_text(encoding="utf-8").splitlines():
        request = json.loads(written)
        asked = Asked("", {}, request["params"], 1)
        lines.append(succeeded(message(json.dumps(honest(asked)), usage={"input_tokens": 9}), request["custom_id"]))
    return lines


def exchange(c: Campaign, seed: int) -> list[bytes]:
    exported, results = c.root / "asked.jsonl", c.root / "results.jsonl"
    ended = notarius("requests", "export", "--to", str(exported), on=c)
    assert ended.code == 0, ended
    lines = answer_elsewhere(exported)
    random.Random(seed).shuffle(lines)
    results.write_bytes(b"".join(lines))
    ended = notarius("requests", "import", str(results), on=c)
    assert (ended.code, f"{len(lines)} kept" in ended.err) == (0, True), ended
    return lines


def test_a_session_answered_elsewhere_is_the_same_whatever_the_order(tmp_path: Path) -> None:
    made = []
    for seed in (1, 2):
        c = write_campaign(tmp_path / str(seed), sessions=1, extra=model(NEVER_SENT, windows=2, provider="replay"))
        assert len(exchange(c, seed)) == 3, "the second lane waits for the registry"
        run_steps(c)
        assert len(exchange(c, seed)) == 3
        assert all(o.accepted for o in run_steps(c))
        assert status_of(c, "session-01").state == "current"
        made.append(documents(c))
    assert len(made[0]) == 2
    assert made[0] == made[1]
    rows = ask(c, "SELECT DISTINCT status, input_tokens, cost_usd FROM model_calls")
    assert rows == [("imported", 9, None)]


def test_an_import_with_problems_says_so_and_keeps_the_rest(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1, extra=model(NEVER_SENT, windows=2, provider="replay"))
    exported, results = c.root / "asked.jsonl", c.root / "results.jsonl"
    notarius("requests", "export", "--to", str(exported), on=c)
    good = answer_elsewhere(exported)
    foreign = succeeded(message('{"npcs":[]}'), "f" * 64)
    results.write_bytes(b"".join([good[1], foreign, b"{\n", exported.read_bytes().splitlines(True)[0], good[1]]))
    ended = notarius("requests", "import", str(results), on=c)
    assert ended.code == 1
    assert "1 kept, 1 already answered, 1 not asked by this pipeline, 2 no result line" in ended.err
    for number, said in ((2, "its custom_id is no request"), (3, "not JSON"), (4, "a request, not a result")):
        assert re.search(rf"results\.jsonl:{number}: .*{said}", ended.err), ended
    notarius("requests", "export", "--to", str(exported), on=c)
    assert len(exported.read_text(encoding="utf-8").splitlines()) == 2, "what was kept is not asked for again"


def test_results_for_older_settings_are_recognised_and_not_taken(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1, extra=model(NEVER_SENT, windows=6, provider="replay"))
    exported, results = c.root / "asked.jsonl", c.root / "results.jsonl"
    notarius("requests", "export", "--to", str(exported), on=c)
    results.write_bytes(b"".join(answer_elsewhere(exported)))
    change(c, "provider: replay\n", "provider: replay\n  effort: high\n")
    ended = notarius("requests", "import", str(results), on=c)
    assert ended.code == 1
    assert "1 not asked by this pipeline" in ended.err
    assert not (c.home / "answers").exists()
