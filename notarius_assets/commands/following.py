"""What a person sees of a model at work: how far it is, and at the end what it took."""

from __future__ import annotations

from collections import Counter, defaultdict
from types import TracebackType
from typing import TYPE_CHECKING, Any

from notarius_assets.commands.terminal import console, counted, note, out
from notarius_assets.flow.workspace import Workspace
from notarius_assets.models.calls import Call, CallStatus, cost, total
from notarius_assets.models.facts import facts
from notarius_assets.models.window import AnsweredBy, WindowAnswer, WindowEnd
from notarius_assets.prompting import instructions_length

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

CHARACTERS_A_TOKEN = 5
"""More characters than a token of English has: with it, a prefix is taken for cacheable only where it surely is."""


class Following:
    """Counts windows and calls of a run; on a terminal it shows a bar a lane, elsewhere a line when a lane is asked."""

    def __init__(self, workspace: Workspace, *, quiet: bool) -> None:
        self._lanes = workspace.pipeline.declared
        self._burst = workspace.pipeline.file.model.in_flight
        self._calls: list[tuple[str, Call]] = []
        self._ends: Counter[tuple[WindowEnd, str | None]] = Counter()
        self._from_cache = 0
        self._left = 0
        self._now = ("", "")
        self._failed: Counter[str] = Counter()
        self._waited: set[tuple[str, str]] = set()
        self._quiet = quiet
        self._asks = workspace.model.name != "rules"
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Following:
        terminal = console(stderr=True)
        if terminal.is_terminal and not self._quiet:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            # no thread: drawn when something has ended
            self._bar = Progress(*columns, console=terminal, transient=True, auto_refresh=False)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def planned(self, source_id: str, lane: str, windows: int) -> None:
        """A lane of a session begins."""
        self._now = (source_id, lane)
        self._failed = Counter()
        self._left = windows
        if not windows and self._asks and not self._quiet:
            note(f"  {source_id} {lane}: nothing to ask, its registry is empty")
        if self._bar:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(f"{source_id} {lane}", total=windows)
            self._bar.refresh()

    def call(self, lane: str, call: Call) -> None:
        """One attempt is over."""
        self._calls.append((lane, call))
        if call.status is CallStatus.RATE_LIMITED and self._now not in self._waited:
            self._waited.add(self._now)
            if not self._bar and not self._quiet:
                note(f"  {call.source_id} {lane}: the server limits the rate; waiting, and trying again")

    def window(self, lane: str, answer: WindowAnswer) -> None:
        """One window has ended."""
        if answer.answered_by is AnsweredBy.RULES:
            return
        self._ends[answer.end, answer.reason] += 1
        self._from_cache += answer.answered_by is AnsweredBy.CACHE
        self._left -= 1
        self._failed[answer.reason or ""] += not answer.end.answered
        if self._bar and self._task is not None:
            self._bar.advance(self._task)
            self._bar.refresh()
        elif self._left == 0 and not self._quiet:
            note(f"  {' '.join(self._now)}: {self._said_of_lane()}")

    def _said_of_lane(self) -> str:
        made = [c for lane, c in self._calls if (c.source_id, lane) == self._now]
        if made:
            return _used(made)
        reasons = ", ".join(reason for reason, count in sorted(self._failed.items()) if count)
        return f"nothing asked ({reasons})" if reasons else "nothing asked, every answer was there"

    def say_totals(self) -> None:
        """Print windows by end, tokens, cost and the share of input read from the prompt cache."""
        if not self._ends:
            return
        by_end: dict[WindowEnd, Counter[str]] = defaultdict(Counter)
        for (end, reason), count in self._ends.items():
            by_end[end][reason or ""] += count
        said = [_end(end, by_end[end]) for end in WindowEnd if end in by_end]
        was = "was" if self._from_cache == 1 else "were"
        kept = f"; {counted(self._from_cache, 'answer')} {was} there before" if self._from_cache else ""
        out(f"{counted(sum(self._ends.values()), 'window')}: {', '.join(said)}{kept}.")
        if self._calls:
            out(f"{_used([c for _, c in self._calls])}.")

    def warn(self) -> None:
        """Say where the prompt cache gave nothing though it should have."""
        for lane in self._lanes:
            made = [c for where, c in self._calls if where == lane.key and c.usage.prompt]
            model = facts().of(made[0].model) if made else None
            if not model or not model.cache_minimum:
                continue
            if instructions_length(lane) < model.cache_minimum * CHARACTERS_A_TOKEN:
                continue
            by_session = Counter(c.source_id for c in made)
            # the first calls of a session go out together: they can't read what none of them has written yet
            later = sum(max(0, n - self._burst) for n in by_session.values())
            if later and not any(c.usage.cache_read for c in made):
                calls = counted(len(made), "call")
                said = f"no input of {calls} was read from the prompt cache, though they begin alike"
                note(f"notarius: {lane.key}: {said}. Next: check that `model.base_url` is a server that caches")

    def as_json(self) -> dict[str, Any]:
        """Return the totals."""
        used = total([c for _, c in self._calls])
        ends: Counter[str] = Counter()
        for (end, _), count in self._ends.items():
            ends[str(end)] += count
        return {
            "windows": dict(sorted(ends.items())),
            "answers_from_cache": self._from_cache,
            "calls": len(self._calls),
            "input_tokens": used.input,
            "cache_write_tokens": used.cache_write,
            "cache_read_tokens": used.cache_read,
            "output_tokens": used.output,
            "cost_usd": cost([c for _, c in self._calls]),
        }


def _end(end: WindowEnd, reasons: Counter[str]) -> str:
    named = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()) if reason)
    return f"{sum(reasons.values()):,} {end}" + (f" ({named})" if named else "")


def _used(calls: list[Call]) -> str:
    used = total(calls)
    failed = sum(c.status is not CallStatus.ANSWERED for c in calls)
    said = counted(len(calls), "call") + (f", {failed:,} without an answer" if failed else "")
    if not used.prompt and not used.output:
        return said
    share = f" ({used.cache_read / used.prompt:.0%} from the prompt cache)" if used.prompt else ""
    paid = cost(calls)
    price = "price not known" if paid is None else f"${paid:,.4f} at list prices of {facts().as_of}"
    return f"{said}; tokens: {used.prompt:,} in{share}, {used.output:,} out; {price}"
