"""`Gate.check`: every operation it lists, decided by the policies alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from enforcement_support import AGENT, World

from gate.enforcement.gate import CHECKPOINT_OF

ALLOWED = ("allow", ("operation_allowed",))
NOT_NAMED = ("deny", ("no_rule_permits",))
NO_SESSION = ("session_binding_mismatch", "session_capability_denied", "session_mode_not_allowed", "session_not_live")
EXPECTED = {
    "run_start": ALLOWED,
    "user_message": NOT_NAMED,
    "retrieve": NOT_NAMED,
    "model_call": ALLOWED,
    "memory_write": ("deny", ("memory_kind_denied", "operation_allowed")),
    "list_tools": ALLOWED,
    "emit": ALLOWED,
    "notify": NOT_NAMED,
    # Neither belongs to a session that anybody opened.
    "elicit": ("deny", ("elicitation_refused", *NO_SESSION)),
    "progress": ("deny", ("progress_event_refused", *NO_SESSION)),
}


def test_every_operation_that_can_be_checked_has_an_expectation() -> None:
    assert set(EXPECTED) == set(CHECKPOINT_OF)


@pytest.mark.parametrize("operation", EXPECTED)
def test_operation_is_decided_as_the_bundle_says(any_world: World, operation: str) -> None:
    decision = any_world.gate.check(any_world.run, operation)

    assert (str(decision.verdict), decision.codes) == EXPECTED[operation]
    audit = {k: decision.audit[k] for k in ("checkpoint", "operation", "trace_id", "bundle_version", "capability")}
    assert audit == {
        "checkpoint": CHECKPOINT_OF[operation],
        "operation": operation,
        "trace_id": "trace-1",
        "bundle_version": "2026.04.07",
        "capability": None,
    }


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("validated_fact", "allow"), ("session_summary", "allow"), ("raw_prompt", "deny"), ("", "deny"), (None, "deny")],
)
def test_memory_write_is_decided_by_its_kind(any_world: World, kind: str | None, verdict: str) -> None:
    decision = any_world.gate.check(any_world.run, "memory_write", {"memory_kind": kind, "text": "User approved it."})

    assert str(decision.verdict) == verdict


@pytest.mark.parametrize("kind", [["validated_fact"], 1, True, {"validated_fact": 1}])
def test_memory_kind_of_another_type_is_denied(world: World, kind: object) -> None:
    assert "memory_kind_denied" in world.gate.check(world.run, "memory_write", {"memory_kind": kind}).codes


def test_operation_the_bundle_refuses_is_denied(make_world: Callable[..., World]) -> None:
    world = make_world("no_memory")

    decision = world.gate.check(world.run, "memory_write", {"memory_kind": "validated_fact"})

    assert (str(decision.verdict), decision.allowed) == ("deny", False)


@pytest.mark.parametrize("operation", [o for o in EXPECTED if o != "run_start"])
def test_operation_after_the_end_of_the_run_is_denied(world: World, operation: str) -> None:
    run = world.run
    world.gate.end_run(run)

    assert "run_not_running" in world.gate.check(run, operation).codes


def test_operation_that_names_a_tool_calls_none(world: World) -> None:
    decision = world.gate.check(world.run, "emit", {"capability": "create_ticket", "arguments": {}})

    assert (decision.obligations, world.store.effects("acme")) == ((), [])


def test_start_for_an_agent_nobody_governs_is_denied(world: World) -> None:
    decision = world.gate.check(replace(world.run, agent_id=f"{AGENT}x"), "run_start")

    assert decision.codes == ("agent_not_governed",)
