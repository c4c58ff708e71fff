"""Read YAML for people: every scalar is text, duplicate keys are errors, and errors name file, line and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from notarius_assets.errors import ConfigurationError

_M = TypeVar("_M", bound=BaseModel)


@dataclass(frozen=True)
class Lines:
    """Where each key of a YAML file stands, for errors found after it was read."""

    path: Path
    by_key: Mapping[tuple[int | str, ...], int]

    def at(self, *key: int | str) -> str:
        """Return `file:line: key`, the line of the nearest key above where the key itself is not written."""
        known = next(key[:n] for n in range(len(key), -1, -1) if key[:n] in self.by_key)
        return f"{self.path}:{self.by_key[known]}: {_dotted(key) or 'the file'}"


def read_model(path: Path, model: type[_M]) -> tuple[_M, Lines]:
    """Read a YAML file into a pydantic model, and say where its keys stand.

    Scalars stay text until the model says what they are: `no`, `7` and `2024-01-05` are names, not a boolean, a number
    and a date. Raises ConfigurationError with file, line and key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigurationError(
            f"{path}: can't be read ({reason})",
            next_step="give a pipeline file with --pipeline, or make one: notarius init",
        ) from error
    try:
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{path}:{line}: not YAML ({error.problem})", next_step="correct that line") from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}: not YAML ({error})", next_step="correct the file") from error
    except RecursionError as error:
        raise _too_deep(path) from error
    # an empty file, or one of comments alone, has no node: what it lacks is said of line 1
    lines: dict[tuple[int | str, ...], int] = {(): 1}
    try:
        data = _construct(node, (), lines, path) if node else {}
    except RecursionError as error:
        raise _too_deep(path) from error
    at = Lines(path, lines)
    return check_model(data, model, at), at


def check_model(data: object, model: type[_M], lines: Lines) -> _M:
    """Check what was read against a pydantic model.

    Raises ConfigurationError with file, line and key.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _as_configuration_error(error, lines) from error


def _too_deep(path: Path) -> ConfigurationError:
    return ConfigurationError(f"{path}: nested too deeply, or an anchor holds itself", next_step="write it plainly")


def _construct(node: yaml.Node, at: tuple[int | str, ...], lines: dict[tuple[int | str, ...], int], path: Path) -> Any:
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigurationError(f"{path}:{line}: a key must be text", next_step="correct that line")
            key = str(key_node.value)
            if key in out:
                raise ConfigurationError(f"{path}:{line}: {_dotted((*at, key))} is given twice", next_step="remove one")
            if isinstance(value_node, yaml.ScalarNode) and not value_node.value and value_node.style is None:
                # `gazetteer:` with everything below it commented out means the default
                continue
            lines[(*at, key)] = line
            out[key] = _construct(value_node, (*at, key), lines, path)
        return out
    if isinstance(node, yaml.SequenceNode):
        return [_construct(child, (*at, n), lines, path) for n, child in enumerate(node.value)]
    return node.value


def _as_configuration_error(error: ValidationError, lines: Lines) -> ConfigurationError:
    errors = error.errors(include_url=False, include_context=False)
    # an unknown key is most often the misspelt one that is missing elsewhere
    first = min(errors, key=lambda e: e["type"] != "extra_forbidden")
    # pydantic names the type it tried where a key takes several: no key of the file
    place = next(first["loc"][:n] for n in range(len(first["loc"]), -1, -1) if first["loc"][:n] in lines.by_key)
    if first["type"] in ("extra_forbidden", "missing"):
        place = first["loc"]
    reason = {"extra_forbidden": "unknown key", "missing": "required, but not there"}.get(
        first["type"], first["msg"].removeprefix("Value error, ")
    )
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return ConfigurationError(
        f"{lines.at(*place)}: {reason}{more}",
        next_step="correct that line; docs/reference/configuration.md lists every key",
    )


def _dotted(loc: Sequence[int | str]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in loc).removeprefix(".")
