"""What one approval contract promises must be possible, and names must be told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiler_support import DOCUMENTS, compiled, edited, opa_value, put

from gate.compiler import compile_bundle
from gate.compiler.names import folded, plain
from gate.errors import BundleError

APPROVALS, REVIEWERS = "approvals.yaml", "reviewers.yaml"
Edit = tuple[str, str, str]

DEFAULTS: Edit = (
    APPROVALS,
    "approval_contracts:",
    "approvals: {default_reviewer: auditor, escalation_sla_minutes: 1}\napproval_contracts:",
)
NOA = """\
  - id: noa
    human: Noa Lind
    roles: [auditor]
    keys:
      - key_id: noa-2026
        public_key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
        not_before: "2026-01-01T00:00:00Z"
        not_after: "2028-01-01T00:00:00Z"
"""
SECOND: Edit = (REVIEWERS, DOCUMENTS[REVIEWERS], DOCUMENTS[REVIEWERS] + NOA)
BOTH: Edit = (APPROVALS, "required_reviewers: [manager]", "required_reviewers: [manager, auditor]")


def contract(text: str) -> Edit:
    return (APPROVALS, "    on_reject: stop_run", f"    on_reject: stop_run\n    {text}")


def runtime(text: str) -> Edit:
    return (APPROVALS, "      pause_allowed: true", f"      pause_allowed: true\n      {text}")


ASK_AGAIN: Edit = (APPROVALS, "on_expiry: cancel_run", "on_expiry: request_again")
NO_WAIT: Edit = (APPROVALS, "      max_wait_seconds: 1800\n", "")
STANDING = "standing: {max_uses: 2, valid_seconds: 60, scope: session}"
ROLES = [f"r{n}" for n in range(5)]

BROKEN: dict[str, tuple[set[str], list[Edit]]] = {
    "one human for two roles": (
        {"roles_unreachable", "quorum_unreachable"},
        [
            (APPROVALS, "required_reviewers: [manager]", "required_reviewers: [manager, auditor]"),
            (REVIEWERS, "roles: [manager]", "roles: [manager, auditor]"),
            contract("all_roles: true"),
        ],
    ),
    "quorum below the roles": ({"quorum_below_roles"}, [SECOND, BOTH, contract("all_roles: true\n    quorum: 1")]),
    "more roles than can be read": (
        {"all_roles_too_many"},
        [
            (APPROVALS, "required_reviewers: [manager]", f"required_reviewers: [manager, {', '.join(ROLES)}]"),
            (REVIEWERS, "roles: [manager]", f"roles: [manager, {', '.join(ROLES)}]"),
            contract("all_roles: true\n    quorum: 1"),
        ],
    ),
    "delegation without a delegate": ({"delegation_role_missing"}, [contract("delegation: true")]),
    "withdrawal by a role nobody holds": ({"reviewer_role_unheld"}, [contract("withdrawal: {roles: [auditor]}")]),
    "escalation without defaults": ({"missing_key"}, [runtime("escalation: default_reviewer")]),
    "escalation after the end": (
        {"escalation_never"},
        [
            DEFAULTS,
            SECOND,
            (APPROVALS, "max_wait_seconds: 1800", "max_wait_seconds: 60"),
            runtime("escalation: default_reviewer"),
        ],
    ),
    "escalation to whoever may decide anyway": (
        {"escalation_idle"},
        [DEFAULTS, SECOND, BOTH, runtime("escalation: default_reviewer")],
    ),
    "escalation where each role must vote": (
        {"escalation_with_all_roles"},
        [DEFAULTS, SECOND, contract("all_roles: true"), runtime("escalation: default_reviewer")],
    ),
    "waiting where no run may wait": (
        {"pause_contradicted"},
        [(APPROVALS, "pause_allowed: true", "pause_allowed: false\n      while_pending: pause_run")],
    ),
    "standing that cancels runs": ({"standing_cancels_run"}, [NO_WAIT, contract(STANDING)]),
    "standing that waits": ({"max_wait_idle"}, [ASK_AGAIN, contract(STANDING)]),
    "standing with an argument nobody declared": (
        {"argument_undeclared"},
        [ASK_AGAIN, NO_WAIT, contract(STANDING.replace("session}", "session, free_arguments: [/titel]}"))],
    ),
    "standing with one use": (
        {"schema_range"},
        [ASK_AGAIN, NO_WAIT, contract(STANDING.replace("max_uses: 2", "max_uses: 1"))],
    ),
    "name in which a look-alike can hide": (
        {"reviewer_name_ambiguous"},
        [(REVIEWERS, "human: Mira Okafor", 'human: "M\\u0456ra Okafor"')],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_contract_that_cannot_be_kept_does_not_compile(name: str, tmp_path: Path) -> None:
    codes, edits = BROKEN[name]
    with pytest.raises(BundleError) as caught:
        compile_bundle(put(tmp_path, edited(*edits)))
    assert {problem.code for problem in caught.value.problems} == codes
    assert all(problem.line > 0 for problem in caught.value.problems)
    assert not (tmp_path / "rego").exists()


def test_contract_that_states_nothing_new_keeps_its_compiled_form(tmp_path: Path) -> None:
    plain_contract = compiled(tmp_path / "plain").bundle.contracts[0]
    explicit = compiled(
        tmp_path / "explicit",
        contract("all_roles: false\n    delegation: false\n    withdrawal: {requester_may_cancel: false}"),
        runtime("while_pending: keep_running\n      escalation: none"),
    ).bundle.contracts[0]
    assert explicit == plain_contract


def test_quorum_of_all_roles_is_their_number(tmp_path: Path) -> None:
    assert compiled(tmp_path, SECOND, BOTH, contract("all_roles: true")).bundle.contracts[0].quorum == 2


def test_life_of_a_standing_approval_is_its_own(tmp_path: Path) -> None:
    made = compiled(tmp_path, ASK_AGAIN, NO_WAIT, contract(STANDING)).bundle.contracts[0]
    assert made.max_wait_seconds == 60


NAMES = ["Mira Okafor", "mlra0kafor", " M1RA okafor ", "rnira", "vvill", "a|b", "Ines  Ferreira", "x-y_z.q@e.com", ""]


@pytest.mark.opa
def test_names_are_folded_as_the_policies_fold_them(repo: Path, opa_binary: Path) -> None:
    names = repo / "policies" / "gate" / "approval" / "names" / "names.rego"
    words = ", ".join(f'"{name}"' for name in NAMES)
    query = f"[data.gate.approval.names.folded(name) | some name in [{words}]]"
    assert opa_value(opa_binary, query, names) == [folded(name) for name in NAMES]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Mira Okafor", True),
        (" x ", True),
        ("Jos\u00e9", False),
        ("\u0430lice", False),
        ('a"b', False),
        ("a\\b", False),
    ],
)
def test_name_is_plain_only_in_printable_ascii(name: str, answer: bool) -> None:
    assert plain(name) is answer
