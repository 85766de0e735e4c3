"""Why a decision is what it is: for each reason its rule, its line, what the rule looks at, and what would change it.

What a rule looks at is read from the Rego that decided, by following its references; nothing is guessed and nothing is
decided again. Values of `request` are never shown, only their types.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.compiler import Assembly, Compiled, assemble
from gate.compiler.parsed import Node, RuleIndex, Source, constructor_calls, read, walk
from gate.decision import Decision, Reason
from gate.errors import ToolchainError
from gate.pdp import DecisionPoint

_UNTRUSTED = "request"

Rule = Mapping[str, Any]
Key = tuple[str, str]
"""Package and rule name."""


@dataclass(frozen=True, slots=True)
class ReasonExplained:
    """One reason with its origin."""

    reason: Reason
    position: str
    """`file:line:col` in the YAML for a rule of the bundle, in the core policies for a core rule."""
    looked_at: tuple[tuple[str, str], ...]
    """Each input path the rule reads and what stands there: `absent`, `null`, a type, or the value where it is safe."""
    change: str
    """What a person can do about it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision and its reasons explained."""

    decision: Decision
    reasons: tuple[ReasonExplained, ...]
    note: str = ""
    """Why `looked_at` is empty, when it is."""


def explain(compiled: Compiled, document: Mapping[str, Any], point: DecisionPoint) -> Explanation:
    """Asks `point` about `document` and explains the answer. Raises `PdpError` when there is none."""
    decision = point.decide(document).decision
    try:
        index, note = _Index(_parsed(assemble([compiled]))), ""
    except ToolchainError as exc:
        index, note = _Index(()), f"what each rule looks at is not shown: {exc.message}"
    places = json.loads(compiled.source_map)
    return Explanation(
        decision,
        tuple(
            ReasonExplained(
                reason,
                _position(compiled, places, index, reason),
                tuple((path, _stands(document, path)) for path in index.paths(reason)),
                reason.remedy,
            )
            for reason in decision.reasons
        ),
        note,
    )


def _position(compiled: Compiled, places: Mapping[str, Any], index: _Index, reason: Reason) -> str:
    if reason.source in places:
        place = places[reason.source]
        file = compiled.bundle.folder / reason.source.partition("#")[0]
        return f"{file}:{place['line']}:{place['column']}"
    return index.position(reason)


def _parsed(assembly: Assembly) -> list[Source]:
    sources = []
    with tempfile.TemporaryDirectory(prefix="gate-explain-") as folder:
        for path, text in assembly.modules.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            sources.append(Source(path, read(file).tree))
    return sources


class _Index:
    """The rules of an assembly and what each reads, through every rule it refers to."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._rules: dict[Key, list[tuple[Source, Rule]]] = {}
        for source in sources:
            for rule in source.tree.get("rules", []):
                name = str(rule["head"].get("name") or rule["head"]["ref"][0]["value"])
                self._rules.setdefault((source.package, name), []).append((source, rule))

    def paths(self, reason: Reason) -> tuple[str, ...]:
        """Sorted input paths that the finding behind `reason` reads."""
        seen: set[Key] = set()
        found: set[str] = set()
        pending = [(source, rule.get("body", [])) for source, rule in self._findings(reason)]
        while pending:
            source, node = pending.pop()
            for reference in _references(node):
                if reference[0] == "input":
                    found.add(".".join(reference[1:]))
                    continue
                key = self._resolve(source, reference)
                if key is not None and key not in seen:
                    seen.add(key)
                    pending.extend(self._rules[key])
        # `input.state.approval` beside `input.state.approval.status` says nothing more.
        return tuple(sorted(p for p in found if p and not any(o.startswith(p + ".") for o in found)))

    def position(self, reason: Reason) -> str:
        """`file:line:col` of the finding in the core policies; empty when it is not known."""
        for source, rule in self._findings(reason):
            location = rule["location"] if "location" in rule else rule["head"]["location"]
            return f"{source.file}:{location['row']}:{location['col']}"
        return ""

    def _findings(self, reason: Reason) -> Iterator[tuple[Source, Rule]]:
        wanted = [reason.code, str(reason.verdict), reason.rule, reason.requirement, reason.source]
        for (_, name), rules in self._rules.items():
            for source, rule in rules if name == "findings" else ():
                key = rule["head"].get("key", {})
                if key.get("type") == "call" and [a["value"] for a in key["value"][1:]] == wanted:
                    yield source, rule

    def _resolve(self, source: Source, reference: tuple[str, ...]) -> Key | None:
        for item in source.tree.get("imports", []):
            path = [str(p["value"]) for p in item["path"]["value"]]
            if reference[0] == path[-1] and len(reference) > 1:
                key = (".".join(path[1:]), reference[1])
                return key if key in self._rules else None
        key = (source.package, reference[0])
        return key if key in self._rules else None


def _references(node: Any) -> Iterator[tuple[str, ...]]:
    """Every variable and reference below `node`, as far as its parts are constant."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, Mapping):
        if node.get("type") == "ref":
            parts: list[str] = []
            for part in node["value"]:
                if parts and part["type"] != "string":
                    break
                parts.append(str(part["value"]))
            yield tuple(parts)
            yield from _references([p for p in node["value"][1:] if p["type"] not in {"string", "var"}])
            yield from ((str(p["value"]),) for p in node["value"][1:] if p["type"] == "var")
        elif node.get("type") == "var":
            yield (str(node["value"]),)
        else:
            for key, value in node.items():
                if key not in {"location", "annotations"}:
                    yield from _references(value)


def _stands(document: Any, path: str) -> str:
    value = document
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return "absent"
        value = value[part]
    if value is None:
        return "null"
    if path.split(".", 1)[0] == _UNTRUSTED or isinstance(value, (list, Mapping)):
        return {str: "string", bool: "boolean", int: "integer", float: "number", list: "list"}.get(
            type(value), "object"
        )
    return json.dumps(value)
