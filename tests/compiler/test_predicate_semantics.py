"""Property: a predicate means in OPA what it means in three-valued logic, also on missing and wrong-typed values."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import predicate_oracle
import pytest

from gate import opa
from gate.compiler.emit import emit_module
from gate.compiler.model import Constant, Module
from gate.compiler.predicate import (
    Operand,
    PredicateError,
    Scope,
    check,
    lower_predicate,
    operand_rules,
    parse_predicate,
)
from gate.documents import load_bundle, policies_dir
from gate.lab.bench import RawClient
from gate.pdp import Sidecar

PREDICATES = int(os.environ.get("GATE_FUZZ_PREDICATES", "160"))
DOCUMENTS = int(os.environ.get("GATE_FUZZ_DOCUMENTS", "140"))
"""Together over 20,000 pairs."""

ARGUMENTS = {
    "amount": {"type": "number"},
    "count": {"type": "integer"},
    "region": {"type": "string"},
    "urgent": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "order-id": {"type": "string"},
}
CATALOG = {"risk_tier": "high", "timeout_seconds": 15, "idempotency_key_required": True, "allowed_egress": ["a", "b"]}
FACTS = """package gate.facts

document := {
	"bundle": null, "capabilities": {}, "contracts": {}, "reviewers": {}, "show_arguments": {}, "evidence": {},
	"trajectory": {}, "plans": {},
}
"""
"""What the sidecar's readiness check asks for; nobody is governed here."""

STRINGS = ["", "eu", "us", "eu-west", "EU", "é", 'q"uote', "back\\slash", "line\nbreak"]
NUMBERS = [0, 1, -1, 2, 100, 100.5, 499.9999999999999, 500, 9007199254740991, 0.1]


def _scope(tmp_path: Path) -> Scope:
    bundle = load_bundle(Path(__file__).parents[2] / "bundles" / "support-triage")
    capability = bundle.capabilities["create_ticket"]
    fields = {name: getattr(capability, name) for name in capability.__slots__}
    schema = {"type": "object", "additionalProperties": False, "properties": ARGUMENTS}
    return Scope([type(capability)(**{**fields, "arguments": schema})])


def _atom(rng: random.Random) -> str:
    number, string = rng.choice(NUMBERS), json.dumps(rng.choice(STRINGS[:-1]), ensure_ascii=rng.random() < 0.5)
    numeric = rng.choice(["arguments.amount", "arguments.count", "timeout_seconds", "state.run.version"])
    texts = ["arguments.region", "arguments.order-id", "identity.principal_id", "request.text"]
    text, other = rng.sample(texts, 2)
    return rng.choice(
        [
            f"{numeric} {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {number}",
            f"{text} {rng.choice(['==', '!='])} {string}",
            f"{text} {rng.choice(['==', '!='])} {other}",
            f'{text} in [{string}, "eu"]',
            f"{numeric} in [1, 2, {number}]",
            f"{string} in {rng.choice(['arguments.tags', 'allowed_egress'])}",
            f"{text} in arguments.tags",
            rng.choice(["arguments.urgent", "idempotency_key_required", "evidence.arguments.valid"]),
            f"arguments.urgent == {rng.choice(['true', 'false'])}",
            f"exists {rng.choice(['arguments.region', 'arguments.amount', 'arguments.tags', 'request.text'])}",
            f'{text} matches "{rng.choice(["^eu", "u", "^$", "[a-z]+-west", "[eE][uU]"])}"',
        ]
    )


def _predicate(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return _atom(rng)
    kind = rng.random()
    if kind < 0.25:
        return f"not ({_predicate(rng, depth - 1)})"
    op = " and " if kind < 0.6 else " or "
    return "(" + op.join(_predicate(rng, depth - 1) for _ in range(rng.randint(2, 3))) + ")"


def _value(rng: random.Random) -> Any:
    return rng.choice(
        [
            None,
            True,
            False,
            {},
            [],
            ["eu"],
            ["eu", 1],
            [None],
            rng.choice(STRINGS),
            rng.choice(NUMBERS),
            str(rng.choice(NUMBERS)),
        ]
    )


def _document(rng: random.Random) -> dict[str, Any]:
    sound: dict[str, Any] = {
        "request": {
            "capability": "create_ticket",
            "text": rng.choice(STRINGS),
            "arguments": {
                "amount": rng.choice(NUMBERS),
                "count": rng.choice([0, 1, 2]),
                "region": rng.choice(STRINGS),
                "urgent": rng.choice([True, False]),
                "tags": rng.sample(STRINGS, 2),
                "order-id": rng.choice(STRINGS),
            },
        },
        "identity": {"principal_id": rng.choice(STRINGS)},
        "state": {"run": {"version": rng.choice([1, 2])}},
        "evidence": {"arguments": {"valid": rng.choice([True, False])}},
    }
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        _damage(rng, sound)
    return sound


def _damage(rng: random.Random, document: dict[str, Any]) -> None:
    node: Any = document
    while True:
        key = rng.choice(sorted(node))
        if isinstance(node[key], dict) and node[key] and rng.random() < 0.85:
            node = node[key]
            continue
        # The catalog is looked up by the capability, so that one stays.
        if key == "capability" or (node is document and key == "request"):
            return
        if rng.random() < 0.4:
            del node[key]
        else:
            node[key] = _value(rng)
        return


def _compiled(
    scope: Scope, rng: random.Random, count: int
) -> tuple[str, list[tuple[str, Any, dict[str, Operand], str]]]:
    items: list[Any] = [Constant("catalog", CATALOG, "the catalog", "", key="create_ticket")]
    operands: dict[str, Operand] = {}
    predicates = []
    while len(predicates) < count:
        text = _predicate(rng, 3)
        try:
            node = parse_predicate(text)
            found = check(node, scope, restricting=False)
        except PredicateError as exc:
            # Only what is always the same may be refused: the generator writes nothing else that is wrong.
            if exc.code not in {"predicate_constant", "predicate_value_undeclared"}:
                raise
            continue
        lowered = lower_predicate(f"p{len(predicates)}", node, found)
        operands |= {o.rule: o for o in found.values()}
        items += lowered.items
        predicates.append((text, node, found, lowered.result))
    items += operand_rules(operands)
    results = ",\n".join(f'\t"{result}": _{result}' for *_, result in predicates)
    module = emit_module(Module("p.rego", "predicates", tuple(items)), "gate")
    return f"{module}\ndecision := {{\n{results},\n}}\n", predicates


def _compare(ask: Any, predicates: list[Any], rng: random.Random, documents: int) -> Counter[str]:
    pairs: Counter[str] = Counter()
    for _ in range(documents):
        document = _document(rng)
        answers = ask(document)
        for text, node, operands, result in predicates:
            expected = predicate_oracle.truth(node, operands, document, CATALOG)
            word = {True: "true", False: "false", None: "unknown"}[expected]
            assert answers[result] == word, (text, document)
            pairs[word] += 1
    return pairs


@pytest.mark.opa
def test_predicates_mean_the_same_in_strict_opa_and_in_the_oracle(tmp_path: Path, opa_binary: Path) -> None:
    rng = random.Random(20260407)
    scope = _scope(tmp_path)
    text, predicates = _compiled(scope, rng, PREDICATES)
    tree = tmp_path / "tree" / "gate"
    tree.mkdir(parents=True)
    (tree / "p.rego").write_text(text, "utf-8")
    (tree / "facts.rego").write_text(FACTS, "utf-8")
    (tree / "agents.rego").write_text("package gate.agents\n\nbundle_of := {}\n", "utf-8")
    # Evidence is read through what counts of it, which asks the router for the contracts: none, nobody is governed.
    for package in ("evidence/known", "router", "finding"):
        for path in (policies_dir() / "gate" / package).glob("*.rego"):
            if not path.name.endswith("_test.rego"):
                (tree / path.name).write_text(path.read_text("utf-8"), "utf-8")
    (tmp_path / "tree" / ".manifest").write_text(json.dumps({"revision": "fuzz", "roots": ["gate"], "rego_version": 1}))
    made = tmp_path / "fuzz.tar.gz"
    done = opa.run(["build", "-b", ".", "-o", str(made)], cwd=tree.parent, binary=opa_binary)
    assert done.returncode == 0, done.stderr
    assert opa.run(["fmt", "--list", str(tree)], binary=opa_binary).stdout == "", (
        "compiled Rego is as `opa fmt` writes it"
    )
    checked = opa.run(["check", "--strict", str(tree)], binary=opa_binary)
    assert checked.returncode == 0, checked.stderr
    with Sidecar.start(tarball=made, opa=opa_binary, listen="tcp", work_dir=tmp_path / "work") as sidecar:
        raw = RawClient(sidecar)

        def ask(document: dict[str, Any]) -> dict[str, str]:
            reply = json.loads(raw.post(json.dumps({"input": document}).encode()))
            assert "result" in reply, reply
            return reply["result"]  # type: ignore[no-any-return]

        pairs = _compare(ask, predicates, rng, DOCUMENTS)
        raw.close()
    assert pairs.total() == PREDICATES * DOCUMENTS
    assert pairs.total() >= 20_000 or "GATE_FUZZ_DOCUMENTS" in os.environ
    # A property that one value alone satisfies would say little.
    assert min(pairs[word] for word in ("true", "false", "unknown")) > pairs.total() // 20, pairs
