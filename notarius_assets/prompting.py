"""What a model is asked: the prompt files and one window, put together in a fixed order.

Whatever is the same for all chunks of a session and lane comes first, byte for byte, so that a provider can cache it.
The chunk comes last, in a frame that no unit can leave: a unit is one line that begins with its own number, and text
that imitates the frame or a unit's number is shown with other brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from notarius_assets.campaign import CampaignReferences
from notarius_assets.framing import framed_json, said
from notarius_assets.identity import digest
from notarius_assets.lanes.base import Lane, Reconciliation
from notarius_assets.models.window import WindowRequest
from notarius_assets.reconcile.request import ReconcileRequest
from notarius_assets.resources import read_text
from notarius_assets.transcripts.model import Unit

CAMPAIGN = "shared/campaign.md"
REGISTRY = "shared/registry.md"
CHUNK = "shared/chunk.md"
REASK = "shared/reask.md"
FRAMES = (CAMPAIGN, REGISTRY, CHUNK, REASK)
"""The files that hold what is filled in, the same for every lane; a lane names its instructions itself."""

RECONCILIATION = "shared/reconciliation.md"
CANDIDATES = "shared/candidates.md"
PROPOSE_AGAIN = "shared/propose-again.md"
RECONCILIATION_FRAMES = (RECONCILIATION, CAMPAIGN, CANDIDATES, PROPOSE_AGAIN)
"""The files of a request for duplicate groups, the same for every registry; a lane names its own rules itself."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")


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
    stable.append(Message("user", _fill(CAMPAIGN, campaign=framed_json(_campaign(request.campaign))), True))
    if request.registry is not None:
        stable.append(Message("user", _fill(REGISTRY, registry=framed_json(list(request.registry))), True))
    return (*stable, Message("user", _chunk(lane.root, request)))


def assemble_reconciliation(lane: Lane, request: ReconcileRequest, ask: int) -> tuple[Message, ...]:
    """Return the request for duplicate groups: shared instructions, the lane's rules, campaign, candidates, evidence.

    `ask` counts from 1; later ones say that the earlier answer could not be used, so that each is a request of its own.
    """
    messages = [
        Message("system", _text(RECONCILIATION)),
        Message("system", _text(reconciliation_of(lane).task)),
        Message("user", _fill(CAMPAIGN, campaign=framed_json(_campaign(request.campaign))), True),
        Message(
            "user",
            _fill(
                CANDIDATES,
                candidates=request.candidate_lines,
                evidence=request.evidence_lines,
                first=request.entries[0].key,
                last=request.entries[-1].key,
            ),
        ),
    ]
    if ask > 1:
        messages.append(Message("user", _fill(PROPOSE_AGAIN, ask=str(ask)).strip()))
    return tuple(messages)


def reconciliation_of(lane: Lane) -> Reconciliation:
    """Return how a registry is reconciled; a lane that has none is never asked."""
    if lane.reconciliation is None:
        raise ValueError(f"{lane.key} is not reconciled")
    return lane.reconciliation


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


def reconciliation_digest(lane: Lane) -> str:
    """Return the SHA-256 over every prompt text a registry's requests for duplicate groups are made of."""
    return digest([_text(path) for path in (reconciliation_of(lane).task, *RECONCILIATION_FRAMES)])


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
        "party": list(references.characters),
        "known_npcs": [{"name": n.name, "aliases": list(n.aliases)} for n in references.npcs],
        "known_locations": [{"name": n.name, "aliases": list(n.aliases)} for n in references.locations],
        "glossary": dict(sorted(references.glossary.items())),
    }


def _chunk(root: str, request: WindowRequest) -> str:
    return _fill(
        CHUNK,
        first=str(request.units[0].unit_id),
        last=str(request.units[-1].unit_id),
        before=_context(request.before),
        units="\n".join(f"[{u.unit_id}] {said(u)}" for u in request.units),
        after=_context(request.after),
        root=root,
    )


def _context(units: Iterable[Unit]) -> str:
    return "\n".join(f"[context] {said(u)}" for u in units)
