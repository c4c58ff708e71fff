"""Files as bytes: encodings, what is no transcript, limits, and the guard that holds for all of them."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from notarius_assets.identity import compact_json
from notarius_assets.transcripts import codes, content
from notarius_assets.transcripts.model import IngestWarning, Transcript, TranscriptError, Unit, units_digest
from notarius_assets.transcripts.reader import READERS, READERS_VERSION, error_json, read, read_bytes

from .shared import unhurried

SCRIPT = "DM: Begin, Fjörgyn – now.\nBRAM: “Yes.”\nDM: End.\n"


def refused(data: bytes, name: str = "f.txt") -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        read_bytes(data, name)
    return caught.value


def warned(transcript: Transcript) -> list[str]:
    return [w.code for w in transcript.warnings]


@pytest.mark.parametrize(
    ("mark", "codec", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
    ],
)
@pytest.mark.parametrize("text", [SCRIPT, '{"TURNS": [{"NAMES": ["Ö"], "UTTERANCES": ["ä"], "NUMBER": 1}]}'])
def test_byte_order_marks(mark: bytes, codec: str, encoding: str, text: str) -> None:
    got = read_bytes(mark + text.encode(codec), "f")
    assert got.encoding == encoding
    assert warned(got) == ["encoding_bom"]
    assert got.units == read_bytes(text.encode(), "f").units


def test_utf16_without_a_mark_is_guessed() -> None:
    got = read_bytes(SCRIPT.encode("utf-16-le"), "f.txt")
    assert (got.encoding, warned(got)) == ("utf-16-le", ["encoding_guessed"])
    assert got.units == read_bytes(SCRIPT.encode(), "f").units


def test_windows_1252_is_guessed_on_clear_evidence() -> None:
    got = read_bytes(SCRIPT.encode("cp1252"), "f.txt")
    assert (got.encoding, warned(got)) == ("windows-1252", ["encoding_guessed"])
    assert got.units == read_bytes(SCRIPT.encode(), "f").units


def test_mixed_bytes_are_replaced_where_they_stand() -> None:
    data = "DM: Fjörgyn.\n".encode() + "BRAM: café, naïve, été, là.\nDM: End.\n".encode("cp1252")
    got = read_bytes(data, "f.txt")
    assert [u.text for u in got.units] == ["Fjörgyn.", "caf\ufffd, na\ufffdve, \ufffdt\ufffd, l\ufffd.", "End."]
    assert [(w.code, w.units) for w in got.warnings] == [("encoding_replaced", (2,))]


def test_another_alphabet_is_no_windows_1252() -> None:
    got = read_bytes("DM: Привет, Боря. And so on, and on, and on, and on, and on.\nDM: End.\n".encode("cp1251"), "f")
    assert warned(got) == ["encoding_replaced"]


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b"\xff\xfe \0\n\0"])
def test_empty(data: bytes) -> None:
    assert refused(data).code == "empty_file"


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), "DM: Hello.")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"RIFF\x24\x08\0\0WAVEfmt ", "WAV"),
        (zipped(), "ZIP"),
        (b"%PDF-1.7\n...", "PDF"),
        (b"fLaC\0\0\0\x22", "FLAC"),
        (b"OggS\0\x02", "Ogg"),
        (b"\0\0\0\x20ftypM4A ", "M4A"),
        (gzip.compress(b"DM: Hello.", mtime=0), "gzip"),
        (bytes(range(256)) * 8, "control characters"),
        (b"\0" * 100, "control characters"),
    ],
)
def test_binary(data: bytes, kind: str) -> None:
    error = refused(data)
    assert error.code == "binary_file"
    assert kind in error.message


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"TURNS": [{"NAMES": ["A"], "UTTERANCES": ["b"], "NUMBER": 0}, {"NAMES": ["A"], "UTTER', 1),
        ('{"TURNS": [{"NAMES": ["A"], "UTTERANCES": ["b \\"c', 0),
        ('{"TURNS": [{"NAMES": [], "UTTERANCES": [], "NUMBER": 0}, {"NUMBER": 1', 1),
        ('[{"TURNS": [{"NUMBER": 0}, {"NUMBER": 1}]}, {"TURNS": [{"NUMBER": 2}, ', 3),
        ('{"TURNS": [{"NUMBER": 0}, {"NUMBER": nul', 1),
        ('{"a": "\\u00', 0),
        ("{", 0),
    ],
)
def test_truncated_json(text: str, whole: int) -> None:
    error = refused(text.encode(), "f.json")
    assert error.code == "json_truncated"
    assert error.details == {"offset": len(text), "recoverable_units": whole}
    assert f"{len(text)}" in error.message


def test_broken_json_says_where() -> None:
    error = refused(b'{"TURNS": [\n  {"NAMES": ["A"] "UTTERANCES": []}\n]}')
    assert error.code == "json_invalid"
    assert "line 2, column 19" in error.message


def test_json_of_many_digits() -> None:
    assert refused(b'{"TURNS": [NaN, ' + b"9" * 5_000 + b"]}").code == "json_invalid"


@pytest.mark.parametrize("data", [b"[" * 200_000, b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 200_000])
def test_deep_json(data: bytes) -> None:
    assert refused(data).code in ("json_too_deep", "json_truncated", "unknown_json_shape")


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"detail": "Unauthorized"}, "'detail'"),
        ({f"k{n}": 0 for n in range(30)}, "and 20 more"),
        ({"a\nb": 1}, "'a\\nb'"),
        ({}, "an empty object"),
        ([], "an empty list"),
        ([1], "a list"),
        ([{"a": 1}], "objects with keys 'a'"),
        ("DM: Hello.", "a string"),
        (True, "a truth value"),
        (7, "a number"),
        (None, "null"),
    ],
)
def test_json_of_another_shape(document: Any, found: str) -> None:
    error = refused(json.dumps(document).encode(), "f.json")
    assert error.code == "unknown_json_shape"
    assert found in error.message


def test_pages_are_named_by_their_title() -> None:
    page = b"\n<!DOCTYPE html><html><title>Sign\n in</title><body>User: name<br>DM: Hello there.</body></html>"
    error = refused(page)
    assert error.code == "unknown_html_shape"
    assert "'Sign in'" in error.message


def test_a_line_without_end_is_refused_before_any_pattern() -> None:
    error = refused(b"DM: Hello.\nDM: " + b"(" * (content.MAX_LINE + 1))
    assert error.code == "line_too_long"
    assert error.details == {"line": 2}


def test_long_json_on_one_line_is_no_long_line() -> None:
    said = "word " * 300_000
    got = read_bytes(json.dumps({"TURNS": [{"NAMES": ["A"], "UTTERANCES": [said], "NUMBER": 0}]}).encode(), "f.json")
    assert len(got.units[0].text) > content.MAX_LINE


def test_too_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(content, "MAX_BYTES", 10)
    (tmp_path / "f.txt").write_text(SCRIPT)
    with pytest.raises(TranscriptError) as caught:
        read(tmp_path / "f.txt")
    assert caught.value.code == refused(SCRIPT.encode()).code == "file_too_large"


def test_unreadable_paths(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent.txt", tmp_path, tmp_path / "pipe", Path("nul\0byte")):
        with pytest.raises(TranscriptError) as caught:
            read(path)
        assert caught.value.code == "file_unreadable"


def test_names_can_not_break_the_line() -> None:
    error = refused(b"", "a\n\x1b[31m\u202eb\udc80.txt")
    assert "a\\n\\x1b[31m\\u202eb\\udc80.txt" in error.message
    assert read_bytes(SCRIPT.encode(), "a\nb").source == "a\\nb"


def test_json_forms() -> None:
    got = read_bytes(SCRIPT.encode(), "f.txt").as_json()
    assert list(got) == ["source", "format", "encoding", "units", "warnings", "error"]
    assert got["units"][2] == {"unit": 3, "speakers": ["DM"], "text": "End.", "start_ms": None, "end_ms": None}
    assert got["error"] is None
    bad = error_json("f.txt", refused(b'{"TURNS": ['))
    assert list(bad) == list(got)
    assert bad["error"] == {
        "code": "json_truncated",
        "message": "f.txt: the JSON ends before its last bracket, at character 11; 0 records before it are whole",
        "offset": 11,
        "recoverable_units": 0,
        "next_step": "export the file again, it was cut",
    }
    json.dumps([got, bad], allow_nan=False)


def test_the_readers_version_names_every_reader() -> None:
    assert all(f"{reader.name}-{reader.version}" in READERS_VERSION.split("+") for reader in READERS)


def test_the_guard() -> None:
    unit = Unit(1, ("A",), "b")
    with pytest.raises(AssertionError, match="2 records seen, 1 accounted for"):
        Transcript("f", "x", "utf-8", (unit,), (), 2)
    with pytest.raises(AssertionError, match="unit ids"):
        Transcript("f", "x", "utf-8", (Unit(2, (), "b"),), (), 1)
    dropped = IngestWarning("empty_record_dropped", records=1)
    assert Transcript("f", "x", "utf-8", (unit,), (dropped,), 2).content_digest == units_digest((unit,))


texts = st.text(st.characters(exclude_categories=()), max_size=20)


@unhurried
@given(st.lists(st.builds(Unit, st.integers(), st.lists(texts).map(tuple), texts, st.none() | st.integers())))
@example([Unit(2**70, ("\ud800",), '\x00\x1f\x7f"\\/\u2028é', -1, None, "7")])
def test_the_digest_is_of_compact_json_lines(units: list[Unit]) -> None:
    lines = "".join(compact_json([u[0], list(u[1]), *u[2:]]) + "\n" for u in units)
    assert units_digest(tuple(units)) == hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


names = st.sampled_from(["f.json", "f.txt", "f.vtt", "f", "\n.srt"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["NAMES", "UTTERANCES", "NUMBER", "TURNS", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)
turns_like = st.fixed_dictionaries(
    {},
    optional={
        "NAMES": st.lists(texts) | json_values,
        "UTTERANCES": st.lists(texts) | json_values,
        "NUMBER": json_values,
    },
)
crd3_like = st.one_of(
    st.fixed_dictionaries({"TURNS": st.lists(turns_like | json_values)}),
    st.lists(st.fixed_dictionaries({"TURNS": st.lists(turns_like)}) | json_values),
    json_values,
)
script_lines = st.lists(
    st.one_of(
        st.sampled_from(
            ["DM: Hello.", "BRAM: Yes.", "", "[Dice]", "Note: x", "12:45 break", "# Part", "---", "WEBVTT"]
        ),
        st.builds("{}: {}".format, texts, texts),
        texts,
    ),
    max_size=12,
)
prefixes = st.sampled_from(
    [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"DM: Hello.\n", b'{"TURNS": [']
)


def attempt(data: bytes, name: str) -> Transcript | TranscriptError:
    try:
        return read_bytes(data, name)
    except TranscriptError as error:
        return error


def holds(data: bytes, name: str) -> None:
    """Either a transcript that accounts for every record, or an error of one line; nothing else."""
    got = attempt(data, name)
    if isinstance(got, TranscriptError):
        assert got.code in codes.ERRORS
        assert got.next_step
        assert str(got).isprintable()
        json.dumps(error_json(name, got)).encode()
        return
    assert got.units
    assert got.records_seen == len(got.units) + sum(w.records for w in got.warnings)
    assert [w.code for w in got.warnings] == sorted({w.code for w in got.warnings}, key=codes.WARNINGS.index)
    for warning in got.warnings:
        assert list(warning.units) == sorted(set(warning.units))
        assert set(warning.units) <= set(range(1, len(got.units) + 1))
    for unit in got.units:
        assert unit.text
        assert unit.text == " ".join(unit.text.split())
        "".join((unit.text, unit.label or "", *unit.speakers)).encode()
        assert len(set(unit.speakers)) == len(unit.speakers)
    assert got == read_bytes(data, name)
    compact_json(got.as_json()).encode()


@unhurried
@given(prefixes, st.binary(max_size=300), names)
def test_any_bytes(prefix: bytes, data: bytes, name: str) -> None:
    holds(prefix + data, name)


@unhurried
@given(crd3_like, st.booleans(), st.integers(0, 400), names)
def test_any_json(document: Any, ascii_only: bool, cut: int, name: str) -> None:
    data = json.dumps(document, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    holds(data, name)
    holds(data[:cut], name)


@unhurried
@given(script_lines, st.sampled_from(["\n", "\r\n", "\r"]), names)
def test_any_lines(lines: list[str], end: str, name: str) -> None:
    holds(end.join(lines).encode("utf-8", "surrogatepass"), name)


@unhurried
@given(
    st.sampled_from(
        [t + e for t in ("(", "[", "*", "♪", "- ", "#", "a: ", '"', "\\u", "{", " /", "DM and ") for e in ("", " ")]
    ),
    st.integers(1, 40_000),
)
def test_no_pattern_is_slow_on_repeats(piece: str, times: int) -> None:
    holds(f"DM: Hello.\nDM: {piece * times}\n{piece * times}\n".encode(), "f.txt")
