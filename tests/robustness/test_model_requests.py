"""Windows answered elsewhere: export, answers by whatever means, import, run; it ends where a live run ends."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import PIPE, run
from typing import Any

from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import compact
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, CampaignFactory, write_campaign
from tests.models import world
from tests.robustness.lake_state import assert_whole
from tests.robustness.support import change, notarius

REPLAY = "chunking: {max_units: 2, context_units: 0}\nmodel: {provider: replay}\n"


def answer(requests: Path, to: Path) -> None:
    """Answer every line of a request file, last one first: results come in any order."""
    lines = [json.loads(line) for line in requests.read_text(encoding="utf-8").splitlines()]
    to.write_text("".join(compact(result(line)) + "\n" for line in reversed(lines)), encoding="utf-8")


def result(line: dict[str, Any]) -> dict[str, Any]:
    """Return the result line of an honest model."""
    assert set(line) == {"custom_id", "params"}
    said = compact(world.honest(Asked("/v1/messages", {}, line["params"], 1)))
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": said}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 50},
    }
    return {"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": message}}


def lanes_in(requests: Path) -> list[str]:
    """Return the lane of each request of a file."""
    lines = requests.read_text(encoding="utf-8").splitlines()
    return [world.lane_of(Asked("/v1/messages", {}, json.loads(line)["params"], 1)) for line in lines]


def live(root: Path) -> tuple[dict[str, bytes], set[str]]:
    """Return the documents of the same campaign answered by calls, and the fingerprints of what was asked."""
    with ModelServer(world.answered) as server:
        c = write_campaign(root / "live", sessions=2, extra=world.model(server.url, windows=2))
        said = notarius("run", on=c)
    assert said.code == 0, said
    return world.exported(c, root / "live-out"), world.kept(c)


def test_from_the_first_export_to_the_same_documents_as_a_live_run(tmp_path: Path) -> None:
    c = write_campaign(tmp_path / "elsewhere", sessions=2, extra=REPLAY)
    first, results = tmp_path / "first.jsonl", tmp_path / "results.jsonl"
    assert not c.home.exists()

    # nothing was ever read or run
    exported = world.program(c, "requests", "export", "--to", str(first), key=None)
    assert (exported.code, exported.out) == (0, ""), exported
    count, then, duplicates, later = exported.err.splitlines()
    assert "dnd/npcs duplicates waits for npc_candidates of 2 sessions" in duplicates
    assert count == f"6 requests written to {first}: dnd/npcs 6 in 2 sessions"
    assert then.startswith(f"Next: have {first} answered, then `notarius requests import ")
    assert "dnd/npc-interactions waits for npcs of 2 sessions" in later
    assert lanes_in(first) == ["npcs"] * 6
    assert not list(c.open().store.attempts()), "it writes nothing into the lake"

    answer(first, results)
    imported = world.program(c, "requests", "import", str(results), key=None)
    assert (imported.code, imported.out) == (0, ""), imported
    count, then = imported.err.splitlines()
    assert count == f"{results}: 6 kept"
    assert then.startswith("Next: `notarius run`")

    half = world.program(c, "run", key=None)
    assert half.code == 1, half
    for source_id in c.source_ids:
        (line,) = (x for x in half.out.splitlines() if x.startswith(f"{source_id}: "))
        assert "npc_interaction_candidates: coverage: 3 of 3 windows no_recording" in line
        assert "Next: notarius requests export --to FILE" in line

    second = tmp_path / "second.jsonl"
    exported = world.program(c, "requests", "export", "--to", str(second), key=None)
    count, then = exported.err.splitlines()
    assert (exported.code, count) == (
        0,
        f"6 requests written to {second}: dnd/npc-interactions 6 in 2 sessions",
    ), exported
    assert lanes_in(second) == ["interactions"] * 6
    answer(second, results)
    assert notarius("requests", "import", str(results), on=c).code == 0
    last = world.program(c, "run", key=None)
    assert last.code == 0, last
    assert "2 sessions: 2 current." in last.out

    nothing = notarius("requests", "export", "--to", str(first), on=c)
    assert (nothing.code, first.read_bytes()) == (0, b"")
    assert nothing.err.splitlines()[-1] == "Nothing to ask: everything chosen is current."
    documents, fingerprints = live(tmp_path)
    assert world.exported(c, tmp_path / "out") == documents
    assert world.kept(c) == fingerprints
    assert_whole(c)
    entered = world.calls(c)
    assert [e["status"] for e in entered] == ["imported"] * 12
    assert sum(e["usage"]["output"] for e in entered) == 12 * 50
    assert {e["cost_usd"] for e in entered} == {None}, "what it cost elsewhere is not known here"


def test_the_same_export_has_the_same_bytes_in_a_file_and_on_stdout(campaign: CampaignFactory, tmp_path: Path) -> None:
    c = campaign(sessions=2, extra=REPLAY)
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for to in (one, two):
        assert notarius("requests", "export", "--to", str(to), on=c).code == 0
    streamed = world.program(c, "requests", "export", "--to", "-", key=None)
    assert (streamed.code, streamed.out.encode()) == (0, one.read_bytes())
    assert one.read_bytes() == two.read_bytes()
    ids = [json.loads(line)["custom_id"] for line in streamed.out.splitlines()]
    assert len(set(ids)) == 6
    assert all(len(i) == 64 for i in ids)
    part = notarius("requests", "export", "session-02", "--lane", "dnd/npcs", "--to", "-", on=c)
    assert part.out.splitlines() == streamed.out.splitlines()[3:]

    # and after some of it was answered, only the rest
    results = tmp_path / "results.jsonl"
    answer(one, results)
    lines = results.read_bytes().splitlines(keepends=True)
    piped = run(
        [str(world.ENTRY), "requests", "import", "-", *_where(c)],
        input=b"".join(lines[:2]),
        stderr=PIPE,
        check=False,
        timeout=60,
    )
    assert piped.returncode == 0, piped
    rest = notarius("requests", "export", "--to", "-", on=c)
    assert rest.out.splitlines() == streamed.out.splitlines()[:4], "answered were the last two"


def _where(c: Campaign) -> tuple[str, ...]:
    return ("--pipeline", str(c.pipeline), "--home", str(c.home))


def test_what_can_not_be_kept_is_named_line_by_line(campaign: CampaignFactory, tmp_path: Path) -> None:
    c = campaign(sessions=1, extra=REPLAY)
    requests, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
    assert notarius("requests", "export", "--to", str(requests), on=c).code == 0
    lines = [result(json.loads(line)) for line in requests.read_text(encoding="utf-8").splitlines()]
    lines[0]["result"] = {"type": "errored", "error": {"type": "overloaded_error"}}
    lines[1]["custom_id"] = "0" * 64
    results.write_text("".join(compact(line) + "\n" for line in lines) + "half a li", encoding="utf-8")
    said = world.program(c, "requests", "import", str(results), key=None)
    assert said.code == 1, said
    assert len(world.kept(c)) == 1, "the good line beside them is kept"
    named = [line.split(": ")[1] for line in said.err.splitlines() if line.startswith("notarius: ")]
    assert named == [f"{results}:{n}" for n in (1, 2, 4)]
    again = notarius("requests", "export", "--to", "-", on=c)
    assert len(again.out.splitlines()) == 2


def test_answers_for_other_settings_are_not_taken(campaign: CampaignFactory, tmp_path: Path) -> None:
    c = campaign(sessions=1, extra=REPLAY)
    requests, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
    assert notarius("requests", "export", "--to", str(requests), on=c).code == 0
    answer(requests, results)
    change(c, "{provider: replay}", "{provider: replay, effort: high}")
    said = notarius("requests", "import", str(results), on=c)
    assert said.code == 1, said
    assert "3 not asked by this pipeline" in said.err
    assert world.kept(c) == set()
