from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle
from gate.documents import schema, strict_validator
from gate.errors import BundleError, InputError
from gate.records import generate_key
from gate.release import build
from gate.release.diff import Change, DecisionDiff, decision_diff
from gate.release.diff_report import diff_report
from gate.release.diff_side import SideError, load_side

pytestmark = pytest.mark.opa

FEW = 250
Edited = Callable[..., Path]


@pytest.fixture(scope="module")
def old(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle with few of its golden cases, each that a document names among them: reading all takes longest."""
    folder = tmp_path_factory.mktemp("old") / "support-triage"
    shutil.copytree(repo / "bundles" / "support-triage", folder)
    kept = ("_", "ticket_", "cb_compact_allowed", "cr_validated")
    named = "\n".join(file.read_text("utf-8") for file in folder.glob("*.yaml"))
    for case in (folder / "cases").glob("*.yaml"):
        if case.stem not in named and not case.stem.startswith(kept):
            case.unlink()
    return folder


@pytest.fixture
def edited(old: Path, tmp_path: Path) -> Edited:
    """A copy of the bundle with one text in one document replaced by another."""

    def edit(file: str, before: str, after: str, *, compiled: bool = False) -> Path:
        folder = Path(shutil.copytree(old, tmp_path / "support-triage"))
        text = (folder / file).read_text("utf-8")
        assert before in text
        (folder / file).write_text(text.replace(before, after), "utf-8")
        if compiled:
            done = compile_bundle(folder)
            for name, content in done.files.items():
                (folder / "rego" / name).write_text(content, "utf-8")
        return folder

    return edit


def shown(diff: DecisionDiff) -> set[tuple[str, str, str]]:
    return {(change.group, change.direction, change.about) for change in diff.changes}


def verdict_of(folder: Path, document: Any) -> str:
    """What an engine that the comparison did not use says."""
    assembly = assemble([compile_bundle(folder)])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    try:
        return str(point.decide(document).decision.verdict)
    finally:
        point.close()


def test_diff_of_a_bundle_with_itself_is_none_and_tries_nothing(old: Path) -> None:
    diff = decision_diff(old, old)
    assert (diff.label, diff.changes, diff.rego.hunks) == ("none", (), ())
    assert dict(diff.tried) == {"golden": 0, "recorded": 0, "generated": 0}


@pytest.mark.parametrize(
    ("file", "before", "after", "label", "expected"),
    [
        (
            "policy.yaml",
            "    list_tools: allow\n",
            "",
            "tightens",
            ("newly_refused", "tightens", "list_tools"),
        ),
        (
            "checkpoints.yaml",
            "arguments.limit > 20",
            "arguments.limit > 21",
            "none",
            ("other", "none", "search_docs"),  # a warning alone
        ),
        (
            "checkpoints.yaml",
            "redact: [/body]",
            "redact: [/body, /title]",
            "tightens",
            ("other", "tightens", "create_ticket"),
        ),
        (
            "checkpoints.yaml",
            'action: deny\n    control_version: "1.0"\n    eval_case_id: output_with_credential',
            'action: warn\n    control_version: "1.0"\n    eval_case_id: output_with_credential',
            "loosens",
            ("newly_allowed", "loosens", "emit"),
        ),
        (
            "policy.yaml",
            "    run_start: allow\n",
            "    run_start: allow\n    notify: allow\n",
            "loosens",
            ("newly_allowed", "loosens", "notify"),
        ),
    ],
)
def test_diff_of_one_change_has_its_label_and_a_witness_that_differs_elsewhere_too(
    old: Path, edited: Edited, file: str, before: str, after: str, label: str, expected: tuple[str, str, str]
) -> None:
    new = edited(file, before, after)
    diff = decision_diff(old, new, limit=FEW)
    assert (diff.label, expected in shown(diff)) == (label, True)
    change = next(c for c in diff.changes if (c.group, c.direction, c.about) == expected)
    assert [place.file for place in change.places if place.file.endswith(file)] != []
    witness = change.witness
    assert verdict_of(old, witness.old_input) == witness.old.verdict
    assert verdict_of(new, witness.new_input) == witness.new.verdict


def test_diff_of_two_opposite_changes_is_mixed(old: Path, edited: Edited) -> None:
    new = edited("policy.yaml", "    emit: allow\n", "    notify: allow\n")
    diff = decision_diff(old, new, limit=FEW)
    assert {("newly_allowed", "loosens", "notify"), ("newly_refused", "tightens", "emit")} <= shown(diff)
    assert diff.label == "mixed"


def test_diff_sees_a_reviewer_more(old: Path, edited: Edited) -> None:
    more = (
        "reviewers:\n  - id: second\n    human: Second Person\n    roles: [manager]\n"
        f"    keys:\n      - key_id: second-1\n        public_key: {generate_key()[1]}\n"
        '        not_before: "2026-01-01T00:00:00Z"\n        not_after: "2028-01-01T00:00:00Z"\n'
    )
    changes = decision_diff(old, edited("reviewers.yaml", "reviewers:\n", more), limit=6 * FEW).changes
    allowed = [c for c in changes if c.group == "newly_allowed" and c.about == "create_ticket"]
    voters = [[v["reviewer"] for v in c.witness.new_input["state"]["approval"]["votes"]] for c in allowed]
    assert ["second"] in voters
    assert {c.direction for c in changes} <= {"loosens", "none"}


def test_diff_of_a_version_alone_changes_no_decision(old: Path, edited: Edited) -> None:
    new = edited("bundle.yaml", 'version: "2026.04.07"', 'version: "2026.04.08"')
    text = (new / "approvals.yaml").read_text("utf-8")
    (new / "approvals.yaml").write_text(text.replace('"2026.04.07"', '"2026.04.08"'), "utf-8")
    diff = decision_diff(old, new, limit=FEW)
    assert (diff.label, diff.changes) == ("none", ())
    assert diff.rego.hunks != ()


def test_rego_hunks_have_their_yaml_line_on_both_sides_and_moved_rules_are_no_hunks(old: Path, edited: Edited) -> None:
    new = edited("checkpoints.yaml", "control_checkpoints:\n", "control_checkpoints:\n  # one more line\n")
    text = (new / "checkpoints.yaml").read_text("utf-8")
    (new / "checkpoints.yaml").write_text(text.replace("arguments.limit > 20", "arguments.limit > 30"), "utf-8")
    hunks = decision_diff(old, new, limit=0).rego.hunks
    assert [(h.change, h.rule) for h in hunks] == [
        ("changed", "_tool_execution_long_search_query_true"),
        ("changed", "_tool_execution_long_search_query_false"),
    ]
    assert hunks[0].old is not None
    assert hunks[0].new is not None
    assert (hunks[0].old.line, hunks[0].new.line) == (36, 37)
    assert hunks[0].lines[-3:-1] == ("-\t_v_number_arguments_limit > 20", "+\t_v_number_arguments_limit > 30")


def test_control_put_in_front_moves_the_others_and_changes_none(old: Path, edited: Edited) -> None:
    control = (
        "control_checkpoints:\n  - checkpoint: llm\n    policy_requirement: no_model_key\n    applies_to: ['*']\n"
        '    predicate: exists request.text and request.text matches "sk-"\n    action: deny\n'
        '    control_version: "1.0"\n    eval_case_id: output_with_credential\n    audit_fields: [action]\n'
    )
    new = edited("checkpoints.yaml", "control_checkpoints:\n", control)
    diff = decision_diff(old, new, limit=FEW)
    assert diff.rego.moved > 0
    assert {h.change for h in diff.rego.hunks} == {"added"}
    assert shown(diff) == {("newly_refused", "tightens", "model_call")}


def test_tarball_and_commit_are_sides_like_a_folder(
    old: Path, edited: Edited, tmp_path: Path, opa_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = edited("policy.yaml", "    emit: allow\n", "", compiled=True)
    # Another name for the copy, so that the version that is in the ledger is not asked for.
    (new / "releases.yaml").unlink(missing_ok=True)
    tarball = build([compile_bundle(new)], tmp_path / "dist", binary=opa_binary, trial=True).path
    top = tmp_path / "repository"
    shutil.copytree(old, top / "rules" / "support-triage")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "one"],
    ):
        subprocess.run(["git", *arguments], cwd=top, check=True)
    monkeypatch.chdir(top)
    diff = decision_diff("HEAD:rules/support-triage", tarball, limit=40)
    assert ("newly_refused", "tightens", "emit") in shown(diff)
    assert diff.label == "tightens"


@pytest.mark.parametrize("named", ["nowhere", "HEAD:nowhere", "no-such-revision:bundles", "--upload-pack=x:y", ":x"])
def test_side_that_is_none_is_an_error_and_not_an_empty_side(named: str) -> None:
    with pytest.raises(SideError):
        load_side(named)


def test_side_that_is_no_tarball_of_a_build_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "x.tar.gz"
    file.write_bytes(b"\x1f\x8bnot really")
    with pytest.raises(SideError):
        load_side(file)


def test_side_whose_yaml_is_wrong_says_where(edited: Edited) -> None:
    with pytest.raises(BundleError):
        load_side(edited("policy.yaml", "decision: deny", "decision: perhaps"))


@pytest.fixture(scope="module")
def golden(old: Path) -> dict[str, Any]:
    """A call that only the changed control refuses, with the bundle's own words filled in."""
    diff_input = decision_diff(old, old, limit=0)
    assert diff_input.changes == ()
    from gate.documents import load_cases
    from gate.release import case_document

    compiled = compile_bundle(old)
    assembly = assemble([compiled])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    facts = point.facts("support-triage-ref")
    case = next(c for c in load_cases(old) if c.id == "ticket_for_another_requester")
    sections = {
        "bundle": facts.bundle,
        "capabilities": facts.capabilities,
        "contracts": facts.contracts,
        "reviewers": facts.reviewers,
    }
    return case_document(case, sections)


def log(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    return path


RESULT = {
    "verdict": "deny",
    "reasons": [{"code": "configured_with_approval"}, {"code": "requester_principal_mismatch"}],
}


def test_recorded_decisions_are_told_where_they_can_be_and_only_there(
    old: Path, edited: Edited, golden: dict[str, Any], tmp_path: Path
) -> None:
    new = edited("checkpoints.yaml", "arguments.requester_id != identity.principal_id", 'arguments.queue == "billing"')
    masked = json.loads(json.dumps(golden))
    del masked["request"]["arguments"]
    bare = {key: value for key, value in golden.items() if key != "request"}
    allowed = {"verdict": "allow", "reasons": []}
    file = log(
        tmp_path / "log.jsonl",
        {"path": "gate/decision", "input": golden, "result": RESULT},
        {"path": "gate/decision", "input": masked, "erased": ["/input/request/arguments"], "result": RESULT},
        {"path": "gate/decision", "erased": ["/input"], "result": RESULT},
        {"path": "gate/decision", "input": golden, "result": allowed | {"verdict": "require_approval"}},
        {"path": "gate/decision", "input": bare},
        {"path": "gate/facts/document", "input": {"agent": {"agent_id": "x"}}},
        {
            "event_type": "tool_call_blocked",
            "payload": {
                "verdict": "deny",
                "capability": "create_ticket",
                "reasons": ["configured_with_approval", "requester_principal_mismatch"],
            },
        },
    )
    diff = decision_diff(old, new, decisions=[file], limit=0)
    assert [(one.name.rpartition(":")[2], one.why) for one in diff.unknown] == [
        ("2", "input_erased"),
        ("3", "no_input"),
        ("4", "not_reproduced"),
        ("5", "lacks_field"),
        ("7", "no_input"),
    ]
    assert diff.unknown[-1].alike > 0
    without = decision_diff(old, new, limit=0)
    assert diff.counts()["newly_allowed"] - without.counts()["newly_allowed"] == 1


def test_compressed_log_of_a_sidecar_is_read_and_what_is_no_decision_in_it_left_out(
    old: Path, golden: dict[str, Any], tmp_path: Path
) -> None:
    decided = {"path": "gate/decision", "masked": ["/input"], "input": {"now_ms": 1}, "result": {"verdict": "deny"}}
    text = "".join(json.dumps(line) + "\n" for line in ({"level": "warning", "msg": "as root"}, decided))
    file, none = tmp_path / "opa.log.gz", tmp_path / "none.log"
    file.write_bytes(gzip.compress(text.encode()))
    none.write_text('{"level": "warning"}\n', "utf-8")
    diff = decision_diff(old, old, decisions=[file, none])
    assert [(one.name, one.why) for one in diff.unknown] == [(f"{file}:2", "no_input")]
    assert f"`{none}` holds no decision" in diff.notes
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        decision_diff(old, old, decisions=[file])


def test_recorded_input_is_never_repeated(old: Path, edited: Edited, golden: dict[str, Any], tmp_path: Path) -> None:
    golden = json.loads(json.dumps(golden))
    golden["request"]["arguments"]["title"] = "zq-secret-zq"
    golden["operation"], golden["checkpoint"] = "notify", "output"
    file = log(tmp_path / "log.jsonl", {"path": "gate/decision", "input": golden})
    new = edited("policy.yaml", "    emit: allow\n", "    emit: allow\n    notify: allow\n")
    report = diff_report(decision_diff(old, new, decisions=[file], limit=0))
    assert "zq-secret-zq" not in json.dumps(report)
    assert [e.message for e in strict_validator(schema("diff")).iter_errors(report)] == []


@pytest.mark.parametrize("content", ["not json\n", "[1]\n", '{"a": NaN\n', '{"path": "gate/decision", "erased": 5}\n'])
def test_decisions_that_are_none_name_their_line(old: Path, tmp_path: Path, content: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("\n" + content, "utf-8")
    with pytest.raises(InputError, match="line 2"):
        decision_diff(old, old, decisions=[file])


def test_report_of_a_comparison_fits_its_schema(old: Path, edited: Edited) -> None:
    new = edited("policy.yaml", "    emit: allow\n", "")
    report = diff_report(decision_diff(old, new, limit=60))
    assert [e.message for e in strict_validator(schema("diff")).iter_errors(report)] == []
    assert report["label"] == "tightens"


def test_label_of_no_change_is_none(old: Path) -> None:
    diff = decision_diff(old, old)
    changed = dataclasses.replace(diff, changes=(_change("loosens"), _change("none")))
    assert (changed.label, changed.loosens) == ("loosens", True)
    assert dataclasses.replace(diff, changes=(_change("loosens"), _change("tightens"))).label == "mixed"


def _change(direction: str) -> Change:
    from gate.release.diff import Witness
    from gate.release.diff_batch import Outcome

    nothing = Outcome("deny")
    witness = Witness(origin="golden", name="x", patches=(), old=nothing, new=nothing, old_input={}, new_input={})
    return Change(group="other", direction=direction, about="x", count=1, witness=witness, places=())
