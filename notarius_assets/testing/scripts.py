"""What the scripted server answers: replies in order, replies by what a request is about, or a function.

A file of replies, for a server in a process of its own, is JSON. A reply is an object whose one key is a function of
`replies` and whose value is that function's argument: null or {} for none, an object of named arguments where there
are several (`error`, `raw`, `stopped`), else the argument itself. `after` beside it delays the reply, in seconds.

    {"answer": {"records": []}}     {"rate_limited": "2", "after": 0.5}     {"hang": null}
    {"error": {"status": 418, "type": "api_error", "message": "no tea"}}

The file holds one reply for every request, a list of replies used in order, or an object that maps keys to one reply
or a list of them (an object whose only key is the name of a reply is a reply). A key is a text that is looked for in
the request; "*" is for requests in which no key is found.

    {"1 to 40": {"answer": {"records": []}}, "*": [{"overloaded": null}, {"answer": {"records": []}}]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply

DEFAULT = "*"
"""The key of the replies for requests in which no other key is found."""

Replies = Reply | Sequence[Reply]
Given = Callable[[Asked], Reply] | Replies | Mapping[str, Replies]
"""What a script can be given as."""

NAMED = ("error", "raw", "stopped", "document")
"""Replies whose arguments a file gives by name."""
PLAIN = (
    *("answer", "text", "prose", "fenced", "truncated", "refusal", "thinking_first", "no_content", "half"),
    *("rate_limited", "spend_limit", "overloaded", "server_error", "wrong_key", "not_allowed", "unknown_model"),
    *("schema_too_large", "prompt_too_long", "no_credit", "hang", "close", "not_json", "not_json_as_json"),
    "empty_body",
)
"""Replies with one argument or none."""


class ScriptError(Exception):
    """A request that the script has no reply for, or a script that can't be used."""


class Script(Protocol):
    """Picks replies. `pick` runs as a request arrives, one at a time; what it returns may take its time."""

    def pick(self, asked: Asked) -> Callable[[], Reply]:
        """Return how to get the reply to a request; raises ScriptError when there is none."""
        ...


class InOrder:
    """Replies used in order of arrival; one reply alone is used every time."""

    def __init__(self, given: Replies, name: str = "the script") -> None:
        self._always = given if isinstance(given, Reply) else None
        self._left = [] if isinstance(given, Reply) else list(given)
        self._size = len(self._left)
        self._name = name

    def pick(self, asked: Asked) -> Callable[[], Reply]:
        """Return the next reply."""
        if self._always is None and not self._left:
            raise ScriptError(f"request {asked.number} is one too many: {self._name} has {self._size} replies")
        reply = self._always or self._left.pop(0)
        return lambda: reply


class ByKey:
    """Replies by what a request is about.

    Keys are texts looked for in the request as whole words, the longest found wins; or `key_of` tells the key.
    """

    def __init__(self, given: Mapping[str, Replies], key_of: Callable[[Asked], str | None] | None = None) -> None:
        self._by_key = {key: InOrder(value, f"key {key!r}") for key, value in given.items()}
        self._key_of = key_of or self._found

    def pick(self, asked: Asked) -> Callable[[], Reply]:
        """Return the next reply of the request's key, or of the default."""
        script = self._by_key.get(self._key_of(asked) or DEFAULT) or self._by_key.get(DEFAULT)
        if script is None:
            raise ScriptError(f"request {asked.number} has none of the keys: {', '.join(self._by_key)}")
        return script.pick(asked)

    def _found(self, asked: Asked) -> str | None:
        keys = (k for k in self._by_key if k != DEFAULT and re.search(rf"(?<!\w){re.escape(k)}(?!\w)", asked.text))
        return max(keys, key=len, default=None)


class Called:
    """A function of the request; it runs in the thread of the request and may block it."""

    def __init__(self, function: Callable[[Asked], Reply]) -> None:
        self._function = function

    def pick(self, asked: Asked) -> Callable[[], Reply]:
        """Return the call."""
        return lambda: self._function(asked)


def as_script(given: Given | Script) -> Script:
    """Return a script from any of its forms."""
    if isinstance(given, InOrder | ByKey | Called):
        return given
    if isinstance(given, Mapping):
        return ByKey(given)
    if isinstance(given, Reply | Sequence):
        return InOrder(given)
    return Called(given) if callable(given) else given


def read_script(path: Path) -> Script:
    """Read a file of replies; raises ScriptError, which names the place, where it can't be used."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScriptError(f"{path}: {error}") from None
    if isinstance(given, Mapping) and not _is_reply(given):
        return ByKey({key: _replies(value, f"{path}: {key}") for key, value in given.items()})
    return InOrder(_replies(given, str(path)))


def _replies(given: object, place: str) -> Replies:
    if isinstance(given, list):
        return [_reply(one, f"{place}[{n}]") for n, one in enumerate(given)]
    return _reply(given, place)


def _is_reply(given: Mapping[str, Any]) -> bool:
    return len(names := given.keys() - {"after"}) == 1 and names <= {*PLAIN, *NAMED}


def _reply(given: object, place: str) -> Reply:
    if not isinstance(given, Mapping) or not _is_reply(given):
        raise ScriptError(f"{place}: not a reply; known are {', '.join(sorted((*PLAIN, *NAMED)))}")
    ((name, argument),) = ((k, v) for k, v in given.items() if k != "after")
    try:
        reply = _call(name, argument)
        return reply.after(float(given["after"])) if "after" in given else reply
    except (TypeError, ValueError) as error:
        raise ScriptError(f"{place}: {name}: {error}") from None


def _call(name: str, argument: Any) -> Reply:
    make: Callable[..., Reply] = getattr(replies, name)
    if name in NAMED:
        return make(**argument)
    takes_any = name in ("answer", "prose", "fenced", "thinking_first")
    return make() if argument in (None, {}) and not takes_any else make(argument)
