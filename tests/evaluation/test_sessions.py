from __future__ import annotations

from pathlib import Path

import pytest

from notarius_assets.evaluation.sessions import session_candidates
from tests.evaluation.builders import gold


@pytest.mark.parametrize(
    ("file", "source", "slugs"),
    [
        ("dev1.gold.json", "C1E001", ("dev1", "dev1.transcript", "c1e001")),
        ("C1E001.gold.json", "C1E001", ("c1e001", "c1e001.transcript")),
        (
            "session-C2E002.registry.gold.json",
            "C2E002",
            (
                "session-c2e002.registry",
                "session-c2e002.registry.transcript",
                "session-c2e002",
                "session-c2e002.transcript",
                "c2e002.registry",
                "c2e002.registry.transcript",
                "c2e002",
                "c2e002.transcript",
            ),
        ),
        ("Abend 3.json", "Ä 1", ("abend-3", "abend-3.transcript", "a-1")),
        ("???.gold.json", "T1", ("t1",)),
    ],
)
def test_by_name_first_and_by_source_last(file: str, source: str, slugs: tuple[str, ...]) -> None:
    assert session_candidates(Path("anywhere") / file, gold(source=source)) == slugs
