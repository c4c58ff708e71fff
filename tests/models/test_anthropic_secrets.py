"""The key and what was said at the table stay where they belong: neither is in a log, the key is in no file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from notarius_assets.models.settings import Access
from notarius_assets.testing import replies
from notarius_assets.testing.replies import Reply, Way
from notarius_assets.testing.server import ModelServer
from tests.conftest import Campaign, CampaignFactory
from tests.models.asking import GOOD, SOON, ask, provider, quick, window
from tests.models.world import KEY, answered, model
from tests.robustness.support import notarius

SAID = "The heron of Quarrelmoor says xyzzy."


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Log as much as there is, also of the SDK and below it."""
    names = ("", "anthropic", "anthropic._base_client", "httpx2", "httpcore2", "asyncio")
    before = {name: logging.getLogger(name).level for name in names}
    caplog.set_level(logging.DEBUG)
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield caplog
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def written(caplog: pytest.LogCaptureFixture) -> str:
    """Return all that was logged, with whatever the records carry beside their words."""
    formatter = logging.Formatter("%(name)s %(message)s")
    return "\n".join(f"{formatter.format(r)} {vars(r)}" for r in caplog.records)


@pytest.mark.parametrize(
    "script",
    [
        [replies.answer(GOOD)],
        [replies.text("?"), replies.text(SAID)],
        [replies.error(500, "api_error", SAID, SOON)] * 4,
        [replies.half(GOOD)] * 4,
        [replies.hang()] * 4,
        [replies.wrong_key()],
        [replies.error(400, "invalid_request_error", f"what is {SAID}?")],
        [replies.not_json()],
    ],
)
def test_no_log_holds_the_key_or_what_was_said(
    script: list[Reply], logged: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    timeout = 0.1 if script[0].way is Way.HANG else 10.0
    with ModelServer(script) as server:
        (ended,), told = ask(provider(server.url, tmp_path, timeout=timeout), [window(text=SAID)])
        assert SAID in server.asked[0].text
    log = written(logged)
    assert "httpcore2" in log, "at DEBUG something is logged"
    for place in (log, repr(ended), repr(told.calls)):
        assert KEY not in place
        assert "Quarrelmoor" not in place
        assert "xyzzy" not in place


def test_access_does_not_show_the_key() -> None:
    access = Access(key=KEY)
    assert access.key == KEY
    assert KEY not in f"{access} {access!r} {access!s}"


def everything_below(folder: Path) -> bytes:
    return b"\n".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


@pytest.mark.parametrize("good", [True, False])
def test_no_file_and_no_line_on_the_terminal_holds_the_key(
    good: bool, campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ModelServer(answered, key=KEY if good else "another") as server, quick():
        c: Campaign = campaign(sessions=1, extra=model(server.url, windows=6))
        ended = notarius("run", on=c)
        assert ended.code == (0 if good else 1), ended
        assert {a.key for a in server.asked} == {KEY}
        said = f"{server.url} refused the key. Next: correct ANTHROPIC_API_KEY"
    assert (f"coverage: 1 of 1 windows wrong_key: {said}" in ended.out) is not good
    assert (c.home / "answers").is_dir() is good
    assert KEY.encode() not in everything_below(c.root)
    assert KEY not in ended.out + ended.err
    assert KEY not in written(logged)
    assert "Orrick" not in written(logged)


def test_a_run_without_a_key_sends_nothing_and_is_a_mistake_of_configuration(
    campaign: CampaignFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    c = campaign(sessions=1, extra="model: {provider: anthropic}\n")
    ended = notarius("run", on=c)
    assert ended.code == 2
    assert "ANTHROPIC_API_KEY is not set. Next: export ANTHROPIC_API_KEY=" in ended.err
    assert ended.err.count("\n") == 1
    assert not (c.home / "calls").exists()
