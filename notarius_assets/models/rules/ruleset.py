"""The declared rules: the YAML files of this folder, validated, frozen and compiled.

Python holds the machinery; every word list, cue, weight and limit is in the files, where a game master can edit it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from notarius_assets.errors import ConfigurationError
from notarius_assets.models.rules.place_rules import PlaceRules, StayRules
from notarius_assets.models.rules.sections import (
    Phrases,
    Section,
    Words,
    beginning_pattern,
    ending_pattern,
    phrase_pattern,
)
from notarius_assets.models.rules.union_rules import UnionRules

_S = TypeVar("_S", bound=Section)

_WORD_LISTS = {"words": {"english": "english.txt"}}
"""Keys of a rule file whose words are in a plain text file of their own, for its size: one a line, `#` for comments."""

_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same YAML either way; the one in C takes a tenth of the time."""


class WordRules(Section):
    """words.yaml and english.txt: ordinary words of English and of the game."""

    function_words: Words
    contractions: Words
    english: Words
    creature_words: Words
    folk_words: Words
    gear_words: Words
    game_words: Words
    dice_words: Words
    exclamation_words: Words

    @cached_property
    def ordinary_words(self) -> frozenset[str]:
        """The words that are no name by themselves: every list but those of grammar."""
        return frozenset().union(
            self.english, self.creature_words, self.folk_words, self.gear_words, self.game_words, self.dice_words,
            self.exclamation_words,
        )  # fmt: skip


class CommonRules(Section):
    """common.yaml: what both lanes know about table talk."""

    dm_labels: Words
    group_labels: Words
    titles: Words
    name_adjectives: Words
    name_connectors: Words
    abbreviations: Words
    articles: Words
    pointers: Words
    weak_tokens: Words
    relations: Words
    person_nouns: Words
    creature_nouns: Words
    label_adjectives: Words
    mass_markers: Words
    out_of_game: Phrases
    scene_markers: Phrases
    recap_markers: Phrases

    @cached_property
    def out_of_game_pattern(self) -> re.Pattern[str]:
        """Finds talk about the show or the table."""
        return phrase_pattern(self.out_of_game)

    @cached_property
    def scene_pattern(self) -> re.Pattern[str]:
        """Finds the beginning of a new scene."""
        return phrase_pattern(self.scene_markers)

    @cached_property
    def recap_pattern(self) -> re.Pattern[str]:
        """Finds the tale of earlier sessions."""
        return phrase_pattern(self.recap_markers)


class CueWeights(Section):
    """What one cue adds to a name's score."""

    unfamiliar: float
    introduction: float
    answer: float
    title: float
    vocative: float
    spoken_to: float
    person_verb: float
    any_verb: float
    person_noun: float
    possessive: float
    pronoun: float
    plain: float
    gazetteer: float
    place: float
    near: float
    travel: float
    place_noun: float
    belonging: float
    listed: float
    plural: float
    article: float
    thing: float
    attribute: float


class LabelRules(Section):
    """When a generic label such as "the barkeep" is reported."""

    minimum_score: float
    acting: float
    speaking: float
    plain: float
    single_share: float
    relation_units: int


class NpcRules(Section):
    """npcs.yaml: who is an NPC."""

    threshold: float
    cue_cap: int
    player_share: float
    weights: CueWeights
    person_minimum: float
    players_only_threshold: float
    opening_only_threshold: float
    max_ranges: int
    range_gap: int
    introductions_anywhere: Phrases
    introductions_quoted: Phrases
    name_questions: Phrases
    person_verbs: Words
    weak_verbs: Words
    person_owned: Words
    spoken_to: Words
    spoken_to_phrases: Phrases
    place_words: Words
    near_phrases: Phrases
    travel_phrases: Phrases
    belonging_phrases: Phrases
    place_nouns: Words
    determiners: Words
    pronouns: Words
    thing_nouns: Words
    thing_words: Words
    plural_verbs: Words
    rules_words: Words
    table_words: Words
    player_address: Words
    labels: LabelRules

    @cached_property
    def introduction_pattern(self) -> re.Pattern[str]:
        """Finds an introduction right before a name, whoever speaks."""
        return ending_pattern(self.introductions_anywhere)

    @cached_property
    def quoted_introduction_pattern(self) -> re.Pattern[str]:
        """Finds an introduction right before a name in an NPC's own words or the DM's."""
        return ending_pattern(self.introductions_quoted)

    @cached_property
    def name_question_pattern(self) -> re.Pattern[str]:
        """Finds a question for somebody's name."""
        return phrase_pattern(self.name_questions)

    @cached_property
    def spoken_to_pattern(self) -> re.Pattern[str]:
        """Finds, right before a name, that somebody is addressed or met."""
        return ending_pattern(self.spoken_to_phrases)

    @cached_property
    def near_pattern(self) -> re.Pattern[str]:
        """Finds, right before a name, a direction: to a place, or to somebody who stands there."""
        return ending_pattern(self.near_phrases)

    @cached_property
    def belonging_pattern(self) -> re.Pattern[str]:
        """Finds, right before a name, that it is a place's, a group's or a thing's."""
        return ending_pattern(self.belonging_phrases)

    @cached_property
    def pronoun_pattern(self) -> re.Pattern[str]:
        """Finds a pronoun that stands for a person."""
        return phrase_pattern(sorted(self.pronouns))

    @cached_property
    def travel_pattern(self) -> re.Pattern[str]:
        """Finds, right before a name, that it is somewhere to go."""
        return ending_pattern(self.travel_phrases)


class InteractionRules(Section):
    """npc_interactions.yaml: what an NPC does, and where a passage ends."""

    absence_limit: int
    lead_limit: int
    fight_absence_limit: int
    reply_reach: int
    answer_reach: int
    max_ranges: int
    range_gap: int
    combat_reach: int
    combat_minimum: int
    combat_bridge: int
    combat_words: Phrases
    combat_start: Phrases
    combat_acts: Phrases
    ally_cues: Phrases
    opponent_cues: Phrases
    command_cues: Phrases
    run_cues: Phrases
    joined_cues: Phrases
    granted_cues: Phrases
    strike_cues: Phrases
    strike_weight: int
    target_cues: Phrases
    presence_cues: Phrases
    address_cues: Phrases
    address_later: Phrases
    self_namings: Phrases
    name_questions: Phrases
    third_person: Words
    departures: Phrases
    speech_verbs: Phrases

    @cached_property
    def combat_word_pattern(self) -> re.Pattern[str]:
        """Finds talk of a running fight."""
        return phrase_pattern(self.combat_words)

    @cached_property
    def combat_start_pattern(self) -> re.Pattern[str]:
        """Finds the beginning of a fight."""
        return phrase_pattern(self.combat_start)

    @cached_property
    def combat_act_pattern(self) -> re.Pattern[str]:
        """Finds that somebody acts in a fight or is acted on."""
        return phrase_pattern(self.combat_acts)

    @cached_property
    def ally_pattern(self) -> re.Pattern[str]:
        """Finds signs of the party's side."""
        return phrase_pattern(self.ally_cues)

    @cached_property
    def opponent_pattern(self) -> re.Pattern[str]:
        """Finds signs of the other side."""
        return phrase_pattern(self.opponent_cues)

    @cached_property
    def command_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that players command or guard the NPC."""
        return ending_pattern(self.command_cues)

    @cached_property
    def run_beginning(self) -> re.Pattern[str]:
        """Matches, right behind a name, that a player says what the NPC does."""
        return beginning_pattern(self.run_cues)

    @cached_property
    def joined_beginning(self) -> re.Pattern[str]:
        """Matches, right behind a name, that its bearer is on the party's side."""
        return beginning_pattern(self.joined_cues)

    @cached_property
    def granted_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that the DM leaves the NPC to a player."""
        return ending_pattern(self.granted_cues)

    @cached_property
    def strike_pattern(self) -> re.Pattern[str]:
        """Finds, between two names, that one strikes the other."""
        return phrase_pattern(self.strike_cues)

    @cached_property
    def target_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that players attack the NPC."""
        return ending_pattern(self.target_cues)

    @cached_property
    def presence_pattern(self) -> re.Pattern[str]:
        """Finds that somebody is there."""
        return phrase_pattern(self.presence_cues)

    @cached_property
    def address_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that somebody is spoken to."""
        return ending_pattern(self.address_cues)

    @cached_property
    def address_later_pattern(self) -> re.Pattern[str]:
        """Finds that somebody named before is spoken to."""
        return phrase_pattern(self.address_later)

    @cached_property
    def self_naming_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that its bearer says it."""
        return ending_pattern(self.self_namings)

    @cached_property
    def name_question_pattern(self) -> re.Pattern[str]:
        """Finds that somebody present is asked for a name."""
        return phrase_pattern(self.name_questions)

    @cached_property
    def departure_pattern(self) -> re.Pattern[str]:
        """Finds that somebody leaves."""
        return phrase_pattern(self.departures)

    @cached_property
    def speech_pattern(self) -> re.Pattern[str]:
        """Finds whose quoted words follow."""
        return phrase_pattern(self.speech_verbs)


class Ruleset(BaseModel):
    """The rules of the files that were loaded. `digest` is the SHA-256 over the files' bytes, for fingerprints."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...]
    digest: str
    words: WordRules | None = None
    common: CommonRules | None = None
    npcs: NpcRules | None = None
    npc_interactions: InteractionRules | None = None
    locations: PlaceRules | None = None
    location_occurrences: StayRules | None = None
    reconciliation: UnionRules | None = None

    @property
    def english(self) -> WordRules:
        """The rules of words.yaml, or an error that says which file is missing."""
        return _needed(self.words, "words")

    @property
    def table(self) -> CommonRules:
        """The rules of common.yaml, or an error that says which file is missing."""
        return _needed(self.common, "common")

    @property
    def people(self) -> NpcRules:
        """The rules of npcs.yaml, or an error that says which file is missing."""
        return _needed(self.npcs, "npcs")

    @property
    def deeds(self) -> InteractionRules:
        """The rules of npc_interactions.yaml, or an error that says which file is missing."""
        return _needed(self.npc_interactions, "npc_interactions")

    @property
    def unions(self) -> UnionRules:
        """The rules of reconciliation.yaml, or an error that says which file is missing."""
        return _needed(self.reconciliation, "reconciliation")

    @property
    def places(self) -> PlaceRules:
        """The rules of locations.yaml, or an error that says which file is missing."""
        return _needed(self.locations, "locations")

    @cached_property
    def common_in_places(self) -> frozenset[str]:
        """The words that make no place name a proper one: place nouns, articles, stop words."""
        nouns = self.places
        return frozenset().union(
            nouns.first_nouns, nouns.last_nouns, nouns.landmark_nouns, nouns.sure_nouns, nouns.plain_nouns,
            nouns.weak_nouns, nouns.qualified_nouns, self.table.articles, self.english.function_words,
        )  # fmt: skip

    @property
    def stays(self) -> StayRules:
        """The rules of location_occurrences.yaml, or an error that says which file is missing."""
        return _needed(self.location_occurrences, "location_occurrences")


_STEMS = tuple(stem for stem in Ruleset.model_fields if stem not in ("names", "digest"))
"""The rule files there are: one a section."""


def _needed(section: _S | None, stem: str) -> _S:
    if section is None:
        raise ConfigurationError(f"rules: {stem}.yaml was not loaded", next_step=f"name `{stem}` among the rule files")
    return section


def load(names: Sequence[str]) -> Ruleset:
    """Read the named rule files of this folder (`common` or `common.yaml`) and return them validated and frozen.

    The digest covers the files' names and bytes in the order of the names, a rule file's word lists behind it, so that
    any edit changes a fingerprint.
    """
    folder = resources.files(__package__)
    sha = hashlib.sha256()
    sections: dict[str, Any] = {}
    stems = tuple(name.removesuffix(".yaml") for name in names)
    for stem in stems:
        if stem not in _STEMS:
            raise ConfigurationError(f"rules: there is no rule file {stem!r}", next_step=f"use {', '.join(_STEMS)}")
        data = _bytes(folder, f"{stem}.yaml")
        sha.update(stem.encode() + b"\n" + data)
        try:
            section = yaml.load(data, Loader=_LOADER)  # noqa: S506 (a safe loader)
        except yaml.YAMLError as error:
            raise ConfigurationError(f"rules: {stem}.yaml is no YAML: {error}", next_step="correct the file") from error
        for key, file in _WORD_LISTS.get(stem, {}).items():
            data = _bytes(folder, file)
            sha.update(file.encode() + b"\n" + data)
            if isinstance(section, dict):
                section.setdefault(key, _word_list(file, data))
        sections[stem] = section
    try:
        return Ruleset(names=stems, digest=sha.hexdigest(), **sections)
    except ValidationError as error:
        where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        raise ConfigurationError(f"rules: {where}", next_step="correct the rule file") from error


def _bytes(folder: Traversable, file: str) -> bytes:
    try:
        return (folder / file).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"rules: {file} can't be read ({error.strerror})", next_step="restore the file or install again"
        ) from error


def _word_list(file: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"rules: {file} is not UTF-8", next_step="save the file as UTF-8") from error
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))
