"""Walls between the rooms, read from the imports: what may not know of what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import notarius_assets

PACKAGE = Path(notarius_assets.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

FORBIDDEN = {
    "transcripts": ("lanes", "validators", "models", "lake", "flow", "orchestration", "commands", "pipeline"),
    "validators": ("models", "lake", "flow", "orchestration", "commands", "pipeline"),
    # who proposes is asked elsewhere; here groups are judged and applied
    "reconcile": ("lanes", "validators", "models", "lake", "flow", "orchestration", "commands", "pipeline"),
    "lanes": ("lake", "flow", "orchestration", "commands", "pipeline"),
    "models": ("lake", "flow", "orchestration", "commands", "pipeline"),
    "lake": ("flow", "orchestration", "commands", "pipeline"),
    "flow": ("orchestration", "commands"),
    "evaluation": ("lake", "flow", "orchestration", "commands", "pipeline"),
}
"""Per room, the rooms that it must work without."""


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_works_without_the_rooms_above_it(room: str) -> None:
    found = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in (PACKAGE / room).rglob("*.py")
        for name in imports(path)
        if name.startswith("notarius_assets.") and name.split(".")[1] in FORBIDDEN[room]
    }
    assert not found


def test_only_orchestration_and_the_component_know_dagster() -> None:
    knows = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        if any(n.split(".")[0] == "dagster" for n in imports(path))
    }
    assert knows == {"orchestration", "component.py"}


def test_no_module_has_outgrown_one_reason_to_change() -> None:
    assert {p.name for p in MODULES if len(p.read_text(encoding="utf-8").splitlines()) > 500} == set()
