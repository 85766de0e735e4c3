"""The schema of each command's JSON output, and a check of everything that any test makes a command print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from gate.cli import cli
from gate.documents import schema, strict_validator

AT_THE_TOP = frozenset({"check-controls", "diff", "mutate"})
"""Commands whose schema is one of the documents that others name, too."""


def commands() -> Iterator[str]:
    """The commands that have `--output json`, their words joined by `-`."""
    yield from _commands(cli, ())


def schema_of(command: str) -> dict[str, Any]:
    """The schema of what `command` prints as JSON."""
    return schema(command if command in AT_THE_TOP else f"output/{command}")


def faults(arguments: Sequence[str], environment: dict[str, str], stdout: str) -> list[str]:
    """How the JSON of a command that was run breaks its schema; empty when it printed none."""
    command = _command_of(arguments)
    form = environment.get("GATE_OUTPUT")
    if "--output" in arguments[:-1]:
        form = arguments[arguments.index("--output") + 1]
    if form is None and command == "inspect-continuity":
        form = "json"
    if command is None or form != "json" or not stdout.strip() or "--help" in arguments:
        return []
    document = json.loads(stdout)
    return [
        f"gate {command}: /{'/'.join(map(str, error.absolute_path))}: {error.message}"
        for error in strict_validator(schema_of(command)).iter_errors(document)
    ]


def _commands(group: click.Group, words: tuple[str, ...]) -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, name))
        elif any(parameter.name == "output" for parameter in command.params):
            yield "-".join((*words, name))


def _command_of(arguments: Sequence[str]) -> str | None:
    found: click.Command | None = cli
    words: list[str] = []
    for word in arguments:
        if not isinstance(found, click.Group):
            break
        found = found.commands.get(word)
        words.append(word)
    return "-".join(words) if isinstance(found, click.Command) and not isinstance(found, click.Group) else None
