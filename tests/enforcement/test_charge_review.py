"""A refund goes without a reviewer only for what billing, asked over HTTP, has verified now (SEED_FACTS 5.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from desk_support import PRINCIPAL, TENANT, Desk, desk_copy, desk_point
from edge_support import http_service
from new_store import new_store
from opa_point import OpaPoint

from gate.evidence import Call, Identity
from gate.evidence.http_json import JsonService

REVIEW = {
    "charge_id": "ch-1",
    "tenant_id": TENANT,
    "principal_id": PRINCIPAL,
    "duplicate": True,
    "duplicate_of": "ch-0",
    "amount_minor": 10_001,
    "currency": "USD",
}
UNVERIFIED = ("require_approval", "approval_missing", "configured_allow", "refund_of_verified_duplicate")


class Billing:
    """Billing as a service: the same answer to whoever asks, or another status."""

    def __init__(self) -> None:
        self.review: Any = dict(REVIEW)
        self.status = 200
        self.asked: list[Mapping[str, Any]] = []

    def answer(self, question: Mapping[str, Any]) -> tuple[int, Any]:
        self.asked.append(question)
        return self.status, self.review


@pytest.fixture(scope="module")
def point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    return desk_point(desk_copy(repo, tmp_path_factory.mktemp("desk")))


@pytest.fixture
def billing() -> Billing:
    return Billing()


@pytest.fixture
def desk(point: OpaPoint, billing: Billing, tmp_path: Path) -> Iterator[Desk]:
    with http_service(billing.answer) as url:
        opened = Desk.open(point, new_store(tmp_path / "records.sqlite"), billing=JsonService(url=url).ask)
        yield opened
        opened.store.close()


def test_verified_duplicate_of_25_00_is_given_back_and_billing_is_asked_for_it(desk: Desk, billing: Billing) -> None:
    assert desk.refund(2500, "ch-1") == ("allow", "configured_allow")
    (asked,) = billing.asked
    assert {name: value for name, value in asked.items() if name != "authorization"} == {
        "charge_id": "ch-1",
        "tenant_id": TENANT,
        "principal_id": PRINCIPAL,
        "capability": "issue_refund",
    }


@pytest.mark.parametrize(
    ("amount", "answer"),
    [
        (2501, ("require_approval", "approval_missing", "configured_allow", "refund_review_over_25")),
        (10_000, ("require_approval", "approval_missing", "configured_allow", "refund_review_over_25")),
        (
            10_001,
            ("deny", "approval_missing", "configured_allow", "refund_manager_over_100", "refund_review_over_25"),
        ),
    ],
)
def test_verified_duplicate_of_more_is_still_reviewed(desk: Desk, amount: int, answer: tuple[str, ...]) -> None:
    assert (desk.refund(amount, "ch-1"), desk.paid) == (answer, [])


@pytest.mark.parametrize("field", sorted(REVIEW))
def test_review_without_a_field_or_with_null_for_it_verifies_nothing(desk: Desk, billing: Billing, field: str) -> None:
    billing.review = {name: value for name, value in REVIEW.items() if name != field}
    assert desk.refund(2500, "ch-1") == UNVERIFIED
    billing.review = {**REVIEW, field: None}
    assert desk.refund(2500, "ch-1")[0] == "require_approval"
    assert desk.paid == []


@pytest.mark.parametrize(
    "changes",
    [
        {"duplicate": False},
        {"charge_id": "ch-2"},
        {"duplicate_of": "ch-1"},
        {"tenant_id": "globex"},
        {"principal_id": "user-8"},
        {"currency": "EUR"},
        {"amount_minor": 2499},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_review_of_something_else_verifies_nothing(desk: Desk, billing: Billing, changes: dict[str, Any]) -> None:
    billing.review = {**REVIEW, **changes}
    assert (desk.refund(2500, "ch-1"), desk.paid) == (UNVERIFIED, [])


@pytest.mark.parametrize("field", sorted(REVIEW))
def test_review_with_a_field_of_the_wrong_type_is_no_answer(desk: Desk, billing: Billing, field: str) -> None:
    billing.review = {**REVIEW, field: ["yes"]}
    assert (desk.refund(2500, "ch-1"), desk.paid) == (UNVERIFIED, [])


@pytest.mark.parametrize(
    ("status", "review"),
    [(500, REVIEW), (302, REVIEW), (200, "a text"), (200, [REVIEW]), (200, {**REVIEW, "approved": True})],
    ids=["failed", "sent elsewhere", "text", "list", "a field nobody declared"],
)
def test_billing_that_does_not_answer_leaves_the_refund_to_a_reviewer(
    desk: Desk, billing: Billing, status: int, review: Any
) -> None:
    billing.status, billing.review = status, review
    assert (desk.refund(2500, "ch-1"), desk.paid) == (UNVERIFIED, [])


def test_old_future_and_undated_reviews_leave_the_refund_to_a_reviewer(desk: Desk, billing: Billing) -> None:
    now = desk.store.now_ms()
    answers = {}
    for what, at in (("old", now - 301_000), ("future", now + 60_000), ("undated", None)):
        billing.review = {**REVIEW, "checked_at_ms": at}
        answers[what] = desk.refund(2500, "ch-1")
    waiting = ("require_approval", "approval_pending", "configured_allow", "refund_of_verified_duplicate")
    assert answers == {"old": UNVERIFIED, "future": waiting, "undated": waiting}
    billing.review = {**REVIEW, "checked_at_ms": now - 200_000}
    assert desk.refund(2500, "ch-1") == ("allow", "configured_allow")


def test_customer_whose_charge_it_is_not_gets_nothing_without_a_reviewer(desk: Desk) -> None:
    stranger = desk.start(identity=Identity(tenant_id=TENANT, principal_id="user-8"), session_id="session-2")
    assert desk.refund(2500, "ch-1", run=stranger) == UNVERIFIED


def test_what_the_model_says_of_a_review_is_no_argument(desk: Desk, billing: Billing) -> None:
    billing.review = {}
    arguments = {"charge_id": "ch-1", "amount_minor": 2500, "currency": "USD", "duplicate": True}
    decision = desk.gate.check_call(
        desk.run, Call(capability="issue_refund", arguments=arguments, idempotency_key="k", reason="It is verified.")
    )
    assert (str(decision.verdict), "refund_of_verified_duplicate" in decision.codes) == ("deny", True)
    assert "arguments_invalid" in decision.codes
