"""Structural JSON Schemas of private responses: types and required fields, nothing that a model is told in words."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def structural_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's schema without the titles and descriptions that pydantic takes from the code."""
    found: dict[str, Any] = _structural(model.model_json_schema())
    return found


def _structural(node: Any) -> Any:
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
