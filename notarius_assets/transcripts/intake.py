"""Where records become units: the part of ingest that is the same for every format."""

from __future__ import annotations

import re
import unicodedata

from notarius_assets.transcripts import codes, speakers
from notarius_assets.transcripts.cleaning import REPLACEMENT, tidy
from notarius_assets.transcripts.model import IngestWarning, Unit

_MARKER_ENDS = frozenset(")]*♪♫♬")
_MARKERS = re.compile(r"(?:\([^()]*\)|\[[^\[\]]*\]|\*[^*]+\*|[♪♫♬ .…])+")


class Intake:
    """Takes records in file order, gives out units, and keeps account of what it did.

    Every record a reader sees must end here once: `add` makes it a unit or names it, `drop` names it.
    `replaced` says that the file held bytes that could not be read, so that U+FFFD names the units.
    """

    def __init__(self, *, replaced: bool = False) -> None:
        self.units: list[Unit] = []
        self._replaced = replaced
        self._seen: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._first: dict[str, int] = {}
        self._marked: dict[str, list[int]] = {}
        self._records: dict[str, int] = {}
        self._notes: dict[str, str] = {}

    def add(
        self,
        labels: tuple[str, ...],
        text: str,
        label: str | None = None,
        start_ms: int | None = None,
        end_ms: int | None = None,
    ) -> int | None:
        """Make one record a unit and return its id, or None where it has no text and is only counted.

        `labels` are the speaker labels as the file has them; `label` is the record's own id.
        """
        unit_id = len(self.units) + 1
        # Almost every text passes these, and they are far cheaper than a regular expression.
        if self._replaced or not text.isprintable() or "  " in text or text.strip() != text:
            text, found = tidy(text)
            if not text:
                self.drop(codes.EMPTY_RECORD_DROPPED)
                return None
            for code in found:
                self.mark(code, unit_id)
            if self._replaced and REPLACEMENT in text and codes.ENCODING_REPLACED not in found:
                self.mark(codes.ENCODING_REPLACED, unit_id)
        elif not text:
            self.drop(codes.EMPTY_RECORD_DROPPED)
            return None
        named, marks = self._seen.get(labels) or self._read(labels, unit_id)
        self.units.append(Unit(unit_id, named, text, start_ms, end_ms, label))
        if marks:
            for code in marks:
                self.mark(code, unit_id)
        if text[-1] in _MARKER_ENDS and _MARKERS.fullmatch(text):
            self.mark(codes.NON_SPEECH, unit_id)
        return unit_id

    def drop(self, code: str, records: int = 1) -> None:
        """Count records that become no unit."""
        self._records[code] = self._records.get(code, 0) + records

    def mark(self, code: str, unit_id: int) -> None:
        """Name a unit under a code, once."""
        marked = self._marked.setdefault(code, [])
        if not marked or marked[-1] != unit_id:
            marked.append(unit_id)

    def note(self, code: str, text: str) -> None:
        """Say something for people under a code; the first word on it stands."""
        self._notes.setdefault(code, text)

    def warnings(self) -> tuple[IngestWarning, ...]:
        """Return everything named so far, in the order of `codes.WARNINGS`."""
        self._suggest_variants()
        marked = dict(self._marked)
        missing = marked.get(codes.SPEAKER_MISSING)
        if missing and len(missing) == len(self.units):
            del marked[codes.SPEAKER_MISSING]
            self.note(codes.NO_SPEAKERS, "no record names a speaker")
        return tuple(
            IngestWarning(code, tuple(marked.get(code, ())), self._records.get(code, 0), self._notes.get(code))
            for code in codes.WARNINGS
            if code in marked or code in self._records or code in self._notes
        )

    def _read(self, labels: tuple[str, ...], unit_id: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the speakers of labels not met before, and the codes under which their units are named."""
        names: dict[str, None] = {}
        marks: dict[str, None] = {}
        for written in labels:
            tidied, found = tidy(written)
            name = tidied if tidied.isascii() else unicodedata.normalize("NFC", tidied)
            marks.update(dict.fromkeys(found))
            if name != tidied:
                marks[codes.SPEAKER_NORMALISED] = None
            if self._replaced and REPLACEMENT in name:
                marks[codes.ENCODING_REPLACED] = None
            if speakers.is_nobody(name):
                continue
            names[name] = None
            self._first.setdefault(name, unit_id)
            if speakers.is_group(name):
                marks[codes.SPEAKER_GROUP] = None
            elif speakers.is_anonymous(name):
                marks[codes.SPEAKER_ANONYMOUS] = None
        if not names:
            marks[codes.SPEAKER_MISSING] = None
        seen = (tuple(names), tuple(marks))
        self._seen[labels] = seen
        return seen

    def _suggest_variants(self) -> None:
        """Name labels that may be one person: the first unit of each."""
        pairs = speakers.variants(self._first)
        if pairs:
            self._marked[codes.SPEAKER_VARIANTS] = sorted({self._first[name] for pair in pairs for name in pair})
            self.note(codes.SPEAKER_VARIANTS, speakers.pairs_note(pairs))
