"""A session answered by a model in a real `dagster dev`: what it shows, what it costs again, and what it keeps secret.

The model is a scripted server on loopback. Every process is guarded: a call that leaves the machine fails the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import textwrap
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import sync_playwright

from notarius_assets.lake import history
from notarius_assets.testing import replies
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply
from notarius_assets.testing.server import ModelServer
from tests.conftest import TABLES, Campaign, write_campaign
from tests.integration.dev import Ui, eventually, running
from tests.integration.test_dagster_dev import CHROMIUM_ARGS, Looker
from tests.models.world import STORY, answered, calls, chunk_of, lane_of, model

ONE, TWO = "hill-road/session-01", "hill-road/session-02"
WINDOWS = 4
"""Windows a lane and session: twelve units, three a window."""

GARBAGE = "I would rather talk about the weather."
UNREADABLE = "A cormorant dries its wings on the mast."
"""A unit of the second session. The window that holds it is never answered properly."""

SECRET = "sk-test-of-the-table-51c9f0"
"""The key that the server of the second code location admits; it stands in the environment alone."""

SAID = "Nobody says anything for a while"
"""Of a unit without a name: no preview and no record has a reason to show it."""

MODEL_NUMBERS = (
    "answers_from_cache",
    "model_calls",
    "input_tokens",
    "cache_write_tokens",
    "cache_read_tokens",
    "output_tokens",
    "cost_usd",
)


def answered_but_for_one(asked: Asked) -> Reply:
    """Answer honestly; the NPCs of one window of the second session get words instead, and the transcript's back."""
    lines = list(chunk_of(asked).values())
    if lane_of(asked) == "npcs" and any(UNREADABLE in line for line in lines):
        return replies.text(" ".join([GARBAGE, *lines]))
    return answered(asked)


def campaign_at(root: Path, url: str) -> Campaign:
    # other words in every unit: equal windows of two sessions would share an answer
    second = STORY.replace("I put a coin into it.", UNREADABLE).replace("\n", " So it goes.\n")
    return write_campaign(
        root, sessions=0, stories={"session-01": STORY, "session-02": second}, extra=model(url, windows=3)
    )


def materializations(ui: Ui, table: str, source_id: str) -> list[dict[str, Any]]:
    """Return the metadata of every materialization of a partition, the newest first."""
    query = """query($key: AssetKeyInput!, $of: [String!]) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
      assetMaterializations(partitions: $of) { metadataEntries { label __typename
        ... on IntMetadataEntry { intValue } ... on FloatMetadataEntry { floatValue }
        ... on MarkdownMetadataEntry { mdStr } } } } } }"""
    made = ui.ask(query, key={"path": [table]}, of=[source_id])["assetNodeOrError"]["assetMaterializations"]
    return [
        {e["label"]: e.get("intValue", e.get("floatValue", e.get("mdStr"))) for e in m["metadataEntries"]} for m in made
    ]


def ended(ui: Ui, source_id: str) -> str:
    """Return how the latest run of a session ended."""
    return latest_run(ui, source_id)["status"]


def latest_run(ui: Ui, source_id: str) -> dict[str, str]:
    query = "query($f: RunsFilter){runsOrError(filter: $f){... on Runs{results{runId status}}}}"
    tags = [{"key": "dagster/partition", "value": source_id}]
    run: dict[str, str] = ui.ask(query, f={"tags": tags})["runsOrError"]["results"][0]
    return run


# --- no key: a server of one's own, named in the pipeline file -------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A running UI after two sessions were asked for, of which one could be made, and that one was made again."""

    ui: Ui
    first: str
    again: str
    asked_first: int
    asked_again: int

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The metadata of the two materializations of the first session's NPC candidates, the older first."""
        again, first = materializations(self.ui, "npc_candidates", ONE)
        return [first, again]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with ModelServer(answered_but_for_one) as server:
        made = campaign_at(tmp_path_factory.mktemp("campaign"), server.url)
        with running(made, tmp_path_factory.mktemp("dev")) as ui:
            eventually("no partitions", 60, lambda: partitions(ui) == [ONE, TWO])
            assert ui.materialize([ONE, TWO], TABLES) == "COMPLETED_FAILED"
            first, asked = ended(ui, ONE), len(server.asked)
            assert ui.materialize([ONE], TABLES) == "COMPLETED_SUCCESS"
            yield Played(ui, first, ended(ui, ONE), asked, len(server.asked) - asked)


def partitions(ui: Ui) -> list[str]:
    query = '{assetNodeOrError(assetKey:{path:["npcs"]}){... on AssetNode{partitionKeys}}}'
    found: list[str] = ui.ask(query)["assetNodeOrError"]["partitionKeys"]
    return found


def test_a_session_is_made_and_its_windows_are_asked_once(played: Played) -> None:
    assert played.first == "SUCCESS"
    for table in TABLES:
        assert len(materializations(played.ui, table, ONE)) == 2, table
    assert set(played.ui.campaign.open().store.manifest(ONE).accepted) == set(TABLES)
    # the second session: one window asked twice, and the lane after it not at all
    assert played.asked_first == 2 * WINDOWS + 1 + WINDOWS + 1
    asked = Counter((c["source_id"], c["lane"]) for c in calls(played.ui.campaign))
    assert asked == {
        # and once for the duplicates of the registry
        (ONE, "dnd/npcs"): WINDOWS + 1,
        (ONE, "dnd/npc-interactions"): WINDOWS,
        (TWO, "dnd/npcs"): WINDOWS + 1,
    }


def test_the_candidates_tell_what_the_model_was_asked_and_what_it_cost(played: Played) -> None:
    first, _ = played.candidates
    paid = [
        c["usage"]
        for c in calls(played.ui.campaign)
        if c["source_id"] == ONE and c["lane"] == "dnd/npcs" and c["chunk_id"]
    ]
    assert (first["model_calls"], first["answers_from_cache"], first["windows_done"]) == (WINDOWS, 0, WINDOWS)
    # the list price of the default model, in dollars a million tokens
    prices = {"input": 0.10, "cache_write": 0.125, "cache_read": 0.01, "output": 0.50}
    for name in prices:
        assert first[f"{name}_tokens"] == sum(u[name] for u in paid), name
    assert first["input_tokens"] > 0 < first["output_tokens"]
    assert isinstance(first["cost_usd"], float)
    expected = sum(first[f"{name}_tokens"] * price for name, price in prices.items()) / 1_000_000
    assert first["cost_usd"] == pytest.approx(expected, abs=1e-6)


def test_made_again_it_asks_nobody(played: Played) -> None:
    assert (played.again, played.asked_again) == ("SUCCESS", 0)
    first, again = played.candidates
    nothing = {**dict.fromkeys(MODEL_NUMBERS, 0), "answers_from_cache": WINDOWS}
    assert {name: again[name] for name in MODEL_NUMBERS} == nothing
    # a number that is sometimes an integer breaks its plot
    assert isinstance(again["cost_usd"], float)
    assert again["preview"] == first["preview"]


def test_a_window_without_an_answer_fails_the_run_in_words(played: Played) -> None:
    ui = played.ui
    assert ended(ui, TWO) == "FAILURE"
    (step,) = [e for e in events(ui, TWO) if e["__typename"] == "ExecutionStepFailureEvent"]
    assert step["failureMetadata"]["description"] == (
        f"{TWO}: npc_candidates rejected: coverage: 1 of {WINDOWS} windows no_object: "
        "asked twice, and no answer had the right form. Next: run again; nothing else is asked"
    )
    numbers = {e["label"]: e.get("intValue") for e in step["failureMetadata"]["metadataEntries"]}
    assert numbers["model_calls"] == WINDOWS + 1
    assert materializations(ui, "npc_candidates", TWO) == []
    assert len(materializations(ui, "transcript_chunks", TWO)) == 1
    assert set(ui.campaign.open().store.manifest(TWO).accepted) == {"transcript_units", "transcript_chunks"}


def test_its_checks_are_there_all_the_same(played: Played) -> None:
    query = """{assetNodeOrError(assetKey:{path:["npc_candidates"]}){... on AssetNode{assetChecksOrError{
      ... on AssetChecks{checks{name partitionStatuses{... on AssetCheckDefaultPartitionStatuses{
      succeededPartitions failedPartitions executionFailedPartitions}}}}}}}}"""
    checks = played.ui.ask(query)["assetNodeOrError"]["assetChecksOrError"]["checks"]
    by_name = {c["name"]: {k: sorted(v) for k, v in c["partitionStatuses"].items()} for c in checks}
    assert len(by_name) > 3
    for name, statuses in by_name.items():
        good, failed = ([ONE], [TWO]) if name == "coverage" else ([ONE, TWO], [])
        assert statuses == {
            "succeededPartitions": good,
            "failedPartitions": failed,
            "executionFailedPartitions": [],
        }, name


def test_no_process_of_it_leaves_the_machine(played: Played) -> None:
    workspace = played.ui.campaign.open()
    eventually("the history is not fresh", 90, lambda: history.is_fresh(workspace.store, workspace.pipeline.declared))
    guard = played.ui.guard
    assert guard.refused() == []
    # webserver, daemon, code server with its worker, a process for each of the three runs
    assert len({pid for event, _, pid in guard.seen() if event == "started"}) >= 7
    reached = {host for event, host, _ in guard.seen() if event == "socket.connect"}
    assert "127.0.0.1" in reached, "the guard did not even see the calls of the model"


@pytest.mark.browser
def test_a_person_sees_what_the_model_was_asked(played: Played, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine: the browser tests need one")
    folder = Path(os.environ.get("NOTARIUS_SCREENSHOTS") or tmp_path)
    at = f"/assets/npc_candidates?view=partitions&partition={quote(ONE, safe='')}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        looker = Looker(browser.new_page(viewport={"width": 1400, "height": 1300}), played.ui, folder)
        looker.see("model", at, *MODEL_NUMBERS, "Captain Hestrel")
        browser.close()
    assert looker.problems == []


def events(ui: Ui, source_id: str) -> list[dict[str, Any]]:
    """Return the event log of a session's latest run, as its page shows it."""
    entry = "label ... on IntMetadataEntry { intValue } ... on MarkdownMetadataEntry { mdStr }"
    query = f"""query($id: ID!) {{ logsForRun(runId: $id, limit: 1000) {{ ... on EventConnection {{ events {{ __typename
      ... on MessageEvent {{ message level }}
      ... on MaterializationEvent {{ metadataEntries {{ {entry} }} }}
      ... on AssetCheckEvaluationEvent {{ evaluation {{ checkName metadataEntries {{ {entry} }} }} }}
      ... on ExecutionStepFailureEvent {{ error {{ message stack causes {{ message stack }} }}
        failureMetadata {{ description metadataEntries {{ {entry} }} }} }} }} }} }} }}"""
    found: list[dict[str, Any]] = ui.ask(query, id=latest_run(ui, source_id)["runId"])["logsForRun"]["events"]
    return found


# --- a key: a code location of one's own, that takes it from a variable ----------------------------------------------

LOCATION = """
    import dagster as dg
    from pathlib import Path

    from notarius_assets.flow.workspace import Workspace
    from notarius_assets.orchestration.build import definitions
    from notarius_assets.orchestration.resources import LakeResource, ModelResource

    defs = definitions(
        Workspace.open(Path({pipeline!r}), Path({home!r})),
        lake=LakeResource(home=dg.EnvVar("TABLE_HOME")),
        model=ModelResource(api_key=dg.EnvVar("TABLE_KEY")),
    )
"""
# Captures what steps print, and all that any library logs: where a key or a transcript would get into.
TALKATIVE = """
telemetry: {enabled: false}
python_logs: {managed_python_loggers: [root, httpx2, httpcore2, anthropic], python_log_level: DEBUG}
"""


@dataclass(frozen=True)
class Kept:
    """All that is left of the runs: every file, read as far as it can be, and what the pages showed."""

    files: dict[Path, str]
    pages: str
    keys: set[str | None]
    ended: list[str]
    instance: Path
    home: Path

    def holding(self, words: str) -> list[Path]:
        """Return the files that hold some words."""
        return [path for path, text in self.files.items() if words in text]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Run both sessions with a key; end everything, then read all that was written."""
    root = tmp_path_factory.mktemp("table")
    instance, home, scratch = root / "instance", root / "lake", root / "scratch"
    for folder in (instance, scratch):
        folder.mkdir()
    (instance / "dagster.yaml").write_text(TALKATIVE, encoding="utf-8")
    with ModelServer(answered_but_for_one, key=SECRET) as server:
        made = campaign_at(root / "campaign", server.url)
        location = root / "definitions.py"
        location.write_text(
            textwrap.dedent(LOCATION).format(pipeline=str(made.pipeline), home=str(made.home)), encoding="utf-8"
        )
        env = {"DAGSTER_HOME": str(instance), "TABLE_KEY": SECRET, "TABLE_HOME": str(home)}
        with running(made, scratch, start=lambda port: _dagster_dev(location, port), env=env) as ui:
            eventually("no partitions", 60, lambda: partitions(ui) == [ONE, TWO])
            ui.materialize([ONE, TWO], TABLES)
            how = [ended(ui, ONE), ended(ui, TWO)]
            eventually("no history", 90, (home / "history.duckdb").exists)
            pages = json.dumps([events(ui, ONE), events(ui, TWO), resources(ui)])
        keys = {a.key for a in server.asked}
    files = {path: readable(path) for path in sorted(root.rglob("*")) if path.is_file()}
    return Kept(files, pages, keys, how, instance, home)


def _dagster_dev(location: Path, port: int) -> Sequence[str]:
    return [sys.executable, "-m", "dagster", "dev", "-f", str(location), "-h", "127.0.0.1", "-p", str(port)]


def resources(ui: Ui) -> Any:
    """Return what the page of the code location shows of its resources."""
    return ui.ask(
        "{repositoriesOrError{... on RepositoryConnection{nodes{allTopLevelResourceDetails{"
        "name configuredValues{key value type}}}}}}"
    )["repositoriesOrError"]


def readable(path: Path) -> str:
    """Return all text of a file: of databases each value, unpacked where it is packed; of Parquet each row."""
    data = path.read_bytes()
    parts = [data.decode("utf-8", "replace")]
    if data.startswith(b"SQLite format 3\0"):
        parts += values(path)
    elif data.startswith(b"PAR1"):
        parts.append(str(pq.ParquetFile(path).read().to_pylist()))
    elif path.suffix == ".duckdb":
        with history.connect(path) as connection:
            names = "SELECT schema_name, table_name FROM duckdb_tables()"
            for schema, table in connection.execute(names).fetchall():
                parts += map(str, connection.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall())
    return "\n".join(parts)


def values(path: Path) -> Iterator[str]:
    connection = sqlite3.connect(path)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                yield from (unpacked(value) for value in row if isinstance(value, str | bytes))
    finally:
        connection.close()


def unpacked(value: str | bytes) -> str:
    if isinstance(value, str):
        return value
    try:
        return zlib.decompress(value).decode("utf-8", "replace")
    except zlib.error:
        return value.decode("utf-8", "replace")


def test_the_key_is_taken_from_the_variable(kept: Kept) -> None:
    assert kept.ended == ["SUCCESS", "FAILURE"]
    assert kept.keys == {SECRET}
    assert "TABLE_KEY" in kept.pages


def test_the_key_is_in_no_file_and_on_no_page(kept: Kept) -> None:
    assert kept.holding(SECRET) == []
    assert SECRET not in kept.pages


def test_what_was_said_is_in_no_log(kept: Kept) -> None:
    ours = {path for words in (SAID, UNREADABLE) for path in kept.holding(words)}
    assert {path for path in ours if not path.is_relative_to(kept.home)} == {
        kept.home.parent / "campaign" / "transcripts" / f"session-0{n}.txt" for n in (1, 2)
    }
    for words in (SAID, UNREADABLE, GARBAGE):
        assert words not in kept.pages, words
    assert kept.holding(GARBAGE) == []


def test_the_search_sees_what_is_there(kept: Kept) -> None:
    """Else finding nothing would mean nothing: something known is found in each kind of file."""

    def kinds(words: str, folder: Path) -> set[str]:
        return {path.suffix for path in kept.holding(words) if path.is_relative_to(folder)}

    assert kinds(SAID, kept.home) >= {".parquet", ".duckdb"}
    assert kinds("dnd/npcs", kept.home) >= {".json", ".jsonl", ".duckdb"}
    # the event log, the runs, and the packed snapshot of the job, which names the variable
    assert ".db" in kinds("Captain Hestrel", kept.instance)
    assert ".db" in kinds("TABLE_KEY", kept.instance)
    assert "Captain Hestrel" in kept.pages
    assert kept.holding("httpcore2"), "at DEBUG something is logged"
    assert [path for path in kept.files if path.suffix in (".out", ".err")], "nothing was captured of the steps' output"


def test_the_lake_is_where_the_variable_says(kept: Kept) -> None:
    assert (kept.home / "answers").is_dir()
    beside = kept.home.parent / "campaign" / ".notarius"
    assert not [path for path in kept.files if path.is_relative_to(beside) and path.suffix == ".parquet"]
