"""`gate diff`, `gate mutate`, `gate docs`, `gate releases` and `gate trace` as a user runs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_support import TENANT, World, agent_run, document, run
from opa_point import OpaPoint

from gate import Gate
from gate.cli.mutate import junit
from gate.compiler import assemble, compile_bundle
from gate.documents import schema, strict_validator
from gate.release.diff import Change, Witness
from gate.release.diff_batch import Outcome
from gate.release.diff_documents import ABSENT
from gate.release.docs import page_of
from gate.release.mutants import Mutant
from gate.release.mutate import Mutation, Verdict
from gate.release.page import as_markdown
from gate.trace import JsonlSink

pytestmark = pytest.mark.opa


@pytest.fixture
def looser(bundle: Path, tmp_path: Path) -> Path:
    """The bundle with an operation allowed that was not named."""
    folder = Path(shutil.copytree(bundle, tmp_path / "looser" / "my-bot"))
    text = (folder / "policy.yaml").read_text("utf-8")
    (folder / "policy.yaml").write_text(
        text.replace("    emit: allow\n", "    emit: allow\n    notify: allow\n"), "utf-8"
    )
    return folder


def test_diff_says_what_is_newly_allowed_with_its_line(bundle: Path, looser: Path) -> None:
    result = run("diff", bundle, looser, "--inputs", "60")
    line = (looser / "policy.yaml").read_text("utf-8").split("\n").index("    notify: allow") + 1
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.split("\n")[0] == f"{bundle} -> {looser}: loosens"
    assert "newly allowed: " in result.stdout
    assert f"    see      {looser}/policy.yaml:{line}" in result.stdout


@pytest.mark.parametrize(("fail_on", "code"), [("loosens", 3), ("any", 3), ("tightens", 0), ("unknown", 0)])
def test_diff_exits_as_fail_on_says(bundle: Path, looser: Path, fail_on: str, code: int) -> None:
    assert run("diff", bundle, looser, "--inputs", "40", "--fail-on", fail_on).exit_code == code


def test_diff_as_json_fits_its_schema(bundle: Path, looser: Path) -> None:
    found = document(run("diff", bundle, looser, "--inputs", "40", "--output", "json"))
    assert [e.message for e in strict_validator(schema("diff")).iter_errors(found)] == []
    assert (found["label"], found["counts"]["newly_allowed"] > 0) == ("loosens", True)


def test_diff_for_forges_names_file_and_line(bundle: Path, looser: Path) -> None:
    marks = run("diff", bundle, looser, "--inputs", "40", "--output", "github", "--fail-on", "loosens")
    assert marks.exit_code == 3
    assert marks.stdout.startswith(f"::error file={looser}/policy.yaml,line=")
    sarif = document(run("diff", bundle, looser, "--inputs", "40", "--output", "sarif"))
    (result, *_) = sarif["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("newly_allowed", "warning")
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (looser / "policy.yaml").as_uri()
    comment = run("diff", bundle, looser, "--inputs", "40", "--output", "markdown").stdout
    assert comment.startswith("### Policy decisions: **loosens**\n")
    assert comment.count("<details>") == comment.count("</details>") == 1


def test_diff_of_the_same_is_none_and_says_so(bundle: Path) -> None:
    result = run("diff", bundle, bundle, "--fail-on", "any")
    assert (result.exit_code, result.stderr) == (0, "note: both sides have the same rules; no input was generated\n")


def test_diff_of_what_is_no_bundle_is_an_error(bundle: Path, tmp_path: Path) -> None:
    result = run("diff", bundle, tmp_path / "nowhere")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: diff_side_unreadable: ")


def test_mutate_counts_every_mutant_and_fails_below_the_score(bundle: Path) -> None:
    text = (bundle / "policy.yaml").read_text("utf-8")
    result = run("mutate", bundle, "--search", "20", "--min-score", "1", "--strict", "--output", "json")
    found = document(result)
    assert [e.message for e in strict_validator(schema("mutate")).iter_errors(found)] == []
    assert found["total"] == sum(found["counts"].values()) == len(found["mutants"])
    assert found["counts"]["noticed"] > 0
    assert found["strict_score"] >= 0.95
    assert (found["counts"]["missed"], found["score"]) == (0, 1)
    assert result.exit_code == (3 if found["counts"]["undetermined"] else 0)
    noticed = [m for m in found["mutants"] if (m["kind"], m["what"]) == ("flip", "allow becomes deny")]
    assert ("noticed", "search_docs_allowed") in [(m["state"], m["case"]) for m in noticed]
    missed = [m for m in found["mutants"] if m["state"] == "missed"]
    assert [m for m in missed if m["difference"] is None] == []
    assert (bundle / "policy.yaml").read_text("utf-8") == text


def test_junit_of_mutants_fails_for_the_missed_and_skips_what_cannot_be_judged(bundle: Path) -> None:
    mutant = Mutant(file="policy.yaml", pointer="/policy/operations/emit", kind="drop", what="drop emit", value={})
    nothing = Outcome("deny")
    witness = Witness(
        origin="generated", name="emit", patches=(("/a", ABSENT),), old=nothing, new=nothing, old_input={}, new_input={}
    )
    change = Change(group="other", direction="none", about="emit", count=1, witness=witness, places=())
    found = Mutation(
        bundle="my-bot",
        cases=1,
        verdicts=(
            Verdict(mutant=mutant, state="noticed", line=3, case="x"),
            Verdict(mutant=mutant, state="missed", line=3, change=change),
            Verdict(mutant=mutant, state="refused", line=3),
            Verdict(mutant=mutant, state="undetermined", line=3),
        ),
    )
    suite = ElementTree.fromstring(junit(bundle, found))
    assert [[inner.tag for inner in case] for case in suite] == [[], ["failure"], ["skipped"], ["skipped"]]
    assert [i.get("message") for i in suite.iter("failure")] == ["emit with /a absent: deny -> deny"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    assert (found.score, found.strict_score) == (0.5, 1 / 3)


def test_mutate_of_a_bundle_whose_cases_fail_judges_nothing(bundle: Path) -> None:
    case = bundle / "cases" / "search_docs_allowed.yaml"
    case.write_text(case.read_text("utf-8").replace("verdict: allow", "verdict: deny"), "utf-8")
    result = run("mutate", bundle)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: mutate_cases_fail: 1 golden cases fail, `search_docs_allowed` first")


def test_docs_are_written_and_checked(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages"
    assert run("docs", bundle, "-o", out, "--check").exit_code == 3
    assert not out.exists()
    assert run("docs", bundle, "-o", out).exit_code == 0
    assert run("docs", bundle, "-o", out, "--check").exit_code == 0
    page = (out / "my-bot.md").read_text("utf-8")
    assert "| `send_message` | runs when approved | always |" in page
    assert "| `run_shell` | named to be refused, and not in the catalog |" in page
    for question in (
        "Is the bundle versioned?",
        "Can it be linked to releases and incidents?",
        "Is there a machine-readable approval contract?",
        "Are the required request fields clear?",
        "Is there a stable link between bundle and catalog?",
        "Does a trace lead to policy version and release identity?",
        "Are trusted verifier contracts explicit?",
    ):
        assert page.count(f"| {question} |") == 1
    html = (out / "my-bot.html").read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert "http" not in html.replace("http-equiv", "")


def test_docs_say_what_controls_hold_back_what_may_be_spent_and_what_outlives_a_compaction(repo: Path) -> None:
    page = as_markdown(page_of(compile_bundle(repo / "bundles" / "refund-desk")), shown=str)
    (row,) = (line for line in page.split("\n") if line.startswith("| `issue_refund` | runs |"))
    assert "is refused: `refund_manager_over_100` `refund_note_without_card`; needs approval: " in row
    assert "| `refunded_per_principal_a_day` | `issue_refund` `issue_manager_refund` | at most 50000 |" in page
    assert "| `run_budget` | everything that has an effect | at most 5 | effects | each run |" in page
    assert "| `refund-once-per-charge` | required |" in page
    assert "Nothing was measured yet: a compaction that is asked for is refused." in page
    assert "1 day, then `cancel_run`; when rejected `continue_without`" in page
    assert "| yes | for each of 2 capabilities that need or may need approval |" in page


def test_releases_of_a_bundle_without_a_ledger_are_none(bundle: Path) -> None:
    assert document(run("releases", bundle, "--output", "json"))["releases"] == []
    assert run("releases", bundle, "--at", "2026-01-01T00:00:00Z").exit_code == 3
    assert run("releases", bundle, "--at", "yesterday").stderr.startswith("error: timestamp_invalid")


@pytest.mark.parametrize("name", ["", "gone", "x" * 300])
def test_releases_where_no_bundle_is_are_an_error_and_not_none(tmp_path: Path, name: str) -> None:
    result = run("releases", tmp_path / name)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"{tmp_path / name}:1:1: bundle_")


@pytest.mark.parametrize(
    ("command", "code", "stderr"),
    [
        (("diff", "NAME", "b"), 1, "error: diff_side_unreadable: "),
        (("build", "BUNDLE", "--out", "NAME"), 1, "error: build_failed: "),
        (("validate", "NAME"), 5, ""),
        (("compaction-gate", "NAME", "--compactor", "truncate"), 1, "error: contract_unknown: "),
    ],
)
@pytest.mark.parametrize("kind", ["long", "loop"])
def test_name_that_leads_nowhere_is_an_error(
    bundle: Path, tmp_path: Path, command: tuple[str, ...], code: int, stderr: str, kind: str
) -> None:
    name = tmp_path / ("x" * 300 if kind == "long" else "loop")
    if kind == "loop":
        name.symlink_to(name)
    result = run(*({"NAME": name, "BUNDLE": bundle}.get(word, word) for word in command))
    assert result.exit_code == code
    assert result.stderr.startswith(stderr)


def test_releases_at_a_time_names_the_one_in_force(repo: Path) -> None:
    bundle = repo / "bundles" / "support-triage"
    (first, *_) = document(run("releases", bundle, "--output", "json"))["releases"]
    at = document(run("releases", bundle, "--at", first["released_at"], "--output", "json"))
    assert at["release"]["release_identity"] == first["release_identity"]
    assert run("releases", bundle, "--at", "2020-01-01T00:00:00Z").exit_code == 3


def traced(world: World, file: Path) -> None:
    """One message that waits for approval, told to a trace in `file`."""
    assembly = assemble([compile_bundle(world.bundle)])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    world.gate = Gate(point, world.store, environment="test", trace=JsonlSink(file))
    world.agent_run = agent_run(world.gate)
    world.ask()


def test_trace_leads_from_decision_to_rule_line_contract_and_approval(world: World, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    traced(world, file)
    result = run("trace", "trace-1", "--bundle", world.bundle, "--trace", file, *world.records, "--output", "json")
    found = document(result)
    step = next(s for s in found["steps"] if s["event_type"] == "tool_call_blocked")
    rules = {r["code"]: r["rules"] for r in step["reasons"]}
    (permit,) = rules["configured_with_approval"]
    lines = (world.bundle / "policy.yaml").read_text("utf-8").split("\n")
    assert (permit["file"], lines[permit["line"] - 1]) == (str(world.bundle / "policy.yaml"), "    send_message:")
    assert rules["approval_missing"][0]["file"].startswith("policies/gate/approval/")
    assert step["same_revision"] is True
    (approval,) = found["approvals"]
    assert (approval["status"], approval["capability"]) == ("pending", "send_message")
    assert approval["contract_at"]["file"] == str(world.bundle / "approvals.yaml")
    assert [(c["sound"], c["events"] > 0) for c in found["chains"]] == [(True, True)] * len(found["runs"])
    # The scaffolded bundle was never released: that is a doubt, and said.
    assert found["doubts"] == ["a revision that decided is not in the ledger"]
    assert result.exit_code == 3


def test_trace_of_an_executed_call_leads_to_who_signed_it_and_to_its_effect(world: World, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    traced(world, file)
    effect = world.break_write(key="intent-2", subject="Other hours")
    asked = ("trace", "trace-1", "--bundle", world.bundle, "--trace", file, *world.records)
    found = document(run(*asked, "--output", "json"))
    (told,) = found["effects"]
    (approval,) = (a for a in found["approvals"] if a["approval_id"] in told["approvals"])
    assert (told["status"], told["action_digest"]) == ("side_effect_unknown", effect.action_digest)
    assert (approval["status"], approval["action_digest"]) == ("consumed", effect.action_digest)
    assert [vote["decision"] for vote in approval["votes"]] == ["approved"]
    text = run(*asked).stdout
    signer = approval["votes"][0]
    assert f"  approved, signed by {signer['reviewer']} with key {signer['key_id']}\n" in text
    assert f"  under approval {approval['approval_id']}\n" in text
    # A start of a run names the rule that permits starts, and no other operation's.
    (start,) = (s for s in found["steps"] if s["payload"].get("operation") == "run_start")
    assert [r["rule"] for reason in start["reasons"] for r in reason["rules"]] == ["op.run_start"]
    assert text.count("decided, from here on, by ") == 1


def test_trace_whose_last_line_is_cut_still_says_what_it_holds_and_is_doubted(world: World, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    traced(world, file)
    asked = ("trace", "trace-1", "--bundle", world.bundle, "--trace", file, "--output", "json")
    whole = document(run(*asked))
    lines = file.read_bytes().count(b"\n")
    with file.open("ab") as more:
        more.write(b'{"at_ms": 1, "event')
    result = run(*asked)
    assert document(result)["steps"] == whole["steps"]
    assert (result.exit_code, whole["steps"] != []) == (3, True)
    assert f"note: 1 lines of the trace are no events, the first is line {lines + 1}\n" in result.stderr


def test_trace_that_nobody_knows_is_not_found(world: World) -> None:
    result = run("trace", "trace-x", "--bundle", world.bundle, *world.records)
    assert (result.exit_code, result.stdout) == (3, "nothing is known of trace trace-x\n")


def test_trace_of_another_tenant_is_not_found(world: World) -> None:
    world.ask()
    mine = run("trace", "trace-1", "--bundle", world.bundle, *world.records)
    other = run("trace", "trace-1", "--bundle", world.bundle, "--store", world.url, "--tenant", "tenant-b")
    assert (mine.exit_code, "approval " in mine.stdout) == (0, True)
    assert (other.exit_code, other.stdout) == (3, "nothing is known of trace trace-1\n")
    assert TENANT not in other.stdout


def test_trace_needs_something_to_look_through(bundle: Path, tmp_path: Path) -> None:
    assert run("trace", "x", "--bundle", bundle).exit_code == 2
    assert run("trace", "x", "--bundle", bundle, "--store", "sqlite:////x").exit_code == 2
    file = tmp_path / "trace.jsonl"
    file.write_text(json.dumps({"event_type": "x"}) + "\n", "utf-8")
    assert run("trace", "x", "--bundle", bundle, "--trace", file).stderr.startswith("error: trace_unreadable")
