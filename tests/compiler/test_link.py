from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from compiler_support import DOCUMENTS, edited, put

from gate.compiler import compile_bundle, link, link_approvals
from gate.errors import EXIT_BUNDLE_INVALID, BundleError, Problem

SECOND_CONTRACT = DOCUMENTS["approvals.yaml"].removeprefix("approval_contracts:\n")
SECOND_REVIEWER = """\
  - id: noa-manager
    human: Noa Lind
    roles: [manager]
    keys:
      - key_id: noa-manager-2026
        public_key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
        not_before: "2026-01-01T00:00:00Z"
        not_after: "2028-01-01T00:00:00Z"
"""
MIRA_KEY = "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A="


def problems_of(folder: Path, *edits: tuple[str, str, str]) -> tuple[Problem, ...]:
    with pytest.raises(BundleError) as caught:
        compile_bundle(put(folder, edited(*edits)))
    assert caught.value.exit_code == EXIT_BUNDLE_INVALID
    assert not (folder / "rego").exists()
    return caught.value.problems


def appended(file: str, text: str) -> tuple[str, str, str]:
    """An edit that puts `text` at the end of `file`."""
    return (file, DOCUMENTS[file], DOCUMENTS[file] + text)


# One bundle, broken in one place, for each code of the linker: (code, file, line, column), edits.
BROKEN: list[tuple[tuple[str, str, int, int], list[tuple[str, str, str]]]] = [
    (
        ("capability_without_policy", "capabilities.yaml", 2, 3),
        [("policy.yaml", "    search_docs:\n      decision: allow\n", "")],
    ),
    (
        ("capability_unknown", "policy.yaml", 14, 5),
        [("policy.yaml", "decision: deny", "decision: allow")],
    ),
    (
        ("capability_unknown", "bundle.yaml", 12, 7),
        [("bundle.yaml", "create_ticket: [/queue", "create_tickets: [/queue")],
    ),
    (
        ("mode_side_effect_conflict", "capabilities.yaml", 5, 18),
        [("capabilities.yaml", "side_effect: none", "side_effect: internal_write")],
    ),
    (
        ("identifying_arguments_missing", "capabilities.yaml", 20, 3),
        [("capabilities.yaml", "    identifying_arguments: [/queue, /title]\n", "")],
    ),
    (
        ("server_missing", "capabilities.yaml", 2, 3),
        [("capabilities.yaml", "    server: docs-mcp\n", "")],
    ),
    (
        ("egress_policy_missing", "capabilities.yaml", 2, 3),
        [("capabilities.yaml", "    allowed_egress: [docs.internal]\n", "")],
    ),
    (
        ("egress_policy_missing", "capabilities.yaml", 2, 3),
        [("capabilities.yaml", "allowed_egress: [docs.internal]", "allowed_egress: []")],
    ),
    (
        ("egress_without_network", "capabilities.yaml", 11, 5),
        [
            ("capabilities.yaml", "network_access: restricted", "network_access: none"),
            ("policy.yaml", "allow_network_access: [", "allow_network_access: [none, "),
        ],
    ),
    (
        ("network_access_not_allowed", "capabilities.yaml", 10, 21),
        [("capabilities.yaml", "network_access: restricted", "network_access: open")],
    ),
    (
        ("approval_contract_missing", "policy.yaml", 10, 17),
        [
            (
                "policy.yaml",
                "    search_docs:\n      decision: allow",
                "    search_docs:\n      decision: approval_required",
            ),
            ("capabilities.yaml", "    approval: none\n", "    approval: none\n    identifying_arguments: [/query]\n"),
        ],
    ),
    (
        ("approval_bypassed", "policy.yaml", 12, 17),
        [("policy.yaml", "decision: approval_required", "decision: allow")],
    ),
    (
        ("contract_unused", "policy.yaml", 12, 17),
        [
            ("policy.yaml", "decision: approval_required", "decision: allow"),
            ("capabilities.yaml", "approval: manager", "approval: none"),
        ],
    ),
    (
        ("argument_undeclared", "capabilities.yaml", 32, 37),
        [("capabilities.yaml", "identifying_arguments: [/queue, /title]", "identifying_arguments: [/queue, /titel]")],
    ),
    (
        ("approver_not_in_contract", "policy.yaml", 13, 17),
        [("policy.yaml", "approver: manager", "approver: intern")],
    ),
    (
        ("approval_role_not_in_contract", "capabilities.yaml", 30, 15),
        [("capabilities.yaml", "approval: manager", "approval: director")],
    ),
    (
        ("contract_duplicate", "approvals.yaml", 16, 17),
        [appended("approvals.yaml", SECOND_CONTRACT.replace("create-ticket-manager", "another"))],
    ),
    (
        ("contract_capability_unknown", "approvals.yaml", 16, 17),
        [
            appended(
                "approvals.yaml",
                SECOND_CONTRACT.replace("create-ticket-manager", "another").replace("create_ticket", "drop_table"),
            )
        ],
    ),
    (
        ("contract_risk_tier_differs", "approvals.yaml", 4, 16),
        [("approvals.yaml", "risk_tier: high", "risk_tier: medium")],
    ),
    (
        ("contract_bundle_version_differs", "approvals.yaml", 5, 21),
        [("approvals.yaml", '"2026.04.07"', '"2026.04.06"')],
    ),
    (
        ("contract_release_identity_differs", "approvals.yaml", 6, 23),
        [("approvals.yaml", "release-canary", "release-stable")],
    ),
    (
        ("contract_capability_denied", "approvals.yaml", 3, 17),
        [("policy.yaml", "      decision: approval_required\n      approver: manager\n", "      decision: deny\n")],
    ),
    (
        ("reviewer_role_unheld", "approvals.yaml", 7, 35),
        [("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager, auditor]")],
    ),
    (
        ("quorum_unreachable", "approvals.yaml", 8, 13),
        [("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 2")],
    ),
    (
        ("reviewer_duplicate", "reviewers.yaml", 10, 9),
        [appended("reviewers.yaml", SECOND_REVIEWER.replace("id: noa-manager\n", "id: mira-manager\n"))],
    ),
    (
        ("reviewer_key_duplicate", "reviewers.yaml", 14, 17),
        [appended("reviewers.yaml", SECOND_REVIEWER.replace("noa-manager-2026", "mira-manager-2026"))],
    ),
    (
        ("reviewer_key_duplicate", "reviewers.yaml", 15, 21),
        [appended("reviewers.yaml", SECOND_REVIEWER.replace("A" * 43 + "=", MIRA_KEY))],
    ),
]


@pytest.mark.parametrize(("expected", "edits"), BROKEN, ids=[f"{b[0][0]}-{b[0][1]}-{b[0][2]}" for b in BROKEN])
def test_bundle_that_does_not_link_is_refused_at_the_position_of_what_is_wrong(
    tmp_path: Path, expected: tuple[str, str, int, int], edits: list[tuple[str, str, str]]
) -> None:
    problems = problems_of(tmp_path / "triage", *edits)
    found = [(p.code, Path(p.file).name, p.line, p.column) for p in problems]
    assert found == [expected], problems


def test_contract_id_used_twice_is_refused_beside_the_capability_used_twice(tmp_path: Path) -> None:
    problems = problems_of(tmp_path / "triage", appended("approvals.yaml", SECOND_CONTRACT))
    assert [(p.code, p.line, p.column) for p in problems] == [
        ("contract_duplicate", 15, 18),
        ("contract_duplicate", 16, 17),
    ]


@pytest.mark.parametrize("name", ["Support", "2nd", "in", "sup.port", "-x", "caf\u00e9"])
def test_folder_that_cannot_become_a_package_is_refused(tmp_path: Path, name: str) -> None:
    problems = problems_of(tmp_path / name)
    assert [(p.code, Path(p.file).name, p.line, p.column) for p in problems] == [
        ("bundle_name_invalid", "bundle.yaml", 1, 1)
    ]
    assert problems[0].message.isascii()


def test_table_of_broken_bundles_covers_every_code_of_the_linker() -> None:
    codes = {
        node.args[1].value
        for module in (link, link_approvals)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "problem"
        and isinstance(node.args[1], ast.Constant)
    }
    assert codes == {expected[0] for expected, _ in BROKEN} | {"bundle_name_invalid"}


def test_problems_of_all_documents_are_reported_at_once_in_order(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path / "triage",
        ("policy.yaml", "decision: deny", "decision: allow"),
        ("capabilities.yaml", "    server: docs-mcp\n", ""),
        ("approvals.yaml", "risk_tier: high", "risk_tier: medium"),
        ("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 3"),
        ("bundle.yaml", "create_ticket: [/queue", "create_tickets: [/queue"),
    )
    assert [f"{Path(p.file).name}:{p.line}:{p.column}: {p.code}" for p in problems] == [
        "approvals.yaml:4:16: contract_risk_tier_differs",
        "approvals.yaml:8:13: quorum_unreachable",
        "bundle.yaml:12:7: capability_unknown",
        "capabilities.yaml:2:3: server_missing",
        "policy.yaml:14:5: capability_unknown",
    ]


def test_hint_names_the_position_of_the_other_document(tmp_path: Path) -> None:
    folder = tmp_path / "triage"
    (problem,) = problems_of(folder, ("approvals.yaml", "risk_tier: high", "risk_tier: medium"))
    assert (problem.message, problem.hint) == (
        "contract says risk tier `medium`, the catalog says `high`",
        f"see {folder / 'capabilities.yaml'}:26:16",
    )


# B7: a typo or an empty list of approvers must never read as "no approval needed".
@pytest.mark.parametrize(
    ("old", "new", "line", "column"),
    [
        ("    on_reject: stop_run", "    on_reject: stop_run\n    aprovals: 2", 15, 5),
        ("required_reviewers: [manager]", "required_reviewers: []", 7, 25),
        ("required_reviewers: [manager]", "approvers: []", 7, 5),
        ("required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 0", 8, 13),
        ("required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: -1", 8, 13),
        ("required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: null", 8, 13),
        ("required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: '1'", 8, 13),
        ("required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 1.0", 8, 13),
        ("required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 3", 8, 13),
        ("allowed_decisions: [approved, rejected]", "allowed_decisions: []", 9, 24),
        ("allowed_decisions: [approved, rejected]", "allowed_decisions: [aproved]", 9, 25),
        ("allowed_decisions: [approved, rejected]", "allowed_decisions: [rejected]", 9, 24),
        ("allowed_decisions: [approved, rejected]", "alowed_decisions: [approved]", 9, 5),
    ],
)
def test_mistake_in_an_approval_contract_fails_the_bundle_and_writes_nothing(
    tmp_path: Path, old: str, new: str, line: int, column: int
) -> None:
    problems = problems_of(tmp_path / "triage", ("approvals.yaml", old, new))
    at = [(Path(p.file).name, p.line, p.column) for p in problems]
    assert ("approvals.yaml", line, column) in at, [str(p) for p in problems]


def test_two_ids_of_one_human_do_not_make_a_quorum_of_two(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path / "triage",
        ("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 2"),
        appended("reviewers.yaml", SECOND_REVIEWER.replace("Noa Lind", "' MIRA okafor '")),
    )
    assert [p.code for p in problems] == ["quorum_unreachable"]


def test_quorum_of_two_humans_links(tmp_path: Path) -> None:
    folder = put(
        tmp_path / "triage",
        edited(
            ("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 2"),
            appended("reviewers.yaml", SECOND_REVIEWER),
        ),
    )
    assert compile_bundle(folder).bundle.contracts[0].quorum == 2
