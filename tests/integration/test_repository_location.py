"""`dagster dev` in a checkout opens the example campaign: the repository's own workspace.yaml loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY


def test_the_workspace_of_the_repository_loads(tmp_path: Path) -> None:
    env = {**os.environ, "NOTARIUS_HOME": str(tmp_path / "home"), "DAGSTER_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"]
    done = subprocess.run(command, cwd=REPOSITORY, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Validation successful for code location notarius_assets" in done.stdout + done.stderr
