"""What is known of models: sizes and list prices, from one dated data file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from notarius_assets.models.messages import Usage

_FILE = Path(__file__).with_name("facts.yaml")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars a million tokens, for prompts of at most `up_to` tokens."""

    up_to: int
    input: float
    cache_write: float
    cache_read: float
    output: float


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model: its sizes in tokens, and its prices by size of the prompt."""

    name: str
    context: int
    output: int
    prices: tuple[Prices, ...]
    cache_minimum: int | None = None

    def cost(self, usage: Usage) -> float:
        """Return the list price of one synchronous call in US dollars."""
        row = next((p for p in self.prices if usage.prompt <= p.up_to), self.prices[-1])
        millionths = (
            usage.input * row.input
            + usage.cache_write * row.cache_write
            + usage.cache_read * row.cache_read
            + usage.output * row.output
        )
        return millionths / 1_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """The data file. `batch` is what a message batch costs of the synchronous price."""

    as_of: str
    batch: float
    models: dict[str, ModelFacts]

    def of(self, model: str) -> ModelFacts | None:
        """Return what is known of a model, or None."""
        return self.models.get(model)

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the list price of one call in US dollars, or None where the model's prices are not known."""
        known = self.of(model)
        return known.cost(usage) if known else None


@cache
def facts() -> Facts:
    """Return the facts this version ships with."""
    data = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    models = {
        name: ModelFacts(
            name=name,
            context=m["context"],
            output=m["output"],
            prices=tuple(Prices(**row) for row in m["prices"]),
            cache_minimum=m.get("cache_minimum"),
        )
        for name, m in data["models"].items()
    }
    return Facts(str(data["as_of"]), float(data["batch"]), models)
