"""Names and texts that were made to hurt: they are text, everywhere, unchanged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from notarius_assets.transcripts.reader import read
from tests.conftest import CampaignFactory
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import ask, names, notarius, run_steps, status_of

TEXTS = (
    "'; DROP TABLE lake.npcs; --",
    '"; DROP VIEW npcs; --',
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "[bold red]not markup[/] {{ 7 * 7 }} ${HOME} $(id) %s %(x)s {0}",
    "| a | b |\\n# head `code` **bold**",
    "NFD e\u0301 o\u0308 and NFC é ö stay apart",
    "\U0001f409 dragon \U0001f468\u200d\U0001f469\u200d\U0001f467 family \U0001f3f4 flag",
    "שלום עולם مرحبا بالعالم right to left",
    "東京の魔法使い said ヴァルン, 你好 Captain Hestrel",
    "K’Varn ʼ ′ ＇ ` ´ and ﬁ ligature ß İ ı",
    "../../../etc/passwd \\\\server\\share C:\\x",
    "Captain Hestrel says \u201cyes\u201d \u2014 \u00a1s\u00ed!",
)
ESC = "\x1b"


def test_every_text_is_the_same_in_the_file_the_lake_and_the_history(campaign: CampaignFactory) -> None:
    c = campaign(sessions=0)
    turns = [{"NAMES": ["DM"], "UTTERANCES": [text], "NUMBER": n} for n, text in enumerate(TEXTS)]
    path = c.root / "transcripts" / "odd.txt"
    path.write_text(json.dumps([{"CHUNK": "", "ALIGNMENT": {}, "TURNS": turns}]))
    units = read(path).units
    assert [u.text for u in units] == list(TEXTS)
    run_steps(c)
    store = c.open().store
    assert store.units(store.manifest("hill-road/odd").published["transcript_units"]) == units
    rows = ask(c, "SELECT unit_id, speakers, text FROM units ORDER BY unit_id")
    assert rows == [(u.unit_id, list(u.speakers), u.text) for u in units]
    assert json.loads(notarius("sql", "SELECT text FROM units ORDER BY unit_id", "--json", on=c).out) == [
        {"text": text} for text in TEXTS
    ]
    assert_whole(c)
    for lane in c.open().pipeline.lanes:
        assert notarius("prompt", lane.lane.key, "odd", on=c).code == 0


def test_no_command_sends_a_control_sequence_to_the_terminal(campaign: CampaignFactory) -> None:
    c = campaign(sessions=0)
    red = f"{ESC}[31m{ESC}]0;title\x07 Captain Hestrel \x9b31m"
    turns = [{"NAMES": [f"D{ESC}[5mM"], "UTTERANCES": [f"{red} nods. I meet {red}."], "NUMBER": n} for n in range(4)]
    path = c.root / "transcripts" / f"red{ESC}[31m.txt"
    path.write_text(json.dumps([{"CHUNK": "", "ALIGNMENT": {}, "TURNS": turns}]))
    (c.root / "transcripts" / f"bad{ESC}[31m.txt").write_bytes(b"")
    run_steps(c)
    for given in (
        ("read", str(path)),
        ("status",),
        ("show", "red-31m"),
        ("sql", "SELECT * FROM units"),
        ("sql", "SELECT * FROM ingest_warnings"),
        ("sql", "SELECT chr(27) || '[31m' AS red"),
        ("sql", f"SELECT '{ESC}[31m' FROM"),
        ("tables",),
        ("run", "--dry-run"),
        ("prompt", "dnd/npcs", "red-31m"),
        ("run", f"{ESC}[31m"),
    ):
        ended = notarius(*given, on=None if given[0] == "read" else c)
        assert ESC not in ended.out + ended.err, given
        assert "\x9b" not in ended.out + ended.err, given
        assert "\x07" not in ended.out + ended.err, given


FILE_NAMES = {
    b"..%2f..%2fup.txt": None,
    b"q'uote\"s.txt": "q-uote-s",
    b"new\nline.txt": "new-line",
    b"'; DROP TABLE x;--.txt": "drop-table-x",
    b"<script>.txt": "script",
    b"caf\xe9.txt": "caf",
    "Se\u0301ance 3.txt".encode(): "seance-3",
    b"a..b.txt": "a-b",
    b"2024-01-05.txt": "2024-01-05",
    b"campaign=x.txt": "campaign-x",
    b"[a]*?.txt": "a",
    b"-rf.txt": "rf",
    b"CON.txt": "con",
    ("x" * 120).encode() + b".txt": "x" * 80,
}


@pytest.mark.parametrize(("name", "slug"), FILE_NAMES.items(), ids=map(str, FILE_NAMES))
def test_a_file_name_becomes_a_slug_and_nothing_else(campaign: CampaignFactory, name: bytes, slug: str | None) -> None:
    c = campaign(sessions=1)
    c.transcript("session-01").rename(c.root / "transcripts" / os.fsdecode(name))
    outside = names(c.root)
    ended = run_steps(c)
    if slug is None:
        assert ended == [], "hidden files are no transcripts"
        return
    assert {o.attempt.state for o in ended} == {"accepted"}
    assert status_of(c, slug).state == "current"
    assert [p.name for p in (c.home / "lake/manifests/campaign=hill-road").iterdir()] == [f"session={slug}.json"]
    assert notarius("show", slug, on=c).code == 0
    assert ask(c, "SELECT session FROM sessions") == [(slug,)]
    assert names(c.root) == sorted({*outside, ".notarius"})


@pytest.mark.parametrize(
    "names_of_two", [("Äb", "äb"), ("a b", "a-b"), ("日本", "中国")], ids=["marks", "blank", "none"]
)
def test_names_that_give_no_slug_or_one_for_two_stop_before_anything_runs(
    campaign: CampaignFactory, names_of_two: tuple[str, str]
) -> None:
    c = campaign(sessions=0, stories=dict.fromkeys(names_of_two, "DM: Hello there.\nANNA: Hello.\n"))
    ended = notarius("run", on=c)
    assert ended.code == 2
    assert "`sessions: {" in ended.err
    assert str(c.pipeline) in ended.err
    assert names(c.home) == ["lake", "lake.json"]
    line = ended.err[ended.err.index("`sessions: ") + 1 :].partition("`")[0]
    other = next(n for n in names_of_two if n in line)
    assert other
    if names_of_two[0] != "日本":
        with c.pipeline.open("a", encoding="utf-8") as pipeline:
            pipeline.write(line + "\n")
        assert notarius("run", "--dry-run", on=c).code == 0, "the line that the message gives is the way out"


@pytest.mark.parametrize(
    "content",
    [b"", b" \n\t", bytes(range(256)) * 4, b"\x89PNG\r\n\x1a\n\0\0", b"{", b'{"a": 1}', b"no script at all"],
    ids=["empty", "blank", "binary", "image", "cut", "other", "prose"],
)
def test_a_file_that_is_no_transcript_is_unreadable_and_nothing_is_guessed(
    campaign: CampaignFactory, content: bytes
) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    Path(c.root / "transcripts" / "noise.txt").write_bytes(content)
    first = run_steps(c)[0].attempt
    assert (first.state, first.table) == ("unreadable", "transcript_units")
    assert first.reason
    assert first.next_step
    assert status_of(c, "noise").state == "unreadable"
    assert status_of(c, "session-01").state == "current"
    assert ask(c, "SELECT DISTINCT session FROM units") == [("session-01",)]


def test_a_file_in_another_encoding_is_read_and_said(campaign: CampaignFactory) -> None:
    c = campaign(sessions=0)
    text = "DM: Captain Zoë waits at the café.\nANNA: Hello, Captain Zoë!\nDM: \u201cHello,\u201d says Captain Zoë.\n"
    (c.root / "transcripts" / "old.txt").write_bytes(text.encode("cp1252"))
    run_steps(c)
    assert ask(c, "SELECT text FROM units WHERE unit_id = 1") == [("Captain Zoë waits at the café.",)]
    assert ask(c, "SELECT count(*) > 0 FROM ingest_warnings WHERE starts_with(code, 'encoding')") == [(True,)]
