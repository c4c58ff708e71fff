"""Every verb: its exit code, what it says, and that a user's mistake is one line with a next step."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from notarius_assets import __version__
from notarius_assets.flow import steps
from notarius_assets.flow.workspace import Workspace
from notarius_assets.resources import resource
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.robustness.support import Ended, change, documents, names, notarius, retell, run_steps


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Two sessions, run; no test changes them."""
    made = write_campaign(tmp_path_factory.mktemp("ready"), sessions=2)
    run_steps(made)
    return made


def one_line(ended: Ended, code: int) -> str:
    assert ended.code == code, ended
    assert ended.err.count("\n") == 1, ended
    assert ended.err.startswith("notarius: ")
    assert ". Next: " in ended.err
    return ended.err


def test_read_shows_units_and_stores_nothing(ready: Campaign) -> None:
    before = names(ready.home)
    ended = notarius("read", str(ready.transcript("session-01")))
    assert ended.code == 0
    assert "session-01.txt: 6 units" in ended.out
    assert "… 1 more" in ended.out
    assert names(ready.home) == before


def test_read_json_is_the_interface_of_other_programs(ready: Campaign, tmp_path: Path) -> None:
    ended = notarius("read", str(ready.transcript("session-01")), "--json")
    found = json.loads(ended.out)
    assert list(found) == ["source", "format", "encoding", "units", "warnings", "error"]
    assert found["source"] == "session-01.txt"
    assert found["error"] is None
    assert [u["unit"] for u in found["units"]] == [1, 2, 3, 4, 5, 6]
    assert found["units"][1] == {
        "unit": 2,
        "speakers": ["ANNA"],
        "text": "I wave. Good evening, Orrick! Is there a bed for two tired people?",
        "start_ms": None,
        "end_ms": None,
    }
    (tmp_path / "empty.txt").write_bytes(b"")
    ended = notarius("read", str(tmp_path / "empty.txt"), "--json")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert (found["units"], found["error"]["code"]) == ([], "empty_file")


def test_init_writes_a_file_that_loads_with_the_speakers_given(tmp_path: Path, ready: Campaign) -> None:
    speakers = tmp_path / "speakers.json"
    speakers.write_text('{"dm": ["DM"], "players": {"ANNA": "Tib \\u2028 \\u007f \\"Farrow\\"", "7": "no"}}')
    folder = tmp_path / "new"
    given = ("--transcripts", str(ready.root / "transcripts" / "*.txt"), "--campaign", "Hill: Road")
    ended = notarius("init", str(folder), *given, "--speakers", str(speakers))
    assert ended.code == 0, ended
    assert "2 transcripts, 3 speaker labels" in ended.out
    written = yaml.load(folder.joinpath("pipeline.yaml").read_text(), yaml.BaseLoader)
    assert written["speakers"] == {"dm": ["DM"], "players": {"ANNA": 'Tib \u2028 \x7f "Farrow"', "7": "no"}}
    assert "BEN: 3" in folder.joinpath("pipeline.yaml").read_text(), "who was found and not declared is listed"
    assert notarius("run", "--dry-run", "--pipeline", str(folder / "pipeline.yaml")).code == 0
    before = folder.joinpath("pipeline.yaml").read_bytes()
    assert "is already there" in one_line(notarius("init", str(folder), *given), 2)
    assert folder.joinpath("pipeline.yaml").read_bytes() == before


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"dm": "DM"}', '{"dm": [""]}', '{"players": {"": "x"}}', '{"gm": []}', "[" * 99_999]
)
def test_init_refuses_speakers_of_another_shape(tmp_path: Path, content: str) -> None:
    speakers = tmp_path / "speakers.json"
    speakers.write_text(content)
    given = ("--transcripts", "*.txt", "--campaign", "x", "--speakers", str(speakers))
    assert "speakers.json" in one_line(notarius("init", str(tmp_path / "new"), *given), 2)
    assert not (tmp_path / "new").exists()


def test_init_without_a_campaign_name_or_a_folder_to_write(tmp_path: Path) -> None:
    given = ("init", str(tmp_path / "new"), "--transcripts", "*.txt", "--campaign")
    assert "gives no slug" in one_line(notarius(*given, "???"), 2)
    (tmp_path / "file").write_bytes(b"")
    ended = notarius("init", str(tmp_path / "file" / "new"), "--transcripts", "*.txt", "--campaign", "x")
    assert "can't be written" in one_line(ended, 2)


@pytest.mark.parametrize("verb", ["run", "show", "export", "status", "check", "prompt"])
def test_an_unknown_session_is_told_what_is_near(ready: Campaign, verb: str) -> None:
    given = {"export": ("--to", "x")}.get(verb, ())
    lane = ("dnd/npcs",) if verb == "prompt" else ()
    said = one_line(notarius(verb, *lane, "sesion-02", *given, on=ready), 2)
    assert "no session 'sesion-02'" in said
    assert "try session-02" in said


def test_status_and_dry_run_say_what_would_run_and_why(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=2)
    ended = notarius("run", "--dry-run", on=c)
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "2 of 2 sessions would run.")
    assert names(c.home) == ["lake", "lake.json"], "a dry run makes nothing"
    run_steps(c)
    assert notarius("run", "--dry-run", on=c).out == "0 of 2 sessions would run.\n"
    retell(c, "session-02", "stamps", "signs")
    ended = notarius("run", "--dry-run", on=c)
    assert ended.out.splitlines()[0] == "hill-road/session-02: would run, stale because of file"
    found = json.loads(notarius("status", "--json", on=c).out)["sessions"]
    assert [s["state"] for s in found] == ["current", "stale"]
    assert found[1]["tables"][0] == {
        "table": "transcript_units",
        "state": "stale",
        "because": ["file"],
        "reason": None,
        "next_step": None,
    }
    assert json.loads(notarius("run", "--dry-run", "--json", on=c).out)["to_run"] == ["hill-road/session-02"]
    c.transcript("session-01").unlink()
    assert "1 session in the lake without a transcript: hill-road/session-01" in notarius("status", on=c).out
    assert notarius("show", "session-01", on=c).code == 0, "its records stay"


def test_show_prints_the_words_that_prove_each_record(ready: Campaign) -> None:
    ended = notarius("show", "session-02", "--lane", "dnd/npcs", on=ready)
    assert ended.code == 0
    assert "Captain Hestrel" in ended.out
    assert "│     1 DM: In the morning you meet Captain Hestrel at the bridge." in ended.out
    found = json.loads(notarius("show", "session-02", "--context", "1", "--json", on=ready).out)
    assert [lane["lane"] for lane in found["lanes"]] == ["dnd/npcs", "dnd/npc-interactions"]
    record = found["lanes"][0]["records"][0]
    cited = {n for r in record["source_refs"] for n in range(r["start_unit_id"], r["end_unit_id"] + 1)}
    assert {e["unit"] for e in record["evidence"] if e["cited"]} == cited
    assert "no lane 'dnd/npc'" in one_line(notarius("show", "session-02", "--lane", "dnd/npc", on=ready), 2)
    assert notarius("show", "session-02", "--context", "-1", on=ready).code == 2


def test_export_writes_canonical_documents_and_the_same_again(ready: Campaign, tmp_path: Path) -> None:
    written = []
    for folder in (tmp_path / "one", tmp_path / "one", tmp_path / "two"):
        ended = notarius("export", "hill-road/session-01", "--to", str(folder), on=ready)
        assert ended.code == 0, ended
        assert names(folder) == ["npc_interactions.json", "npcs.json"]
        written.append({p.name: p.read_bytes() for p in folder.iterdir()})
    assert written[0] == written[1] == written[2]
    for name, data in written[0].items():
        value = json.loads(data)
        assert data == (json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        assert data == documents(ready)[f"hill-road/session-01/{name}"]
    (tmp_path / "file").write_bytes(b"")
    ended = notarius("export", "session-01", "--to", str(tmp_path / "file" / "x"), on=ready)
    assert "can't be written" in one_line(ended, 1)


def test_export_of_a_session_not_run_writes_nothing_and_says_so(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=1)
    ended = notarius("export", "session-01", "--to", str(tmp_path / "out"), on=c)
    assert ended.code == 1
    assert ended.err.count("has nothing accepted") == 2
    assert not (tmp_path / "out").exists()
    assert "nothing accepted yet" in notarius("show", "session-01", on=c).out


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELEC 1", "Parser Error"),
        ("SELECT * FROM npc", "npc does not exist"),
        ("SELECT $x", "parameters: x"),
        ("DROP VIEW npcs", "read-only"),
        ("SELECT * FROM read_text('/etc/hostname')", "Permission Error"),
    ],
)
def test_sql_mistakes_are_one_line(ready: Campaign, statement: str, said: str) -> None:
    assert said in one_line(notarius("sql", statement, on=ready), 2)


def test_sql_in_every_output_form(ready: Campaign) -> None:
    asked = "SELECT session, units FROM sessions ORDER BY session"
    assert notarius("sql", asked, "--csv", on=ready).out == "session,units\nsession-01,6\nsession-02,6\n"
    assert json.loads(notarius("sql", asked, "--json", on=ready).out)[1] == {"session": "session-02", "units": 6}
    ended = notarius("sql", asked, on=ready)
    assert "session-01" in ended.out
    assert ended.err == "2 rows\n"
    assert notarius("sql", "", on=ready).code == 0
    odd = "SELECT 170141183460469231731687303715884105727::HUGEINT AS big, MAP([1], ['x']) AS m, 'a'::BLOB AS b"
    assert json.loads(notarius("sql", odd, "--json", on=ready).out)[0]["m"] == {"1": "x"}


def test_ready_queries_and_the_list_of_views(ready: Campaign) -> None:
    ended = notarius("query", "npc_timeline", "--npc", "CAPTAIN  hestrel", "--csv", on=ready)
    assert ended.code == 0
    assert ended.out.startswith("session,kind,")
    assert ended.out.count("\nsession-02,") >= 3
    assert "npc_timeline" in notarius("query", "--help").out
    assert notarius("query", "nothing", on=ready).code == 2
    assert notarius("query", "npc_timeline", on=ready).code == 2
    shown = notarius("tables", on=ready)
    assert "npcs: Who was identified in a session" in shown.out
    found = json.loads(notarius("tables", "--json", on=ready).out)
    assert len(found) == 20
    assert all(c["comment"] for view in found for c in view["columns"])


def test_the_prompt_of_a_chunk(ready: Campaign) -> None:
    ended = notarius("prompt", "dnd/npc-interactions", "session-01", on=ready)
    assert ended.code == 0
    assert "Orrick" in ended.out
    assert "no chunk 2" in one_line(notarius("prompt", "dnd/npcs", "session-01", "--chunk", "2", on=ready), 2)
    assert "no lane 'x'" in one_line(notarius("prompt", "x", "session-01", on=ready), 2)


def test_a_prompt_before_the_session_was_run_is_one_line(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=1)
    assert "transcript_units is missing" in one_line(notarius("prompt", "dnd/npcs", "session-01", on=c), 1)


def test_evaluate_on_the_example(tmp_path: Path) -> None:
    example = resource("docs", "examples", "complete")
    c = Campaign(example, ("session-04",))
    gold = str(example / "gold" / "session-04.gold.json")
    given = ("--pipeline", str(c.pipeline), "--home", str(tmp_path / "home"))
    said = one_line(notarius("evaluate", gold, *given), 2)
    assert "no session of this pipeline belongs to it" in said
    workspace = Workspace.open(c.pipeline, tmp_path / "home")
    assert steps.run(workspace, "transcript_units", "fog-bells/session-04").accepted
    one_line(notarius("evaluate", gold, *given), 2)
    for table in ("transcript_chunks", "npc_candidates", "npcs", "npc_interaction_candidates", "npc_interactions"):
        assert steps.run(workspace, table, "fog-bells/session-04").accepted
    ended = notarius("evaluate", gold, "--kinds", *given)
    assert ended.code == 0, ended
    assert "Share of records whose evidence says the name" in ended.out
    assert notarius("evaluate", f"{gold}=session-04", "--json", *given).code == 0
    odd = tmp_path / "a=b" / "session-04.gold.json"
    odd.parent.mkdir()
    odd.write_bytes(Path(gold).read_bytes())
    for named in (str(odd), f"{odd}=session-04"):
        assert notarius("evaluate", named, "--json", *given).code == 0
    assert "nope.json" in one_line(notarius("evaluate", "nope.json", *given), 2)


def test_usage_mistakes_end_with_2() -> None:
    for given in (("nothing",), ("run", "--nothing"), ("show",), ("init", "x"), ("ui", "--port", "many")):
        ended = notarius(*given)
        assert ended.code == 2
        assert "Usage: " in ended.err
    assert notarius("--version").out == f"notarius, version {__version__}\n"


@pytest.mark.parametrize(
    "given", [("--help",), ("read", "FILE", "--json"), ("sql", "SELECT 1"), ("status",), ("run", "--dry-run"), ("run",)]
)
def test_what_asks_nothing_of_dagster_does_not_import_it(ready: Campaign, given: tuple[str, ...]) -> None:
    where = () if given[0] in ("--help", "read") else ("--pipeline", str(ready.pipeline), "--home", str(ready.home))
    arguments = [str(ready.transcript("session-01")) if a == "FILE" else a for a in given]
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print([m for m in ('dagster', 'sqlalchemy', 'rich') if m in sys.modules]))\n"
        f"sys.argv = {['notarius', *arguments, *where]!r}\n"
        "from notarius_assets.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1]
    assert "dagster" not in loaded
    assert "sqlalchemy" not in loaded
    assert "rich" not in loaded or given[0] in ("sql", "status")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_characters_gets_codes(ready: Campaign, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "notarius_assets", "show", "session-01", "--pipeline", str(ready.pipeline)],
        capture_output=True,
        env={"PYTHONIOENCODING": encoding, "PATH": ""},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u2502     1 DM: The rain has stopped" in done.stdout


def test_a_reader_that_has_enough_ends_nothing_badly(ready: Campaign) -> None:
    notarius_sql = [sys.executable, "-m", "notarius_assets", "sql", "FROM range(200000)", "--csv"]
    with subprocess.Popen(
        [*notarius_sql, "--pipeline", str(ready.pipeline)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


NOBODY_ALLOWED = """
from dataclasses import replace

from notarius_assets.lanes.npcs import LANE
from notarius_assets.validators.base import Boundary, Finding, Level, Severity, Validator


def check(view, context):
    return (Finding("somebody", item.index) for item in view.items)


NONE = Validator("none", Boundary.NORMALIZATION, Level.ARTIFACT, Severity.ERROR, "Nobody.", check)
NOBODY = replace(LANE, normalization=(*LANE.normalization, NONE))
"""


def test_check_passes_what_was_accepted_by_the_rules_of_today(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=2)
    run_steps(c)
    ended = notarius("check", on=c)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("8 accepted tables checked, 0 would be rejected today, 0 sessions can't be checked")


def test_check_names_what_the_rules_of_today_would_reject_and_withdraws_nothing(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=2)
    run_steps(c)
    (tmp_path / "lane_of_check_test.py").write_text(NOBODY_ALLOWED)
    with c.pipeline.open("a") as pipeline:
        pipeline.write("lane_modules: [lane_of_check_test]\n")
    before = documents(c)
    ended = notarius("check", "session-02", "--json", on=c)
    assert ended.code == 1
    assert [t["table"] for t in json.loads(ended.out)["tables"] if not t["passed"]] == ["npcs"]
    assert documents(c) == before


def test_check_says_which_session_can_not_be_checked(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=1)
    run_steps(c)
    c.transcript("session-01").write_bytes(b"")
    assert steps.run(c.open(), "transcript_units", c.source_ids[0]).attempt.state == "unreadable"
    ended = notarius("check", on=c)
    assert ended.code == 1
    assert "transcript_units was unreadable in its latest attempt" in ended.err


def test_check_may_be_asked_again(tmp_path: Path) -> None:
    c = write_campaign(tmp_path, sessions=1)
    run_steps(c)
    assert [notarius("check", on=c).code for _ in range(2)] == [0, 0]


def test_a_terminal_without_colour_gets_none(ready: Campaign) -> None:
    parent, child = pty.openpty()
    where = ("--pipeline", str(ready.pipeline), "--home", str(ready.home))
    with subprocess.Popen(
        [sys.executable, "-m", "notarius_assets", "status", *where],
        stdout=child,
        stderr=child,
        env={**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color"},
    ) as process:
        os.close(child)
        seen = b""
        with contextlib.suppress(OSError):  # how Linux says that nobody writes any more
            while part := os.read(parent, 65536):
                seen += part
    os.close(parent)
    assert process.returncode == 0
    assert b"session-01" in seen
    assert set(re.findall(rb"\x1b\[([0-9;]*)m", seen)) <= {b"0", b"1"}, "bold at most"


def test_a_misspelt_speaker_is_told(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    change(c, "dm: [DM]", "dm: [DMM]")
    for verb in ("run", "status"):
        told = notarius(verb, on=c)
        assert "speaker 'DMM' is in no transcript; there is 'DM'. Next: correct `speakers:`" in told.err, told
    change(c, "dm: [DMM]", "dm: [DM]")
    assert "is in no transcript" not in notarius("run", on=c).err


def test_init_finds_transcripts_from_a_folder_that_is_yet_to_be_made(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = campaign(sessions=2)
    monkeypatch.chdir(c.root)
    made = notarius("init", "new/home", "--transcripts", "transcripts/*.txt", "--campaign", "New")
    assert made.code == 0, made
    assert "2 transcripts," in made.out
    assert notarius("status", "--pipeline", "new/home/pipeline.yaml").out.count("new/session-0") == 2


def test_a_lane_of_ones_own_runs_and_is_asked_in_sql(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    guide = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-a-lane.md").read_text(encoding="utf-8")
    module = re.findall(r"^```python\n(.*?)^```$", guide, re.M | re.S)[0]
    (c.root / "named_npcs.py").write_text(module, encoding="utf-8")
    change(c, "steps:\n", "lane_modules: [named_npcs]\nsteps:\n  - {name: mine, lanes: [{lane: house/named-npcs}]}\n")
    ended = notarius("run", on=c)
    assert ended.code == 0, ended
    assert notarius("sql", "--csv", "SELECT count(*) > 0 AS some FROM lake.named_npcs", on=c).out == "some\nTrue\n"


def test_a_taken_port_is_said_before_dagster_starts(campaign: CampaignFactory) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = notarius("ui", "--port", port, on=campaign(sessions=1))
    assert told.code == 2
    assert f"127.0.0.1:{port} can't be opened (Address already in use). Next: give another --port" in told.err


def test_piped_tables_are_never_folded(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    assert notarius("run", on=c).code == 0
    assert "x" * 300 in notarius("sql", "SELECT repeat('x', 300) AS long, 1 AS n", on=c).out
