"""The scripted server counts, holds, admits, and goes when told; connections are kept."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import anthropic
import pytest

from notarius_assets.testing import replies
from notarius_assets.testing.scripts import ScriptError
from notarius_assets.testing.server import ModelServer
from tests.testing.asking import MODEL, ask, block, client, params, refused, text_of

EMPTY = replies.answer({"records": []})
Start = Callable[..., Future[Any]]


@pytest.fixture
def start() -> Iterator[Start]:
    with ThreadPoolExecutor(8) as pool:
        yield lambda *given, **named: pool.submit(ask, *given, **named)


def test_what_was_asked_can_be_looked_at() -> None:
    with ModelServer(EMPTY) as server:
        ask(server.url, "Chunk 1", "[1] ANNA: Hello", system=[block("Be brief."), block("Be exact.")])
        (asked,) = server.asked
    assert (asked.method, asked.path, asked.query, asked.number) == ("POST", "/v1/messages", "", 1)
    assert asked.text == "Be brief.\nBe exact.\nChunk 1\n[1] ANNA: Hello"
    assert asked.key == "k"
    assert asked.headers["content-type"] == "application/json"
    assert (asked.model, asked.body["max_tokens"]) == (MODEL, 100)


def test_a_connection_is_used_again() -> None:
    with ModelServer(EMPTY) as server, client(server.url) as made:
        begun = time.monotonic()
        for _ in range(20):
            made.messages.create(**params())
        assert time.monotonic() - begun < 5
        assert len(server._http._connections) == 1
        assert [a.number for a in server.asked] == list(range(1, 21))
        assert server.most_in_flight == 1


def test_the_most_that_were_open_at_once() -> None:
    async def run(url: str) -> None:
        limit = asyncio.Semaphore(4)
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as made:

            async def one() -> None:
                async with limit:
                    await made.messages.create(**params())

            await asyncio.gather(*(one() for _ in range(20)))

    with ModelServer(EMPTY, latency=0.05) as server:
        asyncio.run(run(server.url))
        assert server.most_in_flight == 4
        assert server.in_flight == 0
        assert len(server.asked) == 20


def test_requests_are_held_and_released(start: Start) -> None:
    with ModelServer([replies.text(str(n)) for n in range(1, 5)]) as server:
        server.hold_after(2)
        assert [text_of(ask(server.url)) for _ in range(2)] == ["1", "2"]
        waiting = [start(server.url) for _ in range(2)]
        server.wait_for(4)
        assert (server.held, server.in_flight, server.most_in_flight) == (2, 2, 2)
        assert not any(w.done() for w in waiting)
        server.release()
        assert {text_of(w.result(5)) for w in waiting} == {"3", "4"}
        assert server.held == 0


def test_release_ends_what_hangs_and_later_ones_hang_again(start: Start) -> None:
    with ModelServer(replies.hang()) as server:
        first = start(server.url)
        server.wait_for(1)
        server.release()
        with pytest.raises(anthropic.APIConnectionError):
            first.result(5)
        with pytest.raises(anthropic.APITimeoutError):
            ask(server.url, timeout=0.1)


def test_closing_drops_who_is_held_or_hangs_at_once(start: Start) -> None:
    with ModelServer([replies.hang(), EMPTY.after(60), EMPTY]) as server:
        server.hold_after(2)
        waiting = []
        for n in range(1, 4):
            waiting.append(start(server.url))
            server.wait_for(n)
        begun = time.monotonic()
        server.close()
        server.close()
        assert time.monotonic() - begun < 1
        for one in waiting:
            with pytest.raises(anthropic.APIConnectionError):
                one.result(5)
    with pytest.raises(anthropic.APIConnectionError):
        ask(server.url)


def test_waiting_for_requests_has_an_end() -> None:
    with ModelServer(EMPTY) as server, pytest.raises(TimeoutError, match="0 of 1 requests"):
        server.wait_for(1, 0.05)


def test_a_chosen_port_can_be_taken_again() -> None:
    with ModelServer(EMPTY) as server:
        ask(server.url)
        port = int(server.url.rpartition(":")[2])
    with ModelServer(EMPTY, port=port) as again:
        assert again.url == server.url
        ask(again.url)


def test_only_the_key_is_admitted() -> None:
    with ModelServer([EMPTY, EMPTY], key="right") as server:
        with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
            ask(server.url, key="wrong")
        ask(server.url, key="right")
        with anthropic.Anthropic(base_url=server.url, api_key=None, auth_token="right", max_retries=0) as made:
            made.messages.create(**params())
        assert plain(server.url, "/v1/messages", b"{}")[0] == 401
        assert plain(server.url, "/v1/messages", b"{}", {"X-Api-Key": "right"})[0] == 400, "admitted, and then read"


def plain(url: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    request = urllib.request.Request(url + path, data=body, headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("path", "body", "status", "type_", "words"),
    [
        ("/v1/nothing", b"{}", 404, "not_found_error", "/v1/nothing"),
        ("/v1/messages", None, 405, "invalid_request_error", "Method"),
        ("/v1/messages", b"{", 400, "invalid_request_error", "not valid JSON"),
        ("/v1/messages", b"[" * 100_000, 400, "invalid_request_error", "not valid JSON"),
        ("/v1/messages", b'{"model":"m","messages":[1]}', 400, "invalid_request_error", "max_tokens: Field required"),
        ("/v1/messages/count_tokens", b'{"model":"m"}', 400, "invalid_request_error", "messages: Field required"),
    ],
)
def test_what_no_script_is_asked_for(path: str, body: bytes | None, status: int, type_: str, words: str) -> None:
    with ModelServer([]) as server:
        code, told = plain(server.url, path, body)
        assert (code, told["type"], told["error"]["type"]) == (status, "error", type_)
        assert words in told["error"]["message"]
        assert told["request_id"] == "req_000001"
        assert len(server.asked) == 1


def test_streams_and_too_many_marks_are_refused() -> None:
    with ModelServer([]) as server, client(server.url) as made:
        with pytest.raises(anthropic.BadRequestError, match="does not stream"):
            made.messages.create(**params(), stream=True)
        with pytest.raises(anthropic.BadRequestError, match="maximum of 4 blocks"):
            made.messages.create(**params(*(block(str(n), cached=True) for n in range(5))))


def test_a_request_too_many_is_named() -> None:
    server = ModelServer([EMPTY])
    ask(server.url)
    assert "request 2 is one too many" in refused(anthropic.BadRequestError, server.url).api_message
    with pytest.raises(ScriptError, match="request 2 is one too many: the script has 1 replies"):
        server.__exit__(None, None, None)


def test_an_error_of_the_script_is_told_but_not_over_one_of_the_test() -> None:
    def script(asked: object) -> replies.Reply:
        raise KeyError("chunk 7")

    server = ModelServer(script)
    refused(anthropic.BadRequestError, server.url)
    with pytest.raises(ScriptError, match="request 1: KeyError: 'chunk 7'"):
        server.__exit__(None, None, None)
    with pytest.raises(anthropic.BadRequestError), ModelServer(script) as other:
        ask(other.url)
    assert len(other.failures) == 1


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer(EMPTY.after(0.2)) as server, pytest.raises(anthropic.APITimeoutError):
        ask(server.url, timeout=0.05)
    with ModelServer([replies.half(), replies.server_error()]) as server:
        for _ in range(2):
            with pytest.raises(anthropic.APIError):
                ask(server.url)
    assert capfd.readouterr() == ("", "")
