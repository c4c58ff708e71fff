"""What a reader of one format is: the place where another format is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from notarius_assets.transcripts.content import Content
from notarius_assets.transcripts.intake import Intake


@dataclass(frozen=True, slots=True)
class Reading:
    """A format's name, and how many records the reader saw, counted apart from what it did with them."""

    format: str
    records_seen: int


@dataclass(frozen=True, slots=True)
class Reader:
    """One family of formats.

    `takes` tells by content, never by name, whether a file is one of them. `read` puts every record into the intake
    once. `version` changes with anything that could change a unit. `suffixes` are the usual names' ends; a file
    with the suffix of another format is read with the warning `format_mismatch`.
    """

    name: str
    version: str
    suffixes: frozenset[str]
    takes: Callable[[Content], bool]
    read: Callable[[Content, Intake], Reading]
