"""A gold file: what careful readers found in an excerpt or a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, StrictInt, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from notarius_assets.errors import ConfigurationError
from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.evaluation.records import Records, by_layer, first_problem

_NEXT = "correct it as docs/reference/evaluation.md describes"


MOST_TURNS = 1_000_000
"""Turns of the longest transcript that a gold file may be of."""


class Gold(Records):
    """A gold file read. Fields it does not know (readers, notes, …) are kept and ignored.

    `source` is the episode the turns were numbered in, `range` the first and last turn that were read (inclusive):
    unit 1 of the session is turn `range[0]`. All `refs` are turn numbers of the whole episode. `label` names the
    gold file in reports.
    """

    source: str = Field(min_length=1)
    range: tuple[StrictInt, StrictInt]
    label: str = ""
    party: tuple[str, ...] = ()
    players: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_file(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        lists = by_layer({name: value for name, value in raw.items() if name != "label"})
        return {**lists, "label": raw.get("source", "")}

    @field_validator("range")
    @classmethod
    def _forward(cls, span: tuple[int, int]) -> tuple[int, int]:
        if span[0] > span[1]:
            raise PydanticCustomError("reversed", "the last turn stands before the first")
        if span[1] - span[0] >= MOST_TURNS:
            raise PydanticCustomError("wide", "more than {most} turns are no transcript", {"most": f"{MOST_TURNS:,}"})
        return span

    @property
    def first(self) -> int:
        """The turn that is unit 1 of the session."""
        return self.range[0]

    @property
    def length(self) -> int:
        """How many units the session has if no turn was dropped at ingest."""
        return self.range[1] - self.range[0] + 1

    def remarks(self) -> tuple[str, ...]:
        """Return what readers should look at again, one line each; scoring works with all of it.

        A record without evidence or with evidence outside `range`, an event whose entity is not listed, and two
        entities of one layer that answer to one key: events can only be tied to the last of them.
        """
        return tuple(line for layer in LAYERS for line in self._remarks(layer.entities, layer.events))

    def _remarks(self, entities: str, events: str) -> list[str]:
        out: list[str] = []
        keys: set[str] = set()
        for i, entity in enumerate(self.entities.get(entities, ())):
            out += self._evidence_remarks(f"{entities}[{i}]", entity.refs)
            if entity.key in keys:
                out.append(f"{entities}[{i}]: {entity.key!r} is listed twice")
            keys.add(entity.key)
        for i, event in enumerate(self.events.get(events, ())):
            out += self._evidence_remarks(f"{events}[{i}]", event.refs)
            if event.entity not in keys:
                out.append(f"{events}[{i}]: {event.entity!r} is not among the {entities}")
        return out

    def _evidence_remarks(self, place: str, refs: tuple[tuple[int, int], ...]) -> list[str]:
        if not refs:
            return [f"{place}: no evidence"]
        low, high = self.range
        return [f"{place}: {a}-{b} lies outside {low}-{high}" for a, b in refs if a < low or b > high]


def load_gold(path: Path) -> Gold:
    """Read a gold file; its label is the file's name without `.json` and `.gold`.

    Raises ConfigurationError, one line naming file, place and reason, when it can't be read or has not the shape.
    """
    try:
        raw = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error.strerror or error}", next_step="give the path of a gold file"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: no JSON ({error})", next_step=_NEXT) from None
    try:
        gold = Gold.model_validate(raw)
    except ValidationError as error:
        raise first_problem(error, str(path), _NEXT) from None
    return gold.model_copy(update={"label": stem(path)})


def stem(path: Path) -> str:
    """Return the file's name without the `.json` and `.gold` at its end."""
    return path.name.removesuffix(".json").removesuffix(".gold")
