"""The sections of locations.yaml and location_occurrences.yaml: places, and what the party has to do with them."""

from __future__ import annotations

import re
from functools import cached_property

from notarius_assets.models.rules.sections import (
    Phrases,
    Section,
    Words,
    beginning_pattern,
    ending_pattern,
    phrase_pattern,
)


class PlaceWeights(Section):
    """What one cue adds to the score of a capitalised name."""

    noun: float
    settled: float
    travel: float
    inside: float
    near: float
    belonging: float
    followed: float
    bare: float
    not_place: float
    person: float


class PlaceLabelRules(Section):
    """When a generic label such as "the tavern" is reported."""

    minimum_score: float
    sure: float
    plain: float
    weak: float
    locative: float
    present: float
    pointed: float
    owned: float
    other: float
    introduced: float
    telling: float


class PlaceRules(Section):
    """locations.yaml: what is a place."""

    threshold: float
    cue_cap: int
    player_share: float
    plain_threshold: float
    person_share: float
    attribute_share: float
    weights: PlaceWeights
    labels: PlaceLabelRules
    max_ranges: int
    range_gap: int
    most_modifiers: int
    label_reach: int
    first_nouns: Words
    last_nouns: Words
    landmark_nouns: Words
    settled_phrases: Phrases
    naming_phrases: Phrases
    travel_phrases: Phrases
    inside_phrases: Phrases
    near_phrases: Phrases
    belonging_phrases: Phrases
    followed_phrases: Phrases
    not_place_phrases: Phrases
    not_place_followed: Phrases
    group_words: Words
    real_places: Phrases
    world_places: Phrases
    sure_nouns: Words
    plain_nouns: Words
    weak_nouns: Words
    qualified_nouns: Words
    lone_nouns: Words
    same_nouns: tuple[Words, ...]
    bare_phrases: Phrases
    bare_label: str
    plain_adjectives: Words
    plain_endings: Phrases
    blocked_modifiers: Words
    noun_followers: Words
    not_owners: Words
    definite: Words
    deictic: Words
    pronoun_owners: Words
    other_words: Words
    indefinite: Words
    locatives: Phrases
    presence_cues: Phrases
    introducing_cues: Phrases
    arrival_cues: Phrases
    idioms: Phrases

    @cached_property
    def settled_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that it is a settlement's or region's."""
        return ending_pattern(self.settled_phrases)

    @cached_property
    def naming_ending(self) -> re.Pattern[str]:
        """Finds, right before a name of any words, what it is the name of."""
        return ending_pattern(self.naming_phrases)

    @cached_property
    def travel_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that it is somewhere to go."""
        return ending_pattern(self.travel_phrases)

    @cached_property
    def inside_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that something is in it."""
        return ending_pattern(self.inside_phrases)

    @cached_property
    def near_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, a direction: to a place, or to somebody who stands there."""
        return ending_pattern(self.near_phrases)

    @cached_property
    def belonging_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, something that places have: streets, an edge, a people."""
        return ending_pattern(self.belonging_phrases)

    @cached_property
    def followed_beginning(self) -> re.Pattern[str]:
        """Matches, right behind a name, what is said of places."""
        return beginning_pattern(self.followed_phrases)

    @cached_property
    def not_place_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that it is a tongue's, a god's, a company's or a thing's."""
        return ending_pattern(self.not_place_phrases)

    @cached_property
    def not_place_beginning(self) -> re.Pattern[str]:
        """Matches, right behind a name, that it is a company's or a person's."""
        return beginning_pattern(self.not_place_followed)

    @cached_property
    def bare_pattern(self) -> re.Pattern[str]:
        """Finds a place spoken of without an article ("in town")."""
        return phrase_pattern(self.bare_phrases)

    @cached_property
    def locative_ending(self) -> re.Pattern[str]:
        """Finds, right before a label, that somebody or something is or goes there."""
        return ending_pattern(self.locatives)

    @cached_property
    def presence_pattern(self) -> re.Pattern[str]:
        """Finds that the party comes, is or goes somewhere in the DM's narration."""
        return phrase_pattern(self.presence_cues)

    @cached_property
    def introducing_ending(self) -> re.Pattern[str]:
        """Finds, right before "a ...", that the party comes upon it."""
        return ending_pattern(self.introducing_cues)

    @cached_property
    def arrival_ending(self) -> re.Pattern[str]:
        """Finds, right before a name, that whoever is spoken of is there or comes there."""
        return ending_pattern(self.arrival_cues)

    @cached_property
    def idiom_pattern(self) -> re.Pattern[str]:
        """Finds turns of phrase that hold a noun of places and mean none."""
        return phrase_pattern(self.idioms)

    @cached_property
    def head_nouns(self) -> frozenset[str]:
        """Every noun that may be the head of a label."""
        return self.sure_nouns | self.plain_nouns | self.weak_nouns | self.qualified_nouns

    @cached_property
    def pointers(self) -> frozenset[str]:
        """The words before a label that point at a place or name its owner."""
        return self.definite | self.indefinite | self.pronoun_owners | {"another"}

    @cached_property
    def one_noun(self) -> dict[str, str]:
        """The noun that stands for each noun of a group of one meaning."""
        return {noun: min(group) for group in self.same_nouns for noun in group}


class StayRules(Section):
    """location_occurrences.yaml: what the party has to do with a place, and where one occurrence ends."""

    mention_gap: int
    stay_gap: int
    after_stay: int
    lead_gap: int
    head_reach: int
    recap_reach: int
    recap_length: int
    max_ranges: int
    range_gap: int
    party_subjects: Words
    dm_party_subjects: Words
    third_subjects: Words
    recap_markers: Phrases
    recap_plans: Phrases
    negations: Phrases
    conditions: Phrases
    not_negations: Phrases
    clause_marks: Phrases
    far_cues: Phrases
    hearsay_cues: Phrases
    plan_cues: Phrases
    going_cues: Phrases
    goal_cues: Phrases
    acting_cues: Phrases
    entering_cues: Phrases
    being_cues: Phrases
    past_cues: Phrases
    recall_cues: Phrases
    arrival_cues: Phrases
    here_cues: Phrases

    @cached_property
    def recap_pattern(self) -> re.Pattern[str]:
        """Finds the tale of earlier sessions, beside the markers of common.yaml."""
        return phrase_pattern(self.recap_markers)

    @cached_property
    def recap_plan_pattern(self) -> re.Pattern[str]:
        """Finds, in such a tale, a journey that was agreed on or has begun."""
        return phrase_pattern(self.recap_plans)

    @cached_property
    def negation_pattern(self) -> re.Pattern[str]:
        """Finds negation, which reaches as far as the next comma."""
        return phrase_pattern(self.negations)

    @cached_property
    def condition_pattern(self) -> re.Pattern[str]:
        """Finds condition and wish, which reach as far as the clause."""
        return phrase_pattern(self.conditions)

    @cached_property
    def not_negation_pattern(self) -> re.Pattern[str]:
        """Finds questions that propose something though they hold a negation."""
        return phrase_pattern(self.not_negations)

    @cached_property
    def clause_mark_pattern(self) -> re.Pattern[str]:
        """Finds where a new clause begins."""
        return phrase_pattern(self.clause_marks)

    @cached_property
    def far_pattern(self) -> re.Pattern[str]:
        """Finds that a place is only pointed at or seen from afar."""
        return phrase_pattern(self.far_cues)

    @cached_property
    def hearsay_pattern(self) -> re.Pattern[str]:
        """Finds that others are spoken of, or that others say so."""
        return phrase_pattern(self.hearsay_cues)

    @cached_property
    def plan_pattern(self) -> re.Pattern[str]:
        """Finds will, wish and proposal."""
        return phrase_pattern(self.plan_cues)

    @cached_property
    def going_pattern(self) -> re.Pattern[str]:
        """Finds what one does to get to a place."""
        return phrase_pattern(self.going_cues)

    @cached_property
    def goal_ending(self) -> re.Pattern[str]:
        """Finds, right before a place, that going leads there."""
        return ending_pattern(self.goal_cues)

    @cached_property
    def acting_pattern(self) -> re.Pattern[str]:
        """Finds what a player says the character does now to get to a place."""
        return phrase_pattern(self.acting_cues)

    @cached_property
    def entering_ending(self) -> re.Pattern[str]:
        """Finds, right before a place, that somebody goes into it."""
        return ending_pattern(self.entering_cues)

    @cached_property
    def being_ending(self) -> re.Pattern[str]:
        """Finds, right before a place, that a player says the character is there."""
        return ending_pattern(self.being_cues)

    @cached_property
    def past_pattern(self) -> re.Pattern[str]:
        """Finds that a player tells of having been or gone there."""
        return phrase_pattern(self.past_cues)

    @cached_property
    def recall_pattern(self) -> re.Pattern[str]:
        """Finds a look back to before."""
        return phrase_pattern(self.recall_cues)

    @cached_property
    def arrival_ending(self) -> re.Pattern[str]:
        """Finds, right before a place, that whoever is spoken of is or comes there."""
        return ending_pattern(self.arrival_cues)

    @cached_property
    def here_ending(self) -> re.Pattern[str]:
        """Finds, right before a place, that the speakers are there."""
        return ending_pattern(self.here_cues)
