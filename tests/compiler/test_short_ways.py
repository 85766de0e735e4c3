"""The short way of a guard lets nothing pass that one of its findings would tell.

A guard says in one rule, `raised := set() if …`, that nothing can be found. Here it is proven over the parsed policies:
in every way in which that condition can hold, each finding negates something that then holds, or asks for an operation
that it is not. A condition that a finding gains, or the short way loses, makes the proof fail.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gate.compiler.parsed import Key, Node, RuleIndex, Source, call_of, operator, read

GUARDS = ("approval/delegated", "capability", "constraint", "identity", "inventory", "mcp", "run")
OTHERS = ("continuity/handoff", "router")

BY_VALUE = {"identity": ["authorization_mode_invalid", "checkpoint_unknown"]}
"""Findings that are excluded by what the values are: a mode that is complete is one of the three, a checkpoint with the
operation is one of the five. `identity_test.rego` spoils both."""

Fact = str
"""A condition with its names written out, so that it is the same in whatever file it stands."""


def read_guards(root: Path) -> dict[str, Source]:
    return {name: read(root / name / f"{name.rsplit('/', 1)[-1]}.rego") for name in (*GUARDS, *OTHERS)}


class Proof:
    """What follows from what, over the rules of all sources."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.index = RuleIndex(sources)

    def statement(self, source: Source, condition: Node) -> Key | None:
        terms = condition["terms"]
        found = self.index.resolve(source, terms) if isinstance(terms, dict) and "type" in terms else None
        return found[0] if found is not None and found[1] and self.index.is_statement(found[0]) else None

    def fact(self, source: Source, condition: Node) -> Fact:
        return json.dumps(self._named(source, condition["terms"]), sort_keys=True)

    def _named(self, source: Source, node: object) -> object:
        if isinstance(node, list):
            return [self._named(source, item) for item in node]
        if not isinstance(node, dict):
            return node
        plain = {key: self._named(source, value) for key, value in node.items() if key != "location"}
        head = node["value"][0] if node.get("type") == "ref" else node
        name = head.get("value") if head.get("type") == "var" else None
        if name in source.imports:
            return {"in": source.imports[str(name)], **plain}
        if self.index.definitions((source.package, str(name))):
            return {"in": source.package, **plain}
        return plain

    def ways(self, source: Source, conditions: Sequence[Node]) -> Iterator[dict[Fact, tuple[Source, Node]]]:
        """Each set of facts that holds in one of the ways in which all `conditions` do."""
        own = {self.fact(source, c): (source, c) for c in conditions if not c.get("negated")}
        choices = []
        for condition in conditions:
            key = None if condition.get("negated") else self.statement(source, condition)
            if key is not None:
                choices.append([w for s, rule in self.index.definitions(key) for w in self.ways(s, rule["body"])])
        for chosen in itertools.product(*choices):
            yield own | {fact: place for way in chosen for fact, place in way.items()}

    def holds(self, source: Source, condition: Node, facts: dict[Fact, tuple[Source, Node]]) -> bool:
        """True when `condition` is among the facts, or follows from them by the definition of a rule."""
        if condition.get("negated"):
            return False
        if self.fact(source, condition) in facts:
            return True
        key = self.statement(source, condition)
        return key is not None and any(
            all(self.holds(s, c, facts) for c in rule["body"]) for s, rule in self.index.definitions(key)
        )

    def excluded(self, source: Source, finding: Node, facts: dict[Fact, tuple[Source, Node]]) -> bool:
        """True when the finding cannot be made where the facts hold."""
        for condition in finding["body"]:
            if condition.get("negated") and self.holds(source, {**condition, "negated": False}, facts):
                return True
            if any(differs(condition, other) for _, other in facts.values()):
                return True
        return False


def differs(one: Node, other: Node) -> bool:
    """True when both say what the same field of the document is, and not the same."""
    sides = [call_of(c) for c in (one, other)]
    if one.get("negated") or any(s is None or operator(s) != "equal" or s[2]["type"] != "string" for s in sides):
        return False
    (_, field, value), (_, its, others) = [[strip(t) for t in side or ()] for side in sides]
    return field == its and "input" in field and value != others


def strip(term: Node) -> str:
    return json.dumps(Proof([])._named(Source("", {"package": {"path": []}}), term), sort_keys=True)


def unproven(sources: dict[str, Source], guard: str) -> list[str]:
    """Codes of the findings of `guard` that its short way does not exclude."""
    proof, source = Proof(list(sources.values())), sources[guard]
    (short,) = [r for r in source.rules if r["head"].get("name") == "raised"]
    assert (short["head"]["value"]["type"], short["head"]["value"]["value"]) == ("set", []), guard
    assert short["else"]["head"]["value"]["value"] == "findings", guard
    findings = [r for r in source.rules if r["head"].get("name") == "findings"]
    ways = list(proof.ways(source, short["body"]))
    assert findings
    assert ways
    return sorted(
        {
            str(finding["head"]["key"]["value"][1]["value"])
            for finding in findings
            for facts in ways
            if not proof.excluded(source, finding, facts)
        }
    )


@pytest.fixture(scope="module")
def root(repo: Path) -> Path:
    return repo / "policies" / "gate"


@pytest.fixture(scope="module")
def real(root: Path) -> dict[str, Source]:
    return read_guards(root)


@pytest.mark.parametrize("guard", GUARDS)
def test_short_way_excludes_every_finding_of_its_guard(real: dict[str, Source], guard: str) -> None:
    assert unproven(real, guard) == BY_VALUE.get(guard, [])


@pytest.mark.parametrize(
    ("guard", "lost", "codes"),
    [
        ("identity", "\tinput.now_ms > 0\n", ["time_missing"]),
        ("identity", '\ttrim_space(input.identity.tenant_id) != ""\n', ["tenant_missing"]),
        ("run", "\tinput.state.run.principal_id == input.identity.principal_id\n", ["principal_mismatch"]),
        ("run", "\tidentity.in_order # tenant, principal and agent are text\n", ["tenant_mismatch"]),
        ("capability", "\t_facts_current\n", ["facts_stale"]),
        ("mcp", "\t_auth_accepted\n", ["mcp_auth_mode_not_allowed"]),
        ("inventory", "\t_somebody_else\n", ["runtime_principal_delegated"]),
        ("approval/delegated", "\tcapability.calling\n", ["delegation_reviewer_missing"]),
    ],
)
def test_short_way_that_loses_a_condition_is_caught(
    root: Path, real: dict[str, Source], tmp_path: Path, guard: str, lost: str, codes: list[str]
) -> None:
    file = root / guard / f"{guard.rsplit('/', 1)[-1]}.rego"
    text = file.read_text("utf-8")
    assert lost in text
    copy = tmp_path / file.name
    copy.write_text(text.replace(lost, "", 1), "utf-8")
    assert set(codes) <= set(unproven({**real, guard: read(copy)}, guard))
