"""Reader of plain scripts: text in lines of `NAME: text`.

A line without a label goes on with the turn above. A line that is one bracket, begins with a time or has a label
that names nobody is a record of its own, without a speaker. Lines before the first turn are a header.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from notarius_assets.transcripts import codes, labels
from notarius_assets.transcripts.base import Reader, Reading
from notarius_assets.transcripts.cleaning import is_dirty, strip_controls
from notarius_assets.transcripts.content import Content
from notarius_assets.transcripts.intake import Intake
from notarius_assets.transcripts.kinds import is_markup, text_kind
from notarius_assets.transcripts.speakers import fold

_LOOKED_AT = 5_000
"""Lines on which it is decided whether a text is a script."""

_HEADING = re.compile(r"#{1,6}\s.*|(?:[-*_=~•–—]\s{0,3}){3,200}", re.DOTALL)
_BRACKETED = re.compile(r"\[[^\[\]]*\]|\([^()]*\)")
_CODE = re.compile(
    r"(?:import|from|def|class|return|if|for|while|const|let|var|func|fn|package|use)\b.*[:;({]$|//|/\*|#!|#include"
)
_SPOKEN_END = frozenset('.!?…"”’»)]*♪♫-–—,;')


@dataclass(slots=True)
class _Record:
    """One turn, or one line that stands alone."""

    speakers: tuple[str, ...] = ()
    pieces: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    rejected: str | None = None
    open: bool = True


def takes(content: Content) -> bool:
    """Tell whether a text is a script: names that come back, words that are said, and little else."""
    if content.is_json or is_markup(content.text) or text_kind(content) is not None:
        return False
    turns = spoken = marked = perhaps = rejected = code = before = body = 0
    met: Counter[str] = Counter()
    said: list[tuple[str, ...]] = []
    for line in content.lines[:_LOOKED_AT]:
        text = line.strip()
        if not text or _HEADING.fullmatch(text):
            continue
        found = labels.cut(text)
        if isinstance(found, labels.Labelled) and found.certain and line[:4].strip():
            turns += 1
            names = tuple(fold(name) or name for name in found.speakers)
            met.update(names)
            said.append(names)
            marked += any(name.isupper() or labels.is_role(name) for name in found.speakers)
            spoken += bool(found.words) and (found.words[-1] in _SPOKEN_END or found.words.count(" ") >= 2)
        elif isinstance(found, labels.Rejected):
            rejected += 1
            body -= turns > 0
        elif isinstance(found, labels.Labelled):
            perhaps += 1
        elif len(text) < 1_000 and (text.endswith(("{", "}", ";")) or _CODE.match(text)):
            code += 1
        elif _BRACKETED.fullmatch(text) or labels.begins_with_time(text):
            continue
        before += not turns
        body += turns > 0
    if not turns or rejected > max(2, turns // 4) or code > body // 10 or before > max(8, turns * 3):
        return False
    share = sum(1 for names in said if any(met[name] > 1 for name in names)) / turns
    # Fields of a header have one-word values; so have quick answers, but of speakers that are marked as such.
    if spoken * 2 < turns and (turns < 3 or share < 0.5 or marked * 2 < turns):
        return False
    if marked * 2 >= turns > 1:
        body -= min(perhaps, turns * 4)
    if turns < 5:
        return turns * 2 >= body
    return share >= 0.3 and turns >= body * (0.3 if share < 0.7 else 0.08)


def read(content: Content, intake: Intake) -> Reading:
    """Take every turn and every line that stands alone; name headers and headings."""
    seen = 0
    for record in _records(content):
        seen += 1
        if isinstance(record, str):
            intake.drop(record)
            continue
        unit = intake.add(record.speakers, " ".join(record.pieces))
        if unit is None:
            continue
        for code in record.found:
            intake.mark(code, unit)
        if record.rejected is not None:
            intake.mark(codes.SPEAKER_LABEL_REJECTED, unit)
            intake.note(codes.SPEAKER_LABEL_REJECTED, f"'{record.rejected}' is not a name")
    return Reading("name-colon-script", seen)


def _records(content: Content) -> Iterator[_Record | str]:
    """Yield records in file order: turns and lone lines, or the code under which a line is dropped."""
    known = _known(content)
    dirty = is_dirty(content.text)
    current: _Record | None = None
    begun = False
    for line in content.lines:
        cleaned, found = strip_controls(line) if dirty else (line, ())
        text = cleaned.strip()
        if not text:
            continue
        record = _begin(text, known)
        begun = begun or (record is not None and bool(record.speakers))
        if record is None and _HEADING.fullmatch(text):
            if current:
                yield current
                current = None
            yield codes.HEADING_CONTEXT if begun else codes.HEADER_SKIPPED
        elif not begun and not _BRACKETED.fullmatch(text):
            yield codes.HEADER_SKIPPED
        elif record is None and current and current.open:
            current.pieces.append(text)
            current.found.extend(found)
        else:
            if current:
                yield current
            current = record or _Record((), [text])
            current.found.extend(found)
    if current:
        yield current


def _begin(text: str, known: Set[str]) -> _Record | None:
    """Return the record a line begins, or None where it goes on with the one above."""
    if _BRACKETED.fullmatch(text):
        return _Record((), [text], open=False)
    if labels.begins_with_time(text):
        return _Record((), [text], rejected=labels.time_as_label(text), open=False)
    found = labels.cut(text)
    if isinstance(found, labels.Rejected):
        return _Record((), [text], rejected=found.label)
    if found is None or not labels.confirmed(found, known):
        return None
    return _Record(found.speakers, [part for part in (found.aside, found.words) if part])


def _known(content: Content) -> frozenset[str]:
    """Return the names, in lower case, that a label not certain by itself may be made of."""
    sure: set[str] = set()
    perhaps: Counter[str] = Counter()
    for line in content.lines:
        found = labels.cut(line.strip())
        if isinstance(found, labels.Labelled):
            names = [name.casefold() for name in found.speakers]
            if found.certain:
                sure.update(names)
            elif len(names) == 1 and found.words:
                perhaps.update(names)
    return frozenset(sure.union(name for name, times in perhaps.items() if times >= 3))


READER = Reader("script", "1", frozenset((".txt", ".md", ".text", ".log")), takes, read)
