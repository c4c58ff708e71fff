"""The answers of a home: one file each, named by the fingerprint of what was asked, written whole or not at all.

Only usable answers are kept. A refusal, a cut or unreadable answer and a failed call are asked again next time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from notarius_assets.files import TEMPORARY_PREFIX, write_atomically
from notarius_assets.models.messages import NOTHING_USED, Usage
from notarius_assets.models.parsing import refuse_constant
from notarius_assets.models.window import is_response

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Answer:
    """A kept answer: the private response, who asked for it first, and where it came from."""

    payload: Mapping[str, Any]
    lane: str
    source_id: str
    model: str
    stop_reason: str | None = None
    request_id: str | None = None
    usage: Usage = NOTHING_USED


class Answers:
    """The answer cache below one folder, shared by every run, session and process of a home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, fingerprint: str) -> Path:
        """Return where the answer to a request is kept."""
        return self.folder / fingerprint[:2] / f"{fingerprint}.json"

    def get(self, fingerprint: str, root: str) -> Answer | None:
        """Return a kept answer; None where there is none, or where somebody has damaged the file."""
        try:
            found = json.loads(self.path(fingerprint).read_bytes(), parse_constant=refuse_constant)
            payload = found["payload"]
            used = found.get("usage") or {}
            usage = Usage(*(used.get(f.name) or 0 for f in fields(Usage)))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        if not is_response(payload, root):
            return None
        # what was paid for outlives versions: other fields may be missing, or be new
        lane, source_id, model = (str(found.get(name) or "") for name in ("lane", "source_id", "model"))
        return Answer(payload, lane, source_id, model, found.get("stop_reason"), found.get("request_id"), usage)

    def put(self, fingerprint: str, answer: Answer) -> None:
        """Keep an answer."""
        # plain ASCII: an answer may hold half a surrogate pair, which has an escape in JSON and no UTF-8
        write_atomically(self.path(fingerprint), json.dumps(asdict(answer)).encode() + b"\n")

    def kept(self) -> Iterator[tuple[str, Path]]:
        """Yield fingerprint and file of every answer, in order."""
        for path in sorted(self.folder.glob("??/*.json")):
            if len(path.stem) == 64 and set(path.stem) <= _HEX and path.is_file():
                yield path.stem, path

    def asked_by(self, fingerprint: str) -> tuple[str, str]:
        """Return source_id and lane that first asked for an answer; empty where its file does not tell."""
        try:
            found = json.loads(self.path(fingerprint).read_bytes())
            return str(found["source_id"]), str(found["lane"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return "", ""

    def unfinished(self) -> list[Path]:
        """Return files that a killed process left half-written, or that another one is writing now."""
        return sorted(self.folder.glob(f"??/{TEMPORARY_PREFIX}*"))
