"""File names as they may stand in a message: one line, nothing that moves the cursor or turns the text round."""

from __future__ import annotations

import json


def shown(name: str) -> str:
    """Return the name with every character that can't be printed written as an escape; `name` may be anything."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def quoted(name: str) -> str:
    """Return the name as a JSON string that is also a YAML string, and that collapsing white space doesn't change."""
    text = json.dumps(name, ensure_ascii=False)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return text.replace("  ", " \\u0020")
