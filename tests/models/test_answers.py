"""Kept answers: whole files that anybody may damage, and that are asked for again then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from notarius_assets.models.answers import Answer, Answers
from notarius_assets.models.messages import Usage
from notarius_assets.models.window import AnsweredBy
from notarius_assets.testing import replies
from notarius_assets.testing.server import ModelServer
from tests.models.asking import GOOD, ask, end_of, kept, provider

PRINT = "ab" + "0" * 62
ANSWER = Answer(GOOD, "dnd/npcs", "hill-road/session-01", "claude-haiku-5-5", "end_turn", "req_1", Usage(1, 2, 3, 4))


def ascii_id(name: object) -> str:
    return ascii(name)[:12]


def test_an_answer_is_kept_as_it_was(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    assert answers.get(PRINT, "npcs") is None
    answers.put(PRINT, ANSWER)
    assert answers.get(PRINT, "npcs") == ANSWER
    assert kept(tmp_path) == [tmp_path / "ab" / f"{PRINT}.json"]
    assert list(answers.kept()) == [(PRINT, tmp_path / "ab" / f"{PRINT}.json")]
    assert answers.get(PRINT, "interactions") is None, "it answers another lane"


@pytest.mark.parametrize("name", ["\ud800", "\u2028", "Caf\u00e9", "\U0001f409", "\x00", 10**4000], ids=ascii_id)
def test_whatever_json_can_say_can_be_kept(name: Any, tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.put(PRINT, Answer({"npcs": [{"name": name}]}, "dnd/npcs", "hill-road/session-01", "m"))
    found = answers.get(PRINT, "npcs")
    assert found is not None
    assert found.payload == {"npcs": [{"name": name}]}
    (path,) = kept(tmp_path)
    assert path.read_bytes().isascii()
    assert path.read_bytes().count(b"\n") == 1


def whole() -> dict[str, Any]:
    return {"payload": GOOD, "lane": "l", "model": "m", "stop_reason": None, "request_id": None, "usage": {}}


DAMAGED = [
    b"",
    b"\x00" * 40,
    b"{",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"{}",
    b'"npcs"',
    b"[" * 100_000,
    json.dumps(whole()).encode()[:-5],
    json.dumps({**whole(), "payload": None}).encode(),
    json.dumps({**whole(), "payload": ["npcs"]}).encode(),
    json.dumps({**whole(), "payload": {"npcs": None}}).encode(),
    json.dumps({**whole(), "payload": {"npcs": [], "more": 1}}).encode(),
    json.dumps({**whole(), "payload": {"interactions": []}}).encode(),
    json.dumps({**whole(), "usage": [1]}).encode(),
]


@pytest.mark.parametrize("other", [{"usage": None}, {"usage": {"tokens": 1}}, {"unknown": 1}, {"lane": None}])
def test_an_answer_of_another_version_is_still_one(other: dict[str, Any], tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.put(PRINT, ANSWER)
    for found in ({**whole(), **other}, {"payload": GOOD, **other}):
        answers.path(PRINT).write_bytes(json.dumps(found).encode())
        kept_one = answers.get(PRINT, "npcs")
        assert kept_one is not None
        assert kept_one.payload == GOOD


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: f"{len(data)}-bytes")
def test_a_damaged_answer_counts_as_none(data: bytes, tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.put(PRINT, ANSWER)
    answers.path(PRINT).write_bytes(json.dumps(whole()).encode())
    assert answers.get(PRINT, "npcs") is not None, "what the damage is done to is good"
    answers.path(PRINT).write_bytes(data)
    assert answers.get(PRINT, "npcs") is None


@pytest.mark.parametrize(
    "data", [b"", b"[" * 100_000, b'{"payload": {"npcs": 11}}'], ids=lambda data: f"{len(data)}-bytes"
)
def test_a_damaged_answer_is_asked_for_again_and_mended(data: bytes, tmp_path: Path) -> None:
    with ModelServer(replies.answer(GOOD)) as server:
        ask(provider(server.url, tmp_path), 2)
        first, _ = kept(tmp_path)
        before = first.read_bytes()
        first.write_bytes(data)
        ended, told = ask(provider(server.url, tmp_path), 2)
        assert len(server.asked) == 3
    assert sorted(str(a.answered_by) for a in ended) == sorted([AnsweredBy.CACHE, AnsweredBy.CALL])
    assert [end_of(a) for a in ended] == ["done", "done"]
    assert len(told.calls) == 1
    assert len(kept(tmp_path)) == 2
    assert json.loads(first.read_bytes())["payload"] == json.loads(before)["payload"]


def test_a_folder_that_was_removed_is_made_again(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "home" / "answers")
    assert list(answers.kept()) == []
    assert answers.unfinished() == []
    answers.put(PRINT, ANSWER)
    assert answers.get(PRINT, "npcs") == ANSWER


def test_other_files_in_the_folder_are_no_answers(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.put(PRINT, ANSWER)
    (tmp_path / "ab" / "notes.json").write_text("{}")
    (tmp_path / "ab" / ("Z" * 64 + ".json")).write_text("{}")
    half = tmp_path / "ab" / f".writing-{PRINT}.json~x"
    half.write_text("{")
    assert [found for found, _ in answers.kept()] == [PRINT]
    assert answers.unfinished() == [half]


def test_what_a_write_leaves_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(tmp_path)
    answers.put(PRINT, ANSWER)
    before = kept(tmp_path)[0].read_bytes()

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        answers.put(PRINT, Answer({"npcs": []}, "dnd/npcs", "hill-road/session-01", "m"))
    assert [p.read_bytes() for p in kept(tmp_path)] == [before]
