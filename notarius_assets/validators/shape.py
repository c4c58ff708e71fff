"""`shape`: fields, types, kind and id syntax, of candidates and of durable records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from notarius_assets.identity import comparison_name, display_name
from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View

_CODES = {
    "missing": "missing_field",
    "extra_forbidden": "extra_field",
    "literal_error": "unknown_kind",
    "too_short": "no_evidence",
    "string_pattern_mismatch": "bad_id",
    "string_too_short": "blank_name",
    "string_unicode": "not_unicode",
}


def problem(model: type[BaseModel], value: Any, kinds: tuple[str, ...] = ()) -> Finding | None:
    """Return the first way in which a value is not of the model's shape, or None."""
    try:
        model.model_validate(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(p) for p in first["loc"] if isinstance(p, int) or p.isidentifier())
        code = _CODES.get(first["type"], "wrong_type")
        # The name of an unknown field is the model's text: it is not repeated.
        return Finding(code, detail="" if code == "extra_field" else f"field={where}")
    if not comparison_name(value["name"]):
        return Finding("blank_name")
    if not _is_unicode(value["name"]):
        return Finding("not_unicode", detail="field=name")
    if kinds and value["kind"] not in kinds:
        return Finding("unknown_kind")
    return None


def _is_unicode(text: str) -> bool:
    """Tell whether a text can be written: JSON may hold half a surrogate pair, of which no UTF-8 can be made."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_candidates(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per candidate whose answer has not the private response's shape."""
    for item in view.items:
        found = problem(context.lane.response_item, item.answer, context.lane.kinds)
        if found is None and not item.answer["ranges"]:
            found = Finding("no_evidence", detail="field=ranges")
        if found:
            yield Finding(found.code, item.index, found.detail)


def check_records(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per record that is not exactly the durable record."""
    for item in view.items:
        found = problem(context.lane.record, item.record, context.lane.kinds)
        if found is None and item.record is not None and item.record["name"] != display_name(item.record["name"]):
            found = Finding("name_not_display_form")
        if found:
            yield Finding(found.code, item.index, found.detail)


EXTRACTION = Validator(
    "shape",
    Boundary.EXTRACTION,
    Level.RECORD,
    Severity.ERROR,
    "Every candidate has exactly the fields and types asked for, a name that is not blank, a known kind and a range.",
    check_candidates,
    required=True,
)
NORMALIZATION = Validator(
    "shape",
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    Severity.ERROR,
    "Every record has exactly the contract's fields and types, a known kind, and an id of the right syntax.",
    check_records,
    required=True,
)
