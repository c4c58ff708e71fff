"""The shared samples against the right readings beside them."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from notarius_assets.transcripts.model import TranscriptError
from notarius_assets.transcripts.reader import read

from .shared import CRD3, GOLD, INPUTS, needs_crd3, needs_gold, needs_inputs

READ_TODAY = ("crd3.json", "crd3_aligned.json", "script_plain.txt")
ERRORS_TODAY = ("binary.vtt", "empty.vtt", "truncated_whisperx.json", "wrong_shape.json")
NOT_READ_YET = {
    "bad/header_only.vtt": "unknown_text_shape",
    "bad/negative_times.srt": "unknown_text_shape",
    "bad/no_header.vtt": "unknown_text_shape",
    "bad/utf16le.srt": "unknown_text_shape",
    "bad/vtt_named.srt": "unknown_text_shape",
    "bad/bad_types.json": "unknown_json_shape",
    "merged_craig.txt": "unknown_text_shape",
    "otter.txt": "unknown_text_shape",
    "srt_messy.srt": "unknown_text_shape",
    "youtube_auto.vtt": "unknown_text_shape",
    "whisper_openai.json": "unknown_json_shape",
    "whisperx_diarized.json": "unknown_json_shape",
    "whispercpp.json": "unknown_json_shape",
    "discord_export.json": "unknown_json_shape",
    "foundry_messages.db": "unknown_json_shape",
    "roll20_chat.html": "unknown_html_shape",
}


def expected(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((INPUTS / name).read_text())
    return loaded


@needs_inputs
@pytest.mark.parametrize("name", READ_TODAY)
def test_reads_as_expected(name: str) -> None:
    got = read(INPUTS / name).as_json()
    want = expected(f"{name.rsplit('.', 1)[0]}.expected.json")
    assert {key: got[key] for key in ("source", "format", "encoding", "units")} == {
        key: want[key] for key in ("source", "format", "encoding", "units")
    }
    assert {w["code"] for w in got["warnings"]} == {w["code"] for w in want["warnings"]}
    units = {w["code"]: w["units"] for w in got["warnings"] if "units" in w}
    assert {w["code"]: w["units"] for w in want["warnings"] if "units" in w}.items() <= units.items()


@needs_inputs
@pytest.mark.parametrize("name", ERRORS_TODAY)
def test_refuses_as_expected(name: str) -> None:
    want = expected(f"bad/{name}.expected.json")["error"]
    with pytest.raises(TranscriptError) as caught:
        read(INPUTS / "bad" / name)
    error = caught.value
    assert error.code == want["code"]
    details = {key: value for key, value in want.items() if key not in ("code", "message")}
    assert details.items() <= error.details.items()
    assert name in error.message
    assert error.next_step
    assert "\n" not in str(error)


@needs_inputs
@pytest.mark.parametrize(("name", "code"), NOT_READ_YET.items())
def test_names_what_is_not_read_yet(name: str, code: str) -> None:
    with pytest.raises(TranscriptError, match="not read yet") as caught:
        read(INPUTS / name)
    assert caught.value.code == code


@needs_inputs
def test_texts_that_are_no_transcript() -> None:
    others = [INPUTS / "README.md", CRD3 / "README.md", CRD3 / "LICENSE-CC-BY-SA-4.0.txt", GOLD / "score.py"]
    others += [GOLD / "README.md", GOLD / "GUIDELINES.md", INPUTS / "craig_tracks" / "info.txt"]
    for path in filter(lambda path: path.exists(), others):
        with pytest.raises(TranscriptError) as caught:
            read(path)
        assert caught.value.code == "unknown_text_shape", path


@needs_crd3
def test_every_crd3_session_reads() -> None:
    files = sorted(CRD3.glob("*.json"))
    assert files
    for path in files:
        transcript = read(path)
        turns = orjson.loads(path.read_bytes())["TURNS"]
        assert transcript.format == "crd3-cleaned"
        assert transcript.records_seen == len(turns) == len(transcript.units)
        assert {w.code for w in transcript.warnings} <= {"non_speech", "speaker_group", "speaker_variants"}
        assert [u.label for u in transcript.units] == [str(turn["NUMBER"]) for turn in turns]
        assert [u.text for u in transcript.units] == [" ".join(" ".join(t["UTTERANCES"]).split()) for t in turns]


@needs_gold
def test_bare_excerpts_keep_their_turn_numbers() -> None:
    transcript = read(GOLD / "dev1.transcript.json")
    first = json.loads((GOLD / "dev1.gold.json").read_text())["range"][0]
    assert transcript.format == "crd3-cleaned"
    assert transcript.units[0].label == str(first)
