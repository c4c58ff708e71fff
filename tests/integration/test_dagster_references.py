"""Somebody materializes in the Dagster UI what a rejected registry blocks: the run fails, and its page says why."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.four_lanes import STORIES, write_four
from tests.integration.dev import Ui, notarius, running
from tests.integration.test_dagster_dev import CHROMIUM_ARGS
from tests.robustness.support import change, documents, retell

ONE = "hill-road/session-01"
TABLE = "location_occurrence_candidates"
SAID = (
    f"{ONE}: {TABLE} blocked: reference 'locations' (locations) was rejected in its latest attempt. "
    "Next: correct locations, then run again"
)
REFUSING = '''
"""The location registry of a table that does not want to read of ferries any more."""
from dataclasses import replace

from notarius_assets.lanes.locations import LANE as LOCATIONS
from notarius_assets.validators.base import Boundary, Finding, Level, Severity, Validator


def check(view, context):
    return (Finding("ferry", i.index) for i in view.items if "Sunken" in i.record["name"])


NONE = Validator("no_ferries", Boundary.NORMALIZATION, Level.ARTIFACT, Severity.ERROR, "No sunken ferries.", check)
STRICT = replace(LOCATIONS, normalization=(*LOCATIONS.normalization, NONE))
'''


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Give a running UI on a session that was made, and whose location registry was then rejected."""
    root = tmp_path_factory.mktemp("campaign")
    made = write_four(root, stories={"session-01": STORIES["session-01"]}, extra="lane_modules: [no_ferries]\n")
    (root / "no_ferries.py").write_text(REFUSING, encoding="utf-8")
    known = "[{name: Greywater Mill}, {name: Cold Ferry}, {name: Sunken Ferry}]"
    change(made, "steps:\n", f"gazetteer: {{locations: {known}}}\nsteps:\n")
    for expected in (0, 1):
        ended = subprocess.run(notarius(made, "run"), timeout=100, capture_output=True, text=True)
        assert ended.returncode == expected, ended.stdout + ended.stderr
        if expected == 0:
            retell(made, "session-01", "Cold Ferry", "Sunken Ferry")
    with running(made, tmp_path_factory.mktemp("dev")) as started:
        yield started


@pytest.mark.browser
def test_a_person_who_materializes_it_all_the_same_is_told_why_not(ui: Ui, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine: the browser tests need one")
    folder = Path(os.environ.get("NOTARIUS_SCREENSHOTS") or tmp_path)
    before = documents(ui.campaign)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": 1400, "height": 950})
        page.set_default_timeout(40_000)
        page.goto(f"{ui.url}/assets/{TABLE}", wait_until="domcontentloaded")
        page.get_by_role("button", name="Materialize").first.click()
        page.get_by_role("button", name="All", exact=True).click()
        page.get_by_role("button", name=re.compile("^Launch")).last.click()
        page.get_by_text("Launched run").first.wait_for()
        page.get_by_text("View", exact=True).first.click()
        page.get_by_text(SAID).first.wait_for()
        page.get_by_text("Failure", exact=True).first.wait_for()
        page.wait_for_timeout(500)
        page.screenshot(path=folder / "blocked.png")
        shown = page.inner_text("body")
        browser.close()
    assert "STEP_FAILURE" in shown
    assert "Sunken Ferry" not in shown
    assert documents(ui.campaign) == before, "what was published stands"
    latest = ui.campaign.open().store.latest_attempt(ONE, TABLE)
    assert latest is not None
    assert latest.state == "blocked"
