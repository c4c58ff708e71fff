"""The private response of a reconciliation, the same for every registry."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from notarius_assets.structural import structural_schema

ROOT = "groups"


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DuplicateGroup(_Closed):
    """Candidates that are one, by their keys, and the one whose name stands."""

    members: list[str]
    canonical: str


class GroupsResponse(_Closed):
    """All groups of one request."""

    groups: list[DuplicateGroup]


@cache
def groups_schema() -> dict[str, Any]:
    """Return the structural schema of the response; the same for every lane and session."""
    return structural_schema(GroupsResponse)
