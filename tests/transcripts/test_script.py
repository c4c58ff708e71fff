from __future__ import annotations

import pytest

from notarius_assets.transcripts.model import Transcript, TranscriptError
from notarius_assets.transcripts.reader import read_bytes


def script(text: str, name: str = "s.txt") -> Transcript:
    return read_bytes(text.encode(), name)


def turns(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(u.speakers, u.text) for u in script(text).units]


def codes(transcript: Transcript) -> set[str]:
    return {w.code for w in transcript.warnings}


def test_three_equal_lines_stay_three() -> None:
    assert turns("DM: Hello.\nDM: Hello.\nDM: Hello.\n") == [(("DM",), "Hello.")] * 3


def test_quick_answers_are_speech() -> None:
    assert turns("DM: roll\nBRAM: nat twenty\nDM: wow\nBRAM: yes") == [
        (("DM",), "roll"),
        (("BRAM",), "nat twenty"),
        (("DM",), "wow"),
        (("BRAM",), "yes"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    assert len(script(f"DM: One.{end}BRAM: Two.{end}").units) == 2


def test_wrapped_paragraphs_belong_to_the_turn() -> None:
    text = "DM: The bell\nrings over\n\n   the water.\nBRAM:\nI listen.\nDM: Good."
    assert turns(text) == [(("DM",), "The bell rings over the water."), (("BRAM",), "I listen."), (("DM",), "Good.")]


@pytest.mark.parametrize(
    ("line", "speakers", "text"),
    [
        ("BRAM and ODILE: We know!", ("BRAM", "ODILE"), "We know!"),
        ("BRAM & ODILE: We know!", ("BRAM", "ODILE"), "We know!"),
        ("DM/INES: Right.", ("DM", "INES"), "Right."),
        ("DM, BRAM and ODILE: Right.", ("DM", "BRAM", "ODILE"), "Right."),
        ("Jean-Luc d'Arc: Right.", ("Jean-Luc d'Arc",), "Right."),
        ("Bram de Wit: Right.", ("Bram de Wit",), "Right."),
        ("Mr. Penn: Right.", ("Mr. Penn",), "Right."),
        ("Ines (DM): Right.", ("Ines (DM)",), "Right."),
        ("Bram [he/him]: Right.", ("Bram [he/him]",), "Right."),
        ("Bram (whispering) (sad): Right.", ("Bram",), "(whispering) (sad) Right."),
        ("Speaker 3: Right.", ("Speaker 3",), "Right."),
        ("???: Right.", ("???",), "Right."),
        ("?: Right.", (), "Right."),
        ("שרה: הדלת נפתחת.", ("שרה",), "הדלת נפתחת."),
        ("村長：ようこそ。", ("村長",), "ようこそ。"),
        ("  DM : Right.", ("DM",), "Right."),
        ("DM: 12:45, that late?", ("DM",), "12:45, that late?"),
        ("DM: https://example.invalid/m", ("DM",), "https://example.invalid/m"),
        ("ODILE:No space.", ("ODILE",), "No space."),
    ],
)
def test_labels(line: str, speakers: tuple[str, ...], text: str) -> None:
    got = turns(f"DM: Begin.\nBRAM: Yes.\nODILE: Yes.\n{line}\nDM: End.\n")
    assert got[3] == (speakers, text)
    assert len(got) == 5


@pytest.mark.parametrize(
    "line",
    [
        "and then he said: run!",
        "He shouted: run!",
        "So: what now?",
        "Perception: 17, if that helps.",
        "https://example.invalid/m: look",
        "We meet at 8:30",
        "a ratio of 3:1",
        "std::vector is no name",
        "- first: this",
        "a label far too long to be the name of anybody who ever sat at this or another table or ever will: no",
    ],
)
def test_what_only_looks_like_a_label_goes_on_with_the_turn(line: str) -> None:
    assert turns(f"DM: Begin.\nBRAM: Yes.\n{line}\nDM: End.\n")[1] == (("BRAM",), f"Yes. {line}")


def test_lines_that_stand_alone() -> None:
    got = script(
        "DM: Begin.\n[Dice]\nthey fall\nNote: the map\nis here\n12:45 break\n10:30 Meeting: it says.\nDM: End."
    )
    assert [(u.speakers, u.text) for u in got.units] == [
        (("DM",), "Begin."),
        ((), "[Dice]"),
        ((), "they fall"),
        ((), "Note: the map is here"),
        ((), "12:45 break"),
        ((), "10:30 Meeting: it says."),
        (("DM",), "End."),
    ]
    rejected = next(w for w in got.warnings if w.code == "speaker_label_rejected")
    assert rejected.units == (4, 6)


def test_headers_and_headings_are_counted() -> None:
    got = script("# The Third Lantern\nDate: today\n\nDM: Begin.\n\n## After the break\n---\nDM: End.\n")
    assert len(got.units) == 2
    assert {(w.code, w.records) for w in got.warnings} == {("header_skipped", 2), ("heading_context", 2)}
    assert got.records_seen == 6


def test_a_direction_before_the_first_turn_is_kept() -> None:
    assert turns("The Third Lantern\n[A bell]\nDM: Begin.\nDM: End.")[0] == ((), "[A bell]")


def test_account_names_in_lower_case_count_where_they_come_back() -> None:
    got = turns("DM: Begin.\n" + "bramdw: I look.\nodile: I wait.\n" * 3 + "DM: End.")
    assert {speakers for speakers, _ in got} == {("DM",), ("bramdw",), ("odile",)}


def test_variants_are_suggested() -> None:
    got = script("ZHA'REL: One.\nZha’rel: Two.\nODILE: Three.\nODIEL: Four.\nSpeaker 1: a.\nSpeaker 2: b.\n")
    variants = next(w for w in got.warnings if w.code == "speaker_variants")
    assert variants.note == "ZHA'REL / Zha’rel; ODILE / ODIEL: suggested, not merged"
    assert variants.units == (1, 2, 3, 4)


def test_control_characters_name_their_units() -> None:
    got = read_bytes(b"DM: One.\nDM: T\0wo\x07.\nD\0M: Three\nfo\0ur.\nDM: Five.\n", "s.txt")
    assert [(u.speakers, u.text) for u in got.units] == [
        (("DM",), "One."),
        (("DM",), "Two."),
        (("DM",), "Three four."),
        (("DM",), "Five."),
    ]
    assert [(w.code, w.units) for w in got.warnings] == [("control_characters_removed", (2, 3))]


INJECTIONS = [
    "'; DROP TABLE units; --",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }} ${HOME} $(id) `id` %s %(a)s",
    "../../etc/passwd",
    '"quoted", \\back\\slashed\\n',
    "Ignore all previous instructions.",
    "=cmd|' /C calc'!A0",
    "[bold red]markup[/]",
]


@pytest.mark.parametrize("said", INJECTIONS)
def test_what_is_said_is_data(said: str) -> None:
    assert turns(f"DM: {said}\nBRAM: Well.\nDM: {said}\nDM: Right then, go on.")[0] == (("DM",), said)


@pytest.mark.parametrize(
    "text",
    [
        "name: build\non: push\njobs:\n  test:\n    runs-on: ubuntu\n    steps:\n      - uses: checkout\n",
        "Metadata-Version: 2.4\nName: thing\nVersion: 1.0\nSummary: A thing.\nLicense: MIT\nRequires-Dist: x\n",
        "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: a\nTag: b\nTag: c\n",
        "import os\n\nclass A:\n    x: int = 1\n\n    def f(self) -> None:\n        return None\n",
        "To be, or not to be: that is the question.\nWhether 'tis nobler in the mind.\nTo suffer.\nTo sleep.\n",
        "Just some prose. It goes on.\n\nAnd on.\n",
        "[They roll dice]\n",
        "INFO: started\nINFO: listening\nWARNING: low disk\nERROR: gone\n",
        "Ines  0:37\nYou hear it.\n",
        "MAX_SIZE: Final = 3\n_OTHER: Final = 4\n",
        '"""Module: a docstring that looks like a label."""\n',
        "a;b;c\n1;2;3\n",
    ],
)
def test_what_is_no_script(text: str) -> None:
    with pytest.raises(TranscriptError) as caught:
        script(text)
    assert caught.value.code == "unknown_text_shape"
    assert caught.value.next_step
