"""Usage as a server would report it: estimated tokens, and a prompt cache that is simulated by the API's rules.

Tokens are characters / 3.5, rounded up. Counted are the texts of the system prompt and the messages; a block that is
no text counts as its compact JSON. Tools and schemas are not counted.

A prefix of the prompt is kept when a block in it is marked with `cache_control` and it has the minimum of tokens. It
can be read once the answer to the request that wrote it is on its way, so requests in flight together don't share
it. Whoever asks reads the longest prefix kept, looking back 20 blocks from each of its own marks. Nothing expires.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notarius_assets.testing.asked import Block, blocks

CHARACTERS_PER_TOKEN = 3.5
MOST_BREAKPOINTS = 4
LOOK_BACK = 20
"""How many blocks before a mark, the marked one included, are looked at for a kept prefix."""


def estimate(characters: int) -> int:
    """Return the estimated tokens of a text of that many characters."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def input_tokens(body: object) -> int:
    """Return the estimated tokens of a request's prompt, wherever they are read from."""
    return estimate(sum(map(_size, blocks(body))))


def breakpoints(body: object) -> list[int]:
    """Return the places of the marked blocks. A mark on the request itself marks the last block."""
    found = blocks(body)
    marked = {n for n, block in enumerate(found) if block.content.get("cache_control")}
    if found and isinstance(body, dict) and body.get("cache_control"):
        marked.add(len(found) - 1)
    return sorted(marked)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one request is billed for on its way in, and the prefixes that its answer leaves in the cache."""

    fresh: int
    written: int
    read: int
    kept: tuple[str, ...] = ()

    def as_json(self, output: int) -> dict[str, int]:
        """Return the `usage` of a message whose answer has that many tokens."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.read,
            "output_tokens": output,
        }


class PromptCache:
    """The prefixes kept so far. Not safe for threads; its server holds a lock."""

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self._kept: set[str] = set()

    def usage(self, body: object) -> Usage:
        """Return what a request would be billed for now; nothing is kept yet."""
        prefixes = _prefixes(body)
        if not prefixes:
            return Usage(0, 0, 0)
        marks = [n for n in breakpoints(body) if prefixes[n].tokens >= self.minimum]
        looked_at = {n for mark in marks for n in range(max(0, mark - LOOK_BACK + 1), mark + 1)}
        read = max((prefixes[n].tokens for n in looked_at if prefixes[n].digest in self._kept), default=0)
        cached = max(prefixes[marks[-1]].tokens if marks else 0, read)
        kept = tuple(prefixes[n].digest for n in marks)
        return Usage(prefixes[-1].tokens - cached, cached - read, read, kept)

    def keep(self, usage: Usage) -> None:
        """Keep the prefixes of a request that was answered."""
        self._kept.update(usage.kept)


@dataclass(frozen=True, slots=True)
class _Prefix:
    tokens: int
    digest: str


def _prefixes(body: object) -> Sequence[_Prefix]:
    """Return, for each block, the prompt up to and with it."""
    if not isinstance(body, dict):
        return []
    config = body.get("output_config")
    schema = config.get("format") if isinstance(config, dict) else None
    # a change to one of these invalidates what the API has kept
    state = hashlib.sha256(_json([body.get("model"), body.get("tools"), schema]))
    found, characters = [], 0
    for block in blocks(body):
        characters += _size(block)
        state.update(_json([block.role, block.message, _unmarked(block.content)]))
        found.append(_Prefix(estimate(characters), state.hexdigest()))
    return found


def _size(block: Block) -> int:
    return len(block.text) if block.text is not None else len(_json(_unmarked(block.content)).decode())


def _unmarked(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "cache_control"}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
