"""JSON Schemas generated from the declared shapes; the files in `schemas/` are checked against this in a test."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from notarius_assets.lanes.base import Lane
from notarius_assets.reconcile.response import groups_schema
from notarius_assets.structural import structural_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def durable_schema(lane: Lane) -> dict[str, Any]:
    """Return the schema of a lane's durable document."""
    record = lane.record.model_json_schema()
    definitions = record.pop("$defs", {})
    return {
        "$schema": DIALECT,
        "$id": lane.schema_id,
        "title": lane.schema_name,
        "description": lane.table_comment,
        "type": "object",
        "additionalProperties": False,
        "required": [lane.root],
        "properties": {lane.root: {"type": "array", "items": record}},
        "$defs": definitions,
    }


@cache
def response_schema(lane: Lane) -> dict[str, Any]:
    """Return the structural schema of a lane's private response; the same for every session.

    Types and required fields only: what a model is told in words stands in the prompts.
    """
    return structural_schema(lane.response)


def files(lane: Lane) -> dict[str, str]:
    """Return the schema files of a lane: path below `schemas/`, and text."""
    return {
        f"{lane.schema_name}.json": _text(durable_schema(lane)),
        f"private/{lane.key.replace('/', '-')}.response.json": _text(response_schema(lane)),
    }


def shared_files() -> dict[str, str]:
    """Return the schema files that no lane has for itself: path below `schemas/`, and text."""
    return {"private/reconciliation.response.json": _text(groups_schema())}


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
