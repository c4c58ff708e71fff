"""A built wheel does its work in another folder, without the repository: all it reads travels in it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TRANSCRIPT = """\
DM: You meet a woman named Oda Brill. "Come in," says Oda Brill, "the kettle is on."
KIM: Thank you, Oda Brill. I sit down by the stove.
DM: Oda Brill pours the tea. "It is a long way to the mill," she says.
KIM: We go there in the morning.
"""


@pytest.fixture(scope="module")
def notarius(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a fresh environment that has the wheel, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    # .pth files of a folder that a .pth file adds are not read: the editable install of here stays out
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "-q", str(wheel)],
        check=True,
        capture_output=True,
    )
    return environment / "bin" / "notarius"


@pytest.fixture(scope="module")
def campaign(notarius: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `init` and `run` of the wheel have worked on."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "s01.txt").write_text(TRANSCRIPT, encoding="utf-8")
    (folder / "speakers.json").write_text('{"dm": ["DM"], "players": {"KIM": "Bramble"}}', encoding="utf-8")
    given = ("--transcripts", "s*.txt", "--campaign", "Kettle", "--speakers", "speakers.json")
    call(notarius, folder, "init", ".", *given)
    call(notarius, folder, "run")
    return folder


def call(notarius: Path, folder: Path, *arguments: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NOTARIUS", "DAGSTER", "PYTHON"))}
    ended = subprocess.run([notarius, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_wheel_brings_its_own_package(notarius: Path) -> None:
    where = subprocess.run(
        [notarius.with_name("python"), "-c", "import notarius_assets; print(notarius_assets.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    ).stdout
    assert str(notarius.parents[1]) in where


def test_run_and_sql_find_the_innkeeper(notarius: Path, campaign: Path) -> None:
    rows = json.loads(call(notarius, campaign, "sql", "--json", "SELECT name FROM npcs ORDER BY name"))
    assert rows == [{"name": "Oda Brill"}]
    assert json.loads(call(notarius, campaign, "query", "npc_timeline", "--npc", "oda brill", "--json"))


def test_the_prompt_travels(notarius: Path, campaign: Path) -> None:
    assert "Oda Brill" in call(notarius, campaign, "prompt", "dnd/npc-interactions", "s01")


def test_ui_opens(notarius: Path, campaign: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [notarius, "ui", "--port", str(port)],
        cwd=campaign,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert answers(f"http://127.0.0.1:{port}/server_info")
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def answers(url: str, seconds: float = 90) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False
