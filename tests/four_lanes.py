"""A campaign with all four lanes, and a scripted model that answers honestly for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notarius_assets.identity import location_id, npc_id
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.codec import encode
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from tests.conftest import Campaign, write_campaign
from tests.models.world import chunk_of

NPCS, INTERACTIONS, LOCATIONS, OCCURRENCES = BUILT_IN

STEPS = """\
steps:
  - name: registries
    lanes:
      - lane: dnd/npcs
      - lane: dnd/locations
  - name: occurrences
    lanes:
      - lane: dnd/npc-interactions
        references:
          npcs: dnd/npcs
      - lane: dnd/location-occurrences
        references:
          locations: dnd/locations
"""

TABLES = (
    "transcript_units",
    "transcript_chunks",
    "npc_candidates",
    "npcs",
    "location_candidates",
    "locations",
    "npc_interaction_candidates",
    "npc_interactions",
    "location_occurrence_candidates",
    "location_occurrences",
)
"""The tables of a session of `STEPS`, in the order of the data's way."""

PEOPLE = ("Orrick Thane", "Captain Hestrel", "Wenna", "Dunstan")
PLACES = ("Greywater Mill", "Cold Ferry", "Lantern Inn", "Saltmarket")
GAZETTEER = "gazetteer: {locations: [{name: Greywater Mill}, {name: Cold Ferry}, {name: Lantern Inn}]}\n"
"""So that the rules find the places whatever else they know."""

STORIES = {
    "session-01": """\
DM: The road ends at Greywater Mill. A miller named Orrick Thane steps out.
ANNA: Good evening, Orrick Thane! Is there a bed for two tired people?
DM: "In Greywater Mill there is always a bed," says Orrick Thane. "Captain Hestrel has one in Cold Ferry, too."
BEN: Tomorrow we go to Cold Ferry and greet Captain Hestrel.
DM: You walk into Greywater Mill, and Orrick Thane closes the door.
ANNA: I sleep. I take the side without the rat.
""",
    "session-02": """\
DM: You stand in the Lantern Inn. "I am Wenna," says the woman behind the counter of Lantern Inn.
BEN: Thank you, Wenna. Has Dunstan come from Cold Ferry?
DM: "Dunstan is under that table," says Wenna, and so he is.
ANNA: Good night, Wenna. Good night, Dunstan. We leave for Cold Ferry at dawn.
DM: The lights of the Lantern Inn go out, one by one.
BEN: I listen to the rain.
""",
}


def write_four(
    root: Path, *, extra: str = GAZETTEER, steps: str = STEPS, stories: Mapping[str, str] | None = None
) -> Campaign:
    """Write a campaign with four lanes; two sessions, each with two places."""
    return write_campaign(root, sessions=0, stories=stories or STORIES, extra=extra, steps=steps)


# --- static registries ------------------------------------------------------------------------------------------


def place(name: str, start: int, end: int | None = None, source_id: str = "hill-road/session-01") -> dict[str, Any]:
    """Return a durable place of one range, with the id that follows."""
    last = start if end is None else end
    refs = [{"source_id": source_id, "start_unit_id": start, "end_unit_id": last}]
    return {"id": location_id(name, source_id, start, last), "name": name, "source_refs": refs}


def person(name: str, start: int, source_id: str = "hill-road/session-01") -> dict[str, Any]:
    """Return a durable NPC of one unit, with the id that follows."""
    refs = [{"source_id": source_id, "start_unit_id": start, "end_unit_id": start}]
    return {"id": npc_id(name, source_id), "name": name, "source_refs": refs}


def document(*records: Mapping[str, Any]) -> bytes:
    """Return a location registry as `export` writes it."""
    return encode(LOCATIONS, records)


# --- the model --------------------------------------------------------------------------------------------------

_ENTRY = re.compile(r'^(c\d{3}) \| ("(?:[^"\\]|\\.)*") \| units', re.M)


def root_of(asked: Asked) -> str:
    """Return what is asked for: the root of the private response."""
    (root,) = asked.body["output_config"]["format"]["schema"]["properties"]
    return str(root)


def lane_of(asked: Asked) -> str:
    """Return which lane asks, with `duplicates` where a registry asks for its duplicates."""
    root = root_of(asked)
    if root == "groups":
        names = {json.loads(name) for _, name in _ENTRY.findall(asked.text)}
        return f"{(NPCS if names & set(PEOPLE) else LOCATIONS).key} duplicates"
    return next(lane.key for lane in BUILT_IN if lane.root == root)


def honest(asked: Asked) -> Reply:
    """Answer as somebody who finds every name in the units that hold it, and takes equal names for one."""
    root = root_of(asked)
    if root == "groups":
        return replies.answer({"groups": _groups(asked)})
    lines = chunk_of(asked)
    if root in (NPCS.root, LOCATIONS.root):
        known = PEOPLE if root == NPCS.root else PLACES
        return replies.answer({root: [{"name": name, **_cited(name, lines)} for name in known if _cited(name, lines)]})
    if root == INTERACTIONS.root:
        found = [{"name": name, "kind": "dialogue", **_cited(name, lines)} for name in PEOPLE if _cited(name, lines)]
        return replies.answer({root: found})
    entries = json.loads(asked.text.rpartition("<registry>\n")[2].partition("\n</registry>")[0])
    places = [
        {"location_id": entry["id"], "name": entry["name"], "kind": "mentioned", **_cited(entry["name"], lines)}
        for entry in entries
        if _cited(entry["name"], lines)
    ]
    return replies.answer({root: places})


def _cited(name: str, lines: Mapping[int, str]) -> dict[str, Any]:
    ranges = [{"start": n, "end": n} for n, line in lines.items() if name in line]
    return {"ranges": ranges} if ranges else {}


def _groups(asked: Asked) -> Sequence[dict[str, Any]]:
    by_name: dict[str, list[str]] = {}
    for key, name in _ENTRY.findall(asked.text):
        by_name.setdefault(json.loads(name), []).append(key)
    return [{"members": keys, "canonical": keys[0]} for keys in by_name.values() if len(keys) > 1]
