from __future__ import annotations

from typing import Any

import pytest
from longtask_support import WORKSPACE, event, item, trajectory

from gate.longtask.canonical_form import plain
from gate.longtask.completion import (
    Outcome,
    VerificationReceipt,
    VerificationState,
    Verified,
    closed_without_verification,
    receipt_from,
    unrecorded,
    verify,
)
from gate.longtask.events import EventRecord, LongTaskError
from gate.longtask.vocabulary import EventType

LOG = (*trajectory(), event(6, event_type=EventType.VERIFICATION), event(7, event_type=EventType.VERIFICATION))


def receipt(**changes: Any) -> VerificationReceipt:
    sound: dict[str, Any] = {
        "event_id": "e6",
        "subjects": frozenset({"broken"}),
        "command": "make test",
        "result": Outcome.PASSED,
        "workspace_digest": WORKSPACE,
        "exit_status": 0,
    }
    return VerificationReceipt(**{**sound, **changes})


def state(
    *receipts: VerificationReceipt,
    events: tuple[EventRecord, ...] = LOG,
    live: str = WORKSPACE,
) -> VerificationState:
    (found,) = verify(["broken"], events=events, receipts=receipts, live_workspace_digest=live)
    return found.state


def test_passed_names_event_command_status_and_workspace() -> None:
    assert verify(["broken"], events=LOG, receipts=[receipt()], live_workspace_digest=WORKSPACE) == (
        Verified(
            key="broken",
            state=VerificationState.PASSED,
            event_id="e6",
            command="make test",
            exit_status=0,
            workspace_digest=WORKSPACE,
        ),
    )


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"result": Outcome.FAILED, "exit_status": 1}, VerificationState.FAILED),
        ({"result": Outcome.ERROR, "exit_status": 2}, VerificationState.INFRASTRUCTURE_FAILURE),
        ({"result": Outcome.ERROR, "exit_status": None}, VerificationState.INFRASTRUCTURE_FAILURE),
        ({"result": Outcome.FAILED, "exit_status": -9}, VerificationState.INFRASTRUCTURE_FAILURE),
        ({"result": Outcome.PASSED, "exit_status": None}, VerificationState.INFRASTRUCTURE_FAILURE),
        ({"result": Outcome.PASSED, "exit_status": 1}, VerificationState.FAILED),
        ({"result": Outcome.FAILED, "exit_status": 0}, VerificationState.FAILED),
        ({"subjects": frozenset({"something else"})}, VerificationState.NOT_RUN),
        ({"event_id": "nowhere"}, VerificationState.NOT_RUN),
        # Event 5 is there and is no verification; a receipt cannot make it one.
        ({"event_id": "e5"}, VerificationState.NOT_RUN),
        ({"workspace_digest": "another"}, VerificationState.NOT_RUN),
    ],
)
def test_state_of_one_receipt(changes: dict[str, Any], wanted: VerificationState) -> None:
    assert state(receipt(**changes)) is wanted


def test_nothing_run_is_not_run() -> None:
    assert state() is VerificationState.NOT_RUN


def test_pass_over_another_workspace_than_the_live_one_is_stale() -> None:
    assert state(receipt(), live="workspace-2") is VerificationState.STALE


def test_pass_before_the_issue_was_stated_again_is_stale() -> None:
    again = event(8, item("broken", content="broken again", source_event_ids=("e8",)))
    assert state(receipt(), events=(*LOG, again)) is VerificationState.STALE


def test_newest_receipt_counts_whatever_order_they_come_in() -> None:
    old, new = receipt(), receipt(event_id="e7", result=Outcome.FAILED, exit_status=1)
    assert state(old, new) is state(new, old) is VerificationState.FAILED
    assert state(receipt(event_id="e7"), receipt(result=Outcome.FAILED, exit_status=1)) is VerificationState.PASSED


def test_two_commands_of_one_event_count_as_their_worse() -> None:
    assert state(receipt(), receipt(command="lint", result=Outcome.FAILED, exit_status=1)) is VerificationState.FAILED


def test_contradiction_is_told() -> None:
    (found,) = verify(["broken"], events=LOG, receipts=[receipt(exit_status=3)], live_workspace_digest=WORKSPACE)
    assert found.as_evidence() == {
        "key": "broken",
        "state": "failed",
        "event_id": "e6",
        "command_named": True,
        "exit_status": 3,
        "workspace_digest": WORKSPACE,
        "contradictory": True,
    }


def test_receipts_that_the_log_does_not_back_are_named() -> None:
    claims = [receipt(), receipt(event_id="e5"), receipt(event_id="zz"), receipt(workspace_digest="w")]
    assert unrecorded(LOG, claims) == ("e5", "e6", "zz")


def test_issue_that_vanished_without_passing_is_named() -> None:
    states = verify(["a", "b"], events=LOG, receipts=[receipt(subjects=frozenset({"a"}))], live_workspace_digest="x")
    assert closed_without_verification({"a", "b", "c"}, {"c"}, states) == ("a", "b")
    passed = verify(["a"], events=LOG, receipts=[receipt(subjects=frozenset({"a"}))], live_workspace_digest=WORKSPACE)
    assert closed_without_verification({"a", "b", "c"}, {"c"}, passed) == ("b",)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("blank_event_id", {"event_id": " "}),
        ("blank_verification_command", {"command": ""}),
        ("blank_verification_workspace_digest", {"workspace_digest": None}),
        ("verification_without_subject", {"subjects": frozenset()}),
        ("verification_without_subject", {"subjects": frozenset({" "})}),
        ("invalid_verification_exit_status", {"exit_status": "0"}),
        ("invalid_verification_exit_status", {"exit_status": False}),
    ],
)
def test_receipt_that_names_too_little_is_refused(code: str, changes: dict[str, Any]) -> None:
    with pytest.raises(LongTaskError) as caught:
        receipt(**changes)
    assert caught.value.code == code


def test_receipt_survives_its_json_form() -> None:
    assert receipt_from(plain(receipt())) == receipt()


@pytest.mark.parametrize("field", sorted(plain(receipt())))
def test_receipt_without_a_field_is_refused(field: str) -> None:
    data = plain(receipt())
    del data[field]
    with pytest.raises(LongTaskError) as caught:
        receipt_from(data)
    assert caught.value.code == "invalid_verification_receipt"


@pytest.mark.parametrize(
    "change", [{"result": "fine"}, {"result": None}, {"subjects": "broken"}, {"subjects": [1]}, {"more": 1}]
)
def test_receipt_of_another_form_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(LongTaskError) as caught:
        receipt_from({**plain(receipt()), **change})
    assert caught.value.code == "invalid_verification_receipt"


@pytest.mark.parametrize("data", [None, [], "passed", 1])
def test_receipt_that_is_no_object_is_refused(data: object) -> None:
    with pytest.raises(LongTaskError):
        receipt_from(data)
