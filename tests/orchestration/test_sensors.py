"""Sensors: partitions for new files, and a history that follows what is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest

from notarius_assets.lake import history
from notarius_assets.orchestration.assets import build_history
from tests.conftest import Campaign, CampaignFactory
from tests.orchestration.world import Location, opened

NEW_FILES = "new_transcripts"
ONE, TWO = "hill-road/session-01", "hill-road/session-02"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened_instance:
        yield opened_instance


def _look(location: Location) -> list[str] | str:
    """Return the partitions the sensor of new files adds, or why it adds none; they are added as the daemon does."""
    sensor: Any = location.defs.resolve_sensor_def(NEW_FILES)
    said = sensor(dg.build_sensor_context(instance=location.instance))
    if isinstance(said, dg.SkipReason):
        return said.skip_message or ""
    assert not said.run_requests, "it starts nothing: a run is somebody's decision"
    (request,) = said.dynamic_partitions_requests
    location.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
    return list(request.partition_keys)


def test_a_new_file_gets_its_partition_once(campaign: CampaignFactory, instance: dg.DagsterInstance) -> None:
    made: Campaign = campaign()
    there = Location(opened(made), instance)
    instance.delete_dynamic_partition("sessions_of_hill-road", ONE)
    assert _look(there) == [ONE]
    assert _look(there) == "2 transcript files, no new one"
    made.transcript("session-09").write_text("DM: Welcome back.\nANNA: Hello.\nDM: Rain.\n", encoding="utf-8")
    assert _look(there) == ["hill-road/session-09"]


@pytest.mark.parametrize("name", ["history_after_success", "history_after_failure"])
def test_a_run_asks_for_the_history_only_when_that_is_not_fresh(
    campaign: CampaignFactory, instance: dg.DagsterInstance, name: str
) -> None:
    there = Location(opened(campaign()), instance)
    ended = there.run(ONE)
    event = ended.get_run_success_event()
    context = dg.build_run_status_sensor_context(name, event, instance, ended.dagster_run)
    sensor: Any = there.defs.resolve_sensor_def(name)
    first = sensor(context)
    assert isinstance(first, dg.RunRequest)
    assert sensor(context).run_key == first.run_key, "asked twice, it must be one run"
    build_history(there.workspace)
    assert sensor(context).skip_message == "the history is fresh"
    there.run(TWO)
    assert sensor(context).run_key != first.run_key
    assert not history.is_fresh(there.workspace.store, [b.lane for b in there.workspace.pipeline.lanes])
