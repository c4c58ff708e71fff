from __future__ import annotations

import json
from typing import Any

import pytest

from notarius_assets.transcripts.model import Transcript, TranscriptError
from notarius_assets.transcripts.reader import read_bytes


def turn(number: Any, names: Any = ("INES",), said: Any = ("Dusk.",)) -> dict[str, Any]:
    return {"NAMES": names, "UTTERANCES": said, "NUMBER": number}


def session(*turns: Any, **more: Any) -> Transcript:
    return read_bytes(json.dumps({"TURNS": turns, **more}).encode(), "s.json")


def records(transcript: Transcript, code: str) -> int:
    return sum(w.records for w in transcript.warnings if w.code == code)


def units(transcript: Transcript, code: str) -> tuple[int, ...]:
    return next((w.units for w in transcript.warnings if w.code == code), ())


def test_the_summary_is_no_unit() -> None:
    got = session(turn(0), METADATA={"Synopsis": [{"content": "Marrek dies."}]})
    assert [u.text for u in got.units] == ["Dusk."]


def test_fragments_are_joined_and_white_space_collapsed() -> None:
    got = session(turn(7, ["INES"], ["The  bell", "\u00a0of\u0085 Veldmoor ", "", "rings."]))
    assert got.units[0].text == "The bell of Veldmoor rings."
    assert got.units[0].label == "7"


def test_text_is_otherwise_unchanged() -> None:
    said = "Zha’rel's “E\u0301mile” ﬁnds ½ \u200dé 👩\u200d🚀 Ａ"
    assert session(turn(0, ["INES"], [said])).units[0].text == said


def test_labels_are_split_trimmed_and_composed() -> None:
    got = session(turn(0, ["ALL - BRAM - INES"]), turn(1, [" Fjo\u0308rgyn "]), turn(2, ["JEAN-LUC", "JEAN-LUC"]))
    assert [u.speakers for u in got.units] == [("ALL", "BRAM", "INES"), ("Fjörgyn",), ("JEAN-LUC",)]
    assert units(got, "speaker_group") == (1,)
    assert units(got, "speaker_normalised") == (2,)


def test_nobody_and_anonymous_labels() -> None:
    got = session(turn(0, ["?"]), turn(1, ["SPEAKER_01"]), turn(2, []), turn(3, ["Unknown Speaker"]), turn(4, None))
    assert [u.speakers for u in got.units] == [(), ("SPEAKER_01",), (), (), ()]
    assert units(got, "speaker_missing") == (1, 3, 4, 5)
    assert units(got, "speaker_anonymous") == (2,)


def test_a_session_of_nobody() -> None:
    got = session(turn(0, []), turn(1, [""]))
    assert [w.code for w in got.warnings] == ["no_speakers"]


def test_records_without_text_are_counted() -> None:
    got = session(turn(0, ["INES"], []), turn(1), turn(2, ["INES"], [" ", "\u200f"]), turn(3, ["INES"], [""]))
    assert [u.label for u in got.units] == ["1"]
    assert records(got, "empty_record_dropped") == 3
    assert got.records_seen == 4


def test_odd_records_are_counted_not_guessed() -> None:
    odd = [5, "oops", None, [], {}, turn(0, "INES"), turn(1, ["INES"], "Dusk."), turn(2, [1]), turn(3, ["A"], [1])]
    odd += [turn(4, [["INES"]]), {"NAMES": ["INES"], "NUMBER": 5}]
    got = session(*odd, turn(9))
    assert len(got.units) == 1
    assert records(got, "record_malformed_skipped") == len(odd)


@pytest.mark.parametrize(
    ("number", "label"), [("12", "12"), (None, None), (1.5, None), (True, None), ([], None), (-3, "-3")]
)
def test_an_odd_number_loses_no_words(number: Any, label: str | None) -> None:
    assert session(turn(number)).units[0].label == label


def test_a_turn_without_number_or_names_is_speech() -> None:
    got = session({"UTTERANCES": ["Dusk."]})
    assert got.units[0][1:] == ((), "Dusk.", None, None, None)


def test_equal_turns_stay() -> None:
    got = session(turn(0), turn(0), turn(0))
    assert [u.text for u in got.units] == ["Dusk."] * 3


def test_markers_alone_are_no_speech() -> None:
    said = ["(laughter)", "[break]", "♪", "*sighs* (groans)", "♪ Ma-rrek ♪", "Oh. (laughs)", "(a (b) c)"]
    got = session(*(turn(n, ["INES"], [text]) for n, text in enumerate(said)))
    assert units(got, "non_speech") == (1, 2, 3, 4)


def test_control_and_bidi_characters_are_removed_and_named() -> None:
    got = session(turn(0, ["IN\u202eES"], ["a\u0000b", "c\u200f"]), turn(1), turn(2, ["INES"], ["x\u001fy"]))
    assert [(u.speakers, u.text) for u in got.units] == [(("INES",), "ab c"), (("INES",), "Dusk."), (("INES",), "xy")]
    assert units(got, "control_characters_removed") == (1, 3)
    assert units(got, "bidi_controls_removed") == (1,)


def test_half_surrogates_become_replacement_characters() -> None:
    got = read_bytes(b'{"TURNS": [{"NAMES": ["A\\udc80"], "UTTERANCES": ["b\\ud800"], "NUMBER": "\\ud800"}]}', "s.json")
    assert got.units[0] == (1, ("A\ufffd",), "b\ufffd", None, None, "\ufffd")
    assert units(got, "encoding_replaced") == (1,)
    assert len(got.content_digest) == 64


def test_bytes_that_are_no_utf8() -> None:
    got = read_bytes(b'{"TURNS": [{"NAMES": ["A"], "UTTERANCES": ["caf\xe9"], "NUMBER": 0}]}', "s.json")
    assert got.units[0].text == "caf\ufffd"
    assert units(got, "encoding_replaced") == (1,)


def test_nan_is_read_as_null() -> None:
    got = read_bytes(b'{"TURNS": [{"NAMES": ["A"], "UTTERANCES": ["b"], "NUMBER": NaN}]}', "s.json")
    assert got.units[0].label is None
    assert [w.code for w in got.warnings] == ["json_nan"]


def aligned(*chunks: Any) -> Transcript:
    made = [{"CHUNK": "They meet.", "ALIGNMENT": {}, "TURNS": c} if isinstance(c, list) else c for c in chunks]
    return read_bytes(json.dumps(made).encode(), "a.json")


def test_border_turns_are_read_once() -> None:
    got = aligned([turn(0), turn(1)], [turn(1), turn(2)], [turn(2)])
    assert [u.label for u in got.units] == ["0", "1", "2"]
    assert records(got, "duplicate_record_dropped") == 2
    assert got.records_seen == 5


def test_unequal_turns_of_one_number_both_stay() -> None:
    got = aligned([turn(0), turn(1)], [turn(1, ["BRAM"], ["Other."]), turn(2)])
    assert [u.text for u in got.units] == ["Dusk.", "Dusk.", "Other.", "Dusk."]


def test_chunks_out_of_order_are_sorted_by_number() -> None:
    got = aligned([turn(3), turn(4)], [turn(1), turn(3)])
    assert [u.label for u in got.units] == ["1", "3", "4"]
    assert "records_reordered" in [w.code for w in got.warnings]


def test_chunks_that_are_none_are_counted() -> None:
    got = aligned([turn(0)], 5, {"CHUNK": "no turns"}, [7, turn(1)])
    assert [u.label for u in got.units] == ["0", "1"]
    assert records(got, "record_malformed_skipped") == 3
    assert got.records_seen == 5


@pytest.mark.parametrize("document", [{"TURNS": []}, {"TURNS": [turn(0, ["A"], [])]}, [{"TURNS": []}]])
def test_nothing_to_give_out_is_an_error(document: Any) -> None:
    with pytest.raises(TranscriptError, match=r"s\.json") as caught:
        read_bytes(json.dumps(document).encode(), "s.json")
    assert caught.value.code == "no_cues"


def test_a_foreign_name_is_only_warned_of() -> None:
    got = read_bytes(json.dumps({"TURNS": [turn(0)]}).encode(), "s.vtt")
    assert [w.code for w in got.warnings] == ["format_mismatch"]
