"""Dagster's instance of a home: its configuration file, and how to open it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from notarius_assets.errors import NotariusError, SessionBusyError
from notarius_assets.files import write_atomically
from notarius_assets.lake.home import Home
from notarius_assets.lake.locks import exclusive
from notarius_assets.orchestration.names import CODE_LOCATION

PATIENCE = 60.0
"""Seconds to wait for another process that is opening the instance."""

DAGSTER_YAML = """\
# Written by notarius. Runs, events and partitions of this home; nothing leaves the machine.
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 2
  # Of whole runs, counted where they are queued: a place that a step took would stay taken if its process was killed.
  pools:
    default_limit: 1
    granularity: run
# Steps print nothing; capturing that would start two processes a step, which Ctrl-C ends with tracebacks.
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""

WORKSPACE_YAML = f"""\
# Written by notarius: the code location that `notarius ui` opens.
load_from:
  - python_module:
      module_name: notarius_assets.definitions
      location_name: {CODE_LOCATION}
"""


def prepare(home: Home) -> Path:
    """Write the instance's files where they are missing; return DAGSTER_HOME."""
    for name, text in (("dagster.yaml", DAGSTER_YAML), ("workspace.yaml", WORKSPACE_YAML)):
        path = home.dagster / name
        if not path.exists():
            write_atomically(path, text.encode())
    return home.dagster


def open_instance(home: Home) -> dg.DagsterInstance:
    """Open the home's instance: the one whose runs `notarius ui` shows.

    One process at a time: who comes while another makes the tables of a new home waits until they are there.
    """
    folder = prepare(home)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with exclusive(home.locks / "instance.lock", "Dagster's instance"):
                return _open(folder)
        except SessionBusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.05)


def _open(folder: Path) -> dg.DagsterInstance:
    try:
        instance = dg.DagsterInstance.from_config(str(folder))
        instance.get_runs_count()
        # what a kill during the very first start leaves has no such table, and Dagster does not mend it
        instance.get_dynamic_partitions("none")
    except Exception as error:
        raise NotariusError(
            f"{folder}: the Dagster instance can't be opened ({type(error).__name__})",
            next_step="move that folder away and run again; the lake is not touched by it",
        ) from error
    return instance


def environment(home: Home, pipeline: Path) -> Mapping[str, str]:
    """Return the environment in which Dagster's own commands find this home and pipeline."""
    return {
        **os.environ,
        "DAGSTER_HOME": str(prepare(home)),
        # `dagster dev` greets with a warning about its own successor, which needs another package.
        "PYTHONWARNINGS": "ignore:Function `dev_command` is superseded",
        "NOTARIUS_HOME": str(home.root),
        "NOTARIUS_PIPELINE": str(pipeline),
    }
