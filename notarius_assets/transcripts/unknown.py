"""The answer for a file that no reader takes: what it is, what it looks like, and what to do."""

from __future__ import annotations

import re
from typing import Any, Final

from notarius_assets.transcripts import codes
from notarius_assets.transcripts.content import Content
from notarius_assets.transcripts.kinds import is_markup, json_kind, markup_kind, text_kind
from notarius_assets.transcripts.model import TranscriptError
from notarius_assets.transcripts.shown import shown

_READ_TODAY: Final = "CRD3 JSON and plain `NAME: text` scripts are read"
_CONVERT: Final = f"export or convert it ({_READ_TODAY}), or leave it out with `ignore:`"
_MAX_KEYS = 10
_TITLE = re.compile(r"<title[^<>]{0,100}>([^<]{1,200})", re.IGNORECASE)


def unknown_shape(content: Content) -> TranscriptError:
    """Return the error for content that no reader takes."""
    if content.is_json:
        return _json(content)
    if is_markup(content.text):
        return _markup(content)
    kind = text_kind(content)
    reason = (
        f"this looks like {kind}, which is not read yet" if kind else "text, but no line-by-line `NAME: text` script"
    )
    return TranscriptError(codes.UNKNOWN_TEXT_SHAPE, f"{shown(content.name)}: {reason}", next_step=_CONVERT)


def _json(content: Content) -> TranscriptError:
    kind = json_kind(content.document)
    looks = f"this looks like {kind}, which is not read yet" if kind else "JSON, but no known transcript shape"
    return TranscriptError(
        codes.UNKNOWN_JSON_SHAPE,
        f"{shown(content.name)}: {looks}: found {_found(content.document)}",
        next_step=_CONVERT,
    )


def _markup(content: Content) -> TranscriptError:
    kind = markup_kind(content.text)
    title = _TITLE.search(content.text[:20_000])
    looks = f"this looks like {kind}, which is not read yet" if kind else "a page of HTML or XML, not a transcript"
    titled = f" (titled '{shown(' '.join(title[1].split()))}')" if title else ""
    return TranscriptError(
        codes.UNKNOWN_HTML_SHAPE,
        f"{shown(content.name)}: {looks}{titled}",
        next_step=_CONVERT if kind else "sign in and download the transcript itself",
    )


def _found(document: Any) -> str:
    """Return what stands at the root of a document, cut to what a line can hold."""
    if isinstance(document, dict):
        return _keys(document) if document else "an empty object"
    if isinstance(document, list):
        if not document:
            return "an empty list"
        first = document[0]
        inside = f" of objects with {_keys(first)}" if isinstance(first, dict) and first else ""
        return f"a list{inside}"
    if document is None:
        return "null alone"
    kind = {bool: "a truth value", str: "a string", int: "a number", float: "a number"}.get(type(document), "a value")
    return f"{kind} alone"


def _keys(found: dict[str, Any]) -> str:
    names = [shown(key[:40]) for key in list(found)[:_MAX_KEYS]]
    more = f" and {len(found) - _MAX_KEYS:,} more" if len(found) > _MAX_KEYS else ""
    return "keys " + ", ".join(f"'{name}'" for name in names) + more
