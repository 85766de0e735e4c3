"""What a call leaves behind: a trace that can be followed, and no secret anywhere (DESIGN invariants 7 and 8)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from enforcement_support import ENVIRONMENT, TENANT, TICKET, World

from gate.documents.resources import schema
from gate.enforcement import EffectNotStarted, EffectOutcomeUnknown, Gate
from gate.errors import EvidenceError, GateError
from gate.evidence import Call
from gate.trace import JsonlSink, TraceEvent

CREATE = ["configured_with_approval"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


@pytest.fixture
def traced(make_world: Callable[..., World], file: Path) -> World:
    return make_world(trace=JsonlSink(file))


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_step_of_a_call_is_told_in_the_form_of_the_schema(traced: World, file: Path) -> None:
    traced.approved()
    traced.attempt()
    traced.attempt()
    traced.attempt("delete_user", {"id": "7"})
    traced.gate.check_call(traced.run, Call(capability="search_docs", arguments={"query": "x"}))

    told = lines(file)
    for line in told:
        jsonschema.validate(line, schema("trace-event"))
    assert {line["trace_id"] for line in told} == {"trace-1"}
    assert [
        (line["event_type"], line["payload"].get("operation"), line["payload"].get("capability"),
         line["payload"].get("verdict"), line["payload"].get("reasons"))
        for line in told
    ] == [
        ("decision", "run_start", None, "allow", ["operation_allowed"]),
        ("tool_call_blocked", None, "create_ticket", "require_approval", ["approval_missing", *CREATE]),
        ("decision", "approval_transition", "create_ticket", "allow", ["operation_allowed"]),
        ("tool_call_allowed", None, "create_ticket", "allow", CREATE),
        ("effect_settled", None, None, None, None),
        ("tool_call_blocked", None, "create_ticket", "deny", [*CREATE, "effect_already_committed"]),
        ("tool_call_blocked", None, None, "deny", ["capability_unknown"]),
        ("decision", "call_tool", "search_docs", "allow", ["configured_allow"]),
    ]  # fmt: skip
    said = [line["payload"] for line in told if "verdict" in line["payload"]]
    assert {payload["revision"] for payload in said} == {traced.point.revision()}
    assert len({payload["request_id"] for payload in said}) == len(said)
    assert told[4]["payload"] == {
        "status": "side_effect_committed",
        "business_key": traced.store.effects(TENANT)[0].business_key,
    }


def test_refused_vote_is_told(traced: World, file: Path) -> None:
    approval = traced.vote(traced.ask(), decision="rejected")
    with pytest.raises(GateError):
        traced.vote(approval)

    last = lines(file)[-1]["payload"]
    assert (last["operation"], last["verdict"]) == ("approval_transition", "deny")
    assert "transition_not_allowed" in last["reasons"]


def test_call_without_a_decision_is_told_with_its_code(traced: World, file: Path) -> None:
    run = traced.run
    with pytest.raises(GateError):
        traced.attempt("search_docs", {"query": float("nan")})
    traced.store.close()
    traced.search(run=run)

    told = [(line["event_type"], line["payload"]["code"], line["payload"].get("reasons")) for line in lines(file)[1:]]
    assert told == [
        ("tool_call_blocked", "json_number_not_finite", None),
        ("tool_call_blocked", "action_blocked", ["store_unavailable"]),
    ]


class Failing:
    """A sink that fails for some events."""

    def __init__(self, *event_types: str) -> None:
        self.event_types = event_types

    def write(self, event: TraceEvent) -> None:
        if event.event_type in self.event_types:
            raise EvidenceError("the trace could not be written", code="trace_unwritable")


def with_sink(world: World, *event_types: str) -> World:
    world.approved()
    world.gate = Gate(world.point, world.store, environment=ENVIRONMENT, trace=Failing(*event_types))
    return world


def test_call_that_cannot_be_traced_does_not_run(world: World) -> None:
    with_sink(world, "tool_call_allowed")

    with pytest.raises(EvidenceError) as refused:
        world.attempt()

    assert (refused.value.code, world.runs, world.status()) == ("trace_unwritable", 0, "failed_before_effect")


def test_read_that_cannot_be_traced_does_not_run(world: World) -> None:
    with_sink(world, "tool_call_allowed")

    with pytest.raises(EvidenceError):
        world.search()

    assert (world.runs, world.store.effects(TENANT)) == (0, [])


def test_refusal_that_cannot_be_traced_stays_a_refusal(world: World) -> None:
    with_sink(world, "tool_call_blocked")

    with pytest.raises(EvidenceError):
        world.attempt("run_shell", {})

    assert world.runs == 0


def test_decision_that_cannot_be_traced_is_not_handed_out(world: World) -> None:
    run = world.run
    with_sink(world, "decision")

    with pytest.raises(EvidenceError):
        world.gate.check(run, "model_call")
    with pytest.raises(EvidenceError):
        world.gate.check_call(run, Call(capability="search_docs", arguments={"query": "x"}))


def test_vote_that_cannot_be_traced_moves_nothing(world: World) -> None:
    approval = world.ask()
    world.gate = Gate(world.point, world.store, environment=ENVIRONMENT, trace=Failing("decision"))

    with pytest.raises(EvidenceError):
        world.vote(approval)

    assert world.store.approval(TENANT, approval.approval_id) == approval


def test_outcome_that_cannot_be_traced_is_recorded_all_the_same(world: World) -> None:
    with_sink(world, "effect_settled")

    with pytest.raises(EvidenceError):
        world.attempt()

    assert (world.status(), world.runs) == ("side_effect_committed", 1)
    assert world.attempt().receipt == {"n": 1}


def test_unknown_outcome_that_cannot_be_traced_is_still_unknown_to_the_caller(world: World) -> None:
    with_sink(world, "effect_unsettled")

    def body(_: object) -> None:
        world.store.close()

    with pytest.raises(EffectOutcomeUnknown):
        world.attempt(body=body)


# Secrets

S = "s3cr3t"
BODY = f"password: {S}-body"


def plant(world: World) -> list[BaseException]:
    """Takes secrets down every way a call can go; what was raised on the way."""
    raised: list[BaseException] = []

    def go(*args: Any, **options: Any) -> None:
        try:
            world.attempt(*args, **options)
        except Exception as exc:  # noqa: BLE001 - whatever is raised may hold a secret
            raised.append(exc)

    def fail(_: object) -> None:
        raise EffectNotStarted("the service was not reachable")

    ticket = {**TICKET, "body": BODY, "requester_id": f"{S}-requester"}
    world.vote(world.ask(ticket, resource=f"{S}-resource"))
    go(arguments=ticket, resource=f"{S}-resource", body=fail)
    go(arguments=ticket, resource=f"{S}-resource")
    go(arguments={**ticket, f"{S}-name": 1})
    go(arguments={**ticket, "queue": f"{S}-queue"})
    go("search_docs", {"query": f"{S}-query"}, resource=f"{S}-resource")
    go("search_docs", {"query": f"{S}-query", "limit": float("nan")})
    go("search_docs", {"query": (f"{S}-tuple",)})
    go("search_docs", {f"{S}-\x00": 1})
    go(f"{S}_tool", {"token": f"{S}-token"})
    go(f"{S}_tool\n", {"token": f"{S}-token"}, idempotency_key=f"{S}\nkey")
    go(arguments=ticket, approval_id=f"{S}-approval")
    go(arguments=ticket, idempotency_key=f"{S}\x00key")
    go(arguments=ticket, reason=f"{S}\x00reason")
    go("search_docs", {"query": "x" * 1_100_000 + S})
    for operation in ("model_call", "memory_write", "emit", "list_tools"):
        world.gate.check(world.run, operation, {"text": f"{S}-prompt", "memory_kind": f"{S}-kind"})
    return raised


def chain(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def test_no_secret_of_a_call_is_in_trace_log_error_or_records(
    traced: World, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    raised = plant(traced)

    assert S not in file.read_text()
    assert S not in caplog.text
    assert len(raised) > 5
    assert [str(e) for error in raised for e in chain(error) if S in f"{e} {e.args} {getattr(e, 'hint', '')}"] == []
    traced.store.close()
    kept = b"".join(f.read_bytes() for f in traced.path.parent.iterdir() if f.name.startswith(traced.path.name))
    assert S.encode() not in kept


def test_what_is_stored_on_purpose_is_the_reason_the_receipt_and_what_the_policy_shows(traced: World) -> None:
    ticket = {**TICKET, "title": "shown-title", "body": "hidden-body"}
    traced.vote(traced.ask(ticket, reason="given-reason"))
    traced.attempt(arguments=ticket, reason="given-reason", body=lambda _: {"ticket": "kept-receipt"})
    traced.store.close()

    kept = b"".join(f.read_bytes() for f in traced.path.parent.iterdir() if f.name.startswith(traced.path.name))
    stored = {word: word.encode() in kept for word in ("shown-title", "hidden-body", "given-reason", "kept-receipt")}
    assert stored == {"shown-title": True, "hidden-body": False, "given-reason": True, "kept-receipt": True}


@pytest.mark.opa
def test_no_secret_of_a_call_is_in_the_sidecars_log(make_world: Callable[..., World], sidecar: Any) -> None:
    client = sidecar.client(timeout_ms=10_000)
    world = make_world(point=client)

    plant(world)

    client.close()
    assert S not in sidecar.log_file.read_text()
