"""The page of commands against the command line, and every `notarius …` that a page tells people to type."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from notarius_assets.cli import cli
from tests.docs.pages import DOCS, README, REFERENCE, REPOSITORY, blocks, every_page, named, section, text

PAGE = text(REFERENCE / "commands.md")
VERBS = sorted(cli.commands)
QUERY = cli.commands["query"]
assert isinstance(QUERY, click.Group)
QUERIES = QUERY.list_commands(click.Context(QUERY))


def options(command: click.Command) -> set[str]:
    """Return the options of a verb, those of its own verbs included."""
    if isinstance(command, click.Group) and command is not QUERY:
        return set().union(*map(options, command.commands.values()))
    return {opt for p in command.params if isinstance(p, click.Option) for opt in (*p.opts, *p.secondary_opts)}


def documented(part: str) -> set[str]:
    return {code.split()[0] for code in named(part) if code.startswith("-")}


def query(name: str) -> click.Command:
    assert isinstance(QUERY, click.Group)
    found = QUERY.get_command(click.Context(QUERY), name)
    assert found is not None
    return found


def typed() -> list[tuple[Path, str]]:
    found = []
    for page in every_page():
        for language, block in blocks(text(page)):
            if language == "sh":
                found += [(page, line.strip()) for line in block.splitlines() if line.strip().startswith("notarius ")]
    return found


TYPED = typed()
COMMON = documented(section(PAGE, "## For every verb"))


def test_every_verb_has_a_section_and_no_other_has() -> None:
    sections = re.findall(r"^## ([a-z]+)$", PAGE, re.M)

    assert sorted(sections) == sorted([*VERBS, "make"])


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "query"])
def test_options_of_a_verb(verb: str) -> None:
    shared = COMMON & options(cli.commands[verb])

    assert shared in (set(), {"--pipeline", "--home"})
    assert documented(section(PAGE, f"## {verb}")) == options(cli.commands[verb]) - shared


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "query"])
def test_required_options_and_arguments_are_said(verb: str) -> None:
    part = section(PAGE, f"## {verb}")
    command = cli.commands[verb]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.required:
            row = next(line for line in part.splitlines() if line.startswith(f"| `{parameter.opts[0]} "))
            assert "required" in row
    usage = re.search(rf"`notarius {verb}\b[^`]*`", part)
    assert usage
    assert len(re.findall(r"\b[A-Z]{3,}\b", usage[0])) >= sum(isinstance(p, click.Argument) for p in command.params)


def test_verbs_without_a_pipeline_are_named() -> None:
    without = [v for v in VERBS if v != "query" and not {"--pipeline", "--home"} <= options(cli.commands[v])]

    assert without == ["init", "read"]
    assert "`init` and `read` need no pipeline" in PAGE


def test_queries_and_their_parameters() -> None:
    part = section(PAGE, "## query")

    assert [name for name in named(part) if not name.startswith("-")] == QUERIES
    for name in QUERIES:
        row = next(line for line in part.splitlines() if line.startswith(f"| `{name}` "))
        own = options(query(name)) - {"--pipeline", "--home", "--json", "--csv"}
        assert set(re.findall(r"--\w+", row)) == own


def test_defaults_are_the_program_s() -> None:
    for verb in VERBS:
        for parameter in cli.commands[verb].params:
            if isinstance(parameter, click.Option) and parameter.show_default:
                row = next(line for line in section(PAGE, f"## {verb}").splitlines() if parameter.opts[0] in line)
                assert f"default {parameter.default}" in row


@pytest.mark.parametrize(("page", "line"), TYPED, ids=[f"{p.stem}-{n}" for n, (p, _) in enumerate(TYPED)])
def test_what_people_are_told_to_type_parses(page: Path, line: str) -> None:
    _, verb, *arguments = shlex.split(line, comments=True)
    assert verb in cli.commands, f"{page.name}: {line}"
    command = cli.commands[verb]
    if verb == "query":
        command, arguments = query(arguments[0]), arguments[1:]
    elif isinstance(command, click.Group):
        command, arguments = command.commands[arguments[0]], arguments[1:]

    command.make_context(verb, arguments).close()


def test_the_shop_window_and_the_quickstart_are_among_them() -> None:
    assert {README, DOCS / "quickstart.md"} <= {page for page, _ in TYPED}


def test_make_targets() -> None:
    makefile = text(REPOSITORY / "Makefile")
    targets = re.findall(r"^([a-z]+):.*##", makefile, re.M)

    assert [code.removeprefix("make ") for code in named(section(PAGE, "## make"))] == targets


def test_make_targets_that_pages_tell_people_to_type_exist() -> None:
    targets = re.findall(r"^([a-z]+):", text(REPOSITORY / "Makefile"), re.M)
    typed_targets = {
        line.split()[1]
        for page in every_page()
        for language, block in blocks(text(page))
        if language == "sh"
        for line in block.splitlines()
        if line.startswith("make ")
    }

    assert typed_targets
    assert typed_targets <= set(targets)
