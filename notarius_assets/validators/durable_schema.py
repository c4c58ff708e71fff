"""`durable_schema`: the document is valid against the JSON Schema that is published for it; last in every chain."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import jsonschema_rs

from notarius_assets.validators.base import Boundary, Context, Finding, Level, Severity, Validator, View

if TYPE_CHECKING:
    from notarius_assets.lanes.base import Lane


@cache
def _compiled(lane: Lane) -> jsonschema_rs.Validator:
    # imported late: lanes declare their validators, so this module is loaded before them
    from notarius_assets.lanes.schemas import durable_schema

    return jsonschema_rs.validator_for(durable_schema(lane))


def check(view: View, context: Context) -> Iterator[Finding]:
    """Yield a finding per violation, with the path of the schema's rule."""
    document = {**(view.document or {}), context.lane.root: [dict(i.record or {}) for i in view.items]}
    for error in _compiled(context.lane).iter_errors(document):
        path = list(error.instance_path)
        at = path[1] if len(path) > 1 and isinstance(path[1], int) else None
        index = view.items[at].index if at is not None else None
        yield Finding("schema_violation", index, "rule=" + "/".join(str(p) for p in error.schema_path))


NORMALIZATION = Validator(
    "durable_schema",
    Boundary.NORMALIZATION,
    Level.ARTIFACT,
    Severity.ERROR,
    "The document is valid against its published JSON Schema.",
    check,
)
