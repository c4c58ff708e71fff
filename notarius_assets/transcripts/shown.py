"""File names as they may stand in a message: one line, nothing that moves the cursor or turns the text round."""

from __future__ import annotations


def shown(name: str) -> str:
    """Return the name with every character that can't be printed written as an escape; `name` may be anything."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
