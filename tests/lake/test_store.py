"""A session's files: what they carry, how they are numbered, what stays when something is rejected or damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from notarius_assets.errors import NotariusError
from notarius_assets.files import TEMPORARY_PREFIX
from notarius_assets.lake import history
from notarius_assets.lake.attempts import MAX_ANSWER_BYTES, Attempt, Rejected, State
from notarius_assets.lake.home import Home
from notarius_assets.lake.store import Store
from notarius_assets.lake.tables import UNITS, UNITS_TABLE, unit_rows
from notarius_assets.lanes import BUILT_IN
from notarius_assets.lanes.codec import content_digest, encode
from notarius_assets.transcripts.model import Unit
from tests.conftest import CampaignFactory
from tests.robustness.support import ask, run_steps

SOURCE = "7/2024-01-05"
ALL = frozenset({UNITS, "npcs"})


def attempt(number: int = 0, state: State = State.ACCEPTED, digest: str = "d" * 64) -> Attempt:
    return Attempt(SOURCE, UNITS, number, state, content_digest=digest, code_fingerprint="c", input_fingerprint="i")


def publish(store: Store, text: str, digest: str) -> Path:
    rows = unit_rows(SOURCE, (Unit(1, ("DM",), text),))
    entry = store.publish(
        SOURCE,
        UNITS,
        rows,
        content_digest=digest,
        attempt=attempt(digest=digest),
        inputs={},
        schema_name=UNITS_TABLE.name,
        tables=ALL,
    )
    return store.root / entry.file


@pytest.fixture
def store(tmp_path: Path) -> Store:
    home = Home(tmp_path)
    home.ensure()
    return Store(home)


def test_a_new_version_replaces_the_old_file_and_what_a_crash_left(store: Store) -> None:
    old = publish(store, "old", "a" * 64)
    leftover = old.with_name(f"{TEMPORARY_PREFIX}{old.name}~x")
    leftover.write_bytes(b"PAR1 half")
    new = publish(store, "new", "b" * 64)
    assert [p.name for p in new.parent.iterdir()] == [new.name]
    assert store.units(store.manifest(SOURCE).published[UNITS])[0].text == "new"


def test_attempts_are_numbered_from_1_and_leftovers_do_not_count(store: Store) -> None:
    assert store.latest_attempt(SOURCE, UNITS) is None
    assert store.record(attempt()).number == 1
    folder = store.attempt_paths()[0].parent
    (folder / f"{TEMPORARY_PREFIX}000009.json~x").write_bytes(b"{")
    assert store.record(attempt(state=State.FAILED)).number == 2
    assert sorted(p.name for p in folder.iterdir()) == ["000001.json", "000002.json"]
    newest = store.latest_attempt(SOURCE, UNITS)
    assert newest is not None
    assert (newest.number, newest.state) == (2, State.FAILED)
    made = store.accepted_attempt(SOURCE, UNITS)
    assert made is not None
    assert made.number == 1


def test_a_rejected_artifact_stands_aside_until_one_is_accepted(store: Store) -> None:
    accepted = publish(store, "good", "a" * 64)
    before = accepted.read_bytes()
    folder = store.reject(SOURCE, UNITS, unit_rows(SOURCE, ()), attempt(3, State.REJECTED))
    assert accepted.read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["findings.json", f"{UNITS}.parquet"]
    assert json.loads((folder / "findings.json").read_bytes())["state"] == "rejected"
    publish(store, "better", "b" * 64)
    assert not folder.exists()


def test_a_rejected_answer_is_kept_to_2_kb_and_stays_text() -> None:
    kept = Rejected.of(1, 0, "shape", "wrong_type", {"name": "é" * 3000, "half": "\ud800"})
    assert len(kept.answer.encode()) <= MAX_ANSWER_BYTES
    assert kept.answer.startswith('{"name":"éé')
    assert "\\ud800" in Rejected.of(1, 0, "shape", "x", "\ud800").answer


def test_every_parquet_file_says_what_it_is_and_what_it_was_made_from(campaign: CampaignFactory) -> None:
    c = campaign(sessions=1)
    outcomes = run_steps(c)
    store = c.open().store
    manifest = store.manifest(c.source_ids[0])
    assert len(outcomes) == len(manifest.published) == 6
    for table, entry in manifest.published.items():
        schema = pq.read_schema(store.root / entry.file)
        said = {k.decode(): v.decode() for k, v in schema.metadata.items() if k.startswith(b"notarius.")}
        lane = next((lane for lane in BUILT_IN if lane.table == table), None)
        assert said == {
            "notarius.schema": lane.schema_name if lane else table,
            "notarius.content_digest": entry.content_digest,
            "notarius.code_fingerprint": entry.code_fingerprint,
            "notarius.input_fingerprint": entry.input_fingerprint,
            "notarius.inputs": json.dumps(dict(entry.inputs), separators=(",", ":")),
            "notarius.run_id": "",
        }
        assert Path(entry.file).stem == entry.content_digest[:32]
    lane = BUILT_IN[1]
    entry = manifest.published[lane.table]
    rows = store.read(entry).select(list(lane.record.model_fields)).to_pylist()
    assert content_digest(encode(lane, rows)) == entry.content_digest
    assert set(entry.inputs) == {"transcript_units", "transcript_chunks", "npcs", "npc_interaction_candidates"}


def test_names_that_look_like_numbers_and_dates_stay_text_everywhere(campaign: CampaignFactory) -> None:
    c = campaign(sessions=0, stories={"2024-01-05": "DM: Captain Hestrel nods.\nANNA: Hello, Captain Hestrel!\n"})
    c.pipeline.write_text(c.pipeline.read_text().replace("Hill Road", "7"))
    run_steps(c)
    for path in c.home.glob("lake/tables/**/*.parquet"):
        table = pq.read_table(path, partitioning=None)
        assert [str(table.schema.field(n).type) for n in ("campaign", "session")] == ["string", "string"]
    assert ask(c, "SELECT typeof(campaign), typeof(session), campaign, session FROM sessions") == [
        ("VARCHAR", "VARCHAR", "7", "2024-01-05")
    ]


@pytest.mark.parametrize("what", ["cut", "gone"])
def test_a_damaged_table_is_one_line_that_names_the_file(campaign: CampaignFactory, what: str) -> None:
    c = campaign(sessions=1)
    run_steps(c)
    store = c.open().store
    entry = store.manifest(c.source_ids[0]).published["npcs"]
    path = store.root / entry.file
    path.write_bytes(path.read_bytes()[:100]) if what == "cut" else path.unlink()
    with pytest.raises(NotariusError, match=f"{entry.file} (is gone|can't be read)"):
        store.read(entry)
    (c.home / "history.duckdb").unlink()
    with pytest.raises(NotariusError, match=f"the history can't be built: .*{entry.file}"):
        history.refresh(store, BUILT_IN)


def test_damaged_json_is_one_line_that_names_the_file(store: Store) -> None:
    publish(store, "good", "a" * 64)
    store.record(attempt())
    for path in (*store.root.glob("manifests/*/*.json"), *store.attempt_paths()):
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(NotariusError, match=r"session=2024-01-05\.json: damaged"):
        store.manifest(SOURCE)
    with pytest.raises(NotariusError, match=r"000001\.json: damaged"):
        store.latest_attempt(SOURCE, UNITS)
