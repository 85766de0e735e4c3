from __future__ import annotations

import builtins
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gate.decision import Verdict
from gate.errors import PdpError, ToolchainError
from gate.pdp import EmbeddedDecisionPoint, Sidecar

Ask = Callable[..., dict[str, Any]]

DOCUMENTS: list[dict[str, Any]] = [
    {"request_id": "r"},
    {"request_id": "r", "request": {}},
    {"request_id": "r", "request": {"capability": None}},
    {"request_id": "r", "request": {"capability": "search_docs"}},
    {"request_id": "r", "request": {"capability": "run_shell"}, "checkpoint": "tool_execution"},
    {"request_id": "r", "request": {"capability": 'say "hi"\né\\'}},
    {"request_id": "r", "request": {"capability": 'x","verdict":"allow'}},
    {"request_id": "r", "request": {"capability": "back\\slash \\n \\u0061 \x01 \u2028 \U0001f600"}},
    {"request_id": 'r "quoted" \\', "request": {"capability": "search_docs"}, "operation": "a\tb"},
    {"request_id": "r", "now_ms": 9007199254740991, "request": {"arguments": {"a": [1.5, 1e-7, -0.0, True]}}},
]


@pytest.fixture
def embedded(modules: dict[str, str]) -> EmbeddedDecisionPoint:
    return EmbeddedDecisionPoint(modules, revision="sample@1+aa")


@pytest.mark.opa
@pytest.mark.parametrize("document", DOCUMENTS)
def test_decision_is_the_one_real_opa_gives(
    embedded: EmbeddedDecisionPoint, sidecar: Sidecar, document: dict[str, Any]
) -> None:
    assert embedded.decide(document) == sidecar.client(timeout_ms=10_000).decide(document)


@pytest.mark.opa
@pytest.mark.parametrize("agent_id", ["governed", "stranger", ""])
def test_facts_are_those_real_opa_gives(embedded: EmbeddedDecisionPoint, sidecar: Sidecar, agent_id: str) -> None:
    assert embedded.facts(agent_id) == sidecar.client(timeout_ms=10_000).facts(agent_id)


def test_text_cannot_break_out_of_its_string(embedded: EmbeddedDecisionPoint, ask: Ask) -> None:
    name = 'x","request_id":"r-2'
    decision = embedded.decide(ask(name)).decision
    assert (decision.verdict, decision.audit["capability"]) == (Verdict.DENY, name)


def test_undefined_decision_is_refused(embedded: EmbeddedDecisionPoint, ask: Ask) -> None:
    assert _code(embedded, ask("undefined")) == "pdp_result_undefined"


def test_builtin_error_is_refused(embedded: EmbeddedDecisionPoint, ask: Ask) -> None:
    assert _code(embedded, ask("strict_failure")) == "pdp_server_error"


def test_engine_works_again_after_an_error(embedded: EmbeddedDecisionPoint, ask: Ask) -> None:
    _code(embedded, ask("strict_failure"))
    assert embedded.decide(ask("search_docs")).decision.allowed


@pytest.mark.parametrize(
    ("rego", "code"),
    [
        ("package other", "pdp_result_undefined"),
        ("package gate\ndecision := null", "pdp_result_null"),
        ("package gate\ndecision := true", "pdp_result_not_object"),
        ("package gate\ndecision := [input]", "pdp_result_not_object"),
        ("package gate\ndecision := {}", "pdp_result_incomplete"),
        ('package gate\ndecision := {"verdict": "allow"}', "pdp_result_incomplete"),
    ],
)
def test_decision_of_another_shape_is_refused(rego: str, code: str, ask: Ask) -> None:
    point = EmbeddedDecisionPoint({"main.rego": rego}, revision="r")
    assert _code(point, ask("search_docs")) == code


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({}, "pdp_document_invalid"),
        ({"request_id": None}, "pdp_document_invalid"),
        ({"request_id": "r", "now_ms": float("nan")}, "pdp_document_invalid"),
        ({"request_id": "r", "text": "\ud800"}, "pdp_document_invalid"),
        ({"request_id": "r", "text": "x" * 1_048_576}, "pdp_document_too_large"),
    ],
)
def test_document_that_cannot_be_asked_about_is_refused(
    embedded: EmbeddedDecisionPoint, document: dict[str, Any], code: str
) -> None:
    assert _code(embedded, document) == code


def test_rego_that_does_not_parse_is_refused() -> None:
    with pytest.raises(PdpError) as caught:
        EmbeddedDecisionPoint({"main.rego": "package gate\nx :="}, revision="r")
    assert caught.value.code == "pdp_bundle_invalid"


def test_threads_get_their_own_answers(embedded: EmbeddedDecisionPoint, ask: Ask) -> None:
    def work(worker: int) -> list[tuple[str, bool]]:
        name = "search_docs" if worker % 2 else "run_shell"
        decisions = [embedded.decide(ask(name, request_id=f"{worker}-{i}")).decision for i in range(3)]
        return [(d.audit["request_id"], d.allowed) for d in decisions]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, range(4)))
    assert answers == [[(f"{w}-{i}", bool(w % 2)) for i in range(3)] for w in range(4)]


def test_forked_child_does_not_wait_for_a_lock_of_its_parent(modules: dict[str, str]) -> None:
    # In a process of its own: forking a process that has threads is what Python warns of.
    script = textwrap.dedent("""
        import json, os, sys
        from gate.pdp import EmbeddedDecisionPoint
        point = EmbeddedDecisionPoint(json.loads(sys.argv[1]), revision="r")
        document = {"request_id": "r", "request": {"capability": "search_docs"}}
        with point._lock:
            pid = os.fork()
            if pid == 0:
                os._exit(0 if point.decide(document).decision.allowed else 1)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(code, point.decide(document).decision.allowed)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(modules)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert (done.stdout, done.stderr) == ("0 True\n", "")


def test_closed_point_refuses_and_is_not_ready(embedded: EmbeddedDecisionPoint, ask: Ask) -> None:
    assert (embedded.ready(), embedded.revision()) == (True, "sample@1+aa")
    embedded.close()
    assert embedded.ready() is False
    assert _code(embedded, ask("search_docs")) == "pdp_closed"
    with pytest.raises(PdpError, match="closed"):
        embedded.revision()


def test_label_says_that_it_is_not_for_production() -> None:
    assert "not for production" in EmbeddedDecisionPoint.label


def test_missing_extra_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "regopy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.delitem(sys.modules, "regopy", raising=False)
    with pytest.raises(ToolchainError) as caught:
        EmbeddedDecisionPoint({}, revision="r")
    assert caught.value.hint == "pip install 'agent-policy-gate[embedded]'"


def _code(point: EmbeddedDecisionPoint, document: dict[str, Any]) -> str:
    with pytest.raises(PdpError) as caught:
        point.decide(document)
    return caught.value.code
