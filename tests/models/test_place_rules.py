"""The `rules` proposers for places on small invented texts: each cue, each case that must not count, every text."""

from __future__ import annotations

import json
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
from notarius_assets.models.rules import location_occurrences, locations, npcs, ruleset
from notarius_assets.models.rules.stays import KINDS
from notarius_assets.models.window import WindowRequest
from notarius_assets.transcripts.model import Unit

RULES_FOLDER = Path(ruleset.__file__).parent
GOLD = Path(__file__).parents[3] / "shared" / "data" / "gold"
PLAYERS = {"ROSA": "Tibble Underhay", "BERT": "Percival Oakes"}
PLACES = ruleset.load(locations.RULE_FILES)
STAYS = ruleset.load(location_occurrences.RULE_FILES)
Ranges = list[tuple[int, int]]


def units(text: str) -> tuple[Unit, ...]:
    rows = [line.strip().partition(": ") for line in text.strip().splitlines()]
    return tuple(Unit(i, (speaker,), said) for i, (speaker, _, said) in enumerate(rows, 1))


def window(given_units: Sequence[Unit], registry: Any = None, **campaign: Any) -> WindowRequest:
    references = CampaignReferences(**{"dms": ("DM",), "players": PLAYERS, **campaign})
    after = (Unit(10**7, ("DM",), "Go on."),)
    return WindowRequest("dnd/test", "c/s", 1, tuple(given_units), (), after, references, registry)


def found(text: str, **campaign: Any) -> list[tuple[str, Ranges]]:
    answer = locations.propose(window(units(text), **campaign), PLACES)
    return [(p["name"], [(r["start"], r["end"]) for r in p["ranges"]]) for p in answer["locations"]]


def named(text: str, **campaign: Any) -> set[str]:
    return {name for name, _ in found(text, **campaign)}


def registry_of(*names: str) -> tuple[dict[str, str], ...]:
    return tuple({"id": f"location:sha256:{i:064x}", "name": name} for i, name in enumerate(names))


def stays(text: str, *names: str, **campaign: Any) -> list[tuple[str, str, Ranges]]:
    request = window(units(text), registry_of(*names), **campaign)
    answer = location_occurrences.propose(request, STAYS)
    return [(o["name"], o["kind"], [(r["start"], r["end"]) for r in o["ranges"]]) for o in answer["occurrences"]]


def kinds(text: str, *names: str, **campaign: Any) -> list[tuple[str, str]]:
    return [(name, kind) for name, kind, _ in stays(text, *names, **campaign)]


# --- capitalised names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DM: It was brewed in the far-off city of Ombrel.", "Ombrel"),
        ("DM: You have heard of a town called Rest before.", "Rest"),
        ("ROSA: We should go to Karrowmere and ask.", "Karrowmere"),
        ("ROSA: I have a cousin in Karrowmere.", "Karrowmere"),
        ("DM: Traders come here through Ostrand in the spring.", "Ostrand"),
        ("ROSA: I'm from Tessel, in the south.", "Tessel"),
        ("DM: Karrowmere is a city of bells. The people of Karrowmere rise early.", "Karrowmere"),
        ('DM: "Ask at the Drowsy Heron Inn," she says.', "Drowsy Heron Inn"),
        ("DM: Beyond stands the Old Salt Bridge, half fallen.", "Old Salt Bridge"),
        ("DM: He points out House Quennell on the hill.", "House Quennell"),
        ("DM: Mist lies over Lake Pell this morning.", "Lake Pell"),
        ("DM: The road ends before the Temple of Ommeret.", "Temple of Ommeret"),
        ("DM: Something has crawled up out of the Underdark.", "Underdark"),
        ("ROSA: It is in North Ward, I think.", "North Ward"),
    ],
)
def test_capitalised_names(text: str, name: str) -> None:
    assert name in named(text)


def test_a_short_form_is_the_place_of_its_longer_one() -> None:
    text = """
        DM: You reach the Drowsy Heron Inn at dusk.
        ROSA: Back to the Drowsy Heron, then. I like the inn.
    """
    assert found(text) == [("Drowsy Heron Inn", [(1, 2)])]


@pytest.mark.parametrize(
    "text",
    [
        "DM: Tibble is in front. In Tibble, you see doubt. Go to Percival, or to Percy.",  # the party
        "DM: Rosa, you're up. Back to Rosa. Go to Rosa.",  # players
        'DM: "I am Velmora," she says. Velmora nods. You go to Velmora. Velmora smiles.',  # a person
        "ROSA: I go over towards Velmora. I step near Velmora.",  # near somebody
        "DM: I cast Misty Step through Dimension Door. Going to Scorching Ray him.",  # spells
        "DM: She speaks Karrish. It is written in Karrish.",  # a tongue
        "DM: The members of Quillon swear by the god Ommeret.",  # a company, a god
        "ROSA: I grew up in London. It's like New York City in here.",  # the real world
        "DM: We will be live in Brindleton for the convention.",  # the show
        "ROSA: I put it in Hilda's bag. I go to Hilda's.",  # what is a person's
        "ROSA: In the Tower of a deck of cards I trust. Take place, in the end, at this point.",
    ],
)
def test_never_people_spells_tongues_companies_or_the_real_world(text: str) -> None:
    assert {n for n in named(text) if n[0].isupper()} == set()


def test_terms_of_the_glossary_and_declared_people_are_no_places() -> None:
    text = "ROSA: We could go to Ashfall. It's in Ashfall."
    assert named(text) == {"Ashfall"}
    assert named(text, glossary={"Ashfall": "the winter feast"}) == set()
    assert named(text, npcs=(KnownName("Ashfall"),)) == set()
    assert named("DM: In the castle. You enter the castle.", glossary={"the Castle": "a game"}) == set()


# --- labels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DM: You guys walk into the tavern.", "the tavern"),
        ("ROSA: How often do they fight in this tavern?", "the tavern"),
        ("DM: He runs back into the large, crowded tavern.", "the tavern"),
        ("DM: She leads you to the outer walkway.", "the outer walkway"),
        ("DM: You stand on the edge of the central ring.", "the central ring"),
        ("ROSA: Something is rotten in the mines.", "the mines"),
        ("DM: You make your way to the miller's house.", "the miller's house"),
        ("DM: You make your way to Wenna's house.", "Wenna's house"),
        ("ROSA: I jump to the other house.", "the other house"),
        ("DM: As you walk on, you find a market.", "the market"),
        ("ROSA: Nobody in town knows. Let's leave town.", "the town"),
        ("DM: You step down into the hold of the ship. The ship rocks.", "the ship"),
    ],
)
def test_labels(text: str, name: str) -> None:
    assert name in named(text)


@pytest.mark.parametrize(
    "text",
    [
        "ROSA: Is there a tavern anywhere? A tavern would be nice.",  # any tavern
        "DM: The tavern keeper nods. The castle guards and the city watch follow.",  # another noun is the head
        "DM: You lean on the wall, by the stairs, behind the bar.",  # furniture
        "ROSA: That's in the house rules. At this point, in the end, it takes place.",  # turns of phrase
        "DM: These people keep coming. Let's just keep going.",  # a verb
        "ROSA: I like taverns and inns and castles.",  # many
        "DM: The tavern is sponsored, thanks to our sponsor. In the tavern on Twitch.",  # the show
    ],
)
def test_what_is_no_label(text: str) -> None:
    assert named(text) == set()


def test_one_place_by_two_nouns_or_by_a_longer_label_is_one() -> None:
    text = """
        DM: You walk into the woods.
        ROSA: I hide in the forest.
        DM: You come to the miller's house.
        ROSA: I knock at the house. "Is this your house?"
    """
    assert found(text) == [("the woods", [(1, 2)]), ("the miller's house", [(3, 4)])]


def test_your_house_far_from_the_house_is_another() -> None:
    text = "\n".join(["ROSA: I'd rather be in my house.", *["ROSA: Hm."] * 40, "DM: You come to the house."])
    assert found(text) == [("the house", [(42, 42)])]


def test_an_inn_is_the_chunks_only_inn_of_a_name_and_of_two_neither() -> None:
    one = "DM: You reach the Heron Inn.\nROSA: I sleep in the inn."
    assert named(one) == {"Heron Inn"}
    two = "DM: You reach the Heron Inn. There is the Otter Inn too.\nROSA: I sleep in the inn."
    assert named(two) == {"Heron Inn", "Otter Inn", "the inn"}


def test_another_and_the_other_are_places_of_their_own() -> None:
    text = """
        DM: You sit in the tavern.
        ROSA: I go to another tavern.
        BERT: I stay in the tavern. Is there a different tavern in here?
    """
    assert found(text) == [
        ("the tavern", [(1, 1), (3, 3)]),
        ("another tavern", [(2, 2)]),
        ("the different tavern", [(3, 3)]),
    ]


def test_a_label_in_the_next_town_is_another_place_of_that_name() -> None:
    text = """
        DM: You are in the city of Karrowmere. You enter the tavern.
        ROSA: I like the tavern.
        DM: Days pass. You arrive at the town of Tessel. You enter the tavern.
        ROSA: This tavern is worse.
    """
    assert [p for p in found(text) if p[0] == "the tavern"] == [("the tavern", [(1, 2)]), ("the tavern", [(3, 4)])]
    assert {"Karrowmere", "Tessel"} <= named(text)


def test_the_gazetteer_is_found_in_any_form_and_written_as_declared() -> None:
    known = (KnownName("Saltmarket Square", ("the Salts", "salty corner")),)
    text = "ROSA: Meet me by the Salts.\nBERT: Which one is the salty corner?\nDM: Saltmarket Square."
    assert found(text, locations=known) == [("Saltmarket Square", [(1, 3)])]
    assert found("ROSA: Pass me the salts.", locations=known) == []
    declared = (KnownName("Ashfall"),)
    assert named("ROSA: Ashfall!", locations=declared, glossary={"Ashfall": "a town"}) == {"Ashfall"}


def test_ranges_are_few_and_in_the_citable_units() -> None:
    told = units("\n".join(["DM: You are in the tavern.", "ROSA: Hm.", "ROSA: Hm."] * 20))
    request = WindowRequest(
        "dnd/test", "c/s", 1, told[10:50], told[:10], told[50:], CampaignReferences(("DM",), PLAYERS)
    )
    (record,) = locations.propose(request, PLACES)["locations"]
    assert len(record["ranges"]) == PLACES.places.max_ranges
    assert all(11 <= r["start"] <= r["end"] <= 50 for r in record["ranges"])


# --- what the party has to do with a place -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DM: You guys make your way across the bridge and into Karrowmere.", "visited"),  # arrival
        ("DM: As you sit in Karrowmere, it rains.", "visited"),  # presence
        ("DM: You leave Karrowmere at dawn.", "visited"),  # departure
        ("DM: Tibble waits in Karrowmere for the rest.", "visited"),  # a character
        ("ROSA: I'm in Karrowmere, right?", "visited"),
        ("ROSA: I sneak into Karrowmere.", "visited"),
        ('DM: "What brings you here in Karrowmere?" she asks.', "visited"),
        ("ROSA: Let's go to Karrowmere.", "planned"),
        ("ROSA: Shall we head to Karrowmere tonight?", "planned"),
        ("BERT: I'm going to Karrowmere, if anybody wants to come.", "planned"),
        ("ROSA: I don't know, maybe we travel to Karrowmere.", "planned"),
        ("ROSA: Why don't we go to Karrowmere?", "planned"),
        ("ROSA: We were in Karrowmere last winter.", "recalled"),
        ("ROSA: Remember when we went to Karrowmere?", "recalled"),
        ("DM: You see the smith you met before, in Karrowmere.", "recalled"),
        ("DM: Last we left off, the party had fought its way into Karrowmere.", "recalled"),
        ("DM: Last we left off, the party was on their way to Karrowmere.", "planned"),
        ("ROSA: Is Karrowmere large?", "mentioned"),
        ("DM: You can see Karrowmere in the distance.", "mentioned"),
        ('DM: "You should go to Karrowmere," she says.', "mentioned"),  # directions
        # negation, condition, third parties, rumour
        ("ROSA: We never went to Karrowmere.", "mentioned"),
        ("ROSA: We didn't go to Karrowmere.", "mentioned"),
        ("ROSA: Let's not go to Karrowmere.", "mentioned"),
        ("ROSA: If we went to Karrowmere, we'd die.", "mentioned"),
        ("ROSA: I wish we were in Karrowmere.", "mentioned"),
        ("ROSA: They went to Karrowmere.", "mentioned"),
        ("ROSA: He wants to go to Karrowmere.", "mentioned"),
        ("ROSA: They say Karrowmere is haunted.", "mentioned"),
        ("ROSA: Let's go, but what is the name of Karrowmere?", "mentioned"),
        ("DM: You meet a monk of Karrowmere.", "mentioned"),
        ('DM: Last we left off, she had said, "Go into Karrowmere."', "mentioned"),
        ("ROSA: He lives in Karrowmere.", "mentioned"),
        ("DM: If you go to Karrowmere, you will need a boat.", "mentioned"),
        ("DM: You don't go to Karrowmere.", "mentioned"),
        ("DM: She walks into Karrowmere.", "mentioned"),
        ("DM: We play live at the convention, in Karrowmere.", "mentioned"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kinds(text, "Karrowmere") == [("Karrowmere", kind)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ROSA: Nobody talks in this tavern.", "visited"),
        ("DM: Orcs are all over your tavern.", "visited"),
        ("ROSA: Can we go to the tavern?", "planned"),
        ("DM: He runs back into the tavern.", "mentioned"),
    ],
)
def test_kinds_of_a_label(text: str, kind: str) -> None:
    assert kinds(text, "the tavern") == [("the tavern", kind)]


def test_a_stay_is_one_record_and_what_is_said_of_the_place_meanwhile_is_none() -> None:
    text = """
        ROSA: Let's go to Karrowmere.
        DM: You arrive in Karrowmere.
        ROSA: What does Karrowmere smell of?
        DM: As you walk through Karrowmere, of fish.
    """
    assert stays(text, "Karrowmere") == [
        ("Karrowmere", "planned", [(1, 1)]),
        ("Karrowmere", "visited", [(2, 4)]),
    ]


def test_talk_right_before_a_plan_belongs_to_it() -> None:
    text = "ROSA: What about Karrowmere?\nBERT: Hm.\nROSA: Let's go to Karrowmere."
    assert stays(text, "Karrowmere") == [("Karrowmere", "planned", [(1, 3)])]


@pytest.mark.parametrize(("between", "records"), [(11, 1), (12, 2)])
def test_so_many_units_without_the_place_end_a_passage(between: int, records: int) -> None:
    assert STAYS.stays.mention_gap == 12
    text = "\n".join(["ROSA: Is Karrowmere large?", *["ROSA: Hm."] * between, "ROSA: And is Karrowmere old?"])
    assert len(stays(text, "Karrowmere")) == records


def test_id_and_name_come_from_one_record_of_the_registry() -> None:
    registry = registry_of("Karrowmere", "the tavern")
    answer = location_occurrences.propose(window(units("DM: You enter the tavern in Karrowmere."), registry), STAYS)
    pairs = [(o["location_id"], o["name"]) for o in answer["occurrences"]]
    assert pairs == [(r["id"], r["name"]) for r in registry]
    assert stays("DM: You enter the tavern in Karrowmere.") == []
    assert location_occurrences.propose(window(units("DM: Hm.")), STAYS) == {"occurrences": []}


def test_a_declared_alias_is_the_registrys_place() -> None:
    known = (KnownName("Saltmarket Square", ("the Salts",)),)
    text = "DM: You walk across the Salts."
    assert kinds(text, "Saltmarket Square", locations=known) == [("Saltmarket Square", "visited")]
    assert kinds(text, "the Salts", locations=known) == [("the Salts", "visited")]
    assert kinds(text, "Saltmarket Square") == []


def test_short_forms_and_labels_of_a_name() -> None:
    text = "DM: You reach the Quennell Manor.\nROSA: I'm in the manor.\nROSA: Nice place, Quennell."
    assert stays(text, "Quennell Manor") == [("Quennell Manor", "visited", [(1, 2)])]


def test_of_two_places_of_one_name_a_sighting_belongs_to_one() -> None:
    text = """
        DM: You arrive in Karrowmere. You enter the tavern.
        DM: You arrive in Tessel.
        DM: You enter the tavern.
    """
    registry = registry_of("Karrowmere", "the tavern", "Tessel", "the tavern")
    answer = location_occurrences.propose(window(units(text), registry), STAYS)["occurrences"]
    taverns = [(o["location_id"], o["ranges"]) for o in answer if o["name"] == "the tavern"]
    assert taverns == [
        (registry[1]["id"], [{"start": 1, "end": 1}]),
        (registry[3]["id"], [{"start": 3, "end": 3}]),
    ]


def test_a_record_of_a_later_window_gets_nothing_of_this_one() -> None:
    registry = registry_of("the tavern", "Karrowmere", "Tessel", "the tavern", "Ostrand")
    early, late = (
        location_occurrences.propose(window(units(text), registry), STAYS)["occurrences"]
        for text in (
            "DM: You enter the tavern.\nDM: You reach Karrowmere.\nDM: You enter the tavern.",
            "DM: You enter the tavern.\nDM: You reach Ostrand.",
        )
    )
    assert {o["location_id"] for o in early if o["name"] == "the tavern"} == {registry[0]["id"]}
    assert {o["location_id"] for o in late if o["name"] == "the tavern"} == {registry[3]["id"]}


def test_the_owners_house_and_the_other_house_are_not_the_house() -> None:
    text = "DM: You enter the house.\nROSA: I go into Wenna's house.\nROSA: I run into the other house."
    assert stays(text, "the house", "Wenna's house", "the other house") == [
        ("the house", "visited", [(1, 1)]),
        ("Wenna's house", "visited", [(2, 2)]),
        ("the other house", "visited", [(3, 3)]),
    ]


# --- what holds for every text -----------------------------------------------------------------------------------

_NAMES = ("Karrowmere", "the tavern", "Quennell Manor", "Wenna's house", "another tavern", "in", "\u0130n", "", "the")
_PIECES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [*_NAMES, "the", "this tavern", "the tavern", "'s house", '"', "\u201cin Karrowmere", " go to ", "in town",
         "You arrive in", "let's", "if we", "last we left off", "Tibble", "--", "\u0130\u0130 Inn", "' house", ", ",
         "a town called ", "the city of "]
    ),
)  # fmt: skip
_TEXTS = st.lists(st.tuples(st.sampled_from(["DM", "ROSA", "", "All"]), st.lists(_PIECES, max_size=8)), max_size=12)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS, st.integers(1, 10**6), st.lists(st.sampled_from(_NAMES)), st.booleans())
def test_every_answer_keeps_to_the_window(
    rows: list[tuple[str, list[str]]], first: int, names: list[str], declared: bool
) -> None:
    told = [Unit(first + i, (who,), " ".join(parts)) for i, (who, parts) in enumerate(rows)]
    known = (KnownName("Quennell Manor", ("Quennell", "the tavern", "")),) if declared else ()
    half = len(told) // 2
    references = CampaignReferences(("DM",), PLAYERS, locations=known, glossary={"": "", "the": "x"})
    registry = registry_of(*names)
    request = WindowRequest("dnd/test", "c/s", 1, tuple(told[half:]), tuple(told[:half]), (), references, registry)
    inside = {u.unit_id for u in request.units}
    places = locations.propose(request, PLACES)
    done = location_occurrences.propose(request, STAYS)
    assert places == locations.propose(request, PLACES)
    assert done == location_occurrences.propose(request, STAYS)
    json.dumps([places, done])
    for record in [*places["locations"], *done["occurrences"]]:
        assert record["ranges"]
        assert all(r["start"] <= r["end"] and {r["start"], r["end"]} <= inside for r in record["ranges"])
    assert all(set(p) == {"name", "ranges"} and p["name"].strip() for p in places["locations"])
    pairs = {(r["id"], r["name"]) for r in registry}
    for o in done["occurrences"]:
        assert set(o) == {"location_id", "name", "kind", "ranges"}
        assert (o["location_id"], o["name"]) in pairs
        assert o["kind"] in KINDS


def test_a_registry_of_another_shape_gives_nothing() -> None:
    odd: Any = ("Karrowmere", {"id": "x"}, {"name": "Karrowmere"}, {"id": 1, "name": None})
    request = window(units("DM: You are in Karrowmere."), odd)
    assert location_occurrences.propose(request, STAYS) == {"occurrences": []}


@pytest.mark.parametrize("line", ["\n".join, " ".join], ids=["many units", "one long unit"])
def test_time_is_linear_in_the_window(line: Any) -> None:
    sentence = 'You enter the {0} tavern in Ka{0}, the city of Ost{0}, "at the house" of Ab' + " Ab" * 10 + ". "
    marks = ["".join(chr(97 + int(d)) for d in str(i)) for i in range(2000)]
    said = line(("DM: " if line == "\n".join else "") + sentence.format(m) for m in marks)
    told = units(said) if line == "\n".join else (Unit(1, ("DM",), said),)
    begin = time.perf_counter()
    answer = locations.propose(window(told), PLACES)["locations"]
    registry = registry_of(*(p["name"] for p in answer))
    location_occurrences.propose(window(told, registry), STAYS)
    assert time.perf_counter() - begin < 20


# --- the files ---------------------------------------------------------------------------------------------------


def test_missing_files_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"locations\.yaml was not loaded"):
        locations.propose(window(units("DM: Hi.")), ruleset.load(npcs.RULE_FILES))
    with pytest.raises(ConfigurationError, match=r"location_occurrences\.yaml was not loaded"):
        location_occurrences.propose(window(units("DM: Hi.")), ruleset.load(("words", "common", "locations")))


@pytest.mark.parametrize("file", ["locations.yaml", "location_occurrences.yaml"])
def test_a_misspelt_key_is_an_error(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in [*RULES_FOLDER.glob("*.yaml"), *RULES_FOLDER.glob("*.txt")]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    with (tmp_path / file).open("a") as out:
        out.write("\nsome_nonsense: 1\n")
    with pytest.raises(ConfigurationError, match="some_nonsense"):
        ruleset.load([file])


def test_the_files_hold_no_place_of_the_annotated_excerpts() -> None:
    if not GOLD.is_dir():
        pytest.skip("the annotated excerpts are not beside the repository (../shared/data/gold)")
    text = " ".join(
        str(yaml.safe_load((RULES_FOLDER / f).read_text("utf-8"))).lower()
        for f in ("locations.yaml", "location_occurrences.yaml")
    )
    names = {
        place["name"]
        for path in GOLD.glob("*.gold.json")
        for place in json.loads(path.read_text("utf-8"))["locations"]
        if not place["generic"]
    }
    words = {w.strip("'s") for name in names for w in name.lower().split()}
    assert names
    plain = PLACES.english.ordinary_words | PLACES.places.head_nouns | PLACES.places.last_nouns
    assert not {w for w in words - plain if f" {w} " in f" {text} "}
