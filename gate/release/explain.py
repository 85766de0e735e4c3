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
from gate.compiler.parsed import Key, Node, RuleIndex, Source, constructor_calls, read
from gate.decision import Decision, Reason, Verdict
from gate.errors import ToolchainError
from gate.pdp import DecisionPoint

_UNTRUSTED = "request"


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
        self._sources = sources
        self._rules = RuleIndex(sources)
        self._found: list[tuple[list[Any], tuple[Source, Node, Sequence[Node]]]] | None = None

    def paths(self, reason: Reason) -> tuple[str, ...]:
        """Sorted input paths that the finding behind `reason` reads; none when all findings together make it."""
        seen: set[Key] = set()
        found: set[str] = set()
        pending: list[tuple[Source, Any]] = [(source, body) for source, _, body in self._made(reason)]
        while pending:
            source, node = pending.pop()
            for reference in _references(node):
                if reference[0] == "input":
                    found.add(".".join(reference[1:]))
                    continue
                key = self._resolve(source, reference)
                if key is not None and key not in seen:
                    seen.add(key)
                    pending.extend(self._rules.definitions(key))
        # `input.state.approval` beside `input.state.approval.status` says nothing more.
        return tuple(sorted(p for p in found if p and not any(o.startswith(p + ".") for o in found)))

    def position(self, reason: Reason) -> str:
        """`file:line:col` of the finding in the core policies; empty when it is not known."""
        for source, place, _ in self._made(reason):
            return f"{source.file}:{place['row']}:{place['col']}"
        return ""

    def _made(self, reason: Reason) -> Iterator[tuple[Source, Node, Sequence[Node]]]:
        """Where `reason` is made: its file, its place, and the conditions under which."""
        wanted = [[reason.code, verdict, reason.rule, reason.requirement, reason.source] for verdict in _raised(reason)]
        for said, made in self._findings():
            if said in wanted:
                yield made

    def _findings(self) -> list[tuple[list[Any], tuple[Source, Node, Sequence[Node]]]]:
        """Every finding that is made anywhere, by what it says; looked for once."""
        if self._found is None:
            self._found = list(self._look())
        return self._found

    def _look(self) -> Iterator[tuple[list[Any], tuple[Source, Node, Sequence[Node]]]]:
        for source in self._sources:
            for rule in source.rules:
                made = set()
                for call, arguments in constructor_calls(source, self._rules, rule["head"].get("key")):
                    made.add(id(call))
                    place = rule.get("location") or rule["head"]["location"]
                    yield [a["value"] for a in arguments], (source, place, rule.get("body", []))
                for call, arguments in constructor_calls(source, self._rules, rule):
                    if id(call) not in made:
                        yield [a["value"] for a in arguments], (source, call["location"], [])

    def _resolve(self, source: Source, reference: tuple[str, ...]) -> Key | None:
        terms = [{"type": "var" if at == 0 else "string", "value": part} for at, part in enumerate(reference)]
        resolved = self._rules.resolve(source, {"type": "ref", "value": terms})
        return None if resolved is None else resolved[0]


def _raised(reason: Reason) -> tuple[str, ...]:
    """Verdicts that the rule behind `reason` can have raised: a deny leaves a resume as a failed validation."""
    if reason.verdict is Verdict.CONTINUITY_VALIDATION_FAILED:
        return (str(reason.verdict), str(Verdict.DENY))
    return (str(reason.verdict),)


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
