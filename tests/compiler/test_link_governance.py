"""Agent, controls, approval defaults, lineage and golden cases against the rest of the bundle, and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiler_support import DOCUMENTS, call, compiled, edited, point_of, put

from gate.compiler import Compiled, compile_bundle
from gate.compiler.link_cases import cases_about, link_cases, linked_cases, observed, refers_to_cases
from gate.documents import Case, load_bundle
from gate.errors import EXIT_BUNDLE_INVALID, BundleError

AGENT = """\
agent:
  id: support-triage-ref
  display_name: Support triage
  owner_team: agent_platform
  runtime_principal: svc-support-triage-ref
  approved_capabilities: [search_docs, create_ticket]
"""
CONTROLS = """\
controls:
  require: [registry_reviewed, create_ticket_approval_required, duplicate_ticket_eval_passed]
  block_if: [direct_tool_access_present]
  required_approval_roles: [manager]
"""
DEFAULTS = """\
approvals:
  default_reviewer: manager
  escalation_sla_minutes: 30
  delegated_authorization:
    reviewer_required_for_user_delegation: manager
    require_principal_binding: true
    require_scope_visibility: true
"""
GOVERNED = {
    **DOCUMENTS,
    "agent.yaml": AGENT,
    "controls.yaml": CONTROLS,
    "approvals.yaml": DEFAULTS + DOCUMENTS["approvals.yaml"] + "    audit_fields: [approval_id, delegated_scope]\n",
    "bundle.yaml": DOCUMENTS["bundle.yaml"].replace("reviewers.yaml]", "reviewers.yaml, agent.yaml, controls.yaml]")
    + "  change_id: chg-2\n  artifact_lineage:\n    - {version: '2026.04.06', change_id: chg-1}\n",
}
SECOND_REVIEWER = """\
  - id: otto
    human: Otto Berg
    roles: [auditor]
    keys:
      - key_id: otto-2026
        public_key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
        not_before: "2026-01-01T00:00:00Z"
        not_after: "2028-01-01T00:00:00Z"
"""

# One sound bundle broken in one place: (code, file, line, column, place named by the hint), edits.
Edit = tuple[str, str, str]
BROKEN: list[tuple[tuple[str, str, int, int, str], list[Edit]]] = [
    (
        ("agent_without_inventory", "bundle.yaml", 6, 37, "agent.yaml:2:7"),
        [("bundle.yaml", "[support-triage-ref]", "[support-triage-ref, another]")],
    ),
    (
        ("inventory_capability_unknown", "agent.yaml", 6, 55, "capabilities.yaml:1:1"),
        [("agent.yaml", "create_ticket]", "create_ticket, send_mail]")],
    ),
    (
        ("capability_not_inventoried", "capabilities.yaml", 2, 3, "agent.yaml:6:26"),
        [("agent.yaml", "[search_docs, ", "[")],
    ),
    (
        ("runtime_principal_shared", "agent.yaml", 5, 22, "capabilities.yaml:25:21"),
        [("agent.yaml", "svc-support-triage-ref", "SVC-ticket-writer")],
    ),
    (
        ("runtime_principal_shared", "agent.yaml", 5, 22, "reviewers.yaml:2:9"),
        [("agent.yaml", "svc-support-triage-ref", "mira-manager")],
    ),
    (
        ("reviewer_role_unheld", "approvals.yaml", 2, 21, "reviewers.yaml:1:1"),
        [("approvals.yaml", "default_reviewer: manager", "default_reviewer: auditor")],
    ),
    (
        ("reviewer_role_unheld", "controls.yaml", 4, 29, "reviewers.yaml:1:1"),
        [("controls.yaml", "[manager]", "[auditor]")],
    ),
    (
        ("delegation_reviewer_unreachable", "approvals.yaml", 14, 25, "approvals.yaml:5:44"),
        [
            ("approvals.yaml", "delegation: manager", "delegation: auditor"),
            ("reviewers.yaml", DOCUMENTS["reviewers.yaml"], DOCUMENTS["reviewers.yaml"] + SECOND_REVIEWER),
        ],
    ),
    (
        ("delegated_scope_not_audited", "approvals.yaml", 22, 19, "approvals.yaml:7:31"),
        [("approvals.yaml", ", delegated_scope]", "]")],
    ),
    (
        ("delegated_authorization_contradicted", "approvals.yaml", 8, 23, "runtime-controls.yaml"),
        [("approvals.yaml", "visibility: true\n", "visibility: true\n    on_scope_revoked: cancel_or_reapprove\n")],
    ),
    (
        ("delegated_authorization_contradicted", "approvals.yaml", 8, 27, "runtime-controls.yaml"),
        [("approvals.yaml", "visibility: true\n", "visibility: true\n    subagent_inheritance: explicit_only\n")],
    ),
    (
        ("controls_capability_unknown", "controls.yaml", 2, 32, "capabilities.yaml:1:1"),
        [("controls.yaml", "create_ticket_approval_required", "send_mail_approval_required")],
    ),
    (
        ("control_contradicted", "controls.yaml", 3, 14, "controls.yaml:2:13"),
        [("controls.yaml", "[direct_tool_access_present]", "[registry_reviewed]")],
    ),
    (
        ("lineage_contains_itself", "bundle.yaml", 15, 17, "bundle.yaml:3:12"),
        [("bundle.yaml", "{version: '2026.04.06'", "{version: '2026.04.07'")],
    ),
    (
        ("lineage_change_reused", "bundle.yaml", 15, 42, "bundle.yaml:13:14"),
        [("bundle.yaml", "change_id: chg-1", "change_id: chg-2")],
    ),
]


def governed(*edits: Edit) -> dict[str, str]:
    documents = dict(GOVERNED)
    for file, old, new in edits:
        assert documents[file].count(old) == 1, (file, old)
        documents[file] = documents[file].replace(old, new)
    return documents


def problems_of(folder: Path, documents: dict[str, str]) -> list[tuple[str, str, int, int, str]]:
    with pytest.raises(BundleError) as caught:
        compile_bundle(put(folder, documents))
    assert caught.value.exit_code == EXIT_BUNDLE_INVALID
    return [(p.code, Path(p.file).name, p.line, p.column, p.hint) for p in caught.value.problems]


@pytest.mark.parametrize(("expected", "edits"), BROKEN, ids=[f"{e[0][0]}-{n}" for n, e in enumerate(BROKEN)])
def test_disagreement_has_its_code_and_names_both_places(
    tmp_path: Path, expected: tuple[str, str, int, int, str], edits: list[Edit]
) -> None:
    ((code, file, line, column, hint),) = problems_of(tmp_path / "triage", governed(*edits))
    assert (code, file, line, column) == expected[:4]
    assert f"{tmp_path / 'triage'}/{expected[4]}" in hint


def test_agent_outside_the_bundle_leaves_the_bundles_own_agent_without_inventory(tmp_path: Path) -> None:
    documents = governed(("agent.yaml", "id: support-triage-ref\n", "id: another\n"))
    own, other = problems_of(tmp_path / "triage", documents)
    assert own[:4] == ("agent_not_in_bundle", "agent.yaml", 2, 7)
    assert "/bundle.yaml:6:16" in own[4]
    assert other[:4] == ("agent_without_inventory", "bundle.yaml", 6, 17)
    assert "/agent.yaml:2:7" in other[4]


def test_sound_governed_bundle_links(tmp_path: Path) -> None:
    assert compile_bundle(put(tmp_path / "triage", governed())).bundle.agent is not None


@pytest.mark.parametrize(
    ("word", "runtime"),
    [
        ("on_scope_revoked: cancel_run", None),
        ("subagent_inheritance: denied_by_default", None),
        ("on_scope_revoked: cancel_run", "authorization: {on_authorization_revoke: refuse}"),
        ("on_scope_revoked: cancel_or_reapprove", "authorization: {on_authorization_revoke: reauthorize}"),
        (
            "subagent_inheritance: explicit_only",
            "orchestration: {worker_inheritance_policy: explicit_only, worker_capability_subset: [search_docs]}",
        ),
    ],
)
def test_word_about_delegation_that_runtime_controls_carry_out_links(
    tmp_path: Path, word: str, runtime: str | None
) -> None:
    documents = governed(("approvals.yaml", "visibility: true\n", f"visibility: true\n    {word}\n"))
    if runtime is not None:
        documents["runtime-controls.yaml"] = f"runtime_controls:\n  {runtime}\n"
        documents["bundle.yaml"] = documents["bundle.yaml"].replace(
            "controls.yaml]", "controls.yaml, runtime-controls.yaml]"
        )
    assert compile_bundle(put(tmp_path / "triage", documents)).package == "triage"


@pytest.mark.parametrize(
    ("name", "file", "line"),
    [
        ("run_001", "policy.yaml", 3),
        ("run_precheck.deny_if_principal_missing", "policy.yaml", 4),
        ("operations.emit", "policy.yaml", 7),
        ("op.run_start", "policy.yaml", 6),
        ("capabilities.run_shell", "policy.yaml", 14),
        ("cap_210", "policy.yaml", 11),
        ("create-ticket-manager", "approvals.yaml", 9),
    ],
)
def test_deprecated_rule_in_force_names_where_it_stands(tmp_path: Path, name: str, file: str, line: int) -> None:
    documents = governed(("bundle.yaml", "  change_id: chg-2\n", f"  deprecated_rules: [gone, {name}]\n"))
    ((code, where, at, column, hint),) = problems_of(tmp_path / "triage", documents)
    assert (code, where, at, column) == ("deprecated_rule_in_force", "bundle.yaml", 13, 28)
    assert f"/{file}:{line}:" in hint


def test_deprecated_rule_that_is_gone_links(tmp_path: Path) -> None:
    documents = governed(
        ("bundle.yaml", "  change_id: chg-2\n", "  deprecated_rules: [gone, capabilities.send_mail]\n")
    )
    assert '"deprecated_rules": ["gone", "capabilities.send_mail"]' in rego_of(tmp_path, documents, "bundle.rego")


def test_capability_that_the_policy_only_denies_needs_no_approval_of_the_inventory(tmp_path: Path) -> None:
    documents = governed(
        ("policy.yaml", "    search_docs:\n      decision: allow\n", "    search_docs:\n      decision: deny\n"),
        ("agent.yaml", "[search_docs, ", "["),
    )
    result = compile_bundle(put(tmp_path / "triage", documents))
    assert decided(result, call(result, "search_docs")) == ("deny", ["capability_not_in_inventory", "configured_deny"])


def test_contract_takes_reviewer_and_wait_from_the_defaults(tmp_path: Path) -> None:
    documents = governed(
        ("approvals.yaml", "    required_reviewers: [manager]\n", ""),
        ("approvals.yaml", "      max_wait_seconds: 1800\n", ""),
        ("approvals.yaml", "escalation_sla_minutes: 30", "escalation_sla_minutes: 7"),
    )
    (contract,) = compile_bundle(put(tmp_path / "triage", documents)).bundle.contracts
    assert (contract.required_reviewers, contract.max_wait_seconds) == (("manager",), 420)


def test_contract_without_reviewer_and_defaults_is_refused_where_it_stands(tmp_path: Path) -> None:
    documents = edited(
        ("approvals.yaml", "    required_reviewers: [manager]\n", ""),
        ("approvals.yaml", "      max_wait_seconds: 1800\n", ""),
    )
    with pytest.raises(BundleError) as caught:
        load_bundle(put(tmp_path / "triage", documents))
    assert [(p.code, p.line, p.message) for p in caught.value.problems] == [
        ("missing_key", 2, "approvals.default_reviewer is required"),
        ("missing_key", 9, "approvals.escalation_sla_minutes is required"),
    ]


def test_audit_fields_are_part_of_what_a_reviewer_signs(tmp_path: Path) -> None:
    digests = {
        fields: contract_digest(compile_bundle(put(tmp_path / name / "triage", governed(*edits))))
        for name, fields, edits in (
            ("one", "two fields", []),
            ("two", "three fields", [("approvals.yaml", ", delegated_scope]", ", delegated_scope, status]")]),
        )
    }
    assert len(set(digests.values())) == 2
    # Left out it stays out, so that the approvals of a contract that keeps nothing go on holding.
    assert '"audit_fields"' not in compiled(tmp_path / "plain" / "triage").rego["approvals.rego"]


def test_agent_cannot_act_for_its_own_principal(tmp_path: Path) -> None:
    result = compile_bundle(put(tmp_path / "triage", governed()))
    document = call(result, "search_docs")
    assert decided(result, document) == ("allow", ["configured_allow"])
    for section in (document["identity"], document["state"]["run"]):
        section |= {"principal_id": "svc-support-triage-ref", "delegated_principal_id": "svc-support-triage-ref"}
    assert decided(result, document) == ("deny", ["configured_allow", "runtime_principal_delegated"])


def test_controls_compile_to_one_rule_each_with_its_source(tmp_path: Path) -> None:
    text = rego_of(tmp_path, governed(), "controls.rego")
    assert (
        '# METADATA\n# title: "require create_ticket_approval_required"\n# custom:\n'
        '#   source: "controls.yaml#/controls/require/1"\n'
        'required_controls["create_ticket_approval_required"] := {\n'
        '\t"at": 1,\n\t"kind": "approval_required",\n\t"subject": "create_ticket",\n}\n'
    ) in text
    assert 'blocking_controls["direct_tool_access_present"] := {\n\t"at": 0,' in text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("create_ticket_approval_required", ("approval_required", "create_ticket")),
        ("create_ticket_idempotency_key_required", ("idempotency_key_required", "create_ticket")),
        ("duplicate_ticket_eval_passed", ("eval_passed", "duplicate_ticket")),
        ("golden_cases_passed", ("golden_cases_passed", "")),
        ("policy_traces_present", ("policy_traces_present", "")),
        ("registry_reviewed", ("signal", "")),
        ("_approval_required", ("signal", "")),
        ("eval_passed", ("signal", "")),
        ("create_ticket_approval_required_soon", ("signal", "")),
    ],
)
def test_name_of_a_control_says_how_it_is_observed(name: str, kind: tuple[str, str]) -> None:
    assert observed(name) == kind


def test_case_is_about_what_its_id_holds_as_whole_words() -> None:
    cases = [case(name) for name in ("duplicate_ticket", "ctl-duplicate-ticket-2", "duplicate_tickets", "ticket")]
    assert [c.id for c in cases_about("duplicate_ticket", cases)] == ["duplicate_ticket", "ctl-duplicate-ticket-2"]


def test_bundle_names_golden_cases_that_are_there(tmp_path: Path) -> None:
    bundle = load_bundle(put(tmp_path / "triage", governed()))
    assert refers_to_cases(bundle)
    assert link_cases(bundle, [case("no_duplicate_ticket")]) == []
    (problem,) = link_cases(bundle, [case("something_else")])
    assert (problem.code, Path(problem.file).name, problem.line, problem.column) == (
        "eval_case_unknown",
        "controls.yaml",
        2,
        65,
    )
    with pytest.raises(BundleError, match="1 problem"):
        linked_cases(bundle)


def test_control_checkpoint_names_a_golden_case_that_is_there(tmp_path: Path) -> None:
    documents = edited(("bundle.yaml", "reviewers.yaml]", "reviewers.yaml, checkpoints.yaml]"))
    documents["checkpoints.yaml"] = """\
control_checkpoints:
  - checkpoint: tool_execution
    policy_requirement: no_write
    applies_to: [create_ticket]
    predicate: risk_tier == "high"
    action: deny
    control_version: "1"
    eval_case_id: ticket_denyed
    audit_fields: [action]
"""
    bundle = load_bundle(put(tmp_path / "triage", documents))
    assert link_cases(bundle, [case("ticket_denyed")]) == []
    (problem,) = link_cases(bundle, [case("ticket_denied")])
    assert (problem.code, problem.line, problem.column, problem.hint) == (
        "eval_case_unknown",
        8,
        19,
        "did you mean `ticket_denied`?",
    )


def test_bundle_that_names_no_case_needs_none(tmp_path: Path) -> None:
    bundle = load_bundle(put(tmp_path / "triage"))
    assert not refers_to_cases(bundle)
    assert link_cases(bundle, []) == []


def case(name: str) -> Case:
    return Case(id=name, title=name, document={}, expect_verdict="allow", expect_reasons=(), file=f"{name}.yaml")


def rego_of(tmp_path: Path, documents: dict[str, str], file: str) -> str:
    return compile_bundle(put(tmp_path / "triage", documents)).rego[file]


def contract_digest(result: Compiled) -> str:
    agent_id = result.bundle.meta.agent_ids[0]
    return str(point_of(result).facts(agent_id).contracts["create_ticket"]["contract_digest"])


def decided(result: Compiled, document: dict[str, Any]) -> tuple[str, list[str]]:
    decision = point_of(result).decide(document).decision
    return str(decision.verdict), list(decision.codes)
