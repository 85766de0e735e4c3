from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from compiler_support import put

from gate.compiler import compile_bundle, shape, write
from gate.compiler.parsed import Source, read
from gate.errors import ToolchainError

pytestmark = pytest.mark.opa

HEAD = """\
# METADATA
# title: A guard
package gate.guard

import data.gate.finding
import data.gate.other

"""
OTHER = """\
# METADATA
# title: Another package
package gate.other

# METADATA
# title: A rule
ok if input.identity.ok == true

# METADATA
# title: A function
good(x) if x == true

# METADATA
# title: A table
table := {"a": true}

# METADATA
# title: Good unless it is said to be bad
lenient if input.identity.ok == true

else := true

# METADATA
# title: A guard of its own, so that every rule here is tested where it does not hold
findings contains finding.new("other_bad", "deny", "gate.other", "", "") if not ok

import data.gate.finding
"""
OTHER = OTHER.replace("\nimport data.gate.finding\n", "").replace(
    "package gate.other\n", "package gate.other\n\nimport data.gate.finding\n"
)
_START = HEAD.count("\n") + 1
"""Line the body of a test file starts at."""


@pytest.fixture(scope="session")
def constructor(repo: Path) -> Source:
    return read(repo / "policies" / "gate" / "finding" / "finding.rego")


@pytest.fixture
def found(tmp_path: Path, constructor: Source) -> Callable[[str], list[tuple[str, int, int]]]:
    """The problems of a guard with the given rules: code, line counted from the first of them, column."""

    def found(body: str, head: str = HEAD) -> list[tuple[str, int, int]]:
        other = tmp_path / "gate" / "other" / "other.rego"
        other.parent.mkdir(parents=True)
        other.write_text(OTHER, encoding="utf-8")
        guard = tmp_path / "gate" / "guard" / "guard.rego"
        guard.parent.mkdir(parents=True)
        guard.write_text(head + body, encoding="utf-8")
        problems = shape.check([constructor, read(other), read(guard)])
        assert {p.file for p in problems} <= {str(guard)}
        return [(p.code, p.line - _START + 1, p.column) for p in problems]

    return found


def finding(body: str, *, code: str = "bad", verdict: str = "deny") -> str:
    return f'findings contains finding.new("{code}", "{verdict}", "gate.guard", "", "") if {{\n\t{body}\n}}\n'


_BOUND = 'input.checkpoint == "output"\n\tinput.operation == "emit"'
_THREE_CONDITIONS = 'input.operation == "call_tool"\n\t_stated\n\tnot other.ok'
SOUND = f"""\
{finding("not _live", code="not_live")}
{finding(_THREE_CONDITIONS, code="x")}
{finding("not _stated", code="not_stated")}
{finding(_BOUND, verdict="allow", code="fine")}
_live if {{
	is_number(input.now_ms)
	input.now_ms < input.state.approval.expires_at_ms
}}

_stated if is_string(input.request.capability)
"""


def test_guard_that_writes_what_good_looks_like_has_no_problem(
    found: Callable[[str], list[tuple[str, int, int]]],
) -> None:
    assert found(SOUND) == []


# One bad file for each rule: what, its text, and (code, line, column).
BAD: list[tuple[str, str, list[tuple[str, int, int]]]] = [
    # 1. badness tested directly
    ("unequal", finding('input.identity.region != "eu"'), [("rego_finding_body", 2, 2)]),
    ("less", finding("input.state.approval.expires_at_ms < input.now_ms"), [("rego_finding_body", 2, 2)]),
    ("equal to bad", finding('input.state.run.status == "stopped"'), [("rego_finding_body", 2, 2)]),
    ("type check", finding("is_null(input.identity.tenant_id)"), [("rego_finding_body", 2, 2)]),
    ("membership", finding('input.state.run.status in {"stopped"}'), [("rego_finding_body", 2, 2)]),
    ("assignment", finding("x := input.state.run"), [("rego_finding_body", 2, 2)]),
    ("iteration", finding("some x in input.state.approval.votes"), [("rego_finding_body", 2, 2)]),
    (
        "every",
        finding("every v in input.state.approval.votes { v.verified == false }"),
        [("rego_finding_body", 2, 2)],
    ),
    (
        "function",
        finding("_f(input.now_ms)") + "\n_f(x) if x > 1\n",
        [("rego_finding_body", 2, 2), ("rego_one_sided", 5, 10)],
    ),
    ("bare field", finding("input.identity.revoked"), [("rego_finding_body", 2, 2), ("rego_truthy", 2, 2)]),
    ("lookup", finding("other.table[input.request.capability]"), [("rego_finding_body", 2, 2)]),
    ("data", finding("data.gate.other.ok"), [("rego_finding_body", 2, 2)]),
    ("value for a truth", finding("other.table"), [("rego_finding_body", 2, 2)]),
    (
        "indexed field that is no constant",
        finding("input.operation == input.checkpoint"),
        [("rego_finding_body", 2, 2)],
    ),
    ("always", 'findings contains finding.new("bad", "deny", "", "", "")\n', [("rego_finding_body", 1, 1)]),
    # ... and through a helper
    ("helper", finding("_bad") + '\n_bad if input.identity.region != "eu"\n', [("rego_one_sided", 5, 9)]),
    ("helper, equal", finding("_bad") + '\n_bad if input.state.run.status == "stopped"\n', [("rego_one_sided", 5, 9)]),
    (
        "helper of a helper",
        finding("_worse") + "\n_worse if _bad\n\n_bad if is_null(input.identity.tenant_id)\n",
        [("rego_one_sided", 7, 9)],
    ),
    (
        "double negation",
        finding("not _good") + '\n_good if not _bad\n\n_bad if input.identity.region != "eu"\n',
        [("rego_one_sided", 7, 9)],
    ),
    (
        "helper with a function",
        finding("_bad") + "\n_bad if _late(input.now_ms)\n\n_late(t) if t > 5\n",
        [("rego_one_sided", 5, 9), ("rego_one_sided", 7, 13)],
    ),
    (
        "helper with a comprehension",
        finding("_bad") + "\n_bad if count([v | some v in input.state.approval.votes; v.verified == false]) > 0\n",
        [("rego_one_sided", 5, 9), ("rego_one_sided", 5, 58)],
    ),
    (
        "helper with a lookup",
        finding("_bad") + "\n_bad if other.table[input.request.text]\n",
        [("rego_one_sided", 5, 9)],
    ),
    # 2. `not` of anything but a rule
    ("not a function", finding("not other.good(input.identity.ok)"), [("rego_negation", 2, 2)]),
    ("not a local function", finding("not _f(input.now_ms)") + "\n_f(x) if x > 1\n", [("rego_negation", 2, 2)]),
    ("not a field", finding("not input.identity.ok"), [("rego_negation", 2, 2)]),
    ("not an equality", finding("not input.now_ms == 1"), [("rego_negation", 2, 2)]),
    ("not a membership", finding('not input.operation in {"emit"}'), [("rego_negation", 2, 2)]),
    ("not a builtin", finding("not is_string(input.operation)"), [("rego_negation", 2, 2)]),
    ("not a constant", finding("not false"), [("rego_negation", 2, 2)]),
    ("not data", finding("not data.gate.other.ok"), [("rego_negation", 2, 2)]),
    ("not a table", finding("not other.table"), [("rego_negation", 2, 2)]),
    ("not a lookup", finding("not other.table[input.operation]"), [("rego_negation", 2, 2)]),
    ("not a rule with else", finding("not other.lenient"), [("rego_negation", 2, 2)]),
    (
        "not a rule good by default",
        finding("not _good") + "\ndefault _good := true\n\n_good if input.identity.ok == true\n",
        [("rego_negation", 2, 2)],
    ),
    (
        "not a rule with a value",
        finding("not _good") + "\n_good := input.identity.ok\n",
        [("rego_negation", 2, 2)],
    ),
    (
        "not a set",
        finding("not _bads") + "\n_bads contains x if some x in input.state.approval.votes\n",
        [("rego_negation", 2, 2)],
    ),
    (
        "not in a comprehension",
        finding("not _good") + "\n_good if count([v | some v in input.state.votes; not v.bad]) > 0\n",
        [("rego_negation", 5, 50)],
    ),
    (
        "not a variable",
        finding("not _good") + "\n_good if {\n\tx := input.identity.bad\n\tnot x\n}\n",
        [("rego_negation", 7, 2)],
    ),
    (
        "not in every",
        finding("not _good") + "\n_good if every v in input.state.votes { not v == 1 }\n",
        [("rego_negation", 5, 41)],
    ),
    (
        "not in else",
        finding("not _g") + "\n_g if _h\n\n_h if other.ok\n\nelse if not input.identity.bad\n",
        [("rego_negation", 9, 1)],
    ),
    (
        "not under with",
        finding("not _g with input.now_ms as 1") + "\n_g if is_number(input.now_ms)\n",
        [("rego_with", 2, 2)],
    ),
    # 3. and 4. the constructor
    (
        "variable in the constructor",
        'findings contains finding.new("bad", "deny", "", input.request.capability, "") if not other.ok\n',
        [("rego_finding_literals", 1, 19)],
    ),
    (
        "argument missing",
        'findings contains finding.new("bad", "deny", "", "") if not other.ok\n',
        [("rego_finding_literals", 1, 19)],
    ),
    ("unknown verdict", finding("not other.ok", verdict="refuse"), [("rego_finding_verdict", 1, 19)]),
    ("verdict in capitals", finding("not other.ok", verdict="DENY"), [("rego_finding_verdict", 1, 19)]),
    ("code not snake_case", finding("not other.ok", code="Bad-Code"), [("rego_finding_code", 1, 19)]),
    (
        "constructor elsewhere",
        '_more := {finding.new("bad", "denied", "", "", "")}\n',
        [("rego_finding_verdict", 1, 11)],
    ),
    ("object", 'findings contains {"code": "bad", "verdict": "deny"} if not other.ok\n', [("rego_finding_head", 1, 1)]),
    (
        "another constructor",
        'findings contains _make("bad", "deny", "", "", "") if not other.ok\n\n_make(a, b, c, d, e) := a\n',
        [("rego_finding_head", 1, 1)],
    ),
    ("variable", "findings contains f if some f in other.table\n", [("rego_finding_head", 1, 1)]),
    (
        "object of findings",
        'findings[finding.new("bad", "deny", "", "", "")] if not other.ok\n',
        [("rego_finding_head", 1, 1)],
    ),
    (
        "set of findings",
        'findings := {finding.new("bad", "deny", "", "", "") | not other.ok}\n',
        [("rego_finding_head", 1, 1)],
    ),
    ("default", "default findings := set()\n\n" + finding("not other.ok"), [("rego_finding_head", 1, 1)]),
    # what permits
    ("permit of everything", finding("other.ok", verdict="allow"), [("rego_permit", 1, 1)]),
    (
        "permit without operation",
        finding('input.checkpoint == "output"', verdict="allow"),
        [("rego_permit", 1, 1)],
    ),
    (
        "permit by absence",
        finding('input.checkpoint == "output"\n\tinput.operation == "emit"\n\tnot other.ok', verdict="allow"),
        [("rego_permit", 1, 1)],
    ),
    # besides
    ("clock", "_now := time.now_ns()\n", [("rego_builtin", 1, 9)]),
    ("network", '_r := http.send({"method": "get", "url": "x"})\n', [("rego_builtin", 1, 7)]),
    ("environment", "_r := opa.runtime()\n", [("rego_builtin", 1, 7)]),
    ("builtin in a comprehension", "_r := [uuid.rfc4122(x) | some x in input.state]\n", [("rego_builtin", 1, 8)]),
    ("builtin in an argument", "_r := count(split(input.request.text, x)) if x := 1\n", [("rego_builtin", 1, 13)]),
    ("truth of a field", "_r if input.identity.ok\n", [("rego_truthy", 1, 7)]),
    ("truth of a local", "_r if {\n\tsome v in input.state.votes\n\tv.verified\n}\n", [("rego_truthy", 3, 2)]),
    ("public rule without METADATA", "open := 1\n", [("rego_metadata", 1, 1)]),
    ("public rule below a name", "open.wide := 1\n", [("rego_metadata", 1, 1)]),
]


@pytest.mark.parametrize(("body", "expected"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_rule_is_reported_where_it_stands(
    found: Callable[[str], list[tuple[str, int, int]]], body: str, expected: list[tuple[str, int, int]]
) -> None:
    assert found(body) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import input.identity.region", [("rego_import", 0, 8)]),
        ("import input.identity.region as other_region", [("rego_import", 0, 8)]),
        ("import data.gate.other.ok", [("rego_import", 0, 8)]),
        ("import data.users", [("rego_import", 0, 8)]),
    ],
)
def test_import_of_anything_but_a_package_is_reported(
    found: Callable[..., list[tuple[str, int, int]]], line: str, expected: list[tuple[str, int, int]]
) -> None:
    assert found("", HEAD.removesuffix("\n") + line + "\n") == expected


def test_alias_of_another_package_does_not_pass_for_the_constructor(
    found: Callable[..., list[tuple[str, int, int]]],
) -> None:
    head = HEAD.replace("import data.gate.finding\n", "").replace(
        "import data.gate.other\n", "import data.gate.finding as f\nimport data.gate.other as finding\n"
    )
    body = (
        'findings contains finding.good("bad") if not finding.ok\n\n'
        'findings contains f.new("fine", "deny", "", "", "") if not finding.ok\n'
    )
    assert found(body, head) == [("rego_finding_head", 1, 1)]


def test_package_without_a_title_is_reported(found: Callable[..., list[tuple[str, int, int]]]) -> None:
    assert found("", HEAD.removeprefix("# METADATA\n# title: A guard\n") + "\n\n") == [
        ("rego_metadata", -_START + 2, 1)
    ]


@pytest.mark.parametrize(
    ("path", "package", "problem"),
    [
        ("policies/gate/guard/x.rego", "gate.guard", False),
        ("policies/gate/guard/x.rego", "gate.router", True),
        ("policies/gate/guard/x.rego", "guard", False),
        ("policies/gate/x.rego", "gate.guard", True),
        ("bundles/sup-port/rego/x.rego", "gate.bundles.sup_port", False),
        ("bundles/sup-port/rego/x.rego", "gate.bundles.other", True),
        ("bundles/sup-port/rego/x.rego", "gate.router", True),
    ],
)
def test_package_that_is_not_its_folder_is_reported(tmp_path: Path, path: str, package: str, problem: bool) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(f"# METADATA\n# title: x\npackage {package}\n", encoding="utf-8")
    codes = [p.code for p in shape.check([read(file)])]
    assert codes == (["rego_package_path"] if problem else [])


def test_file_that_does_not_parse_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "x.rego"
    file.write_text("package x\n\nallow if {\n", encoding="utf-8")
    with pytest.raises(ToolchainError, match=re.escape(str(file))) as caught:
        read(file)
    assert caught.value.code == "rego_unparsable"


# --- the real policies ---------------------------------------------------------------------------------------------


def policy_files(repo: Path) -> list[Path]:
    return sorted(f for f in (repo / "policies").rglob("*.rego") if not f.name.endswith("_test.rego"))


@pytest.fixture(scope="session")
def real(repo: Path) -> list[Source]:
    return [read(f) for f in [*policy_files(repo), *sorted((repo / "bundles").rglob("*.rego"))]]


def test_real_policies_and_compiled_bundles_have_no_problem(real: list[Source]) -> None:
    assert [str(p) for p in shape.check(real)] == []


def test_compiled_bundle_that_was_just_written_has_no_problem(tmp_path: Path, constructor: Source) -> None:
    write(compile_bundle(put(tmp_path / "tri-age")))
    sources = [read(f) for f in sorted((tmp_path / "tri-age" / "rego").glob("*.rego"))]
    assert [str(p) for p in shape.check([constructor, *sources])] == []


def _mutants(text: str) -> list[tuple[int, str]]:
    """Each `not helper` in a finding made the direct test, negated in place or by the opposite operator, by line."""
    helpers = dict(re.findall(r"^(_\w+) if (input\.[^\n{]+ (?:==|in|<) [^\n{]+)$", text, re.MULTILINE))
    mutants = []
    for finding in re.finditer(r"(?m)^findings contains .* if (?:\{\n(?:\t.*\n)+|.*$)", text):
        for match in re.finditer(r"not (_\w+)$", finding[0], re.MULTILINE):
            test = helpers.get(match[1])
            if test is not None:
                start, end = finding.start() + match.start(), finding.start() + match.end()
                tests = [f"not {test}", *([test.replace("==", "!=")] if "==" in test else [])]
                line = text.count("\n", 0, start) + 1
                mutants += [(line, text[:start] + direct + text[end:]) for direct in tests]
    return mutants


def test_every_guard_that_drops_its_helper_for_a_direct_test_is_caught(
    repo: Path, real: list[Source], tmp_path: Path
) -> None:
    caught = 0
    for file in policy_files(repo):
        # Two a file: each costs a parse and a check over every policy.
        for line, text in _mutants(file.read_text("utf-8"))[:2]:
            copy = tmp_path / str(caught) / file.relative_to(repo / "policies")
            copy.parent.mkdir(parents=True)
            copy.write_text(text, encoding="utf-8")
            problems = shape.check([*(s for s in real if s.file != str(file)), read(copy)])
            assert (str(copy), line) in {(p.file, p.line) for p in problems}, (file, line)
            caught += 1
    assert caught >= 10


# Findings that no other finding stands in for: without their `not` they would be silent on an absent field.
LONE = {
    *("schema_version_unsupported", "request_id_missing", "time_missing", "checkpoint_unknown", "operation_unknown"),
    *("agent_identity_missing", "delegation_incomplete", "agent_not_governed", "capability_unknown"),
    *("network_access_not_allowed", "egress_policy_missing", "facts_stale", "arguments_invalid"),
    *("memory_kind_denied", "side_effect_state_missing", "reconciliation_evidence_missing"),
}


_LAST_NOT = re.compile(
    r'(?m)^findings contains finding\.new\("(\w+)", "(?!allow).* if (?:\{\n(?:\t.*\n)*?\t)?(not )[\w.]+(?:\n\}|$)'
)


def test_finding_that_tests_what_is_bad_instead_of_not_what_is_good_is_caught(
    repo: Path, real: list[Source], tmp_path: Path
) -> None:
    """The last `not _good` of each lone finding made `_good`."""
    caught, silent = set(), set()
    for file in policy_files(repo):
        text = file.read_text("utf-8")
        for match in (found for found in _LAST_NOT.finditer(text) if found[1] in LONE):
            copy = tmp_path / match[1] / str(match.start()) / file.relative_to(repo / "policies")
            copy.parent.mkdir(parents=True)
            copy.write_text(text[: match.start(2)] + text[match.end(2) :], encoding="utf-8")
            problems = shape.check([*(s for s in real if s.file != str(file)), read(copy)])
            (caught if problems else silent).add(match[1])
    assert LONE - caught == set(), silent


def test_codes_of_findings_are_read_from_every_constructor_call(real: list[Source]) -> None:
    codes = shape.finding_codes(real)
    assert {"no_rule_permits", "approval_missing", "configured_deny", "tenant_missing"} <= codes


def test_command_answers_one_and_names_the_place_when_something_is_wrong(repo: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gate" / "guard"
    folder.mkdir(parents=True)
    (folder / "guard.rego").write_text(
        "# METADATA\n# title: x\npackage gate.guard\n\n_now := time.now_ns()\n", encoding="utf-8"
    )
    (folder / "guard_test.rego").write_text("package gate.guard_test\n\nt := time.now_ns()\n", encoding="utf-8")
    command = [sys.executable, "-m", "gate.compiler.shape"]
    bad = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False, cwd=repo)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.splitlines() == [
        f"{folder / 'guard.rego'}:5:9: rego_builtin: `time.now_ns` is not among the builtins both engines agree on",
        "1 Rego files, 1 problems of shape",
    ]
    none = subprocess.run([*command, str(tmp_path / "nowhere")], capture_output=True, text=True, check=False, cwd=repo)
    assert (none.returncode, none.stderr) == (1, "0 Rego files, 0 problems of shape\n")
