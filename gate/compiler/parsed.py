"""Parsed Rego: files as `opa parse` prints them, and the rules of all files that are loaded together.

Reads syntax and resolves names; judges nothing. `gate.compiler.shape` and `gate.compiler.polarity` judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate import opa
from gate.canonical import parse
from gate.errors import Problem, ToolchainError

_PARSE_TIMEOUT_S = 30.0
_MAX_AST_BYTES = 512 * 1024 * 1024

Node = Mapping[str, Any]
Key = tuple[str, str]
"""Dotted package and rule name."""

CONSTRUCTOR: Key = ("gate.finding", "new")
"""The one constructor of findings."""


@dataclass(frozen=True, slots=True)
class Source:
    """One parsed Rego file."""

    file: str
    tree: Node

    @property
    def package(self) -> str:
        """Dotted package path without the leading `data`."""
        return ".".join(str(part["value"]) for part in self.tree["package"]["path"][1:])

    @property
    def imports(self) -> dict[str, str]:
        """Dotted path of each import, without the leading `data`, by the name it has in the file."""
        return {
            str(i.get("alias") or i["path"]["value"][-1]["value"]): ".".join(
                str(p["value"]) for p in i["path"]["value"][1:]
            )
            for i in self.tree.get("imports", [])
        }

    @property
    def rules(self) -> Sequence[Node]:
        """The rules in the order of the file."""
        rules: Sequence[Node] = self.tree.get("rules", [])
        return rules

    def problem(self, node: Node, code: str, message: str) -> Problem:
        """A problem at the place of `node`, a rule or an expression."""
        location = node.get("location") or node.get("head", {}).get("location") or {"row": 1, "col": 1}
        return Problem(self.file, int(location["row"]), int(location["col"]), code, message)


def read(path: Path) -> Source:
    """Parses one file with the pinned OPA; raises `ToolchainError` when it does not parse."""
    done = opa.run(["parse", str(path), "--format", "json", "--json-include", "locations"], timeout_s=_PARSE_TIMEOUT_S)
    if done.returncode != 0:
        raise ToolchainError(f"`opa parse` refused `{path}`", code="rego_unparsable")
    return Source(str(path), parse(done.stdout, max_bytes=_MAX_AST_BYTES))


class RuleIndex:
    """The rules of all files that are loaded together, by package and name."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._rules: dict[Key, list[tuple[Source, Node]]] = {}
        for source in sources:
            for rule in source.rules:
                self._rules.setdefault((source.package, rule_name(rule)), []).append((source, rule))

    def definitions(self, key: Key) -> list[tuple[Source, Node]]:
        """Every definition of the rule; empty when there is none."""
        return self._rules.get(key, [])

    def resolve(self, source: Source, term: Node) -> tuple[Key, bool] | None:
        """The rule a term refers to, and whether the term is that rule as a whole; None for anything else."""
        parts = term["value"] if term["type"] == "ref" else [term]
        if term["type"] not in {"ref", "var"} or parts[0]["type"] != "var":
            return None
        head = str(parts[0]["value"])
        package = source.imports.get(head)
        if package is not None and len(parts) > 1 and parts[1]["type"] == "string":
            key = (package, str(parts[1]["value"]))
            return (key, len(parts) == 2) if key in self._rules or key == CONSTRUCTOR else None
        key = (source.package, head)
        return (key, len(parts) == 1) if key in self._rules else None

    def is_function(self, key: Key) -> bool:
        """True when the rule takes arguments."""
        return key == CONSTRUCTOR or any("args" in rule["head"] for _, rule in self.definitions(key))

    def is_statement(self, key: Key) -> bool:
        """True for a rule that either is `true` or is not there: what `not` may stand before."""
        return bool(self.definitions(key)) and all(_states(rule) for _, rule in self.definitions(key))


def _states(rule: Node) -> bool:
    head = rule["head"]
    wanted = not rule.get("default", False)
    plain = "args" not in head and "key" not in head and "else" not in rule and len(head.get("ref", [0])) == 1
    return plain and head.get("value", {}).get("type") == "boolean" and head["value"]["value"] is wanted


def rule_name(rule: Node) -> str:
    """The first part of a rule's name."""
    return str(rule["head"].get("name") or rule["head"]["ref"][0]["value"])


def walk(node: Any) -> Iterator[Node]:
    """Every mapping in a tree, from the outside to the inside, but for locations and annotations."""
    if isinstance(node, Mapping):
        yield node
        for key, value in node.items():
            if key not in {"location", "annotations"}:
                yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def call_of(node: Node) -> Sequence[Node] | None:
    """Operator and arguments when `node` is a call, as a term or as an expression; None otherwise."""
    terms = node["terms"] if "terms" in node else (node.get("value") if node.get("type") == "call" else None)
    return terms if isinstance(terms, list) and terms and isinstance(terms[0], Mapping) else None


def operator(call: Sequence[Node]) -> str:
    """Dotted name of what is called."""
    value = call[0].get("value")
    parts = value if isinstance(value, list) else [call[0]]
    return ".".join(str(p["value"]) for p in parts)


def input_path(term: Node) -> tuple[str, ...]:
    """Path of a reference below `input`; `("",)` for `input` itself, empty for anything else."""
    match term:
        case {"type": "ref", "value": [{"type": "var", "value": "input"}, *rest]}:
            return tuple(str(p["value"]) for p in rest)
        case {"type": "var", "value": "input"}:
            return ("",)
    return ()


def constructor_calls(source: Source, index: RuleIndex, node: Any) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Every call of the constructor of findings below `node`, with its arguments."""
    for inner in walk(node):
        call = call_of(inner)
        if call is not None:
            resolved = index.resolve(source, call[0])
            if resolved == (CONSTRUCTOR, True):
                yield inner, call[1:]
