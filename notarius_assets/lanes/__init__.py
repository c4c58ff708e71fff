"""Lanes: one module each, its contract and its rules as one declared `Lane`."""

from __future__ import annotations

from notarius_assets.lanes import location_occurrences, locations, npc_interactions, npcs
from notarius_assets.lanes.base import Lane

BUILT_IN: tuple[Lane, ...] = (npcs.LANE, npc_interactions.LANE, locations.LANE, location_occurrences.LANE)
"""Every lane that ships, producers before consumers."""
