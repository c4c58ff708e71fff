"""Who is told how a run gets on, window by window; nothing that is made depends on it."""

from __future__ import annotations

from typing import Protocol

from notarius_assets.models.calls import Call
from notarius_assets.models.window import WindowAnswer


class Progress(Protocol):
    """Told, as it happens, what a lane's windows cost and how they end."""

    def planned(self, source_id: str, lane: str, windows: int) -> None:
        """A lane of a session begins to ask."""
        ...

    def call(self, lane: str, call: Call) -> None:
        """One attempt at the model is over."""
        ...

    def window(self, lane: str, answer: WindowAnswer) -> None:
        """One window has ended."""
        ...


class Silent:
    """Nobody is told."""

    def planned(self, source_id: str, lane: str, windows: int) -> None:
        """Say nothing."""

    def call(self, lane: str, call: Call) -> None:
        """Say nothing."""

    def window(self, lane: str, answer: WindowAnswer) -> None:
        """Say nothing."""
