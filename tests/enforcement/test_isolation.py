"""Tenants share nothing, and a stranger learns nothing beyond that he is one (DESIGN 8, 15)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from enforcement_support import PRINCIPAL, TENANT, TICKET, World, at_once, key_of, raw

from gate.decision import ActionBlocked
from gate.errors import InputError
from gate.evidence import Call, Identity, Run

OTHER = "globex"
IDENTITY_CODES = {"tenant_mismatch", "principal_mismatch", "agent_mismatch", "session_mismatch", "run_mismatch"}


def of(world: World, tenant: str) -> Run:
    """A run with the same ids in either tenant."""
    identity = Identity(tenant_id=tenant, principal_id=PRINCIPAL)
    return world.start(identity=identity, run_id="run-1", session_id="session-1", trace_id="trace-1")


def test_two_tenants_with_the_same_ids_share_nothing(any_world: World) -> None:
    world = any_world
    ours, theirs = of(world, TENANT), of(world, OTHER)
    approval = world.ask(run=ours)
    world.vote(approval)

    outcome = world.attempt(run=theirs)
    assert (outcome.verdict, outcome.codes) == ("require_approval", ("approval_missing", "configured_with_approval"))
    outcome = world.attempt(run=theirs, approval_id=approval.approval_id)
    assert outcome.codes == ("approval_missing", "configured_with_approval")
    assert world.attempt(run=ours, body=lambda _: {"ours": 1}).verdict == "allow"
    outcome = world.attempt(run=theirs)
    assert (outcome.verdict, outcome.receipt) == ("require_approval", None)
    assert [len(world.store.approvals(t)) for t in (TENANT, OTHER)] == [1, 1]
    assert [len(world.store.effects(t)) for t in (TENANT, OTHER)] == [1, 0]
    world.vote(world.ask(run=theirs))
    assert world.attempt(run=theirs, body=lambda _: {"theirs": 1}).receipt == {"theirs": 1}
    assert [world.attempt(run=run).receipt for run in (ours, theirs)] == [{"ours": 1}, {"theirs": 1}]
    assert world.runs == 2


def test_rejection_and_end_of_a_run_in_one_tenant_leave_the_other_alone(world: World) -> None:
    ours, theirs = of(world, TENANT), of(world, OTHER)
    world.vote(world.ask(run=ours), decision="rejected")

    assert world.search(run=ours).verdict == "deny"
    assert world.search(run=theirs).verdict == "allow"
    assert world.attempt(run=theirs).verdict == "require_approval"


STRANGERS = {
    "of another tenant": Identity(tenant_id=OTHER, principal_id=PRINCIPAL),
    "of another principal": Identity(tenant_id=TENANT, principal_id="user-43"),
    "of another tenant and principal": Identity(tenant_id=OTHER, principal_id="user-43"),
    "of a principal in other letters": Identity(tenant_id=TENANT, principal_id=PRINCIPAL.upper()),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_stranger_on_a_run_learns_only_that_he_is_one(any_world: World, name: str) -> None:
    world = any_world
    approval = world.approved()
    stranger = world.run.as_identity(STRANGERS[name])

    for capability in ("create_ticket", "search_docs", "run_shell", "no_such_tool"):
        arguments = TICKET if capability == "create_ticket" else {"query": "x"}
        outcome = world.attempt(capability, arguments, run=stranger, approval_id=approval.approval_id)
        assert (outcome.verdict, outcome.approval_id, outcome.receipt) == ("deny", None, None)
        assert set(outcome.codes) <= IDENTITY_CODES
        assert {"tenant_mismatch", "principal_mismatch"} & set(outcome.codes)
    decision = world.gate.check(stranger, "model_call")
    assert set(decision.codes) <= IDENTITY_CODES
    assert (decision.obligations, world.runs) == ((), 0)
    world.attempt()
    outcome = world.attempt(run=stranger)
    assert (outcome.verdict, outcome.receipt) == ("deny", None)
    assert set(outcome.codes) <= IDENTITY_CODES


def test_stranger_in_the_same_tenant_is_told_of_the_principal_only(world: World) -> None:
    stranger = world.run.as_identity(STRANGERS["of another principal"])

    assert world.search(run=stranger).codes == ("principal_mismatch",)


def test_stranger_does_not_end_a_run_by_an_expired_approval(world: World) -> None:
    approval = world.ask()
    raw(world.path, "UPDATE approvals SET expires_at_ms = 1")
    stranger = world.run.as_identity(STRANGERS["of another principal"])

    assert world.attempt(run=stranger, approval_id=approval.approval_id).codes == ("principal_mismatch",)
    assert world.search().verdict == "allow"


@pytest.mark.parametrize(
    ("change", "code"),
    [({"agent_id": "another-agent"}, "agent_mismatch"), ({"session_id": "session-2"}, "session_mismatch")],
)
def test_run_under_another_agent_or_session_is_refused(world: World, change: dict[str, str], code: str) -> None:
    outcome = world.search(run=replace(world.run, **change))

    assert (outcome.verdict, outcome.codes) == ("deny", (code,))


def test_reviewer_of_another_tenant_decides_nothing(world: World) -> None:
    approval = world.ask()
    vote = world.gate.reviews.sign(approval, decision="approved", key=key_of("mira"))

    with pytest.raises(InputError, match="is not known"):
        world.gate.reviews.vote(OTHER, approval.approval_id, vote, decision="approved", reviewer="mira")

    assert world.store.approval(TENANT, approval.approval_id) == approval


def test_reconciliation_in_another_tenant_finds_nothing(world: World) -> None:
    world.approved()
    world.attempt()
    (effect,) = world.store.effects(TENANT)

    with pytest.raises(InputError, match="no such effect is recorded"):
        world.gate.reviews.reconcile(
            replace(effect, tenant_id=OTHER), outcome="committed", evidence_ref="e", reconciled_by="ops"
        )


@pytest.mark.opa
def test_gate_shared_by_threads_answers_each_about_its_own_call(any_world: World) -> None:
    world = any_world
    run = world.run
    asked = {
        "search_docs": ({"query": "x"}, ("configured_allow",)),
        "create_ticket": (TICKET, ("approval_missing", "configured_with_approval")),
        "run_shell": ({}, ("configured_deny",)),
        "no_such_tool": ({}, ("capability_unknown",)),
    }
    names = list(asked)
    seen: list[set[str]] = [set() for _ in range(8)]

    def ask(number: int) -> list[tuple[str, tuple[str, ...], object]]:
        name = names[number % 4]
        answers = []
        for _ in range(25):
            decision = world.gate.check_call(
                run,
                Call(capability=name, arguments=asked[name][0], idempotency_key=f"key-{number}", reason="because"),
            )
            seen[number].add(str(decision.audit["request_id"]))
            answers.append((str(decision.verdict), decision.codes, decision.audit["capability"]))
        return answers

    answers = at_once(8, ask)

    for number, given in enumerate(answers):
        name = names[number % 4]
        verdict = {"search_docs": "allow", "create_ticket": "require_approval"}.get(name, "deny")
        known = None if name == "no_such_tool" else name
        assert given == [(verdict, asked[name][1], known)] * 25
    assert len(set().union(*seen)) == 200


def test_run_of_nobody_is_refused(world: World) -> None:
    for tenant, principal in ((None, PRINCIPAL), (TENANT, None), (None, None)):
        nobody = world.run.as_identity(Identity(tenant_id=tenant, principal_id=principal))
        with pytest.raises(ActionBlocked) as refused:
            world.gate.check(nobody, "model_call").enforce()
        assert set(refused.value.decision.codes) <= IDENTITY_CODES
