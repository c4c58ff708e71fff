"""Usage is counted by the stated rule, and the prompt cache gives nothing away that the API would not."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import pytest

from notarius_assets.testing import replies
from notarius_assets.testing.server import ModelServer
from notarius_assets.testing.tokens import estimate
from tests.testing.asking import ask, block, client, params

EMPTY = replies.answer({"records": []})
LONG = "All that is known of the hill road. " * 100
LONGER = "Everybody who was ever met on it. " * 100
TOKENS = estimate(len(LONG))
BOTH = estimate(len(LONG) + len(LONGER))


def used(message: Any) -> tuple[int, int, int]:
    usage = message.usage
    return usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens


def asked(server: ModelServer, *user: str, long: str = LONG, **rest: Any) -> tuple[int, int, int]:
    return used(ask(server.url, *user, system=[block(long, cached=True)], **rest))


@pytest.mark.parametrize(("characters", "tokens"), [(0, 0), (1, 1), (7, 2), (8, 3), (3500, 1000)])
def test_the_rule(characters: int, tokens: int) -> None:
    assert estimate(characters) == tokens


def test_tokens_are_counted_without_asking_the_script() -> None:
    with ModelServer([]) as server, client(server.url) as made:
        given = params("abcdefg", system="1234567")
        del given["max_tokens"]
        assert made.messages.count_tokens(**given).input_tokens == 4
        assert server.asked[0].path == "/v1/messages/count_tokens"


def test_a_prefix_is_written_then_read() -> None:
    with ModelServer(EMPTY) as server:
        whole = estimate(len(LONG) + 7)
        assert asked(server, "Chunk 1") == (whole - TOKENS, TOKENS, 0)
        assert asked(server, "Chunk 2") == (whole - TOKENS, 0, TOKENS)


def test_a_second_mark_adds_what_is_new() -> None:
    with ModelServer(EMPTY) as server:
        asked(server, "Chunk 1")
        system = [block(LONG, cached=True), block(LONGER, cached=True)]
        whole = estimate(len(LONG) + len(LONGER) + 7)
        assert used(ask(server.url, "Chunk 1", system=system)) == (whole - BOTH, BOTH - TOKENS, TOKENS)
        assert used(ask(server.url, "Chunk 2", system=system)) == (whole - BOTH, 0, BOTH)


def test_a_mark_may_move_on_as_messages_are_added() -> None:
    with ModelServer(EMPTY) as server, client(server.url) as made:
        asked(server, "Chunk 1")
        again = params("Chunk 1", block("Once more", cached=True), system=LONG)
        usage = used(made.messages.create(**again))
    assert usage == (0, estimate(len(LONG) + 7 + 9) - TOKENS, TOKENS), "it looks back from its own mark"


@pytest.mark.parametrize("between", [18, 19])
def test_a_kept_prefix_is_found_at_most_twenty_blocks_back(between: int) -> None:
    with ModelServer(EMPTY) as server:
        asked(server, "Chunk 1")
        user: list[Any] = [*("word" for _ in range(between)), block("last", cached=True)]
        read = used(ask(server.url, *user, system=LONG))[2]
    assert read == (TOKENS if between == 18 else 0)


def test_nothing_is_cached_without_a_mark_or_below_the_minimum() -> None:
    with ModelServer(EMPTY, cache_minimum=TOKENS + 1) as server:
        assert [asked(server, "Chunk 1")[1:] for _ in range(2)] == [(0, 0), (0, 0)]
    with ModelServer(EMPTY, cache_minimum=TOKENS) as server:
        assert asked(server, "Chunk 1")[1:] == (TOKENS, 0)
        assert used(ask(server.url, "Chunk 1", system=[block(LONG)]))[1:] == (0, 0), "who doesn't mark doesn't read"


def test_another_prefix_model_or_schema_reads_nothing() -> None:
    with ModelServer(EMPTY) as server, client(server.url) as made:
        asked(server, "Chunk 1")
        assert asked(server, "Chunk 1", long="x" + LONG)[2] == 0
        assert asked(server, "Chunk 1", model="claude-test-2")[2] == 0
        given: Any = params(system=[block(LONG, cached=True)])
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        configs: list[tuple[Any, int]] = [
            ({"format": {"type": "json_schema", "schema": schema}}, 0),
            ({"effort": "low"}, TOKENS),
        ]
        for config, read in configs:
            assert used(made.messages.create(**given, output_config=config))[2] == read


def test_requests_in_flight_together_share_nothing() -> None:
    with ModelServer(EMPTY) as server, ThreadPoolExecutor(2) as pool:
        server.hold_after(0)
        both = [pool.submit(asked, server, "Chunk 1") for _ in range(2)]
        server.wait_for(2)
        server.release()
        assert [b.result(5)[1:] for b in both] == [(TOKENS, 0), (TOKENS, 0)]
        assert asked(server, "Chunk 1")[1:] == (0, TOKENS)


@pytest.mark.parametrize("reply", [replies.overloaded(), replies.half(), replies.not_json_as_json()])
def test_what_was_not_answered_leaves_nothing(reply: replies.Reply) -> None:
    with ModelServer([reply, EMPTY]) as server:
        with contextlib.suppress(anthropic.APIError, AttributeError, ValueError):
            asked(server, "Chunk 1")
        assert asked(server, "Chunk 1")[1:] == (TOKENS, 0)
