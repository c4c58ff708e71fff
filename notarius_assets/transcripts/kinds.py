"""Telling what a file looks like: formats that are not read yet, so that a message can name them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from notarius_assets.transcripts.content import Content

_LOOKED_AT = 400
"""Lines that are looked at."""

_CUT = 300
"""Characters of a line that are looked at."""

_MARKUP = re.compile(r"<!doctype\s|<html\b|<head\b|<body\b|<\?xml\b|<div\b|<svg\b", re.IGNORECASE)
_CUE_TIME = re.compile(r"\s{0,20}-?\d{1,3}:\d\d(?::\d\d)?[.,]\d{1,3}\s{1,20}-->")
_BRACKET_TIME = re.compile(r"\s{0,20}\[\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?(?:\s{0,5}-{1,2}>\s{0,5}[\d:.,]{4,13})?\]")
_NAME_THEN_TIME = re.compile(r"\S.{0,60}\s{2,4}\d{1,2}:\d\d(?::\d\d)?\s{0,4}")
_AUDACITY = re.compile(r"\d{1,6}\.\d{1,6}\t\d{1,6}\.\d{1,6}\t")

_JSON_KEYS = (
    (frozenset(("segments", "word_segments")), "WhisperX JSON"),
    (frozenset(("segments", "language")), "openai-whisper JSON"),
    (frozenset(("transcription",)), "whisper.cpp JSON"),
    (frozenset(("guild", "channel", "messages")), "a DiscordChatExporter export"),
    (frozenset(("segments",)), "speech recogniser JSON"),
)


def is_markup(text: str) -> bool:
    """Tell whether text is HTML or XML."""
    return _MARKUP.match(text.lstrip()[:200]) is not None


def text_kind(content: Content) -> str | None:
    """Return the kind of transcript a text is that no reader takes yet, or None."""
    lines = [line[:_CUT] for line in content.lines[:_LOOKED_AT] if line.strip()]
    if not lines:
        return None
    first = lines[0].strip()
    if first.startswith("WEBVTT"):
        return "WebVTT captions"
    if any(_CUE_TIME.match(line) for line in lines):
        return "SubRip or WebVTT captions"
    if first == "[Script Info]":
        return "SubStation Alpha captions"
    if sum(1 for line in lines if _BRACKET_TIME.match(line)) * 2 > len(lines):
        return "lines that begin with a time, as merged Craig or Whisper text has them"
    if sum(1 for line in lines if _AUDACITY.match(line)) * 2 > len(lines):
        return "Audacity labels"
    if sum(1 for line in lines if _NAME_THEN_TIME.fullmatch(line)) * 5 > len(lines):
        return "an Otter text export"
    return None


def markup_kind(text: str) -> str | None:
    """Return the kind of transcript a page of markup is that no reader takes yet, or None."""
    return "a saved Roll20 chat archive" if "data-messageid" in text else None


def json_kind(document: Any) -> str | None:
    """Return the kind of transcript a JSON document is that no reader takes yet, or None."""
    if isinstance(document, Mapping):
        for keys, kind in _JSON_KEYS:
            if keys <= document.keys():
                return kind
    if isinstance(document, Sequence) and not isinstance(document, str) and document:
        first = document[0]
        if (
            isinstance(first, Mapping)
            and first
            and all(isinstance(v, Mapping) and "who" in v for v in list(first.values())[:5])
        ):
            return "a Roll20 chat archive as JSON"
    return None
