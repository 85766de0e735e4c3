"""eval and explain: one document, one decision."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from cli_support import NOTE, document, run

from gate.canonical import MAX_DEPTH, MAX_DOCUMENT_BYTES
from gate.documents import schema

EMBEDDED = ("--engine", "embedded")
SECRET = "hunter2"


@pytest.mark.parametrize(
    ("case", "exit_code", "verdict"),
    [
        ("search_docs_allowed", 0, "allow"),
        ("run_shell_denied", 3, "deny"),
        ("message_without_approval", 4, "require_approval"),
        ("message_unknown_effect", 3, "blocked_on_reconciliation"),
    ],
)
def test_eval_exits_by_the_verdict(
    bundle: Path, inputs: dict[str, Path], case: str, exit_code: int, verdict: str
) -> None:
    result = run("eval", bundle, "--input", inputs[case], *EMBEDDED)
    assert (result.exit_code, result.stderr) == (exit_code, NOTE)
    assert result.stdout.splitlines()[0] == f"verdict   {verdict}"


def test_eval_as_text_names_each_reason_with_its_remedy(bundle: Path, inputs: dict[str, Path]) -> None:
    result = run("eval", bundle, "--input", inputs["message_without_approval"], *EMBEDDED)
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == ["verdict", "revision"]
    assert lines[2:] == [
        "",
        "approval_missing (require_approval)",
        "  rule    gate.approval",
        "  remedy  no stored approval for this action; a reviewer must approve it",
        "",
        "configured_with_approval (allow)",
        "  rule    cap_210",
        "  source  policy.yaml#/policy/capabilities/send_message",
    ]


def test_eval_as_json_is_the_decision_document(bundle: Path, inputs: dict[str, Path]) -> None:
    result = run("eval", bundle, "--input", inputs["run_shell_denied"], *EMBEDDED, "--output", "json")
    answer = document(result)
    fastjsonschema.compile(schema("decision"))(answer)
    assert (answer["verdict"], [r["code"] for r in answer["reasons"]]) == ("deny", ["configured_deny"])
    assert answer["audit"]["request_id"] == "req-golden"


def test_eval_reads_stdin(bundle: Path, inputs: dict[str, Path]) -> None:
    result = run("eval", bundle, "--input", "-", *EMBEDDED, input=inputs["search_docs_allowed"].read_bytes())
    assert result.exit_code == 0


@pytest.mark.opa
@pytest.mark.parametrize("command", ["eval", "explain"])
def test_decision_on_a_real_opa_is_the_embedded_one(bundle: Path, inputs: dict[str, Path], command: str) -> None:
    asked = [command, bundle, "--input", inputs["message_without_approval"], "--output", "json", "--engine"]
    opa, embedded = run(*asked, "opa"), run(*asked, "embedded")
    assert (opa.exit_code, opa.stderr) == (4, "")
    assert document(opa) == document(embedded)


@pytest.mark.parametrize("engine", [pytest.param("opa", marks=pytest.mark.opa), "embedded"])
def test_eval_of_changed_yaml_answers_for_the_yaml_and_says_so(
    bundle: Path, inputs: dict[str, Path], engine: str
) -> None:
    policy = bundle / "policy.yaml"
    policy.write_text(policy.read_text("utf-8").replace("decision: allow", "decision: deny"), encoding="utf-8")
    before = {p: p.read_bytes() for p in (bundle / "rego").iterdir()}
    result = run("eval", bundle, "--input", inputs["search_docs_allowed"], "--engine", engine)
    assert result.exit_code == 3
    assert result.stderr.splitlines()[0] == (
        "note: the checked-in Rego is not what the YAML compiles to; the YAML is what is asked"
    )
    assert {p: p.read_bytes() for p in (bundle / "rego").iterdir()} == before


@pytest.mark.opa
def test_explain_says_where_the_rule_is_and_what_it_looked_at(bundle: Path, inputs: dict[str, Path]) -> None:
    result = run("explain", bundle, "--input", inputs["message_without_approval"], *EMBEDDED)
    lines = result.stdout.splitlines()
    assert result.exit_code == 4
    rule = (bundle / "policy.yaml").read_text("utf-8").splitlines().index("    send_message:") + 1
    assert lines[lines.index("  rule    cap_210") + 1] == f"  at      {bundle}/policy.yaml:{rule}:5"
    assert "    request.capability  string" in lines
    assert not [line for line in lines if "Opening hours" in line]


@pytest.mark.opa
def test_explain_as_json_has_decision_and_reasons(bundle: Path, inputs: dict[str, Path]) -> None:
    answer = document(run("explain", bundle, "--input", inputs["run_shell_denied"], *EMBEDDED, "--output", "json"))
    fastjsonschema.compile(schema("decision"))(answer["decision"])
    assert answer.keys() == {"decision", "revision", "reasons"}
    assert [reason.keys() for reason in answer["reasons"]] == [
        {"code", "verdict", "rule", "source", "position", "looked_at", "change"}
    ]
    assert {"path": "request.capability", "state": "string"} in answer["reasons"][0]["looked_at"]


def _changed(**changes: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda sound: json.dumps({**sound, **changes}).encode()


BAD_INPUTS: list[tuple[str, Callable[[dict[str, Any]], bytes], str, str]] = [
    ("empty", lambda _: b"", "json_malformed", "not JSON"),
    ("not json", lambda _: b"{'a': " + SECRET.encode() + b"}", "json_malformed", "not JSON at line 1 column 2"),
    ("two documents", lambda _: b"{} {}", "json_malformed", "not JSON"),
    ("not utf-8", lambda _: b'{"a": "\xff"}', "json_not_utf8", "not UTF-8"),
    ("same key twice", lambda _: b'{"a": 1, "a": 1}', "json_duplicate_key", "same key twice"),
    ("nan", lambda _: b'{"now_ms": NaN}', "json_number_not_finite", "`NaN`"),
    ("infinity", lambda _: b'{"now_ms": 1e999}', "json_number_not_finite", "a double"),
    ("integer past 2^53", lambda _: b'{"now_ms": 9007199254740993}', "json_integer_unsafe", "2^53"),
    ("lone surrogate", lambda _: b'{"a": "\\ud800"}', "json_lone_surrogate", "surrogate"),
    ("too large", lambda _: b'"' + b"a" * MAX_DOCUMENT_BYTES + b'"', "json_too_large", f"over {MAX_DOCUMENT_BYTES}"),
    ("too deep", lambda _: b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2), "json_too_deep", "deep"),
    ("far too deep", lambda _: b"[" * 500_000, "json_too_deep", "deep"),
    ("a list", lambda _: b"[]", "input_schema_violation", "field `/` breaks the rule `type`"),
    ("field missing", lambda _: b"{}", "input_schema_violation", "field `/checkpoint` breaks the rule `required` "),
    ("unknown field", _changed(tenant=SECRET), "input_schema_violation", "`/tenant` breaks the rule `additional"),
    ("wrong type", _changed(now_ms=SECRET), "input_schema_violation", "field `/now_ms` breaks the rule `type` "),
    ("other version", _changed(schema_version=SECRET), "input_schema_violation", "`/schema_version` breaks the rule"),
    ("nested", _changed(identity={"tenant_id": [SECRET]}), "input_schema_violation", "`/identity/tenant_id` breaks"),
]


@pytest.mark.parametrize(("make", "code", "says"), [b[1:] for b in BAD_INPUTS], ids=[b[0] for b in BAD_INPUTS])
@pytest.mark.parametrize("command", ["eval", "explain"])
def test_bad_input_is_one_line_with_code_and_hint_and_no_value(
    bundle: Path,
    inputs: dict[str, Path],
    tmp_path: Path,
    command: str,
    make: Callable[[dict[str, Any]], bytes],
    code: str,
    says: str,
) -> None:
    file = tmp_path / "input.json"
    file.write_bytes(make(json.loads(inputs["search_docs_allowed"].read_text("utf-8"))))
    result = run(command, bundle, "--input", file, *EMBEDDED)
    assert (result.exit_code, result.stdout) == (1, "")
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"error: {code}: ")
    assert says in error
    assert hint.startswith("hint: ")
    assert SECRET not in result.stderr


@pytest.mark.parametrize("name", ["not-there.json", "."])
def test_input_that_cannot_be_read_is_an_error(bundle: Path, tmp_path: Path, name: str) -> None:
    result = run("eval", bundle, "--input", tmp_path / name, *EMBEDDED)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: input_unreadable: `{tmp_path / name}` cannot be read\nhint: name a file, or - for stdin\n"
    )


def test_input_is_required(bundle: Path) -> None:
    result = run("eval", bundle)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("command", ["eval", "explain"])
def test_bad_bundle_is_named_before_the_input_is_read(bundle: Path, command: str) -> None:
    (bundle / "policy.yaml").write_text("policy: {a: *b}\n", encoding="utf-8")
    result = run(command, bundle, "--input", "-", *EMBEDDED)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"{bundle}/policy.yaml:1:")
