from __future__ import annotations

from typing import Any

from continuity_support import TENANT, World

from gate.continuity import UserConstraint
from gate.decision import ActionBlocked
from gate.enforcement.tool_call import CallRunner
from gate.evidence import Run

FORBIDDEN = UserConstraint(
    words="No ticket about the broken invoice.",
    predicate='arguments.title == "Broken invoice"',
    source_event="user-message-2",
    applies_to=["create_ticket"],
)


def test_call_that_was_allowed_before_the_user_spoke_in_another_run_does_not_claim(
    world: World, monkeypatch: Any
) -> None:
    acting, talking = world.start(), world.start(session_id="session-2")
    world.vote(world.ask(acting))
    asked = CallRunner.ask
    spoken: list[str] = []

    def spoken_meanwhile(runner: CallRunner, run: Run, call: Any, **options: Any) -> Any:
        """The user speaks in the other run after the decision and before the claim."""
        answer = asked(runner, run, call, **options)
        if not spoken:
            assert answer.decision.allowed
            spoken.append(world.gate().record_constraint(talking, FORBIDDEN).constraint_id)
        return answer

    monkeypatch.setattr(CallRunner, "ask", spoken_meanwhile)
    blocked = world.call(acting)

    assert isinstance(blocked, ActionBlocked)
    assert "user_constraint_violated" in blocked.decision.codes
    assert world.tickets == []
    assert world.store.effects(TENANT) == []


def test_constraint_of_one_run_refuses_in_the_other_and_not_for_another_principal(world: World) -> None:
    acting, talking = world.start(), world.start(session_id="session-2")
    world.vote(world.ask(acting))
    world.gate().record_constraint(talking, FORBIDDEN)

    assert "user_constraint_violated" in world.codes(acting)
    assert world.tickets == []
