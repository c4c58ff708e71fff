"""JSON Schemas generated from the declared shapes; the files in `schemas/` are checked against this in a test."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from notarius_assets.lanes.base import Lane

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
    structural: dict[str, Any] = _structural(lane.response.model_json_schema())
    return structural


def _structural(node: Any) -> Any:
    """Return a schema without the titles and descriptions that pydantic takes from the code."""
    if isinstance(node, list):
        return [_structural(child) for child in node]
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            # these map names, which may be any word, to schemas
            out[key] = {name: _structural(child) for name, child in value.items()}
        elif key not in ("title", "description"):
            out[key] = _structural(value)
    return out


def files(lane: Lane) -> dict[str, str]:
    """Return the schema files of a lane: path below `schemas/`, and text."""
    return {
        f"{lane.schema_name}.json": _text(durable_schema(lane)),
        f"private/{lane.key.replace('/', '-')}.response.json": _text(response_schema(lane)),
    }


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
