"""The `rules` proposer on small invented texts, one per family of rules, and what holds for every text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notarius_assets.campaign import CampaignReferences, KnownName
from notarius_assets.errors import ConfigurationError
from notarius_assets.models.rules import npc_interactions, npcs, ruleset
from notarius_assets.models.rules.text import fold, lower, read
from notarius_assets.models.window import WindowRequest
from notarius_assets.transcripts.model import Unit

RULES_FOLDER = Path(ruleset.__file__).parent
GOLD = Path(__file__).parents[3] / "shared" / "data" / "gold"
KINDS = {"mentioned", "noncombat_presence", "dialogue", "combat_ally", "combat_opponent", "other"}
PLAYERS = {"ROSA": "Tibble Underhay", "BERT": "Percival Oakes"}
PEOPLE = ruleset.load(npcs.RULE_FILES)
DEEDS = ruleset.load(npc_interactions.RULE_FILES)


def units(text: str) -> tuple[Unit, ...]:
    rows = [line.strip().partition(": ") for line in text.strip().splitlines()]
    return tuple(Unit(i, (speaker,), said) for i, (speaker, _, said) in enumerate(rows, 1))


def window(given_units: Sequence[Unit], registry: tuple[str, ...] | None = None, **campaign: Any) -> WindowRequest:
    references = CampaignReferences(**{"dms": ("DM",), "players": PLAYERS, **campaign})
    return WindowRequest("dnd/test", "c/s", 1, tuple(given_units), (), (), references, registry)


def found(text: str, **campaign: Any) -> dict[str, list[tuple[int, int]]]:
    answer = npcs.propose(window(units(text), **campaign), PEOPLE)
    return {n["name"]: [(r["start"], r["end"]) for r in n["ranges"]] for n in answer["npcs"]}


def deeds(text: str, *registry: str, **campaign: Any) -> list[tuple[str, str, list[tuple[int, int]]]]:
    answer = npc_interactions.propose(window(units(text), registry, **campaign), DEEDS)
    return [(i["name"], i["kind"], [(r["start"], r["end"]) for r in i["ranges"]]) for i in answer["interactions"]]


def kinds(text: str, *registry: str, **campaign: Any) -> list[tuple[str, str]]:
    return [(name, kind) for name, kind, _ in deeds(text, *registry, **campaign)]


# --- who is an NPC -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('DM: "I am Velmora. Sit down."', "Velmora"),
        ("DM: You meet a smith named Orrick by the fire.", "Orrick"),
        ('DM: "My name is Ash," she says.', "Ash"),
        ('ROSA: What was your name, friend?\nDM: "Dunstan."', "Dunstan"),
        ("ROSA: We need someone to introduce us to Hestrel.", "Hestrel"),
    ],
)
def test_introductions(text: str, name: str) -> None:
    assert name in found(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DM: You see Captain Brannock at the gate.", "Captain Brannock"),
        ("DM: At the gate stands Captain Stone with a torch.", "Captain Stone"),
    ],
)
def test_a_title_makes_a_name_even_of_an_ordinary_word(text: str, name: str) -> None:
    assert name in found(text)


def test_a_vocative_is_a_person() -> None:
    assert found('ROSA: Thank you, Wenna.\nDM: "Not at all."\nROSA: Good night, Wenna.') == {"Wenna": [(1, 1), (3, 3)]}


def test_a_generic_label_that_acts_is_reported_and_a_mass_is_not() -> None:
    text = """
        DM: The barkeep nods and says, "What will it be?"
        DM: The barkeep looks at your purse.
        DM: Two guards come in. The guard turns. Another guard follows, then more guards.
    """
    assert list(found(text)) == ["the barkeep"]


def test_kin_of_a_named_person() -> None:
    assert "Wenna's brother" in found('DM: Wenna walks in. "I am Wenna," she says. Behind her is Wenna\'s brother.')


def test_an_alias_of_the_gazetteer_gives_the_canonical_name() -> None:
    known = (KnownName("Aldous Grimm", ("the Heron",)),)
    assert found("ROSA: Somebody told me to look for the Heron.", npcs=known) == {"Aldous Grimm": [(1, 1)]}
    assert found("ROSA: I saw a heron.", npcs=known) == {}


def test_the_fullest_form_of_the_chunk_stands_for_all() -> None:
    text = """
        DM: "I am Velmora Tash," she says.
        DM: Velmora nods. Velmora's hand is cold.
    """
    assert found(text) == {"Velmora Tash": [(1, 2)]}


def test_a_shared_surname_is_not_given_to_one_of_two() -> None:
    text = """
        DM: Lord Quennell nods. He says nothing.
        DM: Lady Quennell smiles at you.
    """
    assert set(found(text)) <= {"Lord Quennell", "Lady Quennell"}


@pytest.mark.parametrize(
    "text",
    [
        "DM: Tibble walks in. Underhay's hand shakes. Tibble nods.",  # a party character, in parts
        "DM: Percy says hello, and Percy walks off.",  # its common short form
        "DM: Rosa, you're up. I look at Rosa and Bert. Rosa nods.",  # players, in any case
        "DM: Make a Dexterity save. I cast Counterspell, and Healing Word, and he casts Fireball.",
        "DM: Initiative! Perception check. Attack of Opportunity. Then you use Action Surge.",
        "DM: Perhaps. Certainly he goes. Suddenly she turns. Meanwhile nothing. Everyone looks at Monday.",
        "ROSA: Whoa! Oops! Ugh, no. Yikes!",
        "DM: You travel to Karrowmere. The city of Karrowmere lies in Ostrand, near Lake Pell.",
        "DM: Welcome back to the stream, thanks to our sponsor Glimmerdice. Glimmerdice says hello to chat.",
        "DM: Gwenda, you're up. Gwenda, what do you do?",  # a guest: the DM says "you" to a player
        "DM: The river Ommeret is wide here. You can hear the bell of Stellow. Stellow has a bell.",
        'DM: The road goes past Stellow. You hear the bell of Stellow. "Stellow!" he says. Stellow is wet.',
        "DM: In Karrow they name four towns: Karrow, Tessel, Wendel, and Ostrel. Tessel gets the rain.",
        'DM: "Hail, Quillon!" he says. "The members of Quillon are brave," he says.',
        "DM: He says that Quillon were there, and he knows that Quillon are brave. He hates Quillon.",
        "DM: It is a Velmora-made blade. Velmora-made blades hold. P says so, and P nods.",
    ],
)
def test_never_players_party_dice_spells_sentence_starts_places_or_announcements(text: str) -> None:
    assert found(text) == {}


def test_the_house_of_a_person_is_no_place_called_so() -> None:
    assert list(found("ROSA: Let's go to Orrick's. We went to Orrick's once.\nDM: Orrick nods.")) == ["Orrick"]


def test_a_list_of_people_stays_one() -> None:
    text = "DM: At the table sit Velmora, Orrick, and Wenna. Velmora nods. Orrick says nothing. Wenna smiles."
    assert list(found(text)) == ["Orrick", "Velmora", "Wenna"]


def test_without_declared_dms_the_label_tells_and_without_a_label_everybody_narrates() -> None:
    text = 'DM: "I am Velmora," she says. Velmora nods.'
    assert list(found(text, dms=())) == ["Velmora"]
    assert list(found(text.replace("DM:", "KAT:"), dms=())) == ["Velmora"]


# --- what it does ------------------------------------------------------------------------------------------------


def test_quoted_speech_after_the_name_is_dialogue() -> None:
    text = """
        ROSA: I talk to Wenna.
        DM: Wenna looks up and says, "Yes?"
        ROSA: Have you seen the goose?
        DM: "By the well."
    """
    assert deeds(text, "Wenna") == [("Wenna", "dialogue", [(1, 4)])]


def test_a_name_in_another_npcs_mouth_is_a_mention() -> None:
    text = """
        DM: Wenna says, "Ask Orrick. Orrick made the bell."
        ROSA: Who is Orrick?
    """
    assert kinds(text, "Wenna", "Orrick") == [("Wenna", "dialogue"), ("Orrick", "mentioned")]


FIGHT = """
    DM: Roll initiative.
    ROSA: 14.
    DM: {name} is up. {deed}
    ROSA: I attack. 17 to hit.
    DM: That hits. Roll damage.
    ROSA: Nine points of damage.
"""


def test_a_fight_makes_an_opponent() -> None:
    assert kinds(FIGHT.format(name="Orrick", deed="He swings at you, does that hit?"), "Orrick") == [
        ("Orrick", "combat_opponent")
    ]


def test_signs_of_the_partys_side_make_an_ally() -> None:
    assert kinds(FIGHT.format(name="Orrick", deed="He is fighting alongside you, and defends you."), "Orrick") == [
        ("Orrick", "combat_ally")
    ]


@pytest.mark.parametrize(
    ("speaker", "deed"),
    [
        ("DM", "And {name}'s with you on eighteen."),
        ("DM", "Bert, roll for {name}."),
        ("ROSA", "I'll have {name} bite it. {name}'s going to run up."),
        ("ROSA", "I cast cure wounds on {name}."),
    ],
)
def test_who_plays_or_helps_a_fighter_tells_its_side(speaker: str, deed: str) -> None:
    fight = (
        FIGHT.format(name="Somebody", deed="") + f"{speaker}: {deed.format(name='Orrick')}\nDM: Orrick rolls a save."
    )
    assert kinds(fight, "Orrick") == [("Orrick", "combat_ally")]


def test_who_strikes_the_partys_enemy_is_an_ally_and_who_strikes_an_ally_an_enemy() -> None:
    text = FIGHT.format(name="Skarn", deed="He swings at you, does that hit?")
    assert kinds(text + "DM: Wenna swings her stool at Skarn. That is ten damage.", "Skarn", "Wenna") == [
        ("Skarn", "combat_opponent"),
        ("Wenna", "combat_ally"),
    ]
    text = FIGHT.format(name="Wenna", deed="She is fighting alongside you.")
    assert kinds(text + "DM: Skarn swings at Wenna. That is ten damage.", "Skarn", "Wenna") == [
        ("Wenna", "combat_ally"),
        ("Skarn", "combat_opponent"),
    ]


def test_never_both_sides_with_the_same_ranges() -> None:
    text = FIGHT.format(name="Orrick", deed="He swings at you.") + FIGHT.format(
        name="Orrick", deed="He is fighting alongside you."
    )
    sides = [(n, tuple(r)) for n, kind, r in deeds(text, "Orrick") if kind.startswith("combat")]
    assert len(sides) == len(set(sides))


def test_a_new_scene_begins_a_new_occurrence() -> None:
    text = """
        DM: Wenna waits by the door.
        DM: The next morning you wake. Wenna waits by the door again.
    """
    assert deeds(text, "Wenna") == [
        ("Wenna", "noncombat_presence", [(1, 1)]),
        ("Wenna", "noncombat_presence", [(2, 2)]),
    ]


@pytest.mark.parametrize(("between", "records"), [(11, 1), (12, 2)])
def test_so_many_units_without_the_npc_end_a_passage(between: int, records: int) -> None:
    assert DEEDS.deeds.absence_limit == 12
    text = "\n".join(["ROSA: I miss Wenna.", *["ROSA: Hm."] * between, "ROSA: I do miss Wenna."])
    assert len(deeds(text, "Wenna")) == records


def test_first_mentioned_then_present() -> None:
    filler = "\n".join(["ROSA: Hm."] * 4)
    text = f"ROSA: They say that Wenna drowned.\n{filler}\nDM: At the door stands Wenna."
    assert deeds(text, "Wenna") == [
        ("Wenna", "mentioned", [(1, 1)]),
        ("Wenna", "noncombat_presence", [(6, 6)]),
    ]


def test_names_come_from_the_registry_alone_and_evidence_names_them() -> None:
    assert deeds("DM: Orrick nods.", "Wenna") == []
    assert deeds("DM: Orrick nods.") == []
    known = (KnownName("Wenna", ("the Heron",)),)
    assert deeds("DM: The Heron nods.", "Wenna", npcs=known) == [("Wenna", "noncombat_presence", [(1, 1)])]


def test_a_label_is_no_ordinary_use_of_its_noun() -> None:
    assert deeds("ROSA: I use Hunter's Mark. I was a hunter once.", "the hunter") == []
    assert kinds("DM: The hunter nods.", "the hunter") == [("the hunter", "noncombat_presence")]


# --- what holds for every text -----------------------------------------------------------------------------------

_NAMES = ("Wenna", "Orrick Vane", "Captain Stone", "the barkeep", "Ün-Ker", "")
_PIECES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [*_NAMES, "Wenna's", '"', "\u201cI am", "Roll initiative.", " to hit ", "damage", "Mr. ", "the next morning",
         "Tibble", "--", "\u0130\u0130", "ROSA", "[break]", "he says", ", ", "! ", "named "]
    ),
)  # fmt: skip
_TEXTS = st.lists(st.tuples(st.sampled_from(["DM", "ROSA", "", "All"]), st.lists(_PIECES, max_size=8)), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS, st.integers(1, 10**6), st.lists(st.sampled_from(_NAMES), unique=True).map(tuple), st.booleans())
def test_every_answer_keeps_to_the_window(
    rows: list[tuple[str, list[str]]], first: int, registry: tuple[str, ...], declared: bool
) -> None:
    told = [Unit(first + i, (who,), " ".join(parts)) for i, (who, parts) in enumerate(rows)]
    known = (KnownName("Orrick Vane", ("Orrick", "the barkeep")),) if declared else ()
    half = len(told) // 2
    request = WindowRequest(
        "dnd/test", "c/s", 1, tuple(told[half:]), tuple(told[:half]), (), CampaignReferences(("DM",), PLAYERS, known),
        registry,
    )  # fmt: skip
    inside = {u.unit_id for u in request.units}
    named = npcs.propose(request, PEOPLE)
    done = npc_interactions.propose(request, DEEDS)
    assert named == npcs.propose(request, PEOPLE)
    assert done == npc_interactions.propose(request, DEEDS)
    json.dumps([named, done])
    assert set(named) == {"npcs"}
    assert set(done) == {"interactions"}
    for record in [*named["npcs"], *done["interactions"]]:
        assert record["ranges"]
        assert all(r["start"] <= r["end"] and {r["start"], r["end"]} <= inside for r in record["ranges"])
    assert all(set(r) == {"name", "ranges"} and r["name"].strip() for r in named["npcs"])
    assert all(
        set(r) == {"name", "kind", "ranges"} and r["name"] in registry and r["kind"] in KINDS
        for r in done["interactions"]
    )


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(lower(fold(text))) == len(text)
    for line in read([Unit(1, (), text)], frozenset(), True):
        assert len(line.unquoted) == len(text)


def test_time_is_linear_in_the_window() -> None:
    told = units("\n".join(['DM: Wenna turns to Orrick Vane and says, "Roll, Tibble!" (aaaa' + " Ab" * 20] * 2000))
    begin = time.perf_counter()
    npcs.propose(window(told), PEOPLE)
    npc_interactions.propose(window(told, ("Wenna", "Orrick Vane")), DEEDS)
    assert time.perf_counter() - begin < 10


# --- the files ---------------------------------------------------------------------------------------------------


def test_the_digest_covers_the_files_and_loading_is_stable() -> None:
    assert ruleset.load(["words.yaml", "common.yaml", "npcs.yaml"]).digest == PEOPLE.digest
    assert re.fullmatch(r"[0-9a-f]{64}", PEOPLE.digest)
    assert PEOPLE.digest != DEEDS.digest


def test_unknown_and_missing_files_are_named() -> None:
    with pytest.raises(ConfigurationError, match="no rule file 'nope'"):
        ruleset.load(["nope"])
    with pytest.raises(ConfigurationError, match=r"npcs\.yaml was not loaded"):
        npcs.propose(window(units("DM: Hi.")), ruleset.load(["words", "common"]))


def test_the_english_words_are_a_plain_sorted_list_with_its_notices() -> None:
    text = (RULES_FOLDER / "english.txt").read_text("ascii")
    words = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(words) > 10_000
    assert words == sorted(set(words))
    assert all(re.fullmatch("[a-z]{2,}", word) for word in words)
    assert set(words) <= PEOPLE.english.ordinary_words == DEEDS.english.ordinary_words
    assert "WORDS-LICENSE.txt" in text
    notices = (RULES_FOLDER / "WORDS-LICENSE.txt").read_text("utf-8")
    for holder in ("2000-2018 by Kevin Atkinson", "Princeton University", "Benjamin Titze", "Geoff Kuenning"):
        assert holder in notices


@pytest.mark.parametrize("change", ["english.txt", "words.yaml"])
def test_an_edit_of_any_file_changes_the_digest(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_rules(tmp_path, monkeypatch)
    assert ruleset.load(npcs.RULE_FILES).digest == PEOPLE.digest
    with (tmp_path / change).open("a") as file:
        file.write("# a comment\n")
    edited = ruleset.load(npcs.RULE_FILES)
    assert edited.digest != PEOPLE.digest
    assert edited.english == PEOPLE.english


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_rules(tmp_path, monkeypatch)
    (tmp_path / "english.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(ConfigurationError, match=r"english\.txt is not UTF-8"):
        ruleset.load(["words"])
    (tmp_path / "english.txt").unlink()
    with pytest.raises(ConfigurationError, match=r"english\.txt can't be read"):
        ruleset.load(["words"])


def _copy_rules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in [*RULES_FOLDER.glob("*.yaml"), *RULES_FOLDER.glob("*.txt")]:
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr("importlib.resources.files", lambda _: folder)


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [s for k, v in value.items() for s in [str(k), *_strings(v)]]
    if isinstance(value, list):
        return [s for v in value for s in _strings(v)]
    return [str(value)]


def test_the_files_hold_no_name_of_the_annotated_excerpts() -> None:
    if not GOLD.is_dir():
        pytest.skip("the annotated excerpts are not beside the repository (../shared/data/gold)")
    words: set[str] = set()
    for path in sorted(RULES_FOLDER.glob("*.yaml")):
        words |= {
            w for s in _strings(yaml.safe_load(path.read_text("utf-8"))) for w in re.findall(r"[\w'-]+", s.lower())
        }
    common = PEOPLE.table.titles | PEOPLE.english.ordinary_words
    names: set[str] = set()
    for path in sorted(GOLD.glob("*.gold.json")):
        gold = json.loads(path.read_text("utf-8"))
        listed = [*gold["party"], *(n["name"] for n in gold["npcs"])]
        for name in listed:
            names |= {w.lower() for w in re.findall(r"[\w'-]+", name) if w[0].isupper()}
    assert names
    assert not {n for n in names & words if n not in common}
    # An ordinary word may be a name's second word ("the Breaker"); no name as a whole may be among them.
    whole = {n["name"].lower() for p in GOLD.glob("*.gold.json") for n in json.loads(p.read_text("utf-8"))["npcs"]}
    assert not whole & (words | PEOPLE.english.ordinary_words)
