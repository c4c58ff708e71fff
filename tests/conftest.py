"""What every test gets: no network, state in temporary folders, and a small campaign on request."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from notarius_assets.flow.workspace import Workspace

REPOSITORY = Path(__file__).resolve().parents[1]

STEPS = """\
steps:
  - name: registries
    lanes:
      - lane: dnd/npcs
  - name: occurrences
    lanes:
      - lane: dnd/npc-interactions
        references:
          npcs: dnd/npcs
"""

TABLES = (
    "transcript_units",
    "transcript_chunks",
    "npc_candidates",
    "npcs",
    "npc_interaction_candidates",
    "npc_interactions",
)
"""The tables of a session of `STEPS`, in the order of the data's way."""

_STORIES = (
    """\
DM: The rain has stopped, and the road ends at a mill with its door open. A miller named Orrick Thane steps out.
ANNA: I wave. Good evening, Orrick! Is there a bed for two tired people?
DM: "There's a bed," Orrick says, "and there's a rat. You may have both."
BEN: Thank you, Orrick. We'll take the bed and be polite about the rat.
DM: He laughs and lets you in. It smells of flour and of wet dog.
ANNA: We sleep. I take the side without the rat.
""",
    """\
DM: In the morning you meet Captain Hestrel at the bridge. She has a list and no patience.
BEN: Good morning, Captain Hestrel. Are we on the list?
DM: "I am Captain Hestrel, and everybody is on the list," she says, and looks at your boots.
ANNA: I tell Captain Hestrel that we only want to cross the bridge.
DM: Captain Hestrel stamps two papers without reading them.
BEN: We cross, quickly, before she reads them after all.
""",
    """\
DM: The inn is called the Second Lantern. "I am Wenna," says the woman behind the counter. "Wipe your feet."
ANNA: I wipe my feet. Thank you, Wenna!
DM: Wenna pours you something brown. "Last week a man named Dunstan drank three of these," she says.
BEN: And where is Dunstan now?
DM: "Dunstan is under that table," says Wenna, and so he is.
ANNA: Good night, Wenna. Good night, Dunstan.
""",
)


@dataclass(frozen=True)
class Campaign:
    """A small campaign on disk: a pipeline file with `sessions` beside it."""

    root: Path
    sessions: tuple[str, ...]

    @property
    def pipeline(self) -> Path:
        return self.root / "pipeline.yaml"

    @property
    def home(self) -> Path:
        return self.root / ".notarius"

    @property
    def source_ids(self) -> tuple[str, ...]:
        return tuple(f"hill-road/{s}" for s in self.sessions)

    def open(self) -> Workspace:
        return Workspace.open(self.pipeline, self.home)

    def transcript(self, session: str) -> Path:
        return self.root / "transcripts" / f"{session}.txt"


CampaignFactory = Callable[..., Campaign]


@pytest.fixture
def campaign(tmp_path: Path) -> CampaignFactory:
    """Return a factory: `campaign(sessions=2, extra="", stories={})` writes a campaign and gives its paths."""
    return lambda **given: write_campaign(tmp_path / "campaign", **given)


def write_campaign(
    root: Path,
    *,
    sessions: int = 2,
    extra: str = "",
    steps: str = STEPS,
    stories: Mapping[str, str] | None = None,
) -> Campaign:
    """Write a campaign whose sessions `session-01`, … each hold one to three NPCs that the rules find.

    `extra` is added to the pipeline file; `stories` gives sessions other texts than the invented ones.
    """
    texts = {f"session-{n + 1:02d}": _STORIES[n % len(_STORIES)] for n in range(sessions)} | dict(stories or {})
    (root / "transcripts").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (root / "transcripts" / f"{name}.txt").write_text(text, encoding="utf-8")
    head = "campaign: Hill Road\ntranscripts: [transcripts/*.txt]\n"
    speakers = "speakers: {dm: [DM], players: {ANNA: Tib Farrow, BEN: Ludo Marsh}}\n"
    (root / "pipeline.yaml").write_text(f"{head}{speakers}{extra}{steps}", encoding="utf-8")
    return Campaign(root, tuple(sorted(texts)))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of the delivered material beside the repository; tests that need it skip where it is not."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the delivered material is not beside this checkout")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep a developer's own folders and settings out of the tests, and the tests out of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("NOTARIUS_HOME", "NOTARIUS_PIPELINE", "DAGSTER_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            patch.delenv(name, raising=False)
        patch.setenv("DAGSTER_DISABLE_TELEMETRY", "yes")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Fail every connection and every look-up that would leave the machine."""
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def checked(kind: int, address: Any) -> None:
        if kind != socket.AF_UNIX and not is_local(address[0]):
            raise AssertionError(f"a test tried to reach {address!r}; nothing here may leave the machine")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        checked(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        checked(self.family, address)
        return connect_ex(self, address)

    def guarded_look_up(host: Any, *rest: Any, **named: Any) -> Sequence[Any]:
        checked(socket.AF_INET, (host,))
        return look_up(host, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


def is_local(host: object) -> bool:
    """Tell whether an address or name stays on this machine; None is what servers bind to."""
    if isinstance(host, bytes):
        host = host.decode()
    if host is None or host in ("", "localhost", socket.gethostname()):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
