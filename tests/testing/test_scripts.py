"""Scripts: by order, by key, by function; from a file, in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest

from notarius_assets.testing import replies, scripts
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.scripts import ByKey, Given, Script, ScriptError, read_script
from notarius_assets.testing.server import ModelServer
from tests.testing.asking import ask, refused, text_of


def told(given: Given | Script, *texts: str) -> list[str]:
    with ModelServer(given) as server:
        return [text_of(ask(server.url, text)) for text in texts]


def test_a_function_of_the_request() -> None:
    def script(asked: Asked) -> replies.Reply:
        return replies.text(f"{asked.number}: {asked.text.splitlines()[-1]}")

    assert told(script, "a", "b") == ["1: a", "2: b"]


def test_replies_by_key() -> None:
    by_key: Given = {
        "chunk 1": [replies.text("first"), replies.text("again")],
        "chunk 12": replies.text("twelve"),
        "*": replies.text("other"),
    }
    asked = ("about chunk 1.", "chunk 12", "chunk 123", "chunk 1 and chunk 12", "chunk 1")
    assert told(by_key, *asked) == ["first", "twelve", "other", "twelve", "again"]


def test_the_caller_may_tell_the_key() -> None:
    script = ByKey(
        {"a": replies.text("A"), "b": replies.text("B")}, lambda asked: asked.body["messages"][0]["role"][-1:]
    )
    server = ModelServer(script)
    refused(anthropic.BadRequestError, server.url)
    with pytest.raises(ScriptError, match="request 1 has none of the keys: a, b"):
        server.__exit__(None, None, None)


def test_a_key_that_runs_out_is_named() -> None:
    server = ModelServer({"a": [replies.text("A")]})
    ask(server.url, "a")
    refused(anthropic.BadRequestError, server.url, "a")
    with pytest.raises(ScriptError, match="request 2 is one too many: key 'a' has 1 replies"):
        server.__exit__(None, None, None)


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


ARGUMENTS = {
    "error": {"status": 418, "type": "api_error", "message": "no tea", "error_code": "kettle"},
    "raw": {"status": 200, "headers": {}, "body": "x"},
    "stopped": {"stop_reason": "pause_turn"},
    "document": {"content": {"a": 1}},
    "rate_limited": "2",
    "no_credit": 402,
    "answer": {},
    "text": "x",
    "prose": [],
    "fenced": {},
    "truncated": "x",
    "thinking_first": {},
}


def test_every_reply_can_be_written_in_a_file(tmp_path: Path) -> None:
    public = {n for n, f in vars(replies).items() if getattr(f, "__module__", "") == replies.__name__ and callable(f)}
    public -= {"Way", "Reply", "request_id", "compact"}
    assert {n for n in public if not n.startswith("_")} == {*scripts.PLAIN, *scripts.NAMED}
    for name in (*scripts.PLAIN, *scripts.NAMED):
        script = read_script(written(tmp_path / "r.json", {name: ARGUMENTS.get(name), "after": 0.5}))
        given: Any = ARGUMENTS.get(name)
        make = getattr(replies, name)
        made = make(**given) if name in scripts.NAMED else make(given) if name in ARGUMENTS else make()
        assert script.pick(Asked("/", {}, None, 1))() == made.after(0.5)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "Expecting"),
        ([{"anwser": {}}], "[0]: not a reply; known are answer,"),
        ({"*": {"answer": {}, "text": ""}}, "*: not a reply"),
        ({"a": [{"answer": {}}, 3]}, "a[1]: not a reply"),
        ([{"error": {"status": 400}}], "[0]: error: error() missing"),
        ([{"raw": 3}], "[0]: raw: "),
        ([{"answer": {}, "after": "soon"}], "[0]: answer: could not convert"),
        (None, "not a reply"),
    ],
)
def test_a_file_that_can_not_be_used_is_one_line_that_names_the_place(
    tmp_path: Path, content: object, words: str
) -> None:
    path = written(tmp_path / "replies.json", content)
    with pytest.raises(ScriptError, match=rf"replies\.json.*{re.escape(words)}"):
        read_script(path)


@contextmanager
def process(path: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "notarius_assets.testing.server", "--script", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            yield started, started.stdout.readline().strip()
        finally:
            started.kill()


def end(started: subprocess.Popen[str], how: signal.Signals) -> tuple[int, str, str]:
    started.send_signal(how)
    out, err = started.communicate(timeout=10)
    return started.returncode, out, err


def test_a_process_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", {"1 to 40": {"answer": {"records": []}}, "*": [{"overloaded": None}]})
    with process(path, "--port", "0", "--key", "k", "--latency", "0.01", "--cache-minimum", "9") as (started, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert text_of(ask(url, "Citable units: 1 to 40.")) == '{"records":[]}'
        assert refused(anthropic.APIStatusError, url, "another").type == "overloaded_error"
        refused(anthropic.AuthenticationError, url, key="other")
        assert end(started, signal.SIGTERM) == (0, "", "")


def test_a_process_tells_what_it_had_no_reply_for(tmp_path: Path) -> None:
    with process(written(tmp_path / "r.json", [])) as (started, url):
        refused(anthropic.BadRequestError, url)
        port = url.rpartition(":")[2]
        assert ended(written(tmp_path / "r.json", []), "--port", port)[0] == 2
        code, _, err = end(started, signal.SIGINT)
    assert (code, err) == (1, "request 1 is one too many: the script has 0 replies\n")


def ended(path: Path, *options: str) -> tuple[int, str]:
    command: Sequence[str] = [sys.executable, "-m", "notarius_assets.testing.server", "--script", str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr


def test_a_process_without_a_usable_script_says_so(tmp_path: Path) -> None:
    code, err = ended(tmp_path / "none.json")
    assert (code, err.count("\n")) == (2, 1)
    assert "none.json" in err
