"""Whatever goes wrong on the way to a decision or a claim: a refusal with its own code, and no body runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from enforcement_support import (
    AGENT,
    ENVIRONMENT,
    TENANT,
    TICKET,
    Outcome,
    World,
    error_code,
)
from opa_point import OpaPoint
from standins import Altered, about, also_obliging, as_opa, looks_like_opa, obliging

from gate.decision import ActionBlocked, Decision, Verdict
from gate.enforcement import Gate
from gate.errors import InputError, PdpError
from gate.evidence import Identity, Run
from gate.pdp import Facts, SidecarDecisionPoint
from gate.pdp.protocol import Reply
from gate.records import ApprovalStatus, RunStatus, Store

Points = Callable[[str], OpaPoint]


def approved_world(make_world: Callable[..., World], point: Any) -> World:
    """A world whose call is approved while all is well, and asked about through `point` from then on."""
    world = make_world()
    world.approved()
    world.gate = Gate(point, world.store, environment=ENVIRONMENT)
    return world


def refused(outcome: Outcome, world: World) -> tuple[str, ...]:
    """The codes of a refusal after which nothing ran and nothing was claimed."""
    assert (outcome.verdict, outcome.ran, world.runs) == ("deny", False, 0)
    assert world.store.effects(TENANT) == []
    return outcome.codes


# The decision point


def test_decision_point_that_is_down_refuses(make_world: Callable[..., World], tmp_path: Path) -> None:
    point = SidecarDecisionPoint(url=f"unix://{tmp_path}/none.sock", expected_revisions=["x"])
    world = approved_world(make_world, point)

    assert refused(world.attempt(), world) == ("pdp_unreachable",)
    assert refused(world.search(), world) == ("pdp_unreachable",)
    decision = world.gate.check(world.run, "model_call")
    assert (decision.verdict, decision.decided, decision.codes, decision.exit_code) == (
        Verdict.DENY,
        False,
        ("pdp_unreachable",),
        1,
    )
    assert error_code(lambda: world.start()) == "action_blocked"


@pytest.mark.opa
def test_decision_point_that_goes_away_between_two_calls_refuses(
    make_world: Callable[..., World], start_sidecar: Callable[[str], Any]
) -> None:
    sidecar = start_sidecar("plain")
    client = sidecar.client(timeout_ms=10_000)
    world = approved_world(make_world, client)
    assert world.search().verdict == "allow"
    world.bodies.clear()

    sidecar.stop()

    assert refused(world.attempt(), world)[0] in {"pdp_unreachable", "pdp_connection_lost"}
    client.close()
    assert refused(world.attempt(), world) == ("pdp_closed",)


@pytest.mark.opa
def test_decision_point_that_serves_another_revision_refuses(make_world: Callable[..., World], sidecar: Any) -> None:
    client = sidecar.client(expected_revisions=("policy-support-triage-2026-04-07@2026.04.07+0",), timeout_ms=10_000)
    world = approved_world(make_world, client)

    assert refused(world.attempt(), world) == ("pdp_revision_unexpected",)
    client.close()


def served(points_of: Points, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """What makes a body out of the true decision, changed."""
    point = points_of("plain")

    def body(document: dict[str, Any]) -> bytes:
        reply = point.decide(document)
        return as_opa(change(reply.decision.as_dict()), reply.revision)

    return body


BODIES: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "about another request": (
        lambda result: {**result, "audit": {**result["audit"], "request_id": "another"}},
        "pdp_request_id_mismatch",
    ),
    "with a verdict named after a summary": (
        lambda result: {**result, "verdict": "authorized_by_summary"},
        "pdp_verdict_unknown",
    ),
    "with a verdict in capitals": (lambda result: {**result, "verdict": "ALLOW"}, "pdp_verdict_unknown"),
    "allowed without a reason": (lambda result: {**result, "reasons": []}, "pdp_decision_inconsistent"),
    "without obligations": (
        lambda result: {k: v for k, v in result.items() if k != "obligations"},
        "pdp_result_incomplete",
    ),
    "empty": (lambda result: {}, "pdp_result_incomplete"),
}


@pytest.mark.parametrize("name", BODIES)
def test_reply_that_cannot_be_trusted_refuses(make_world: Callable[..., World], points_of: Points, name: str) -> None:
    change, code = BODIES[name]
    with looks_like_opa(points_of("plain"), served(points_of, change)) as (url, revision):
        point = SidecarDecisionPoint(url=url, expected_revisions=[revision], timeout_ms=10_000)
        world = approved_world(make_world, point)

        assert refused(world.attempt(), world) == (code,)
        point.close()


def test_reply_unchanged_by_the_stand_in_is_trusted(make_world: Callable[..., World], points_of: Points) -> None:
    with looks_like_opa(points_of("plain"), served(points_of, lambda result: result)) as (url, revision):
        point = SidecarDecisionPoint(url=url, expected_revisions=[revision], timeout_ms=10_000)
        world = approved_world(make_world, point)

        assert (world.attempt().verdict, world.runs) == ("allow", 1)
        point.close()


def test_decision_point_that_hangs_refuses(make_world: Callable[..., World], points_of: Points) -> None:
    with looks_like_opa(points_of("plain"), lambda _: None) as (url, revision):
        point = SidecarDecisionPoint(url=url, expected_revisions=[revision], timeout_ms=300)
        world = approved_world(make_world, point)

        assert refused(world.attempt(), world) == ("pdp_timeout",)
        point.close()


def test_decision_point_that_raises_something_else_runs_nothing(
    make_world: Callable[..., World], points_of: Points
) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    world = approved_world(make_world, Altered(points_of("plain"), before=fail))

    with pytest.raises(ZeroDivisionError):
        world.attempt()
    assert (world.runs, world.store.effects(TENANT)) == (0, [])


# A decision that is an allow, and is not carried out

WRONG: dict[str, tuple[Any, str]] = {
    "about another request": (about(request_id="another"), "pdp_request_id_mismatch"),
    "about no request": (about(request_id=None), "pdp_request_id_mismatch"),
    "with an obligation nobody knows": (also_obliging(type="notify_the_king"), "obligation_unknown"),
    "with an obligation of a refusal": (also_obliging(type="end_run", status="stopped"), "obligation_unknown"),
    "without a claim": (obliging("claim_effect", drop=True), "obligation_missing"),
    "without consuming its approval": (obliging("consume_approval", drop=True), "obligation_missing"),
    "without any obligation": (lambda d: replace(d, obligations=()), "obligation_missing"),
    "with a lease of zero": (obliging("claim_effect", lease_seconds=0), "obligation_undischarged"),
    "with a lease below zero": (obliging("claim_effect", lease_seconds=-15), "obligation_undischarged"),
    "consuming no approval": (obliging("consume_approval", approval_id=None), "obligation_undischarged"),
    "consuming no version": (obliging("consume_approval", version=None), "obligation_undischarged"),
    "consuming an approval nobody has": (obliging("consume_approval", approval_id="apr-0"), "claim_contended"),
    "consuming another version": (obliging("consume_approval", version=77), "claim_contended"),
}


@pytest.mark.parametrize("name", WRONG)
def test_allow_that_cannot_be_carried_out_is_a_refusal(
    make_world: Callable[..., World], points_of: Points, name: str
) -> None:
    change, code = WRONG[name]
    world = approved_world(make_world, Altered(points_of("plain"), change))

    assert refused(world.attempt(), world) == (code,)


def test_allow_of_a_tool_nobody_catalogued_is_a_refusal(make_world: Callable[..., World], points_of: Points) -> None:
    world = make_world(point=Altered(points_of("plain"), _allow))

    assert refused(world.attempt("delete_user", {"id": 7}), world) == ("obligation_missing",)
    assert refused(world.attempt("run_shell", {"id": 7}), world) == ("obligation_missing",)


def _allow(decision: Decision) -> Decision:
    return replace(decision, verdict=Verdict.ALLOW, obligations=())


REFUSING: dict[str, tuple[Any, str]] = {
    "with an obligation nobody knows": (also_obliging(type="notify_the_king"), "obligation_unknown"),
    "with an obligation of an allow": (also_obliging(type="claim_effect", lease_seconds=9), "obligation_unknown"),
    "ending the run in no known way": (also_obliging(type="end_run", status="running"), "obligation_undischarged"),
}


@pytest.mark.parametrize("name", REFUSING)
def test_refusal_that_cannot_be_carried_out_stays_a_refusal(
    make_world: Callable[..., World], points_of: Points, name: str
) -> None:
    change, code = REFUSING[name]
    world = make_world(point=Altered(points_of("plain"), change))

    outcome = world.attempt()

    assert (outcome.verdict, outcome.codes, outcome.approval_id, world.runs) == ("deny", (code,), None, 0)


def test_start_with_an_obligation_starts_nothing(make_world: Callable[..., World], points_of: Points) -> None:
    point = Altered(points_of("plain"), also_obliging(type="record"), operations=("run_start",))
    world = make_world(point=point)

    with pytest.raises(ActionBlocked) as blocked:
        world.start(run_id="run-1")

    assert blocked.value.decision.codes == ("obligation_unknown",)
    assert world.store.run(TENANT, "run-1") is None


MOVING: dict[str, tuple[Any, str]] = {
    "without a move": (obliging("move_approval", drop=True), "obligation_undischarged"),
    "to no state": (obliging("move_approval", to=None), "obligation_undischarged"),
    "to a state nobody knows": (obliging("move_approval", to="blessed"), "obligation_undischarged"),
    "of another approval": (obliging("move_approval", approval_id="apr-0"), "obligation_undischarged"),
    "of another version": (obliging("move_approval", version=77), "obligation_undischarged"),
    "with an obligation nobody knows": (also_obliging(type="record"), "obligation_unknown"),
}


@pytest.mark.parametrize("name", MOVING)
def test_vote_whose_move_cannot_be_carried_out_is_refused(
    make_world: Callable[..., World], points_of: Points, name: str
) -> None:
    change, code = MOVING[name]
    world = make_world(point=Altered(points_of("plain"), change, operations=("approval_transition",)))
    approval = world.ask()

    with pytest.raises(ActionBlocked) as blocked:
        world.vote(approval)

    assert blocked.value.decision.codes == (code,)
    assert world.store.approval(TENANT, approval.approval_id) == approval


@pytest.mark.parametrize("change", [{"to": "side_effect_committed"}, {"to": None}, {"version": 99}, {"drop": True}])
def test_reconciliation_whose_move_cannot_be_carried_out_is_refused(
    make_world: Callable[..., World], points_of: Points, change: dict[str, Any]
) -> None:
    point = Altered(points_of("plain"), obliging("move_effect", **change), operations=("effect_transition",))
    world = make_world(point=point)
    world.approved()
    with pytest.raises(RuntimeError):
        world.attempt(body=_fail)

    with pytest.raises(ActionBlocked) as blocked:
        world.reconcile("not_committed")

    assert (blocked.value.decision.codes, world.status()) == (("obligation_undischarged",), "side_effect_unknown")


def _fail(_: object) -> None:
    raise RuntimeError


def test_reconciliation_of_an_effect_that_changed_meanwhile_is_a_conflict(world: World) -> None:
    world.approved()
    with pytest.raises(RuntimeError):
        world.attempt(body=_fail)
    (stale,) = world.store.effects(TENANT)
    world.reconcile("partial")
    options: dict[str, Any] = {"outcome": "committed", "evidence_ref": "e", "reconciled_by": "ops"}

    assert error_code(lambda: world.gate.reviews.reconcile(stale, **options)) == "effect_changed"
    gone = replace(stale, business_key="sha256:" + "0" * 64)
    assert error_code(lambda: world.gate.reviews.reconcile(gone, **options)) == "effect_unknown"


# The served bundle changes


class Replaced:
    """Facts of one bundle, decisions of the next: it was replaced in between, `stale` times."""

    def __init__(self, old: OpaPoint, new: OpaPoint, stale: int) -> None:
        self._old, self._new, self._stale = old, new, stale

    def facts(self, agent_id: str) -> Facts:
        self._stale -= 1
        return (self._old if self._stale >= 0 else self._new).facts(agent_id)

    def decide(self, document: Any) -> Reply:
        return self._new.decide(document)


def replaced(make_world: Callable[..., World], points_of: Points, stale: int) -> World:
    return approved_world(make_world, Replaced(points_of("plain"), points_of("next_version"), stale))


def test_bundle_replaced_between_facts_and_decision_settles_on_the_new_one(
    make_world: Callable[..., World], points_of: Points
) -> None:
    world = replaced(make_world, points_of, 2)
    (approval,) = world.store.approvals(TENANT)

    outcome = world.attempt(approval_id=approval.approval_id)

    assert (outcome.verdict, world.runs) == ("require_approval", 0)
    assert {"approval_binding_mismatch", "approval_digest_mismatch"} <= set(outcome.codes)
    assert "facts_stale" not in outcome.codes


def test_bundle_that_keeps_being_replaced_is_a_refusal(make_world: Callable[..., World], points_of: Points) -> None:
    world = replaced(make_world, points_of, 3)

    assert refused(world.attempt(), world) == ("pdp_revision_unsettled",)


def test_decision_from_stale_facts_says_so_itself(make_world: Callable[..., World], points_of: Points) -> None:
    class Claiming(Replaced):
        """Claims that its decision is the old bundle's."""

        def decide(self, document: Any) -> Reply:
            reply = super().decide(document)
            return replace(reply, revision=points_of("plain").revision())

    point = Claiming(points_of("plain"), points_of("next_version"), 99)
    world = approved_world(make_world, point)

    assert "facts_stale" in refused(world.attempt(), world)


# The store


@contextmanager
def locked(path: Path) -> Iterator[None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@pytest.fixture
def hasty(make_world: Callable[..., World], tmp_path: Path) -> Iterator[World]:
    """A world with an approved call, whose store waits for no lock."""
    world = make_world()
    world.approved()
    impatient = Store.open(f"sqlite:///{world.path}", busy_timeout_ms=50)
    world.gate = Gate(world.point, impatient, environment=ENVIRONMENT)
    yield world
    impatient.close()


def test_store_that_is_locked_at_the_claim_refuses(hasty: World) -> None:
    with locked(hasty.path):
        outcome = hasty.attempt()

    assert refused(outcome, hasty) == ("store_locked",)
    assert hasty.attempt().verdict == "allow"


def test_store_that_is_locked_when_an_approval_is_asked_for_refuses(hasty: World) -> None:
    with locked(hasty.path):
        outcome = hasty.attempt(arguments={**TICKET, "title": "Another"}, idempotency_key="key-2")

    assert refused(outcome, hasty) == ("store_locked",)
    assert (outcome.approval_id, len(hasty.store.approvals(TENANT))) == (None, 1)


def test_store_that_is_locked_when_the_effect_is_settled_leaves_it_unknown(hasty: World) -> None:
    locks = []

    def body(_: object) -> dict[str, int]:
        lock = locked(hasty.path)
        lock.__enter__()
        locks.append(lock)
        return {"n": 1}

    assert error_code(lambda: hasty.attempt(body=body)) == "side_effect_unknown"
    locks[0].__exit__(None, None, None)

    assert (hasty.status(), hasty.runs) == ("in_flight", 1)
    assert hasty.attempt().verdict == "blocked_on_reconciliation"


def test_store_that_can_only_be_read_refuses_claims_and_requests(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.approved()
    with Store.open(f"sqlite:///file:{world.path}?mode=ro&uri=true") as reading:
        world.gate = Gate(world.point, reading, environment=ENVIRONMENT)

        assert refused(world.attempt(), world) == ("store_read_only",)
        outcome = world.attempt(arguments={**TICKET, "title": "Another"}, idempotency_key="key-2")
        assert refused(outcome, world) == ("store_read_only",)
        assert error_code(lambda: world.start()) == "store_read_only"
        assert world.search().verdict == "allow"


@pytest.mark.parametrize("capability", ["create_ticket", "search_docs"])
def test_store_that_is_gone_before_the_decision_refuses(world: World, capability: str) -> None:
    run = world.run
    world.path.unlink()

    outcome = world.attempt(capability, TICKET if capability == "create_ticket" else {"query": "x"}, run=run)

    assert (outcome.verdict, outcome.codes, world.runs) == ("deny", ("store_unavailable",), 0)


def test_store_that_goes_away_between_decision_and_claim_refuses(
    make_world: Callable[..., World], points_of: Points
) -> None:
    world = make_world()
    world.approved()
    point = Altered(points_of("plain"), before=world.path.unlink)
    world.gate = Gate(point, world.store, environment=ENVIRONMENT)

    outcome = world.attempt()

    assert (outcome.verdict, outcome.codes, world.runs) == ("deny", ("store_unavailable",), 0)


def test_store_that_was_closed_refuses(world: World) -> None:
    run = world.run
    world.store.close()

    assert world.search(run=run).codes == ("store_unavailable",)
    assert world.gate.check(run, "model_call").codes == ("store_unavailable",)
    assert world.runs == 0


# Records that change between decision and claim


def test_approval_revoked_between_decision_and_claim_is_not_used(
    make_world: Callable[..., World], points_of: Points
) -> None:
    world = make_world()
    approval = world.approved()
    todo = [approval]

    def revoke() -> None:
        while todo:
            found = todo.pop()
            world.store.set_approval_status(
                TENANT,
                found.approval_id,
                expected_version=found.version,
                to_status=ApprovalStatus.REVOKED,
                reason="changed my mind",
            )

    world.gate = Gate(Altered(points_of("plain"), before=revoke), world.store, environment=ENVIRONMENT)

    outcome = world.attempt()

    assert (outcome.verdict, outcome.codes) == ("require_approval", ("approval_revoked", "configured_with_approval"))
    assert world.runs == 0


def test_run_ended_between_decision_and_claim_is_not_used(make_world: Callable[..., World], points_of: Points) -> None:
    world = make_world()
    world.approved()
    run = world.run
    todo = [run]

    def end() -> None:
        while todo:
            world.gate.end_run(todo.pop())

    world.gate = Gate(Altered(points_of("plain"), before=end), world.store, environment=ENVIRONMENT)

    assert refused(world.attempt(), world) == ("configured_with_approval", "run_not_running")


def test_call_whose_records_never_stop_changing_is_given_up(
    make_world: Callable[..., World], points_of: Points
) -> None:
    world = make_world()
    world.approved()
    run = world.run

    def touch() -> None:
        for status in (RunStatus.PAUSED, RunStatus.RUNNING):
            found = world.store.run(TENANT, run.run_id)
            assert found is not None
            world.store.set_run_status(
                TENANT, run.run_id, expected_version=found.version, status=status, reason="again"
            )

    world.gate = Gate(Altered(points_of("plain"), before=touch), world.store, environment=ENVIRONMENT)

    assert refused(world.attempt(), world) == ("claim_contended",)


# The caller's own mistakes


@pytest.mark.parametrize("operation", ["call_tool", "resume_tool", "approval_transition", "fork", "x", "MODEL_CALL"])
def test_check_of_another_operation_is_the_callers_error(world: World, operation: str) -> None:
    with pytest.raises(InputError) as error:
        world.gate.check(world.run, operation)

    assert error.value.code == "operation_unknown"


@pytest.mark.parametrize("operation", [None, 5, ["model_call"], "", " "])
def test_check_of_no_operation_is_the_callers_error(world: World, operation: Any) -> None:
    assert error_code(lambda: world.gate.check(world.run, operation)) == "field_invalid"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"text": float("nan")}, "json_number_not_finite"),
        ({"text": ("a",)}, "json_type_unsupported"),
        ({"text": "\ud800"}, "json_lone_surrogate"),
        ({1: "x"}, "json_key_not_string"),
        ([], "request_not_object"),
        ("emit", "request_not_object"),
    ],
)
def test_check_of_a_request_that_is_no_json_is_the_callers_error(world: World, request_: Any, code: str) -> None:
    assert error_code(lambda: world.gate.check(world.run, "emit", request_)) == code


def test_document_over_the_size_limit_is_a_refusal(world: World) -> None:
    size = 1_048_576 - 1_500

    outcome = world.attempt("search_docs", {"query": "x" * size})

    assert (outcome.verdict, outcome.codes, world.runs) == ("deny", ("pdp_document_too_large",), 0)


def test_refusal_carries_no_reason_and_no_revision_of_its_own(tmp_path: Path, world: World) -> None:
    class Down:
        def facts(self, agent_id: str) -> Facts:
            raise PdpError("down", code="pdp_unreachable", hint="start it")

    gate = Gate(Down(), world.store, environment=ENVIRONMENT)  # type: ignore[arg-type]
    run = Run(
        agent_id=AGENT,
        session_id="s",
        run_id="r",
        trace_id="t",
        identity=Identity(tenant_id=TENANT, principal_id="p"),
    )

    decision = gate.check(run, "model_call")

    assert decision.as_dict() == {
        "verdict": "deny",
        "reasons": [
            {
                "code": "pdp_unreachable",
                "verdict": "deny",
                "rule": "gate.enforcement",
                "requirement": "",
                "source": "",
                "remedy": "start it",
            }
        ],
        "obligations": [],
        "advice": [],
        "audit": {},
    }
    assert (decision.revision, decision.decided) == ("", False)
