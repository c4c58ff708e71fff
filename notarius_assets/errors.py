"""The errors a user can meet: one line that names the place, the reason and the next step."""

from __future__ import annotations


class NotariusError(Exception):
    """A problem a user can act on; printed as one line, never as a traceback.

    `exit_code` is what the command line ends with: 1 for work that failed, 2 for usage or configuration.
    """

    exit_code = 1

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = " ".join(message.split())
        self.next_step = " ".join(next_step.split()) if next_step else None

    def __str__(self) -> str:
        return f"{self.message}. Next: {self.next_step}" if self.next_step else self.message


class ConfigurationError(NotariusError):
    """The pipeline file, or what it points at, can't be used; nothing was run."""

    exit_code = 2


class SessionBusyError(NotariusError):
    """Another process is working on the same session."""
