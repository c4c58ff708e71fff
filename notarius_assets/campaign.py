"""What the campaign's owner declares: who speaks for whom, and names already known.

It may disambiguate a name; it is never evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from notarius_assets.identity import comparison_name


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of the gazetteer with the other forms it is known by."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The name, then its aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class CampaignReferences:
    """Speakers, party, gazetteer and glossary of one campaign.

    `dms` are speaker labels of the Dungeon Master. `players` maps a speaker label to the character it plays, `party`
    names characters beside those, such as an absent player's. `glossary` maps a term of the campaign to its meaning.
    """

    dms: tuple[str, ...] = ()
    players: Mapping[str, str] = field(default_factory=dict)
    npcs: tuple[KnownName, ...] = ()
    locations: tuple[KnownName, ...] = ()
    party: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)

    @property
    def characters(self) -> tuple[str, ...]:
        """The party: every character of the players, each once."""
        return tuple(dict.fromkeys((*(character for _, character in sorted(self.players.items())), *self.party)))

    @cached_property
    def declared_names(self) -> Mapping[str, str]:
        """Every form of a declared NPC or place in comparison form, with the declared name in comparison form."""
        known = [(form, entry.name) for entry in (*self.npcs, *self.locations) for form in entry.forms]
        return {comparison_name(form): comparison_name(name) for form, name in reversed(known)}

    def as_json(self) -> dict[str, Any]:
        """Return a JSON form, stable under equality; part of fingerprints."""
        return {
            "dms": list(self.dms),
            "players": dict(sorted(self.players.items())),
            "npcs": [[n.name, list(n.aliases)] for n in self.npcs],
            "locations": [[n.name, list(n.aliases)] for n in self.locations],
            "party": list(self.party),
            "glossary": dict(sorted(self.glossary.items())),
        }
