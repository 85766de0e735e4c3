"""The call's place in the history of its run: what it would add, and what the verified event log says came before.

Reads the log and decides nothing. A value that cannot be read exactly is null, which no rule accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gate.canonical import digest
from gate.errors import InputError
from gate.evidence.action import MISSING, Action, resolve
from gate.evidence.amounts import amount_of_argument, as_parts, canonical_text, micros_of
from gate.evidence.host import Call, Run
from gate.records import Event, RunHistory, RunRecord, RunStatus

STEP = "trajectory_step"
"""Type of the event that records one step."""

# What became of an approval, in the words of the rules: one that was used or withdrawn is good for no further step.
_STATES = {"consumed": "expired", "cancelled": "revoked"}
_FAILED, _COMMITTED = "failed_before_effect", "side_effect_committed"


@dataclass(slots=True)
class _Step:
    """One recorded step and what became of it."""

    payload: Mapping[str, Any]
    status: str


@dataclass(slots=True)
class _Read:
    """What one pass over the log found."""

    steps: list[_Step] = field(default_factory=list)
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The evidence section, and the event that records the step when the call is carried out."""

    section: Mapping[str, Any]
    step: Mapping[str, Any]
    """Payload of the event; ids, digests and amounts."""
    version: int
    """Steps that the history had; compared again when the step is recorded."""


def history_ref(tenant_id: str, run_id: str) -> str:
    """The name of a run's log: lower case whatever the run is called."""
    return f"run-log:{digest({'tenant_id': tenant_id, 'run_id': run_id})[7:39]}"


def trajectory(
    run: Run,
    call: Call,
    action: Action,
    *,
    observed: Mapping[str, Any],
    record: RunRecord | None,
    history: RunHistory | None,
) -> Trajectory:
    """The place of `call` in `history`; `observed` is what the served bundle says of the capability."""
    read = _read(() if history is None else history.events)
    counted = [step for step in read.steps if step.status != _FAILED]
    arguments = action.fresh_arguments()
    fingerprints = {name: _fingerprint(arguments, place) for name, place in observed["fingerprints"].items()}
    texts = {name: _amount(name, arguments, place) for name, place in observed["counters"].items()}
    ref = history_ref(run.identity.tenant_id or "", run.run_id)
    request: dict[str, Any] = {
        "action": call.capability,
        "tenant_id": run.identity.tenant_id,
        "subject_id": run.identity.principal_id,
        "expected_history_ref": ref,
        "expected_history_version": len(read.steps),
        "sequence_number": len(counted) + 1,
        "fingerprints": fingerprints,
        "window_id": run.run_id,
    }
    policy = {"policy_id": observed["policy_id"], "policy_version": observed["policy_version"]}
    request_fingerprint = digest({**request, **policy, "counter_deltas": texts})
    section = {
        "request": {
            **request,
            "counters": {name: None if text is None else _parts([text]) for name, text in texts.items()},
            "request_fingerprint": request_fingerprint,
        },
        "history": _history(read, counted, observed, record, history),
    }
    step = {
        **policy,
        "capability": call.capability,
        "fingerprints": {name: value for name, value in fingerprints.items() if value is not None},
        "counters": {name: text for name, text in texts.items() if text is not None},
        "request_fingerprint": request_fingerprint,
    }
    return Trajectory(section=section, step=step, version=len(read.steps))


def _history(
    read: _Read,
    counted: list[_Step],
    observed: Mapping[str, Any],
    record: RunRecord | None,
    history: RunHistory | None,
) -> dict[str, Any] | None:
    if record is None or history is None:
        return None
    records = [entry for entry in read.approvals.values() if entry["scope"] == observed["scope"]]
    last = read.steps[-1].payload if read.steps else observed
    return {
        "history_ref": history_ref(record.tenant_id, record.run_id),
        "history_version": len(read.steps),
        "tenant_id": record.tenant_id,
        "subject_id": record.principal_id,
        "policy_id": last["policy_id"],
        "policy_version": last["policy_version"],
        "integrity": history.integrity,
        "status": "missing" if history.integrity == "verified" and not history.events else "current",
        "observed_sequence": [step.payload["capability"] for step in counted],
        "completed_actions": [step.payload["capability"] for step in counted if step.status == _COMMITTED],
        "fingerprints": {
            name: next((s.payload["fingerprints"][name] for s in reversed(counted) if name in _kept(s)), None)
            for name in observed["fingerprints"]
        },
        "counters": {
            name: _parts(s.payload["counters"][name] for s in counted if name in s.payload["counters"])
            for name in observed["counters"]
        },
        "window_id": record.run_id,
        "window_state": "open" if record.status is RunStatus.RUNNING else "closed",
        "approval_records": records,
        # The newest speaks for all: an older one that was not withdrawn contradicts it, which is refused.
        "approval_state": records[-1]["state"] if records else "none",
    }


def _kept(step: _Step) -> Mapping[str, Any]:
    kept: Mapping[str, Any] = step.payload["fingerprints"]
    return kept


def _read(events: Iterable[Event]) -> _Read:
    read = _Read()
    open_steps: dict[tuple[Any, ...], _Step] = {}
    for event in events:
        payload = event.payload
        if event.event_type == STEP:
            step = _Step(payload, str(payload["status"]))
            read.steps.append(step)
            open_steps[_effect_of(payload)] = step
        elif event.event_type.startswith("effect_"):
            # An outcome belongs to the last attempt at its effect.
            claimed = open_steps.get(_effect_of(payload))
            if claimed is not None:
                claimed.status = str(payload.get("status"))
        elif event.event_type.startswith("approval_") and "approval_id" in payload:
            _note_approval(read.approvals, event.event_type, payload)
    return read


def _effect_of(payload: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(payload.get(name) for name in ("principal_id", "capability", "business_key_digest"))


def _note_approval(known: dict[str, dict[str, Any]], event_type: str, payload: Mapping[str, Any]) -> None:
    approval_id, state = str(payload["approval_id"]), str(payload.get("to", payload.get("status")))
    if event_type == "approval_requested":
        known[approval_id] = {
            "approval_id": approval_id,
            "scope": payload["contract_id"],
            "request_fingerprint": payload.get("request_fingerprint"),
            "state": state,
        }
    elif approval_id in known:
        known[approval_id]["state"] = _STATES.get(state, state)


def _fingerprint(arguments: Any, place: str) -> str | None:
    value = resolve(arguments, place)
    return None if value is MISSING or value is None else digest({"domain": "gate-fingerprint/v1", "value": value})


def _amount(name: str, arguments: Any, place: str) -> str | None:
    try:
        return canonical_text(amount_of_argument(name, resolve(arguments, place)))
    except InputError:
        return None


def _parts(texts: Iterable[str]) -> dict[str, Any]:
    return as_parts(sum(micros_of(amount_of_argument("history", text)) for text in texts))
