"""What the campaign's owner declares: who speaks for whom, and names already known.

It may disambiguate a name; it is never evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of the gazetteer with the other forms it is known by."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The name, then its aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class CampaignReferences:
    """Speakers and gazetteer of one campaign.

    `dms` are speaker labels of the Dungeon Master. `players` maps a speaker label to the character it plays.
    """

    dms: tuple[str, ...] = ()
    players: Mapping[str, str] = field(default_factory=dict)
    npcs: tuple[KnownName, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return a JSON form, stable under equality; part of fingerprints."""
        return {
            "dms": list(self.dms),
            "players": dict(sorted(self.players.items())),
            "npcs": [[n.name, list(n.aliases)] for n in self.npcs],
        }
