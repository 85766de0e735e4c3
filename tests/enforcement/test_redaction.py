"""Redaction: what a control wants blanked is blanked before anybody approves, claims or runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from enforcement_support import TICKET, World

from gate.decision import ActionBlocked, Decision, Reason, Verdict
from gate.enforcement.redaction import redacted
from gate.errors import EvidenceError

SECRET = "my password is hunter2"


def deciding(*pointers: object) -> Decision:
    reason = Reason("x", Verdict.ALLOW, "r", "", "", "")
    return Decision(Verdict.ALLOW, (reason,), obligations=({"type": "redact", "pointers": list(pointers)},))


@pytest.mark.parametrize(
    ("value", "pointers", "expected"),
    [
        ({"a": "x", "b": 1}, ["/a"], {"a": "[REDACTED]", "b": 1}),
        ({"a": {"b": [1, {"c": "s"}]}}, ["/a/b/1/c"], {"a": {"b": [1, {"c": "[REDACTED]"}]}}),
        ({"a/b": "x", "c~d": "y"}, ["/a~1b", "/c~0d"], {"a/b": "[REDACTED]", "c~d": "[REDACTED]"}),
        (["x", "y"], ["/1"], ["x", "[REDACTED]"]),
    ],
)
def test_redacted_blanks_the_pointed_values_in_a_copy(value: Any, pointers: list[str], expected: Any) -> None:
    before = repr(value)
    assert redacted(deciding(*pointers), value) == expected
    assert repr(value) == before


@pytest.mark.parametrize("pointer", ["/missing", "/a/deeper/still", "/a/0", "/list/9", "/list/x", "/list/-1"])
def test_redacted_pointer_to_nothing_is_met(pointer: str) -> None:
    value = {"a": "x", "list": [1]}
    assert redacted(deciding(pointer), value) is value


@pytest.mark.parametrize("value", ["text", 5, None, True])
def test_redacted_value_without_parts_cannot_be_discharged(value: Any) -> None:
    with pytest.raises(EvidenceError) as caught:
        redacted(deciding("/a"), value)
    assert caught.value.code == "obligation_undischarged"


def test_redacted_obligation_without_pointers_cannot_be_discharged() -> None:
    for obligation in (
        {"type": "redact"},
        *({"type": "redact", "pointers": pointers} for pointers in ([], "/a", [""], ["a"], [5], [None], ["/a", "a"])),
    ):
        decision = Decision(Verdict.ALLOW, (), obligations=(obligation,))
        with pytest.raises(EvidenceError):
            redacted(decision, {"a": 1})


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world("controlled")


def test_redacted_call_is_what_is_approved_and_run(world: World) -> None:
    arguments = {**TICKET, "body": SECRET}
    approval = world.approved(arguments)
    outcome = world.attempt(arguments=arguments)
    assert (outcome.verdict, world.bodies) == ("allow", [{**TICKET, "body": "[REDACTED]"}])
    assert SECRET not in repr(approval.view)
    assert arguments["body"] == SECRET


def test_approval_of_the_redacted_call_covers_no_other_body(world: World) -> None:
    world.approved({**TICKET, "body": SECRET})
    outcome = world.attempt(arguments={**TICKET, "body": "harmless"})
    assert (outcome.verdict, outcome.ran) == ("require_approval", False)


def test_output_that_a_control_refuses_does_not_leave(world: World) -> None:
    with pytest.raises(ActionBlocked) as caught:
        world.gate.emit(world.run, "use api_key=abc")
    assert "no_credential_leaves" in caught.value.decision.codes
    assert world.gate.emit(world.run, "Your ticket is in the queue.") == "Your ticket is in the queue."
