"""The whole of it for real: `notarius ui` starts Dagster, a backfill runs in its daemon, a browser looks at it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

from notarius_assets.lake import history
from tests.conftest import TABLES, is_local, write_campaign
from tests.integration.dev import Ui, eventually, notarius, running

ONE, TWO, THREE = (f"hill-road/session-0{n}" for n in (1, 2, 3))
CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Give a running UI on a campaign of three sessions, of which `notarius run` has made the first."""
    made = write_campaign(tmp_path_factory.mktemp("campaign"), sessions=3, extra="preview_evidence: true\n")
    subprocess.run(notarius(made, "run", "session-01"), check=True, timeout=100, capture_output=True)
    with running(made, tmp_path_factory.mktemp("dev")) as started:
        yield started


@pytest.fixture(scope="module")
def backfill(ui: Ui) -> str:
    """Launch a backfill of the two other sessions, wait for its end, and return its id."""
    query = '{assetNodeOrError(assetKey:{path:["npcs"]}){... on AssetNode{partitionKeys}}}'
    eventually(
        "the sensor has not added the new transcripts' partitions",
        60,
        lambda: ui.ask(query)["assetNodeOrError"]["partitionKeys"] == [ONE, TWO, THREE],
    )
    launched = ui.ask(
        "mutation($p: LaunchBackfillParams!){launchPartitionBackfill(backfillParams: $p)"
        "{__typename ... on LaunchBackfillSuccess{backfillId} ... on PythonError{message}}}",
        p={"partitionNames": [TWO, THREE], "assetSelection": [{"path": [t]} for t in TABLES]},
    )["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    backfill_id: str = launched["backfillId"]
    ask = "query($id: String!){partitionBackfillOrError(backfillId: $id){... on PartitionBackfill{status}}}"

    def ended() -> str | None:
        status: str = ui.ask(ask, id=backfill_id)["partitionBackfillOrError"]["status"]
        return None if status in ("REQUESTED", "COMPLETING") else status

    assert eventually("the backfill has not ended", 120, ended) == "COMPLETED_SUCCESS"
    return backfill_id


def _runs(ui: Ui, job: str) -> list[dict[str, Any]]:
    query = "query($f: RunsFilter){runsOrError(filter: $f){... on Runs{results{status tags{key value}}}}}"
    found = ui.ask(query, f={"pipelineName": job})["runsOrError"]["results"]
    return [{"status": r["status"], **{t["key"]: t["value"] for t in r["tags"]}} for r in found]


def test_what_the_command_line_did_shows(ui: Ui) -> None:
    (run,) = _runs(ui, "session")
    assert (run["status"], run["dagster/partition"], run["notarius/launcher"]) == ("SUCCESS", ONE, "cli")
    query = '{assetNodeOrError(assetKey:{path:["campaign_history"]}){... on AssetNode{assetMaterializations{runId}}}}'
    assert ui.ask(query)["assetNodeOrError"]["assetMaterializations"], "the history reads `never materialized`"


@pytest.mark.usefixtures("backfill")
def test_a_backfill_gives_every_session_its_checks_and_its_preview(ui: Ui) -> None:
    query = """
        query($key: AssetKeyInput!, $partition: [String!]) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
          assetMaterializations(partitions: $partition, limit: 1) { metadataEntries {
            label ... on MarkdownMetadataEntry { mdStr } ... on IntMetadataEntry { intValue } } }
          assetChecksOrError { ... on AssetChecks { checks { name partitionStatuses {
            ... on AssetCheckDefaultPartitionStatuses {
              succeededPartitions failedPartitions executionFailedPartitions } } } } } } } }"""
    for table in TABLES:
        node = ui.ask(query, key={"path": [table]}, partition=[THREE])["assetNodeOrError"]
        for check in node["assetChecksOrError"]["checks"]:
            assert {k: sorted(v) for k, v in check["partitionStatuses"].items()} == {
                "succeededPartitions": [ONE, TWO, THREE],
                "failedPartitions": [],
                "executionFailedPartitions": [],
            }, (table, check["name"])
        (made,) = node["assetMaterializations"]
        entries = {e["label"]: e.get("mdStr") or e.get("intValue") for e in made["metadataEntries"]}
        assert entries["dagster/partition_row_count"] == {"transcript_units": 6, "transcript_chunks": 1}.get(table, 2)
        if table == "npcs":
            assert "| Wenna | 1–3, 5–6 | 1: The inn is called the Second Lantern." in entries["preview"]


@pytest.mark.usefixtures("backfill")
def test_the_history_follows_by_itself(ui: Ui) -> None:
    workspace = ui.campaign.open()
    lanes = [b.lane for b in workspace.pipeline.lanes]
    eventually("the history is not fresh", 90, lambda: history.is_fresh(workspace.store, lanes))
    made = eventually(
        "no history run has ended", 60, lambda: [r for r in _runs(ui, "history") if r["status"] == "SUCCESS"]
    )
    assert made[0]["dagster/sensor_name"] == "history_after_success"
    with history.connect(workspace.home.history) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (3,)


@pytest.mark.usefixtures("backfill")
def test_no_process_of_it_reaches_out(ui: Ui) -> None:
    seen = ui.watched()
    assert [w for w in seen if not w.host.startswith("/") and not is_local(w.host)] == []
    # webserver, daemon, code server with its worker, and a process for each of the backfill's two runs
    assert len({w.pid for w in seen if w.event == "started"}) >= 6, "the watch saw too little to say anything"
    assert ("socket.bind", "127.0.0.1") in {(w.event, w.host) for w in seen}
    assert "is superseded" not in ui.log.read_text()


# --- the browser --------------------------------------------------------------------------------------------------


class Looker:
    """A browser page on the UI that notes what went wrong, and keeps pictures."""

    def __init__(self, page: Page, ui: Ui, folder: Path) -> None:
        self._page, self._ui, self._folder = page, ui, folder
        self.hosts: set[str] = set()
        self.problems: list[str] = []
        page.set_default_timeout(40_000)
        page.on("request", lambda r: self.hosts.add(urlsplit(r.url).hostname or ""))
        page.on("pageerror", lambda e: self.problems.append(str(e)))
        page.on("response", lambda r: self.problems.append(r.url) if r.status >= 400 else None)

    def see(self, name: str, path: str, *words: str) -> None:
        """Open a page and wait until all words are on it; take its picture."""
        self._page.goto(f"{self._ui.url}{path}", wait_until="domcontentloaded")
        for word in words:
            self._page.get_by_text(word, exact=True).first.wait_for()
        self._page.wait_for_timeout(500)
        self._page.screenshot(path=self._folder / f"{name}.png")
        shown = self._page.inner_text("body")
        for bad in ("unexpected error", "Something went wrong", "GraphQL error", "Failed to load", "Not found"):
            assert bad.lower() not in shown.lower(), f"{name}: {bad}"


@pytest.fixture(scope="module")
def looker(ui: Ui, backfill: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looker]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine: the browser tests need one")
    folder = Path(os.environ.get("NOTARIUS_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        yield Looker(browser.new_page(viewport={"width": 1400, "height": 950}), ui, folder)
        browser.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        ("lineage", "/asset-groups/", ("transcripts", "npcs", "npc_interactions", "history")),
        ("catalog", "/assets", (*TABLES, "campaign_history")),
        (
            "group",
            "/locations/__repository__@notarius_assets/asset-groups/npcs",
            ("npc_candidates", "npcs", "6 / 6 Passed", "3 partitions"),
        ),
        (
            "asset",
            "/assets/npcs?view=overview",
            (
                "Non-player characters of a session: one row a comparison name, with the units that identify it.",
                "comparison_name",
                "game-masters",
                "Parquet",
            ),
        ),
        (
            "partition",
            f"/assets/npcs?view=partitions&partition={quote(THREE, safe='')}",
            (ONE, TWO, THREE, "preview", "Wenna", "1–3, 5–6", "Dunstan", "6: Good night, Wenna. Good night, Dunstan."),
        ),
        (
            "checks",
            "/assets/npcs?view=checks&checkDetail=identity",
            (
                "durable_schema",
                "order_and_duplicates",
                "relatedness",
                "Passed",
                "Every id follows from the record by the identity policy, and no two records share one.",
            ),
        ),
        ("automation", "/automation", ("history_after_failure", "history_after_success", "new_transcripts")),
    ],
)
def test_a_person_sees(looker: Looker, name: str, path: str, words: tuple[str, ...]) -> None:
    looker.see(name, path, *words)
    assert looker.problems == []
    assert looker.hosts <= {"127.0.0.1", ""}, "the page asks another host"
