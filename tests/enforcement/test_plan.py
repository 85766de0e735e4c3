from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from edge_support import (
    EDITOR_A,
    PRINCIPAL,
    TENANT,
    ZONE_A,
    ZONE_B,
    Edge,
    copied,
    open_edge,
    point_of,
    route,
    update,
)
from enforcement_support import error_code
from opa_point import OpaPoint

from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, EffectNotStarted, PlanIncomplete
from gate.evidence import Identity, PlanStep
from gate.records import EffectStatus


@pytest.fixture(scope="module")
def point(tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    return point_of(copied("edge-deployment", tmp_path_factory.mktemp("bundle")))


@pytest.fixture
def edge(point: OpaPoint, tmp_path: Path) -> Iterator[Edge]:
    with open_edge(point, tmp_path) as world:
        yield world


def refused(edge: Edge, steps: list[PlanStep] | None = None, **options: Any) -> ActionBlocked:
    """How the plan was refused; its body must not run."""
    with pytest.raises(ActionBlocked) as blocked, edge.plan(steps, **options):
        edge.bodies.append("plan")
    assert edge.bodies == []
    return blocked.value


def approved(edge: Edge, steps: list[PlanStep] | None = None, **options: Any) -> None:
    asked = refused(edge, steps, **options)
    assert (str(asked.decision.verdict), "plan_requirement_denied" in asked.decision.codes) == (
        "require_approval",
        False,
    )
    edge.approve(asked.approval_id)


def do(edge: Edge, plan: Any, index: int) -> None:
    with plan.step(index) as call:
        edge.bodies.append(call.arguments.get("worker") or call.arguments["zone"])


def carry_out(edge: Edge, *acts: Any) -> None:
    """Carries out the plan: the steps of these numbers, and whatever else happens between them."""
    with edge.plan() as plan:
        for act in acts:
            if isinstance(act, int):
                do(edge, plan, act)
            else:
                act()


def stopped(edge: Edge, *acts: Any) -> ActionBlocked:
    """How the approved plan was stopped."""
    approved(edge)
    with pytest.raises(ActionBlocked) as blocked:
        carry_out(edge, *acts)
    return blocked.value


def granting(edge: Edge, *rights: Any) -> Any:
    """Leaves the principal with these rights only."""
    return lambda: setattr(edge.rights, "granted", set(rights))


def test_plan_with_all_rights_is_carried_out_once_and_answered_with_its_receipt(edge: Edge) -> None:
    approved(edge)
    edge.rights.questions.clear()

    with edge.plan() as plan:
        do(edge, plan, 0)
        do(edge, plan, 1)

    assert edge.bodies == ["worker-a", "zone-a"]
    assert [edge.status(c) for c in ("run_change_plan", "update_worker", "write_route")] == [
        "side_effect_committed"
    ] * 3
    # The plan and each step: one question for the whole plan each, and nobody's list but the adapter's.
    assert [len(q["requirements"]) for q in edge.rights.questions] == [2, 2, 2]
    assert {(q["tenant_ref"], q["principal_ref"]) for q in edge.rights.questions} == {(TENANT, PRINCIPAL)}
    with pytest.raises(AlreadyCommitted) as done, edge.plan():
        edge.bodies.append("again")
    assert done.value.receipt == {"completed": [0, 1], "uncertain": [], "plan_digest": plan.record.plan_digest}
    assert len(edge.bodies) == 2


def test_plan_that_changes_no_route_needs_no_right_in_a_zone(edge: Edge) -> None:
    edge.rights.granted = {EDITOR_A}

    approved(edge, [update()])
    with edge.plan([update()]) as plan:
        do(edge, plan, 0)

    assert edge.bodies == ["worker-a"]


@pytest.mark.parametrize(
    ("granted", "zones", "steps", "code"),
    [
        ({EDITOR_A}, {}, [update(), route()], "plan_requirement_denied"),
        ({ZONE_A}, {}, [update(), route()], "plan_requirement_denied"),
        # Moving the route out of zone B changes zone B as well.
        ({EDITOR_A, ZONE_A}, {"shop": "zone-b"}, [update(), route()], "plan_requirement_denied"),
        ({EDITOR_A, ZONE_A}, {}, [update("worker-b"), route()], "plan_requirement_denied"),
        (
            {EDITOR_A, ZONE_A, ("worker.update", "account-a/worker-z", "Editor")},
            {},
            [update("worker-z")],
            "plan_out_of_task",
        ),
    ],
    ids=["zone", "worker", "old-zone", "other-worker", "outside-task"],
)
def test_plan_lacking_one_right_is_blocked_before_anything_changes(
    edge: Edge, granted: set[Any], zones: dict[str, str], steps: list[PlanStep], code: str
) -> None:
    edge.rights.granted, edge.adapter.zones = granted, zones

    blocked = refused(edge, steps)

    assert (str(blocked.decision.verdict), blocked.approval_id) == ("deny", None)
    assert code in blocked.decision.codes
    assert edge.store.effects(TENANT) == []
    audit = blocked.decision.audit["compound_authorization"]
    assert (audit["plan_ref"], audit["principal_ref"], audit["decision"]) == ("immutable-plan-42", PRINCIPAL, "deny")


def test_audit_of_a_plan_names_the_lacking_right_and_its_reason(edge: Edge) -> None:
    edge.rights.granted = {EDITOR_A}

    audit = refused(edge).decision.audit["compound_authorization"]

    assert audit["reason"] == "missing_zone_route_permission"
    assert audit["requirements"] == [
        {
            "action": "worker.update",
            "resource_ref": "account-a/worker-a",
            "required_access": "Editor",
            "decision": "allow",
        },
        {
            "action": "route.write",
            "resource_ref": "account-a/zone-a",
            "required_access": "Workers Routes Write",
            "decision": "deny",
        },
    ]


@pytest.mark.parametrize(
    ("status", "broken"),
    [(200, b"not json"), (500, b"{}"), (302, b"{}"), (200, b"{}"), (200, b"[]"), (200, b"x" * 300_000)],
)
def test_rights_service_that_does_not_answer_blocks_the_plan(edge: Edge, status: int, broken: bytes) -> None:
    edge.rights.status, edge.rights.broken = status, broken

    blocked = refused(edge)

    assert (str(blocked.decision.verdict), edge.store.effects(TENANT)) == ("deny", [])
    assert "plan_requirement_unknown" in blocked.decision.codes


def test_adapter_that_fails_leaves_a_plan_without_requirements_which_is_refused(edge: Edge) -> None:
    edge.adapter.failing = True

    codes = refused(edge).decision.codes

    assert {"plan_requirements_incomplete", "plan_requirement_unknown"} <= set(codes)


def test_adapter_that_the_bundle_does_not_trust_proves_nothing(edge: Edge) -> None:
    edge.adapter.name = "list-of-the-model"

    assert "plan_adapter_untrusted" in refused(edge).decision.codes


def test_right_revoked_between_steps_stops_the_plan_and_leaves_it_partial(edge: Edge) -> None:
    blocked = stopped(edge, 0, granting(edge, EDITOR_A), 1)

    assert "plan_requirement_denied" in blocked.decision.codes
    assert blocked.decision.obligation("stop_plan") == {
        "type": "stop_plan",
        "plan_ref": "immutable-plan-42",
        "to": "partial_side_effect",
    }
    assert edge.bodies == ["worker-a"]
    assert [edge.status(c) for c in ("run_change_plan", "update_worker", "write_route")] == [
        "partial_side_effect",
        "side_effect_committed",
        "not_started",
    ]
    (event,) = edge.events("plan_stopped")
    assert (event["completed"], event["uncertain"], event["status"]) == ([0], [], "partial_side_effect")
    assert "plan_requirement_denied" in event["reasons"]
    # Nothing goes on by itself, even with the right back: people find out what is there first.
    edge.rights.granted = {EDITOR_A, ZONE_A}
    with pytest.raises(ActionBlocked) as again, edge.plan():
        edge.bodies.append("again")
    assert str(again.value.decision.verdict) == "blocked_on_reconciliation"
    assert again.value.decision.obligation("reconcile") is not None
    assert len(edge.bodies) == 1


def test_right_revoked_before_the_first_step_leaves_the_plan_failed_before_any_effect(edge: Edge) -> None:
    stopped(edge, granting(edge), 0)

    assert (edge.bodies, edge.status("run_change_plan")) == ([], "failed_before_effect")


def test_rights_are_asked_again_after_a_pause(edge: Edge) -> None:
    run = edge.run

    blocked = stopped(
        edge,
        0,
        lambda: edge.gate.pause_run(run),
        granting(edge, EDITOR_A),
        lambda: edge.gate.resume_run(run),
        1,
    )

    assert "plan_requirement_denied" in blocked.decision.codes


def test_target_that_moved_meanwhile_makes_another_plan(edge: Edge) -> None:
    edge.rights.granted |= {ZONE_B}

    blocked = stopped(edge, 0, lambda: edge.adapter.zones.update(shop="zone-b"), 1)

    assert "plan_changed" in blocked.decision.codes
    assert (edge.bodies, edge.status("run_change_plan")) == (["worker-a"], "partial_side_effect")


def test_zone_swapped_after_the_approval_needs_another_plan_and_another_approval(edge: Edge) -> None:
    edge.rights.granted |= {ZONE_B}
    approved(edge)

    swapped = [update(), route("zone-b")]
    assert "plan_changed" in refused(edge, swapped).decision.codes
    asked = refused(edge, swapped, plan_ref="immutable-plan-43")

    assert (str(asked.decision.verdict), asked.approval_id is None) == ("require_approval", False)


def test_step_outside_a_plan_does_not_run(edge: Edge) -> None:
    step = update()

    with (
        pytest.raises(ActionBlocked) as blocked,
        edge.gate.tool_call(edge.run, step.capability, step.arguments, idempotency_key="k", resource=step.resource),
    ):
        edge.bodies.append("ran")

    assert ("plan_evidence_missing" in blocked.value.decision.codes, edge.bodies) == (True, [])


def test_steps_run_in_their_order_only(edge: Edge) -> None:
    approved(edge)

    with pytest.raises(ActionBlocked) as blocked, edge.plan() as plan:
        do(edge, plan, 1)

    assert "plan_step_out_of_order" in blocked.value.decision.codes
    assert (edge.bodies, edge.status("run_change_plan")) == ([], "failed_before_effect")


def test_plan_left_early_is_partial_and_says_so(edge: Edge) -> None:
    approved(edge)

    with pytest.raises(PlanIncomplete, match="1 of 2 steps"), edge.plan() as plan:
        do(edge, plan, 0)

    assert edge.status("run_change_plan") == "partial_side_effect"


def test_step_whose_outcome_is_unknown_leaves_the_plan_partial(edge: Edge) -> None:
    approved(edge)

    with pytest.raises(RuntimeError), edge.plan() as plan, plan.step(0):
        raise RuntimeError

    assert (edge.status("update_worker"), edge.status("run_change_plan")) == (
        "side_effect_unknown",
        "partial_side_effect",
    )
    assert edge.events("plan_stopped")[0]["uncertain"] == [0]


def test_step_that_did_not_start_can_be_taken_again_in_the_same_plan(edge: Edge) -> None:
    approved(edge)

    with edge.plan() as plan:
        with pytest.raises(EffectNotStarted), plan.step(0):
            raise EffectNotStarted("the service was not reachable")
        do(edge, plan, 0)
        do(edge, plan, 1)

    assert edge.status("run_change_plan") == "side_effect_committed"


def test_plan_of_another_principal_or_run_is_not_taken_over(edge: Edge) -> None:
    approved(edge)
    other = edge.gate.start_run(
        agent_id="edge-deployer-ref",
        identity=Identity(tenant_id=TENANT, principal_id="somebody-else"),
        session_id="session-edge-2",
        trace_id="trace-edge-2",
    )

    codes = refused(edge, run=other).decision.codes

    assert {"plan_principal_mismatch", "plan_changed"} <= set(codes)


@pytest.mark.parametrize("steps", [[], [update()] * 21])
def test_plan_without_steps_or_with_too_many_is_the_callers_mistake(edge: Edge, steps: list[PlanStep]) -> None:
    assert error_code(lambda: edge.plan(steps).__enter__()) == "plan_steps_invalid"


@pytest.mark.parametrize("field", ["capability", "idempotency_key", "resource"])
@pytest.mark.parametrize("value", ["", " ", None, 7])
def test_step_with_a_name_that_is_none_is_the_callers_mistake(field: str, value: Any) -> None:
    assert error_code(lambda: replace(update(), **{field: value})) == "field_invalid"


def test_arguments_changed_by_the_caller_after_planning_change_nothing(edge: Edge) -> None:
    approved(edge)
    step = update()

    with edge.plan([step, route()]) as plan:
        step.arguments["worker"] = "worker-b"
        do(edge, plan, 0)
        do(edge, plan, 1)

    assert edge.bodies == ["worker-a", "zone-a"]
    assert plan.settled is EffectStatus.COMMITTED


def test_no_argument_value_and_no_token_enters_log_or_trace(edge: Edge) -> None:
    edge.service = replace(edge.service, service=replace(edge.service.service, token=lambda: "s3cret-token"))
    approved(edge, [update(version="v-s3cret"), route()])
    with edge.plan([update(version="v-s3cret"), route()]) as plan:
        do(edge, plan, 0)
        do(edge, plan, 1)

    assert edge.rights.questions[-1]["authorization"] == "Bearer s3cret-token"
    told = [event.as_line() for event in edge.trace.events]
    told += [str(e) for e in edge.store.events(TENANT, edge.run.run_id) if e.event_type.startswith("plan_")]
    told.append(str(edge.store.plan(TENANT, "immutable-plan-42")))
    assert [line for line in told if "s3cret" in line] == []
