"""What a model is asked: the prompt files and one window, put together in a fixed order.

Whatever is the same for all chunks of a session and lane comes first, byte for byte, so that a provider can cache it.
The chunk comes last, in a frame that no unit can leave: a unit is one line that begins with its own number, and text
that imitates the frame or a unit's number is shown with other brackets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.identity import compact_json, digest
from notarius_assets.lanes.base import Lane
from notarius_assets.models.window import WindowRequest
from notarius_assets.resources import read_text
from notarius_assets.transcripts.model import Unit

CAMPAIGN = "shared/campaign.md"
REGISTRY = "shared/registry.md"
CHUNK = "shared/chunk.md"
REASK = "shared/reask.md"
FRAMES = (CAMPAIGN, REGISTRY, CHUNK, REASK)
"""The files that hold what is filled in, the same for every lane; a lane names its instructions itself."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_TAG = re.compile(r"[<＜](?=\s*[/／]?\s*(?:chunk|context_before|context_after|campaign|registry|example)\b)", re.I)
_NUMBER = re.compile(r"[\[［]\s*(\d+|context)\s*[\]］]", re.I)
_FILLERS = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10))))
"""Characters that nobody sees and that are no format characters by category."""

_JSON_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<\u0085\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Message:
    """One part of a request. `cache_breakpoint` marks where a prefix ends that many requests share.

    There are two: what all sessions of a campaign share, and with a registry what all chunks of a session do.
    """

    role: str
    text: str
    cache_breakpoint: bool = False


def assemble(lane: Lane, request: WindowRequest) -> tuple[Message, ...]:
    """Return the request: shared instructions, lane instructions, campaign references, registry projection, chunk.

    The registry's message is left out for a lane that binds none.
    """
    stable = [Message("system", _text(path)) for path in lane.prompts]
    stable.append(Message("user", _fill(CAMPAIGN, campaign=_json(_campaign(request.campaign))), True))
    if request.registry is not None:
        stable.append(Message("user", _fill(REGISTRY, registry=_json(list(request.registry))), True))
    return (*stable, Message("user", _chunk(lane.root, request)))


def instructions_length(lane: Lane) -> int:
    """Return how many characters of a lane's requests are the same for all sessions: what a server can cache."""
    return sum(len(_text(path)) for path in lane.prompts)


def reask_text(root: str, reason: str) -> str:
    """Return what is added to a request whose answer could not be read; `reason` is a code."""
    return _fill(REASK, root=root, reason=reason).strip()


def prompt_text(messages: Sequence[Message]) -> str:
    """Return a request as one text for a terminal, each message under a line with its role and size."""
    parts = []
    for n, message in enumerate(messages, 1):
        cached = ", cached up to here" if message.cache_breakpoint else ""
        parts.append(f"---- {n} {message.role}, {len(message.text):,} characters{cached} ----\n{message.text}")
    return "\n".join(parts)


def prompts_digest(lane: Lane) -> str:
    """Return the SHA-256 over every prompt text the lane's requests are made of."""
    return digest([_text(path) for path in (*lane.prompts, *FRAMES)])


@cache
def _text(path: str) -> str:
    return read_text("prompts", path)


def _fill(path: str, **values: str) -> str:
    # One pass: what is put in is not looked through again, so a transcript can't name a slot.
    return _SLOT.sub(lambda found: values[found[1]], _text(path))


def _campaign(references: CampaignReferences) -> Mapping[str, Any]:
    return {
        "dungeon_masters": list(references.dms),
        "players": dict(sorted(references.players.items())),
        "known_npcs": [{"name": n.name, "aliases": list(n.aliases)} for n in references.npcs],
    }


def _json(value: Any) -> str:
    return compact_json(value).translate(_JSON_ESCAPES)


def _chunk(root: str, request: WindowRequest) -> str:
    return _fill(
        CHUNK,
        first=str(request.units[0].unit_id),
        last=str(request.units[-1].unit_id),
        before=_context(request.before),
        units="\n".join(f"[{u.unit_id}] {_said(u)}" for u in request.units),
        after=_context(request.after),
        root=root,
    )


def _context(units: Iterable[Unit]) -> str:
    return "\n".join(f"[context] {_said(u)}" for u in units)


def _said(unit: Unit) -> str:
    speakers = ", ".join(map(_plain, unit.speakers)) or "?"
    return f"{speakers}: {_plain(unit.text)}"


def _plain(text: str) -> str:
    """Return text as one line in which nothing looks like the frame or like the beginning of a unit."""
    line = " ".join(text.split())
    # between the letters of a tag, characters that nobody sees would hide it; elsewhere scripts and emoji need them
    if not line.isascii():
        seen = "".join(c for c in line if c not in _FILLERS and unicodedata.category(c) != "Cf")
        line = seen if _frame_like(seen) > _frame_like(line) else line
    return _NUMBER.sub(r"(\1)", _TAG.sub("‹", line))


def _frame_like(line: str) -> int:
    return len(_TAG.findall(line)) + len(_NUMBER.findall(line))
