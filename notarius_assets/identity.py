"""Names and canonical ids: what makes two records the same one.

Source: the identity policies of the two specifications; right values in tests/vectors/contracts.json.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from functools import lru_cache
from typing import Any

_INVISIBLE = dict.fromkeys((0x200B, 0xFEFF, 0x00AD))
"""Zero-width space, byte order mark and soft hyphen: removed from display names."""

_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\uff07\u0060\u00b4"), "'")
"""Apostrophe-like characters folded to `'` in comparison names."""

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]|[.](?![.])){0,79}")
_NPC_POLICY = "dnd.npcs.identity.v1"
_LOCATION_POLICY = "dnd.locations.identity.v1"


def display_name(name: str) -> str:
    """Return the name as it is shown: invisible characters gone, white space collapsed."""
    return " ".join(name.translate(_INVISIBLE).split())


@lru_cache(maxsize=1 << 16)
def comparison_name(name: str) -> str:
    """Return the form under which names are equal; empty when the name is blank."""
    folded = display_name(name).translate(_APOSTROPHES)
    folded = unicodedata.normalize("NFKC", folded).translate(_APOSTROPHES)
    return " ".join(folded.split()).casefold()


def compact_json(value: Any) -> str:
    """Return JSON without spaces, keys in their given order, only the escapes JSON requires."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the lower-case hex SHA-256 of a value's compact JSON."""
    return hashlib.sha256(compact_json(value).encode()).hexdigest()


def npc_id(name: str, source_id: str) -> str | None:
    """Return `npc:sha256:<hex>` for a name in one source, or None for a blank name."""
    comparison = comparison_name(name)
    if not comparison:
        return None
    return f"npc:sha256:{digest([_NPC_POLICY, comparison, source_id])}"


def location_id(name: str, source_id: str, start_unit_id: int, end_unit_id: int) -> str | None:
    """Return `location:sha256:<hex>` for a name and its earliest evidence in one source, or None for a blank name.

    The evidence keeps two places of one name apart.
    """
    comparison = comparison_name(name)
    if not comparison:
        return None
    return f"location:sha256:{digest([_LOCATION_POLICY, comparison, source_id, start_unit_id, end_unit_id])}"


def slug(text: str) -> str | None:
    """Return the slug of a file's stem or a campaign's name, or None when nothing usable is left."""
    decomposed = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in decomposed if not unicodedata.combining(c)).lower()
    dashed = re.sub(r"[^a-z0-9._-]+|\.{2,}", "-", plain)
    cut = dashed.strip("-._")[:80]
    return cut if is_slug(cut) else None


def is_slug(text: str) -> bool:
    """Tell whether a text may stand in a source_id and in a path."""
    return _SLUG.fullmatch(text) is not None
