from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opa_point import OpaPoint

from gate.compiler import Compiled, assemble
from gate.lab.compaction import faults
from gate.lab.compaction.faults import FAULTS, Fault, play
from gate.lab.compaction.probe import probe
from gate.lab.compaction.stage import Stage
from gate.pdp import DecisionPoint


@contextmanager
def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
    assembly = assemble([compiled])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    yield point
    point.close()


@pytest.fixture(scope="module")
def played() -> dict[str, Fault]:
    return {fault.name: fault for fault in play(opened)}


def test_every_fault_is_recovered_and_its_ticket_written_once(played: dict[str, Fault]) -> None:
    assert {name: (f.outcome, f.tickets) for name, f in played.items()} == dict.fromkeys(FAULTS, ("recovered", 1))


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        (
            "cancelled_compaction",
            ["the compactor: compaction_timed_out", "another compaction: boundary_open"],
        ),
        ("concurrent_approval", ["compaction, asked for: approval_pending"]),
        (
            "policy_store_down",
            [
                "compaction: pdp_unreachable",
                "the ticket: pdp_unreachable",
                "resumed without policies: continuity_validation_failed, pdp_unreachable",
            ],
        ),
        ("tool_timeout", ["the tool: side_effect_unknown", "compaction: tool_outcome_unknown"]),
        (
            "restart_after_unknown_outcome",
            ["the process: killed by signal 9", "resumed: blocked_on_reconciliation, effect_in_flight"],
        ),
        (
            "failed_replacement",
            [
                "the session: session_replacement_failed",
                "resumed with what is left of it: continuity_validation_failed, summary_digest_mismatch",
            ],
        ),
        (
            "two_compactions_at_once",
            ["compaction, twice at once: 1 of 2 written", "resumed, twice at once: 1 of 2 validated"],
        ),
    ],
)
def test_a_fault_was_really_injected_and_stopped_what_it_had_to(
    played: dict[str, Fault], name: str, steps: list[str]
) -> None:
    assert [step for step in played[name].seen if step in steps] == steps


def test_a_second_ticket_makes_a_fault_unsound_whatever_the_scenario_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(stage: Stage) -> str:
        with stage.service.file.open("a") as file:
            file.write("written\nwritten\n")
        return faults.RECOVERED

    monkeypatch.setattr(faults, "FAULTS", {"twice": twice})
    (fault,) = play(opened)
    assert (fault.outcome, fault.sound, fault.tickets) == ("unsound", False, 2)


def test_probe_finds_a_tool_behind_verify_call_refusing_all_but_the_executors_call() -> None:
    found = probe(opened)
    assert found.rechecks
    assert {a.name: a.answer for a in found.attempts} == {
        "no token": "call_token_missing",
        "what the model remembers as a token": "call_token_malformed",
        "a token somebody made up": "call_token_malformed",
        "an approval's id as a token": "call_token_malformed",
        "an approved call that was not claimed": "call_token_malformed",
        "its token with a changed signature": "call_token_signature_invalid",
        "other arguments": "call_token_arguments_mismatch",
        "another capability": "call_token_capability_mismatch",
        "another tenant": "call_token_tenant_mismatch",
        "the executor's own call": "started",
        "the same token while it runs": "call_token_replayed",
        "the same token afterwards": "call_token_replayed",
    }


def test_probe_finds_a_tool_that_trusts_its_caller() -> None:
    def trusting(stage: Stage) -> Any:
        def tool(token: object, arguments: Any, **_: object) -> Any:
            with stage.service.file.open("a") as file:
                file.write("written\n")
            return {}

        return tool

    found = probe(opened, trusting)
    assert not found.rechecks
    assert found.effects == 12
    assert [a.name for a in found.attempts if a.sound] == ["the executor's own call"]


def test_probe_finds_a_tool_that_refuses_everybody() -> None:
    def refusing(stage: Stage) -> Any:
        return lambda token, arguments, **_: stage.service.write(None, arguments)

    found = probe(opened, refusing)
    assert (found.rechecks, found.effects) == (False, 0)
    assert [a.name for a in found.attempts if not a.sound] == ["the executor's own call"]
