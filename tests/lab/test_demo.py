from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.compiler import compile_bundle
from gate.errors import BundleError, InputError
from gate.lab.demo import RECORDS, TENANT, TRACE, TRACE_FILE, Step, stage
from gate.records import Store
from gate.release.following import follow


def play(bundle: Path, engine: str) -> tuple[list[Step], int]:
    """The steps of one performance, and how many requests reached the ticket service."""
    with stage(bundle, engine) as story:
        steps = list(story.play())
        assert len(story.store.approvals(TENANT)) >= 3
        return steps, len(story.service.tickets)


@pytest.fixture(scope="module")
def bundle(repo: Path) -> Path:
    return repo / "bundles" / "support-triage"


@pytest.fixture(scope="module")
def embedded(bundle: Path) -> tuple[list[Step], int]:
    return play(bundle, "embedded")


def test_story_reaches_the_ticket_service_three_times(embedded: tuple[list[Step], int]) -> None:
    steps, tickets = embedded

    assert tickets == 3
    assert [step.title for step in steps if step.ran] == [
        "search_docs runs",
        "the approved call runs once",
        "the write times out",
        "now the call runs",
    ]


# What issue 2 point 9 promises of each step: its verdict, and the reason that must be among the codes.
PROMISED = {
    "search_docs runs": ("allow", "configured_allow"),
    "create_ticket asks for approval": ("require_approval", "approval_missing"),
    "a manager signs the approval": ("approved", None),
    "the approved call runs once": ("allow", "configured_with_approval"),
    "the same call again: first receipt": ("receipt T-1", "effect_already_committed"),
    "that approval, new key": ("deny", "approval_consumed"),
    "other arguments under it": ("require_approval", "approval_digest_mismatch"),
    "the verifier does not pass it": ("deny", "verifier_not_passed"),
    "run_shell": ("deny", "configured_deny"),
    "a tool nobody catalogued": ("deny", "capability_unknown"),
    "the write times out": ("side_effect_unknown", None),
    "its retry": ("blocked_on_reconciliation", "unknown_side_effect"),
    "reconciled: not committed": ("failed_before_effect", None),
    "after that, a fresh approval": ("require_approval", "approval_consumed"),
    "compacted; its summary: approved": ("sealed", None),
    "so the call, at once": ("deny", "boundary_open"),
    "rehydrated from the records": ("reauthorization_required", None),
    "the records know of no approval": ("require_approval", "approval_missing"),
    "a manager signs it": ("approved", None),
    "now the call runs": ("allow", "configured_with_approval"),
    "the decision point goes away": ("deny", "pdp_closed"),
}


@pytest.mark.parametrize("title", PROMISED)
def test_step_ends_as_promised(embedded: tuple[list[Step], int], title: str) -> None:
    verdict, reason = PROMISED[title]
    (step,) = (step for step in embedded[0] if step.title == title)

    assert step.verdict == verdict
    assert reason is None or reason in step.reasons


@pytest.mark.opa
def test_story_is_the_same_on_a_real_sidecar(
    embedded: tuple[list[Step], int], bundle: Path, opa_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_OPA_BIN", str(opa_binary))

    steps, tickets = play(bundle, "opa")

    assert (steps[:-1], tickets) == (embedded[0][:-1], embedded[1])
    last, other = steps[-1], embedded[0][-1]
    assert (last.title, last.verdict, last.ran) == (other.title, other.verdict, other.ran)
    assert (last.reasons, other.reasons) == (("pdp_unreachable",), ("pdp_closed",))


def test_kept_story_is_one_that_an_auditor_can_follow_and_leaves_the_bundle_as_it_was(
    bundle: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    kept = tmp_path / "kept"

    with stage(bundle, "embedded", keep=kept) as story:
        play_all = [*story.play()]
    with Store.open(f"sqlite:///{kept / RECORDS}", migrate=False) as store:
        copy = compile_bundle(kept / bundle.name)
        found = follow(TRACE, compiled=copy, trace=kept / TRACE_FILE, store=store, tenant_id=TENANT)

    assert play_all[-1].verdict == "deny"
    assert (found.doubts, [str(effect.status) for effect in found.effects]) == (
        (),
        ["side_effect_committed", "failed_before_effect"],
    )
    assert [len(found.approvals_of(effect)) for effect in found.effects] == [1, 1]
    with pytest.raises(InputError, match="is there already"), stage(bundle, "embedded", keep=kept):
        pass
    assert {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()} == before


def test_story_on_a_bundle_without_reviewers_says_so(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / "support-triage"
    shutil.copytree(bundle, copy)
    (copy / "reviewers.yaml").write_text("reviewers: []\n", "utf-8")

    with pytest.raises(BundleError), stage(copy, "embedded"):
        pass
