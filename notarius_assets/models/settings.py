"""Who is asked and how: what an answer depends on, and apart from it how the server is reached."""

from __future__ import annotations

from dataclasses import dataclass, field

KEY_VARIABLE = "ANTHROPIC_API_KEY"
"""The environment variable that holds the key; no file of ours ever does."""


ATTEMPTS = 4
"""How often one ask is tried."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an answer depends on beside the messages and the schema; part of every fingerprint.

    `effort` None leaves it to the server.
    """

    model: str
    effort: str | None
    max_tokens: int

    @property
    def provider(self) -> str:
        """The protocol the answers are in."""
        return "anthropic"


@dataclass(frozen=True, slots=True)
class Access:
    """How the server is reached; never part of a fingerprint. Times in seconds.

    `base_url` None is Anthropic's own. `in_flight` bounds the calls open at once, `timeout` one attempt,
    `longest_wait` what is waited at most after an answer that asks to try again, whatever it asks for.
    """

    base_url: str | None = None
    in_flight: int = 8
    timeout: float = 300.0
    longest_wait: float = 60.0
    key: str | None = field(default=None, repr=False)
