"""What is compared: entities and events with their evidence, alike for a gold file and for a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from notarius_assets.errors import ConfigurationError
from notarius_assets.evaluation.layers import LAYERS, Layer
from notarius_assets.evaluation.ranges import Ranges


def _forward(refs: Ranges) -> Ranges:
    for start, end in refs:
        if start > end:
            raise PydanticCustomError("reversed", "the range {s}-{e} ends before it starts", {"s": start, "e": end})
    return refs


Evidence = Annotated[tuple[tuple[StrictInt, StrictInt], ...], AfterValidator(_forward)]
"""Inclusive ranges of turn numbers of the whole episode."""


class Entity(BaseModel):
    """A record of a registry. `key` is what events name it by, in the form in which the layer compares it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    key: str = Field(min_length=1)
    name: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    optional: bool | None = False
    refs: Evidence


class Event(BaseModel):
    """An occurrence of an entity, named by `entity` in the form in which the layer compares it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    entity: str = Field(min_length=1)
    kind: str
    optional: bool | None = False
    refs: Evidence


class Records(BaseModel):
    """Entities and events by the root of their list ("npcs", "interactions", …); an absent root was not judged."""

    model_config = ConfigDict(frozen=True, extra="allow")

    entities: dict[str, tuple[Entity, ...]]
    events: dict[str, tuple[Event, ...]]

    @model_validator(mode="after")
    def _known_kinds(self) -> Records:
        for layer in LAYERS:
            for i, event in enumerate(self.events.get(layer.events, ())):
                if event.kind not in layer.kinds:
                    raise PydanticCustomError(
                        "kind",
                        "{place}: {kind} is not one of {known}",
                        {
                            "place": f"{layer.events}[{i}].kind",
                            "kind": repr(event.kind),
                            "known": ", ".join(layer.kinds),
                        },
                    )
        return self


def by_layer(lists: Mapping[str, Any]) -> dict[str, Any]:
    """Move the lists of a gold file under `entities` and `events`, keys and links in compared form.

    What has not the shape is passed on as it is: validation says what is wrong with it. Other fields stay.
    """
    roots = {root for layer in LAYERS for root in (layer.entities, layer.events)}
    out: dict[str, Any] = {name: value for name, value in lists.items() if name not in roots}
    out["entities"] = {
        layer.entities: _tied(lists[layer.entities], "key", layer.gold_key, layer)
        for layer in LAYERS
        if layer.entities in lists
    }
    out["events"] = {
        layer.events: _tied(lists[layer.events], "entity", layer.gold_link, layer)
        for layer in LAYERS
        if layer.events in lists
    }
    return out


def _tied(items: Any, field: str, source: str, layer: Layer) -> Any:
    if not isinstance(items, list):
        return items
    return [_with_tie(item, field, source, layer) for item in items]


def _with_tie(item: Any, field: str, source: str, layer: Layer) -> Any:
    if not isinstance(item, Mapping):
        return item
    rest = {name: value for name, value in item.items() if name != field}
    if source not in item:
        return rest
    value = item[source]
    return {**rest, field: layer.tie(value) if isinstance(value, str) else value}


def first_problem(error: ValidationError, file: str, next_step: str) -> ConfigurationError:
    """Return the first fault as one line: file, place, reason; a count of the others."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    place = _place(faults[0]["loc"])
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    reason = faults[0]["msg"]
    return ConfigurationError(
        f"{file}: {place}: {reason}{more}" if place else f"{file}: {reason}{more}", next_step=next_step
    )


def _place(loc: tuple[int | str, ...]) -> str:
    parts = list(loc)
    if len(parts) > 1 and parts[0] in ("entities", "events"):
        parts = parts[1:]
        for layer in LAYERS:
            if parts[0] == layer.entities and parts[-1] == "key":
                parts[-1] = layer.gold_key
            if parts[0] == layer.events and parts[-1] == "entity":
                parts[-1] = layer.gold_link
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".")
