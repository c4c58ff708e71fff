"""How long is waited, how many are asked at once, and when nobody is asked any more."""

from __future__ import annotations

import math
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from notarius_assets.errors import ConfigurationError, NotariusError
from notarius_assets.models.answers import Answer
from notarius_assets.models.window import WindowEnd
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.models.asking import (
    GOOD,
    NOTHING,
    NPCS,
    Told,
    ask,
    end_of,
    ends_of,
    kept,
    outcome,
    provider,
    quick,
    windows,
)

EMPTY = replies.answer(NOTHING)


def in_an_hour() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(hours=1, seconds=5), usegmt=True)


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so, and a moment more."""
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
    time.sleep(0.02)


# --- waiting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"retry-after": "3600"}, "asked to wait 3,600 s"),
        ({"retry-after-ms": "3600000"}, "asked to wait 3,600 s"),
        ({"retry-after-ms": "3600000", "retry-after": "1"}, "asked to wait 3,600 s"),
        ({"retry-after": "DATE"}, "asked to wait 3,60"),
        ({"retry-after": "1e300"}, "asked to wait 1,0"),
        ({"retry-after": "inf"}, "asked to wait inf s"),
        ({"retry-after": "soon"}, "limited the rate 4 times in a row. Next"),
        ({"retry-after": "-5"}, "4 times in a row, and asked to wait 0 s"),
        ({}, "limited the rate 4 times in a row. Next"),
    ],
)
@pytest.mark.parametrize("status", [429, 529])
def test_whatever_a_server_asks_to_wait_is_capped_and_named(
    status: int, headers: dict[str, str], named: str, tmp_path: Path
) -> None:
    headers = {name: in_an_hour() if value == "DATE" else value for name, value in headers.items()}
    begun = time.monotonic()
    ended, told, _ = outcome(replies.error(status, "rate_limit_error", "Slow down", headers), tmp_path)
    assert time.monotonic() - begun < 10
    assert end_of(ended) == "failed: rate_limited"
    assert named in str(ended.advice)
    assert told.statuses == ["rate_limited"] * 4
    if "3" in named:
        assert "at most 0.02 s are waited. Next: run again later" in str(ended.advice)


def test_a_failing_server_can_ask_to_wait_too_and_is_capped(tmp_path: Path) -> None:
    begun = time.monotonic()
    failing = replies.error(500, "api_error", "Internal server error", {"retry-after": "3600"})
    ended, _, _ = outcome([failing, failing, failing, failing], tmp_path)
    assert time.monotonic() - begun < 10
    assert end_of(ended) == "failed: server_error"


def test_between_two_attempts_is_waited_what_the_server_asks(tmp_path: Path) -> None:
    at: list[float] = []

    def script(asked: Asked) -> Reply:
        at.append(time.monotonic())
        return EMPTY if len(at) == 2 else replies.rate_limited("0.4")

    with ModelServer(script) as server:
        ended, told = ask(provider(server.url, tmp_path, longest_wait=5.0))
    assert end_of(ended[0]) == "empty"
    assert 0.4 <= at[1] - at[0] < 5
    assert told.calls[1].latency_ms < 400, "a pause is no latency"


def test_while_one_call_was_told_to_wait_no_call_of_the_process_starts(tmp_path: Path) -> None:
    at: list[float] = []

    def script(asked: Asked) -> Reply:
        at.append(time.monotonic())
        return replies.rate_limited("0.4") if len(at) == 1 else EMPTY.after(0.05)

    told = Told()
    with ModelServer(script) as server, quick():
        one, other = (provider(server.url, tmp_path / n, in_flight=1, longest_wait=5.0) for n in ("one", "other"))
        first = threading.Thread(target=one.answer, args=(NPCS, windows(2), told))
        second = threading.Thread(target=other.answer, args=(NPCS, windows(3), told))
        first.start()
        until(lambda: told.statuses == ["rate_limited"])
        second.start()
        first.join(10)
        second.join(10)
    assert len(at) == 1 + 2 + 3
    assert all(later - at[0] >= 0.4 for later in at[1:])


# --- time limits ---------------------------------------------------------------------------------------------------


def test_a_call_that_hangs_ends_at_the_time_limit_of_each_attempt(tmp_path: Path) -> None:
    begun = time.monotonic()
    ended, told, _ = outcome(replies.hang(), tmp_path, timeout=0.1)
    assert 0.4 <= time.monotonic() - begun < 10
    assert end_of(ended) == "failed: timeout"
    assert "did not answer within 0.1 s" in str(ended.advice)
    assert told.statuses == ["timeout"] * 4
    assert all(90 <= c.latency_ms < 5000 for c in told.calls)


def test_after_a_call_that_hung_the_next_attempt_can_answer(tmp_path: Path) -> None:
    ended, told, _ = outcome([replies.hang(), replies.answer(GOOD)], tmp_path, timeout=0.5)
    assert end_of(ended) == "done"
    assert told.statuses == ["timeout", "answered"]


@contextmanager
def trickling(head: bytes) -> Iterator[str]:
    """Serve `head` and then a byte now and then for ever, each well within what a client waits for one."""
    over = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            try:
                self.wfile.write(head)
                while not over.wait(0.02):
                    self.wfile.write(b" ")
            except OSError:
                return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            over.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-slow:",
    ],
)
def test_a_server_that_sends_a_byte_now_and_then_does_not_outlast_the_time_limit(head: bytes, tmp_path: Path) -> None:
    with trickling(head) as url:
        begun = time.monotonic()
        (ended,), told = ask(provider(url, tmp_path, timeout=0.15))
        assert time.monotonic() - begun < 10
    assert end_of(ended) == "failed: timeout"
    assert told.statuses == ["timeout"] * 4


def test_nobody_listens(tmp_path: Path) -> None:
    with ModelServer(EMPTY) as server:
        url = server.url
    (ended,), told = ask(provider(url, tmp_path))
    assert end_of(ended) == "failed: no_connection"
    assert f"{url} can't be reached. Next: check the network" in str(ended.advice)
    assert told.statuses == ["no_connection"] * 4


# --- how many at once ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("in_flight", "count"), [(1, 3), (3, 9), (4, 10), (8, 5)])
def test_calls_at_once_reach_the_bound_and_never_pass_it(in_flight: int, count: int, tmp_path: Path) -> None:
    with ModelServer(EMPTY, latency=0.1) as server:
        begun = time.monotonic()
        ended, _ = ask(provider(server.url, tmp_path, in_flight=in_flight), count)
        took = time.monotonic() - begun
    assert len(server.asked) == len(ended) == count
    assert server.most_in_flight == min(in_flight, count)
    assert took >= 0.1 * math.ceil(count / in_flight)


def test_the_first_calls_go_ahead_until_one_has_ended(tmp_path: Path) -> None:
    told = Told()
    with ModelServer(EMPTY, latency=0.05) as server, quick(warm_up=30.0):
        server.hold_after(0)
        asking = provider(server.url, tmp_path, in_flight=3)
        thread = threading.Thread(target=asking.answer, args=(NPCS, windows(8), told))
        thread.start()
        server.wait_for(2)
        time.sleep(0.1)
        assert len(server.asked) == 2, "8 of 3 at once leaves 2 for the first round"
        server.release()
        thread.join(10)
        assert len(server.asked) == 8
        assert server.most_in_flight == 3


def test_the_others_do_not_wait_for_ever_for_the_first(tmp_path: Path) -> None:
    told = Told()
    with ModelServer(EMPTY) as server, quick(warm_up=0.05):
        server.hold_after(0)
        thread = threading.Thread(
            target=provider(server.url, tmp_path, in_flight=3).answer, args=(NPCS, windows(4), told)
        )
        thread.start()
        server.wait_for(3, 5)
        server.release()
        thread.join(10)
    assert len(told.ends) == 4


# --- what all windows would meet -----------------------------------------------------------------------------------

SCHEMA = "output_config.format.schema: too complex"


@pytest.mark.parametrize(
    ("reply", "reason", "said"),
    [
        (replies.wrong_key(), "wrong_key", "refused the key. Next: correct the key that the model's resource gives"),
        (replies.not_allowed(), "not_allowed", "does not allow this key to use claude-haiku-5-5. Next: use a key"),
        (replies.unknown_model(), "unknown_model", "knows no model claude-haiku-5-5. Next: correct `model.model`"),
        (replies.no_credit(400), "no_credit", "has no credit, or has reached its spend limit. Next: add credit"),
        (replies.no_credit(402), "no_credit", "has no credit, or has reached its spend limit. Next: add credit"),
        (replies.spend_limit(), "no_credit", "has no credit, or has reached its spend limit. Next: add credit"),
        (replies.error(400, "billing_error", "Payment needed"), "no_credit", "Next: add credit"),
        (replies.schema_too_large(), "schema_refused", "too large or too complex. Next: choose another `model.model`"),
        (replies.error(400, "invalid_request_error", SCHEMA), "schema_refused", "refused the answer's schema"),
    ],
)
def test_after_a_failure_that_all_would_meet_nobody_else_is_asked(
    reply: Reply, reason: str, said: str, tmp_path: Path
) -> None:
    with ModelServer(reply) as server:
        asking = provider(server.url, tmp_path, in_flight=3)
        ended, told = ask(asking, 20, warm_up=5.0)
        asked = len(server.asked)
        assert 1 <= asked <= 3
        assert ends_of(ended) == {WindowEnd.FAILED: 20}
        assert {a.reason for a in ended} == {reason}
        assert all(server.url in str(a.advice) and said in str(a.advice) for a in ended)
        assert len(told.calls) == asked
    assert kept(tmp_path) == []


def test_what_is_kept_is_given_also_when_nobody_is_asked_any_more(tmp_path: Path) -> None:
    with ModelServer(replies.answer(GOOD)) as server:
        ask(provider(server.url, tmp_path), 2)
    with ModelServer(replies.wrong_key()) as server:
        ended, _ = ask(provider(server.url, tmp_path), 4)
    assert [end_of(a) for a in ended] == ["done", "done", "failed: wrong_key", "failed: wrong_key"]


def test_what_stopped_the_asking_may_be_mended_without_a_new_process(tmp_path: Path) -> None:
    with ModelServer([replies.wrong_key(), replies.answer(GOOD)]) as server:
        asking = provider(server.url, tmp_path)
        assert end_of(ask(asking)[0][0]) == "failed: wrong_key"
        assert end_of(ask(asking)[0][0]) == "done"


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_nothing_is_sent(key: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    # the network guard would fail a request
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY is not set") as raised:
        ask(provider(None, tmp_path, key=key))
    assert "rules (offline) or replay" in str(raised.value.next_step)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("key", ["sk-ant-\u201cquoted\u201d", "two\nlines"])
def test_a_key_that_is_none_is_refused_without_being_shown(key: str, tmp_path: Path) -> None:
    with ModelServer(EMPTY) as server, pytest.raises(ConfigurationError, match="no key has") as raised:
        ask(provider(server.url, tmp_path, key=key))
    assert server.asked == []
    assert key not in str(raised.value)


def test_a_local_server_needs_no_key_and_the_environment_gives_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with ModelServer(EMPTY) as server:
        ask(provider(server.url, tmp_path / "1", key=None))
        monkeypatch.setenv("ANTHROPIC_API_KEY", " from-outside\n")
        ask(provider(server.url, tmp_path / "2", key=None))
        ask(provider(server.url, tmp_path / "3", key="given"))
    assert [a.key for a in server.asked] == ["none", "from-outside", "given"]


def test_an_answer_that_cannot_be_kept_ends_the_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fingerprint: str, answer: Answer) -> None:
        raise OSError(28, "No space left on device")

    with ModelServer(EMPTY) as server:
        asking = provider(server.url, tmp_path, in_flight=1)
        monkeypatch.setattr(asking.answers, "put", full)
        with pytest.raises(NotariusError, match="an answer can't be kept") as raised:
            ask(asking, 5)
    assert raised.value.next_step == "look at that folder, make room, then run again"
    assert len(server.asked) <= 2, "nobody pays for what can't be kept"
