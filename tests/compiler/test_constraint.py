"""User constraints: compiled when stated, within bounds; in OPA they restrict unless provably false."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import predicate_oracle
import pytest
from test_predicate_semantics import ARGUMENTS, CATALOG, _document, _predicate

from gate import opa
from gate.compiler.constraint import MAX_ALTERNATIVES, MAX_TEXT, ConstraintError, compile_constraint
from gate.compiler.predicate import Scope, check, parse_predicate
from gate.compiler.predicate.scope import Invocable

CAPABILITIES: dict[str, dict[str, Any]] = {
    "create_ticket": {**CATALOG, "arguments": {"type": "object", "properties": ARGUMENTS}},
    "close_ticket": {**CATALOG, "arguments": {"type": "object", "properties": {"region": {"type": "number"}}}},
}
BUNDLES = {"b": {"bundle": {"version": "1"}, "catalog": {"create_ticket": {**CATALOG, "capability_version": "v1"}}}}
QUERY = (
    "[codes | some d in data.documents; codes := {f.code | some f in data.gate.constraint.findings with input as d}]"
)


class Entry:
    """What a scope needs of the capability."""

    arguments = CAPABILITIES["create_ticket"]["arguments"]


def dnf(text: str, *applies_to: str) -> list[list[dict[str, Any]]]:
    return list(compile_constraint(text, applies_to=applies_to or ("create_ticket",), capabilities=CAPABILITIES)["dnf"])


def literal(path: str, kind: str, op: str, **right: Any) -> dict[str, Any]:
    base, *rest = path.split(".")
    return {"base": base, "path": rest, "kind": kind, "op": op, **right}


def test_predicate_becomes_alternatives_of_literals() -> None:
    amount = "input.request.arguments.amount"
    assert dnf('arguments.region == "eu" and (arguments.amount > 500 or not arguments.urgent)') == [
        [
            literal("input.request.arguments.region", "string", "==", value="eu"),
            literal(amount, "number", ">", value=500),
        ],
        [
            literal("input.request.arguments.region", "string", "==", value="eu"),
            literal("input.request.arguments.urgent", "boolean", "==", value=False),
        ],
    ]


def test_negation_changes_the_operators_and_the_junctions() -> None:
    assert dnf('not (arguments.amount <= 5 and arguments.region in ["eu", "us"]) and not exists arguments.tags') == [
        [
            literal("input.request.arguments.amount", "number", ">", value=5),
            literal("input.request.arguments.tags", "list", "absent"),
        ],
        [
            literal("input.request.arguments.region", "string", "not_in", value=["eu", "us"]),
            literal("input.request.arguments.tags", "list", "absent"),
        ],
    ]


def test_constant_on_the_left_changes_sides() -> None:
    assert dnf('5 < arguments.amount or "a" in allowed_egress') == [
        [literal("input.request.arguments.amount", "number", ">", value=5)],
        [literal("catalog.allowed_egress", "list", "contains", value="a")],
    ]


def test_name_on_the_right_stands_beside_the_left() -> None:
    other = {"base": "input", "path": ["identity", "principal_id"], "kind": "string"}
    assert dnf("arguments.region == identity.principal_id") == [
        [literal("input.request.arguments.region", "string", "==", other=other)]
    ]


def test_text_is_kept_as_it_was_stated() -> None:
    text = 'arguments.region  ==  "eu"'
    compiled = compile_constraint(text, applies_to=("create_ticket",), capabilities=CAPABILITIES)
    assert compiled == {"text": text, "dnf": dnf('arguments.region == "eu"')}


def _chain(count: int) -> str:
    """Two alternatives in each of `count` parts that hold together: two to the power of `count` in the normal form."""
    return " and ".join(f"(arguments.amount > {n} or arguments.count < {n})" for n in range(count))


def test_predicate_at_the_bound_is_compiled_and_beyond_it_refused() -> None:
    assert len(dnf(_chain(6))) == MAX_ALTERNATIVES
    with pytest.raises(ConstraintError) as caught:
        dnf(_chain(7))
    assert caught.value.code == "constraint_too_complex"


@pytest.mark.parametrize(
    ("text", "applies_to", "code"),
    [
        ("", ["create_ticket"], "constraint_invalid"),
        (" \n", ["create_ticket"], "constraint_invalid"),
        (None, ["create_ticket"], "constraint_invalid"),
        (17, ["create_ticket"], "constraint_invalid"),
        ("arguments.urgent" + " " * MAX_TEXT, ["create_ticket"], "constraint_too_long"),
        ("never do that", ["create_ticket"], "predicate_invalid"),
        ("arguments.urgent ==", ["create_ticket"], "predicate_invalid"),
        ("arguments.nothing == 1", ["create_ticket"], "predicate_name_unknown"),
        ("request.capability == 1", ["create_ticket"], "predicate_name_unknown"),
        ("arguments.amount == 1", ["*"], "predicate_name_unknown"),
        ("arguments.region == 1", ["create_ticket", "close_ticket"], "predicate_type_mismatch"),
        ("arguments.amount == true", ["create_ticket"], "predicate_type_mismatch"),
        ("arguments.urgent or not arguments.urgent", ["create_ticket"], "predicate_constant"),
        ("exists identity.principal_id", ["create_ticket"], "predicate_exists_trusted"),
        ("arguments.urgent", ["creat_ticket"], "capability_unknown"),
        ("arguments.urgent", [], "constraint_invalid"),
        ("arguments.urgent", "create_ticket", "constraint_invalid"),
        ("arguments.urgent", [17], "constraint_invalid"),
        ("arguments.urgent", ["*", "create_ticket"], "constraint_invalid"),
    ],
)
def test_constraint_that_cannot_be_enforced_is_refused(text: Any, applies_to: Any, code: str) -> None:
    with pytest.raises(ConstraintError) as caught:
        compile_constraint(text, applies_to=applies_to, capabilities=CAPABILITIES)
    assert caught.value.code == code


def test_constraint_of_every_capability_reads_what_every_capability_has() -> None:
    assert dnf('risk_tier == "high"', "*") == [[literal("catalog.risk_tier", "string", "==", value="high")]]


def _stated(predicate: dict[str, Any]) -> dict[str, Any]:
    return {
        "constraint_id": "c-1",
        "tenant_id": "t-1",
        "principal_id": "eu",
        "source_event": "event-1",
        "applies_to": ["create_ticket"],
        "action": "deny",
        "valid_until_ms": None,
        "predicate": predicate,
        "digest": "sha256:c",
        "intact": True,
    }


@pytest.mark.opa
def test_constraint_restricts_in_opa_unless_the_oracle_finds_it_false(
    tmp_path: Path, opa_binary: Path, repo: Path
) -> None:
    rng = random.Random(20260721)
    scope = Scope([_entry()])
    documents: list[dict[str, Any]] = []
    expected: list[list[str]] = []
    kinds: Counter[bool | None] = Counter()
    while len(documents) < 3000:
        text = _predicate(rng, 3)
        try:
            predicate = compile_constraint(text, applies_to=("create_ticket",), capabilities=CAPABILITIES)
        except ConstraintError as exc:
            if exc.code not in {"predicate_constant", "predicate_exists_trusted", "constraint_too_complex"}:
                raise
            continue
        node = parse_predicate(text)
        operands = check(node, scope, restricting=True)
        for _ in range(20):
            document = _called(_document(rng), predicate)
            truth = predicate_oracle.truth(node, operands, document, CATALOG)
            kinds[truth] += 1
            documents.append(document)
            expected.append([] if truth is False else ["user_constraint_violated"])
    assert min(kinds[truth] for truth in (True, False, None)) > 100
    assert _decided(documents, tmp_path, opa_binary, repo) == expected


def _entry() -> Invocable:
    return Entry()


def _called(document: dict[str, Any], predicate: dict[str, Any]) -> dict[str, Any]:
    state = document.get("state")
    return {
        **document,
        "operation": "call_tool",
        "now_ms": 5,
        "agent": {"agent_id": "agent"},
        "identity": {"tenant_id": "t-1", "principal_id": "eu"},
        "state": {**(state if isinstance(state, dict) else {}), "constraints": [_stated(predicate)]},
    }


def _decided(documents: list[dict[str, Any]], tmp_path: Path, binary: Path, repo: Path) -> list[list[str]]:
    data = tmp_path / "data.json"
    data.write_text(json.dumps({"documents": documents, "gate": {"bundles": BUNDLES}}), encoding="utf-8")
    policies = repo / "policies" / "gate"
    files = [policies / name / f"{name}.rego" for name in ("constraint", "router", "finding")]
    files.append(policies / "evidence" / "known" / "known.rego")
    sources = [part for file in files for part in ("-d", str(file))]
    agents = tmp_path / "agents.rego"
    agents.write_text('package gate.agents\n\nbundle_of := {"agent": "b"}\n', encoding="utf-8")
    sources += ["-d", str(agents), "-d", str(data)]
    done = opa.run(["eval", "--format", "json", "--strict-builtin-errors", *sources, QUERY], binary=binary)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[:2000]
    return list(json.loads(done.stdout)["result"][0]["expressions"][0]["value"])
