"""A bundle folder: typed when it is sound, every problem of every file when it is not."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from gate.documents import load_bundle, with_document
from gate.documents.models import (
    ApprovalContract,
    BundleMeta,
    CapabilityPolicy,
    PolicyDocument,
    Reviewer,
    ReviewerKey,
)
from gate.errors import EXIT_BUNDLE_INVALID, BundleError


def report(folder: Path) -> list[str]:
    """`name:line:column code` of each problem, in the order of the report."""
    with pytest.raises(BundleError) as caught:
        load_bundle(folder)
    assert caught.value.exit_code == EXIT_BUNDLE_INVALID
    return [f"{p.file.removeprefix(f'{folder}/')}:{p.line}:{p.column} {p.code}" for p in caught.value.problems]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_sound_bundle_is_read_into_typed_documents(bundle_folder: Path) -> None:
    bundle = load_bundle(bundle_folder)
    assert (bundle.folder, bundle.name) == (bundle_folder, "support-triage")
    assert bundle.meta == BundleMeta(
        bundle_id="policy-support-triage-2026-04-07",
        version="2026.04.07",
        owner_team="platform-safety",
        agent_ids=("support-triage-ref",),
        artifacts=("policy.yaml", "capabilities.yaml", "approvals.yaml", "reviewers.yaml"),
        contract_version="capability-contract-v3",
        release_identity="release-support-triage-2026-04-07-canary",
        show_arguments={"create_ticket": ("/queue", "/title")},
    )
    assert bundle.policy == PolicyDocument(
        require_tenant=True,
        deny_if_principal_missing=True,
        operations=dict.fromkeys(
            [
                "run_start",
                "model_call",
                "memory_write",
                "approval_transition",
                "effect_transition",
                "list_tools",
                "emit",
            ],
            "allow",
        ),
        capabilities={
            "search_docs": CapabilityPolicy(name="search_docs", decision="allow", approver=None),
            "create_ticket": CapabilityPolicy(name="create_ticket", decision="approval_required", approver="manager"),
            "run_shell": CapabilityPolicy(name="run_shell", decision="deny", approver=None),
        },
        allow_kinds=("validated_fact", "session_summary"),
        allow_network_access=("restricted", "brokered"),
    )
    assert list(bundle.capabilities) == ["search_docs", "create_ticket"]
    assert list(bundle.documents) == [
        "bundle.yaml", "policy.yaml", "capabilities.yaml", "approvals.yaml", "reviewers.yaml",
    ]  # fmt: skip
    assert {name: document.file for name, document in bundle.documents.items()} == {
        name: str(bundle_folder / name) for name in bundle.documents
    }


def test_bundle_that_is_shipped_loads() -> None:
    folder = Path(__file__).resolve().parents[2] / "bundles" / "support-triage"
    bundle = load_bundle(folder)
    written = {path.name for path in folder.glob("*.yaml")} - {"releases.yaml"}
    assert (bundle.name, set(bundle.documents)) == ("support-triage", written)


def test_capability_keeps_what_was_written_beside_its_typed_fields(bundle_folder: Path) -> None:
    bundle = load_bundle(bundle_folder)
    ticket, search = bundle.capabilities["create_ticket"], bundle.capabilities["search_docs"]
    assert ticket.spec == bundle.documents["capabilities.yaml"].value["capabilities"]["create_ticket"]
    assert (ticket.server, ticket.idempotency_key_required, ticket.identifying_arguments) == (
        None,
        True,
        ("/queue", "/requester_id", "/title"),
    )
    assert (search.server, search.idempotency_key_required, search.identifying_arguments) == (
        "docs-mcp",
        False,
        (),
    )


def test_contracts_and_reviewers_are_read_in_order(bundle_folder: Path) -> None:
    bundle = load_bundle(bundle_folder)
    assert bundle.contracts == (
        ApprovalContract(
            contract_id="create-ticket-manager",
            capability="create_ticket",
            risk_tier="high",
            bundle_version="2026.04.07",
            release_identity="release-support-triage-2026-04-07-canary",
            required_reviewers=("manager",),
            quorum=1,
            request_fields=(
                "trace_id",
                "session_id",
                "idempotency_key",
                "requested_by",
                "reason",
                "tool_arguments_redacted",
            ),
            allowed_decisions=("approved", "rejected"),
            pause_allowed=True,
            max_wait_seconds=1800,
            on_expiry="cancel_run",
            on_reject="stop_run",
        ),
    )
    assert bundle.reviewers == (
        Reviewer(
            id="mira-manager",
            human="Mira Okafor",
            roles=("manager",),
            keys=(
                ReviewerKey(
                    key_id="mira-manager-2026",
                    public_key="as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=",
                    not_before="2026-01-01T00:00:00Z",
                    not_after="2028-01-01T00:00:00Z",
                    not_before_ms=1_767_225_600_000,
                    not_after_ms=1_830_297_600_000,
                ),
            ),
        ),
    )


def test_bundle_without_approvals_and_reviewers_has_none(bundle_folder: Path) -> None:
    for name in ("approvals.yaml", "reviewers.yaml"):
        (bundle_folder / name).unlink()
        change(bundle_folder / "bundle.yaml", f"    - {name}\n", "")
    bundle = load_bundle(bundle_folder)
    assert (bundle.contracts, bundle.reviewers) == ((), ())
    assert list(bundle.documents) == ["bundle.yaml", "policy.yaml", "capabilities.yaml"]


def test_name_and_files_follow_the_path_as_it_was_given(bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bundle_folder)
    change(bundle_folder / "policy.yaml", "decision: allow", "decision: alow")
    with pytest.raises(BundleError) as caught:
        load_bundle(Path())
    assert [str(problem).split(": ")[0] for problem in caught.value.problems] == ["policy.yaml:15:17"]
    change(bundle_folder / "policy.yaml", "decision: alow", "decision: allow")
    assert load_bundle(Path()).name == "support-triage"
    monkeypatch.chdir(bundle_folder.parent)
    assert load_bundle(Path("support-triage")).documents["policy.yaml"].file == "support-triage/policy.yaml"


def test_problems_of_all_files_are_reported_together_and_sorted(bundle_folder: Path) -> None:
    change(bundle_folder / "policy.yaml", "decision: allow", "decision: NO")
    change(bundle_folder / "capabilities.yaml", "risk_tier: low", "risk_tier: lo")
    change(
        bundle_folder / "approvals.yaml",
        "required_reviewers: [manager]",
        "required_reviewers: []\n    aprovals: 2",
    )
    change(bundle_folder / "reviewers.yaml", "2028-01-01T00:00:00Z", "2028-02-30T00:00:00Z")
    change(bundle_folder / "bundle.yaml", 'version: "2026.04.07"', "version: 1.10")
    assert report(bundle_folder) == [
        "approvals.yaml:7:25 schema_empty",
        "approvals.yaml:8:5 unknown_key",
        "bundle.yaml:3:12 schema_type",
        "capabilities.yaml:9:16 schema_enum",
        "policy.yaml:15:17 yaml_quote_it",
        "reviewers.yaml:9:20 timestamp_invalid",
    ]


@pytest.mark.parametrize(
    "name", ["bundle.yaml", "policy.yaml", "capabilities.yaml", "approvals.yaml", "reviewers.yaml"]
)
def test_one_broken_document_hides_no_problem_of_another(bundle_folder: Path, name: str) -> None:
    for path in bundle_folder.iterdir():
        path.write_text(path.read_text(encoding="utf-8") + "extra: 1\n", encoding="utf-8")
    (bundle_folder / name).write_text("a: [\n", encoding="utf-8")
    found = report(bundle_folder)
    assert f"{name}:2:1 yaml_syntax" in found
    assert sorted(line.split(":")[0] for line in found) == sorted(path.name for path in bundle_folder.iterdir())


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("bundle.yaml", ["bundle.yaml:1:1 artifact_required"]),
        ("policy.yaml", ["bundle.yaml:8:7 artifact_missing"]),
        ("approvals.yaml", ["bundle.yaml:10:7 artifact_missing"]),
    ],
)
def test_missing_document_is_reported_where_it_is_listed(
    bundle_folder: Path, missing: str, expected: list[str]
) -> None:
    (bundle_folder / missing).unlink()
    assert report(bundle_folder) == expected


@pytest.mark.parametrize("name", ["policy.yaml", "approvals.yaml"])
def test_document_that_is_there_but_not_listed_is_refused(bundle_folder: Path, name: str) -> None:
    change(bundle_folder / "bundle.yaml", f"    - {name}\n", "")
    assert report(bundle_folder) == ["bundle.yaml:7:3 artifact_unlisted"]


def test_needed_document_neither_there_nor_listed_is_refused(bundle_folder: Path) -> None:
    change(bundle_folder / "bundle.yaml", "    - policy.yaml\n", "")
    (bundle_folder / "policy.yaml").unlink()
    assert report(bundle_folder) == ["bundle.yaml:7:3 artifact_required"]


def test_needed_documents_are_missed_also_when_the_envelope_is_broken(bundle_folder: Path) -> None:
    (bundle_folder / "bundle.yaml").write_text("bundle: 1\n", encoding="utf-8")
    (bundle_folder / "policy.yaml").unlink()
    assert report(bundle_folder) == ["bundle.yaml:1:9 schema_type", "policy.yaml:1:1 artifact_required"]


def test_empty_folder_misses_every_needed_document(tmp_path: Path) -> None:
    assert report(tmp_path) == [
        "bundle.yaml:1:1 artifact_required",
        "capabilities.yaml:1:1 artifact_required",
        "policy.yaml:1:1 artifact_required",
    ]


@pytest.mark.parametrize("name", ["aprovals.yaml", "policy.yml", "Reviewers.yaml", "notes.yaml"])
def test_b7_document_under_a_name_nothing_reads_is_refused(bundle_folder: Path, name: str) -> None:
    (bundle_folder / name).write_text("a: 1\n", encoding="utf-8")
    assert report(bundle_folder) == [f"{name}:1:1 artifact_unknown"]


@pytest.mark.parametrize("name", ["releases.yaml", "README.md", ".hidden.yaml"])
def test_file_that_is_no_document_is_left_alone(bundle_folder: Path, name: str) -> None:
    (bundle_folder / name).write_text("a: [\n", encoding="utf-8")
    assert load_bundle(bundle_folder).name == "support-triage"


def test_link_in_the_place_of_a_document_is_refused(bundle_folder: Path) -> None:
    (bundle_folder / "policy.yaml").rename(bundle_folder.parent / "elsewhere.yaml")
    (bundle_folder / "policy.yaml").symlink_to(bundle_folder.parent / "elsewhere.yaml")
    assert report(bundle_folder) == ["policy.yaml:1:1 document_not_regular"]


def test_folder_or_pipe_in_the_place_of_a_document_is_refused_without_waiting(bundle_folder: Path) -> None:
    (bundle_folder / "policy.yaml").unlink()
    (bundle_folder / "policy.yaml").mkdir()
    (bundle_folder / "reviewers.yaml").unlink()
    os.mkfifo(bundle_folder / "reviewers.yaml")
    assert report(bundle_folder) == [
        "policy.yaml:1:1 document_not_regular",
        "reviewers.yaml:1:1 document_not_regular",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_document_that_may_not_be_read_is_refused(bundle_folder: Path) -> None:
    (bundle_folder / "policy.yaml").chmod(0)
    assert report(bundle_folder) == ["policy.yaml:1:1 document_unreadable"]


def test_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for name, message in (("nothing", "there is no such folder"), ("file", "this is not a folder")):
        with pytest.raises(BundleError) as caught:
            load_bundle(tmp_path / name)
        (problem,) = caught.value.problems
        assert str(problem) == f"{tmp_path / name}:1:1: bundle_not_a_folder: {message}"


def test_g2_unquoted_version_is_refused_with_quote_it(bundle_folder: Path) -> None:
    change(bundle_folder / "bundle.yaml", 'version: "2026.04.07"', "version: 2026.04")
    with pytest.raises(BundleError) as caught:
        load_bundle(bundle_folder)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message, problem.hint) == (
        "schema_type",
        "`version` is the number `2026.04`, wanted a string",
        "quote it",
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('Z"\n        not_after', '"\n        not_after', ["reviewers.yaml:8:21 schema_pattern"]),
        ("2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z", ["reviewers.yaml:8:21 timestamp_invalid"]),
        ("2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z", ["reviewers.yaml:9:20 key_never_valid"]),
        ("2026-01-01T00:00:00Z", "2028-01-01T02:00:00+02:00", ["reviewers.yaml:9:20 key_never_valid"]),
        ("2026-01-01T00:00:00Z", "2029-01-01T00:00:00Z", ["reviewers.yaml:9:20 key_never_valid"]),
        ("FQcoJ/A=", "FQcoJ/B=", ["reviewers.yaml:7:21 key_malformed"]),
        ("FQcoJ/A=", "FQcoJ/A", ["reviewers.yaml:7:21 schema_pattern"]),
    ],
)
def test_b13_reviewer_key_that_is_never_good_is_refused(
    bundle_folder: Path, old: str, new: str, expected: list[str]
) -> None:
    change(bundle_folder / "reviewers.yaml", old, new)
    assert report(bundle_folder) == expected


def test_reviewer_key_good_until_the_last_moment_is_read(bundle_folder: Path) -> None:
    change(bundle_folder / "reviewers.yaml", "2028-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59")
    (key,) = load_bundle(bundle_folder).reviewers[0].keys
    assert key.not_after_ms == 253_402_387_139_000


def test_arguments_schema_with_a_misspelt_keyword_is_refused(bundle_folder: Path) -> None:
    change(bundle_folder / "capabilities.yaml", "required: [query]", "requred: [query]")
    assert report(bundle_folder) == ["capabilities.yaml:17:7 unknown_key"]


def test_bundle_with_a_document_in_place_of_its_own_is_what_would_be_read(bundle_folder: Path) -> None:
    path = bundle_folder / "policy.yaml"
    before = load_bundle(bundle_folder)
    change(path, "    emit: allow\n", "    emit: deny\n")
    read = load_bundle(bundle_folder)
    made = with_document(before, "policy.yaml", path.read_text("utf-8"), name="other")
    assert made == dataclasses.replace(read, name="other")
    assert before.policy.operations != made.policy.operations


@pytest.mark.parametrize(
    ("file", "old", "new", "code"),
    [
        ("policy.yaml", "policy:", "policy: [", "yaml_syntax"),
        ("policy.yaml", "decision: deny", "decision: maybe", "schema_enum"),
        ("bundle.yaml", "    - reviewers.yaml\n", "", "artifact_unlisted"),
    ],
)
def test_unsound_document_in_place_of_its_own_is_refused(
    bundle_folder: Path, file: str, old: str, new: str, code: str
) -> None:
    bundle = load_bundle(bundle_folder)
    change(bundle_folder / file, old, new)
    with pytest.raises(BundleError) as caught:
        with_document(bundle, file, (bundle_folder / file).read_text("utf-8"), name="other")
    assert code in {p.code for p in caught.value.problems}
