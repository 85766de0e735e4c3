"""validate, compile and test: what an author runs."""

from __future__ import annotations

import json
import xml.dom.minidom
from pathlib import Path

import pytest
from cli_support import NOTE, document, run


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def broken(bundle: Path) -> Path:
    """Wrong in a document and in a case."""
    _replace(bundle / "capabilities.yaml", "risk_tier: low", "risk_tear: low")
    _replace(bundle / "cases" / "message_approved.yaml", "verdict: allow", "verdict: perhaps")
    return bundle


BROKEN_CODES = ["missing_key", "unknown_key", "schema_enum"]


def test_validate_broken_bundle_names_documents_and_cases_at_once(broken: Path) -> None:
    result = run("validate", broken)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("  hint: ")]
    assert (result.exit_code, result.stdout) == (5, "")
    assert [line.split(": ")[1] for line in lines] == BROKEN_CODES
    assert lines[1].startswith(f"{broken}/capabilities.yaml:8:5: unknown_key: key `risk_tear` is not known")
    assert "  hint: did you mean `risk_tier`?" in result.stderr.splitlines()


def test_validate_broken_bundle_as_json_is_one_document(broken: Path) -> None:
    result = run("validate", broken, "--output", "json")
    answer = document(result)
    assert (result.exit_code, result.stderr, answer["valid"]) == (5, "", False)
    assert [problem["code"] for problem in answer["problems"]] == BROKEN_CODES
    assert answer["problems"][1] == {
        "file": f"{broken}/capabilities.yaml",
        "line": 8,
        "column": 5,
        "code": "unknown_key",
        "message": "key `risk_tear` is not known in `search_docs`",
        "hint": "did you mean `risk_tier`?",
    }


def test_validate_broken_bundle_for_github_annotates_each_line(broken: Path) -> None:
    result = run("validate", broken, "--output", "github")
    assert (result.exit_code, result.stderr) == (5, "")
    assert (
        f"::error file={broken}/capabilities.yaml,line=8,col=5,title=unknown_key::"
        "key `risk_tear` is not known in `search_docs` (did you mean `risk_tier`?)" in result.stdout.splitlines()
    )
    assert len(result.stdout.splitlines()) == 3


def test_validate_ledger_that_is_none_is_a_problem_of_the_bundle(bundle: Path) -> None:
    (bundle / "releases.yaml").write_text("releases: 7\n", "utf-8")
    result = run("validate", bundle)
    assert (result.exit_code, result.stdout) == (5, "")
    assert f"{bundle}/releases.yaml:1:11: schema_type" in result.stderr


def test_validate_file_name_that_would_end_a_workflow_command_is_escaped(tmp_path: Path, bundle: Path) -> None:
    strange = bundle.rename(tmp_path / "a,b:c%d")
    result = run("validate", strange, "--output", "github")
    assert f"file={tmp_path}/a%2Cb%3Ac%25d/bundle.yaml,line=1,col=1,title=bundle_name_invalid::" in result.stdout


def test_validate_broken_bundle_as_sarif_has_one_result_a_problem(broken: Path) -> None:
    result = run("validate", broken, "--output", "sarif")
    sarif = document(result)
    assert (result.exit_code, sarif["version"]) == (5, "2.1.0")
    assert [r["ruleId"] for r in sarif["runs"][0]["results"]] == BROKEN_CODES
    assert sarif["runs"][0]["tool"]["driver"]["rules"] == [{"id": code} for code in sorted(BROKEN_CODES)]
    assert sarif["runs"][0]["results"][1]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": f"file://{broken}/capabilities.yaml"},
                "region": {"startLine": 8, "startColumn": 5},
            }
        }
    ]


@pytest.mark.parametrize("output", ["text", "json", "github", "sarif"])
def test_validate_sound_bundle_exits_zero(bundle: Path, output: str) -> None:
    before = _files(bundle)
    result = run("validate", bundle, "--output", output)
    assert (result.exit_code, result.stderr) == (0, "")
    assert _files(bundle) == before


@pytest.mark.parametrize("command", ["validate", "compile", "test", "build"])
def test_folder_that_is_no_package_name_is_refused(tmp_path: Path, bundle: Path, command: str) -> None:
    renamed = bundle.rename(tmp_path / "Support Triage")
    result = run(command, renamed)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"{renamed}/bundle.yaml:1:1: bundle_name_invalid: ")


def test_compile_changed_yaml_writes_and_names_what_changed(bundle: Path) -> None:
    _replace(bundle / "capabilities.yaml", "maxLength: 2000", "maxLength: 2001")
    result = run("compile", bundle)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{bundle}/rego/catalog.rego\n", "")
    assert run("compile", bundle, "--check").stdout == f"{bundle}/rego is current\n"
    assert document(run("compile", bundle, "--output", "json"))["changed"] == []


def test_compile_check_of_stale_rego_shows_the_diff_and_writes_nothing(bundle: Path) -> None:
    _replace(bundle / "policy.yaml", "decision: allow", "decision: deny")
    (bundle / "rego" / "left-over.rego").write_text("package left\x1bover\n", encoding="utf-8")
    (bundle / "rego" / "bundle.rego").unlink()
    before = _files(bundle)
    result = run("compile", bundle, "--check")
    assert result.exit_code == 5
    assert _files(bundle) == before
    assert [line for line in result.stdout.splitlines() if line.startswith(("---", "+++"))] == [
        "--- /dev/null",
        f"+++ {bundle}/rego/bundle.rego",
        f"--- {bundle}/rego/left-over.rego",
        "+++ /dev/null",
        f"--- {bundle}/rego/policy.rego",
        f"+++ {bundle}/rego/policy.rego",
    ]
    assert "-package left\\u001bover" in result.stdout.splitlines()
    stale = [line.split(":")[0] for line in result.stderr.splitlines() if "compiled_rego_stale" in line]
    assert stale == [f"{bundle}/rego/{name}" for name in ("bundle.rego", "left-over.rego", "policy.rego")]


def test_compile_check_of_stale_rego_as_json_is_one_document(bundle: Path) -> None:
    (bundle / "rego" / "policy.rego").write_text("package nothing\n", encoding="utf-8")
    result = run("compile", bundle, "--check", "--output", "json")
    answer = document(result)
    assert (result.exit_code, result.stderr, answer["current"]) == (5, "", False)
    assert [entry["file"] for entry in answer["stale"]] == ["policy.rego"]
    assert "-package nothing" in answer["stale"][0]["diff"].splitlines()


def test_compile_bundle_that_does_not_link_writes_nothing(bundle: Path) -> None:
    _replace(bundle / "policy.yaml", "approver: owner", "approver: nobody")
    before = _files(bundle)
    result = run("compile", bundle)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"{bundle}/")
    assert _files(bundle) == before


def test_golden_cases_on_the_embedded_engine_pass(bundle: Path) -> None:
    result = run("test", bundle, "--engine", "embedded", "--output", "json")
    answer = document(result)
    count = len(list((bundle / "cases").glob("[!_]*.yaml")))
    assert (result.exit_code, result.stderr) == (0, NOTE)
    assert {k: answer[k] for k in ("engine", "total", "passed", "failed")} == {
        "engine": "embedded",
        "total": count,
        "passed": count,
        "failed": 0,
    }
    assert answer["revision"].startswith("my-bot@0.1.0+")
    assert next(c for c in answer["cases"] if c["id"] == "run_shell_denied") == {
        "id": "run_shell_denied",
        "title": "run_shell is refused by name",
        "file": f"{bundle}/cases/run_shell_denied.yaml",
        "passed": True,
        "expected": ["deny", "configured_deny"],
        "got": ["deny", "configured_deny"],
    }


@pytest.mark.opa
def test_golden_cases_on_a_real_opa_agree_with_the_embedded_engine(bundle: Path) -> None:
    opa, embedded = (document(run("test", bundle, "--engine", e, "--output", "json")) for e in ("opa", "embedded"))
    assert (opa.pop("engine"), embedded.pop("engine")) == ("opa", "embedded")
    assert opa == embedded


@pytest.fixture
def failing(bundle: Path) -> Path:
    _replace(bundle / "cases" / "run_shell_denied.yaml", "verdict: deny", "verdict: allow")
    return bundle


def test_failing_case_exits_three_and_says_what_it_got(failing: Path) -> None:
    result = run("test", failing, "--engine", "embedded")
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].split(" (")[0].endswith(" passed, 1 failed")
    at = result.stdout.splitlines().index("FAIL  run_shell_denied  run_shell is refused by name")
    assert result.stdout.splitlines()[at + 1 : at + 4] == [
        f"      file      {failing}/cases/run_shell_denied.yaml",
        "      expected  allow, configured_deny",
        "      got       deny, configured_deny",
    ]


def test_failing_case_as_junit_is_a_failure_of_that_case(failing: Path) -> None:
    result = run("test", failing, "--engine", "embedded", "--output", "junit")
    suite = xml.dom.minidom.parseString(result.stdout).documentElement
    failures = [
        (case.getAttribute("name"), failure.getAttribute("message"))
        for case in suite.getElementsByTagName("testcase")
        for failure in case.getElementsByTagName("failure")
    ]
    assert (result.exit_code, suite.getAttribute("failures")) == (3, "1")
    assert failures == [("run_shell_denied", "expected allow, configured_deny; got deny, configured_deny")]


def test_golden_cases_of_stale_rego_are_not_run(bundle: Path) -> None:
    (bundle / "rego" / "policy.rego").write_text("package nothing\n", encoding="utf-8")
    result = run("test", bundle, "--engine", "embedded")
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"{bundle}/rego/policy.rego:1:1: compiled_rego_stale: ")


def test_engine_without_a_choice_is_embedded_where_there_is_no_opa(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATE_OPA_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GATE_TOOLS_DIR", str(tmp_path))
    result = run("test", bundle, "--output", "json")
    assert (result.exit_code, json.loads(result.stdout)["engine"]) == (0, "embedded")
    assert result.stderr.startswith("note: the pinned OPA is not here, using the embedded engine: ")
    asked = run("test", bundle, "--engine", "opa")
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert asked.stderr.startswith("error: toolchain_unavailable: ")


def test_engine_without_a_choice_does_not_pass_over_a_binary_that_was_named(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_OPA_BIN", str(tmp_path / "none"))
    result = run("test", bundle)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: toolchain_unavailable: `GATE_OPA_BIN` names ")
