"""What is scored, as data: a pair of a registry and its occurrences, in the gold files and in our documents."""

from __future__ import annotations

from dataclasses import dataclass

from notarius_assets.identity import comparison_name
from notarius_assets.lanes.records import INTERACTION_KINDS


@dataclass(frozen=True, slots=True)
class Layer:
    """A registry (`entities`) and the occurrences of its records (`events`).

    `entities` and `events` are the roots of both lists, in a gold file as in an exported document. `kinds` is the
    closed vocabulary of the events, in its own order. `gold_key` is the field of a gold entity, and `gold_link` the
    field of a gold event, that tie the two; `document_key` and `document_link` are the same in exported documents.
    `by_name` says that the tie is a name, so equality of comparison names ties. The tables name the exported files.
    """

    entities: str
    events: str
    kinds: tuple[str, ...]
    gold_key: str
    gold_link: str
    document_key: str
    document_link: str
    by_name: bool
    entities_table: str
    events_table: str

    @property
    def events_with_kind(self) -> str:
        """The name under which events are scored when the kind must be right too."""
        return f"{self.events}_kind"

    def tie(self, value: str) -> str:
        """Return a key or link in the form under which the two are compared."""
        return comparison_name(value) if self.by_name else value


LAYERS = (
    Layer(
        entities="npcs",
        events="interactions",
        kinds=INTERACTION_KINDS,
        gold_key="name",
        gold_link="name",
        document_key="name",
        document_link="name",
        by_name=True,
        entities_table="npcs",
        events_table="npc_interactions",
    ),
    Layer(
        entities="locations",
        events="occurrences",
        kinds=("visited", "planned", "recalled", "mentioned"),
        gold_key="key",
        gold_link="location",
        document_key="id",
        document_link="location_id",
        by_name=False,
        entities_table="locations",
        events_table="location_occurrences",
    ),
)
"""Every layer an evaluation knows. Another one is another entry; no other module changes."""
