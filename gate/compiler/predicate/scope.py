"""What a name in a predicate means: where its value stands and of which type it is.

Pure. Bare names are the catalog entry of the capability asked for, `arguments.x` its arguments, and the rest are
declared fields of the input document. A name that nobody declared has no meaning here, and so no predicate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from gate.canonical import digest
from gate.compiler.predicate.syntax import Name, PredicateError
from gate.documents import schema

_SECTIONS = frozenset({"identity", "agent", "state", "evidence", "digests"})


class Kind(StrEnum):
    """Type of a value."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    """A list of strings."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A resolved name: its type and the reference that yields its value."""

    name: str
    kind: Kind
    base: str
    """`input` or `catalog`."""
    path: tuple[str, ...]
    untrusted: bool
    """Stands under `request`: what the model asked."""
    values: tuple[Any, ...] = ()
    """The closed set it is declared with, if any."""

    @property
    def rule(self) -> str:
        """Name of the compiled rule that holds the value, without the leading underscore."""
        plain = re.sub(r"[^a-z0-9]+", "_", self.name.lower())
        # Two names may fold to one; the digest of the exact name keeps them apart.
        suffix = "" if plain == self.name.replace(".", "_") else "_" + digest(self.name)[7:15]
        return f"v_{self.kind}_{plain}{suffix}"


class Invocable(Protocol):
    """What a scope needs to know of a capability."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Its argument schema."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names a predicate may use: `capabilities` are those it is bound to, none when it is bound to all."""

    capabilities: Sequence[Invocable]

    def resolve(self, name: Name) -> Operand:
        """The operand behind `name`. Raises `PredicateError` for a name nobody declared or that has no one type."""
        head, *rest = name.path
        if head == "arguments" and rest:
            return self._argument(name, rest)
        if name.path == ("request", "text"):
            return Operand(str(name), Kind.STRING, "input", ("request", "text"), untrusted=True)
        if head in _SECTIONS and rest:
            kind, values = _declared(_field(schema("input"), list(name.path), name), name)
            return Operand(str(name), kind, "input", name.path, untrusted=False, values=values)
        if not rest:
            entry = schema("capabilities")["properties"]["capabilities"]["additionalProperties"]
            kind, values = _declared(_field(entry, [head], name), name)
            return Operand(str(name), kind, "catalog", (head,), untrusted=False, values=values)
        raise _undeclared(name)

    def _argument(self, name: Name, path: list[str]) -> Operand:
        if not self.capabilities:
            raise PredicateError(
                f"`{name}` is an argument, but the control is bound to every capability",
                name.at,
                code="predicate_name_unknown",
                hint="name the capabilities in applies_to",
            )
        found = {_declared(_field(c.arguments, path, name), name) for c in self.capabilities}
        if len({kind for kind, _ in found}) != 1:
            raise PredicateError(
                f"`{name}` has different types in the capabilities the control applies to",
                name.at,
                code="predicate_type_mismatch",
            )
        kind = next(iter(found))[0]
        values = next(iter(found))[1] if len(found) == 1 else ()
        return Operand(str(name), kind, "input", ("request", "arguments", *path), untrusted=True, values=values)


def _undeclared(name: Name) -> PredicateError:
    return PredicateError(
        f"`{name}` is not declared",
        name.at,
        code="predicate_name_unknown",
        hint="use a field of the catalog, arguments.…, identity.…, agent.…, state.…, evidence.… or request.text",
    )


def _field(node: Mapping[str, Any], path: list[str], name: Name) -> Mapping[str, Any]:
    for part in path:
        properties = node.get("properties")
        if not isinstance(properties, Mapping) or part not in properties:
            raise _undeclared(name)
        node = properties[part]
    return node


def _declared(node: Mapping[str, Any], name: Name) -> tuple[Kind, tuple[Any, ...]]:
    types = node.get("type")
    kinds = [t for t in (types if isinstance(types, list) else [types]) if t != "null"]
    values = tuple(node.get("enum", ()))
    match kinds:
        case ["string"]:
            return Kind.STRING, values
        case ["integer" | "number"]:
            return Kind.NUMBER, values
        case ["boolean"]:
            return Kind.BOOLEAN, values
        case ["array"] if node.get("items", {}).get("type") == "string":
            return Kind.LIST, ()
    raise PredicateError(
        f"`{name}` is neither a string, a number, a boolean nor a list of strings",
        name.at,
        code="predicate_type_mismatch",
    )
