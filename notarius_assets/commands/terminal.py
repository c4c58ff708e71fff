"""Print for people and for programs: text to stdout, progress and problems to stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console


FOLDED = 24
"""Columns of at most so many characters are never folded in a terminal."""


def out(text: str = "") -> None:
    """Print a line to stdout."""
    sys.stdout.write(safe(text) + "\n")


def note(text: str) -> None:
    """Print a line to stderr."""
    sys.stderr.write(safe(text) + "\n")


def safe(text: str) -> str:
    """Return text without control characters: a transcript must not drive the terminal."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") or c == "\u200d" else "\ufffd"
        for c in text
    )


def counted(n: int, word: str) -> str:
    """Return a number with its noun: `1 session`, `2 sessions`."""
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def json_out(value: Any) -> None:
    """Print one JSON document to stdout."""
    import orjson

    try:
        data = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE, default=str)
    except TypeError:
        # SQL has integers of more than 64 bits, and maps whose keys are no text
        data = json.dumps(_with_text_keys(value), indent=2, default=str).encode() + b"\n"
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _with_text_keys(v) for k, v in value.items()}
    return [_with_text_keys(v) for v in value] if isinstance(value, list | tuple) else value


def console(stderr: bool = False) -> Console:
    """Return a terminal that honours NO_COLOR and knows whether anybody looks."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=not (sys.stderr if stderr else sys.stdout).isatty())


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """Print a table; numbers to the right, text never read as markup.

    Where nobody looks, lines are as long as they need to be. On a terminal only long columns are folded; one that is
    too narrow for the others gets a line a value.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    kept = [list(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in kept]
    widths = [max(len(name), *(len(row[n]) for row in cells)) if cells else len(name) for n, name in enumerate(head)]
    terminal = console()
    if not terminal.is_terminal:
        terminal.width = sum(widths) + 3 * len(widths)
    elif sum(min(w, FOLDED) + 3 for w in widths) > terminal.width:
        _records(head, cells)
        return
    shown = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for n, name in enumerate(head):
        numbers = bool(kept) and all(isinstance(r[n], int | float) or r[n] is None for r in kept)
        justify: Literal["right", "left"] = "right" if numbers else "left"
        shown.add_column(Text(name), justify=justify, overflow="fold", no_wrap=widths[n] <= FOLDED)
    for row in cells:
        shown.add_row(*map(Text, row))
    terminal.print(shown)


def _records(head: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    widest = max(map(len, head))
    for row in cells:
        for name, cell in zip(head, row, strict=True):
            out(f"{name:<{widest}}  {cell}")
        out()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_cell(v)}" for k, v in value.items()).join("{}")
    return safe(str(value)).replace("\n", " ")


def as_dicts(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Mapping[str, Any]]:
    """Return rows as dictionaries, for JSON."""
    return [dict(zip(head, row, strict=True)) for row in rows]
