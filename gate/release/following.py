"""One trace followed through everything that was kept of it: decisions, rules, contracts, approvals, effects, release.

Reads the trace, the store, the bundle and its ledger; changes none and guesses nothing. Where two of them do not fit,
it says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.canonical import parse
from gate.compiler import Compiled, assemble
from gate.documents import schema, strict_validator
from gate.documents.releases import Ledger, Release, load_ledger
from gate.errors import GateError, InputError
from gate.records import ApprovalRecord, ApprovalStatus, ChainState, EffectRecord, RunRecord, Store, StoredVote
from gate.release.origins import Origin, Origins

_MAX_LINE_BYTES = 1 << 20
_OPERATIONS: Mapping[str, str] = {
    **dict.fromkeys(("tool_call_allowed", "tool_call_blocked"), "call_tool"),
    **dict.fromkeys(("context_rehydration", "continuity_validation_failed"), "rehydrate"),
}
"""What was asked about, by the type of events that do not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of the trace."""

    at_ms: int
    event_type: str
    payload: Mapping[str, Any]
    reasons: tuple[tuple[str, tuple[Origin, ...]], ...]
    """Each reason code with the rules that raise it; no rules when the bundle does not know the code."""
    release: Release | None
    """The ledger's entry of the revision that decided."""
    same_revision: bool
    """Whether the bundle at hand is the one that decided, so that the lines are those of then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Everything that is known of one trace."""

    trace_id: str
    steps: tuple[Step, ...]
    runs: tuple[RunRecord, ...]
    chains: tuple[ChainState, ...]
    """The hash chain of each run, walked now."""
    approvals: tuple[ApprovalRecord, ...]
    contracts: Mapping[str, tuple[str, int]]
    """File and line of each contract that one of the approvals is under."""
    effects: tuple[EffectRecord, ...]
    unread: tuple[int, ...] = ()
    """Numbers of the lines of the trace that are no events: cut off, or changed."""

    def approvals_of(self, effect: EffectRecord) -> tuple[ApprovalRecord, ...]:
        """The consumed approvals of exactly the action that `effect` is of."""
        return tuple(
            a
            for a in self.approvals
            if a.status is ApprovalStatus.CONSUMED
            and (a.capability, a.action_digest) == (effect.capability, effect.action_digest)
        )

    @property
    def found(self) -> bool:
        """Whether anything at all is known."""
        return bool(self.steps or self.runs or self.approvals)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What does not fit together."""
        said = [f"the events of run `{c.run_id}` are not what was written" for c in self.chains if not c.sound]
        deciding = [step for step in self.steps if step.payload.get("revision")]
        if any(not step.same_revision for step in deciding):
            said.append("another revision decided than the bundle at hand; its lines may have moved")
        if any(step.release is None for step in deciding):
            said.append("a revision that decided is not in the ledger")
        if self.unread:
            said.append(f"{len(self.unread)} lines of the trace are no events, the first is line {self.unread[0]}")
        return tuple(said)


def follow(
    trace_id: str, *, compiled: Compiled, trace: Path | None, store: Store | None, tenant_id: str | None
) -> Followed:
    """Follows `trace_id` through the JSONL file `trace` and the records of `tenant_id` in `store`, as far as given.

    Raises `InputError` for a trace that is none, `StoreError`, `BundleError`.
    """
    unread: list[int] = []
    steps = () if trace is None else tuple(_steps(trace_id, trace, compiled, unread))
    runs: tuple[RunRecord, ...] = ()
    approvals: tuple[ApprovalRecord, ...] = ()
    effects: tuple[EffectRecord, ...] = ()
    chains: tuple[ChainState, ...] = ()
    if store is not None and tenant_id is not None:
        runs = tuple(store.runs_of_trace(tenant_id, trace_id))
        ids = {run.run_id for run in runs}
        asked = [a for a in store.approvals(tenant_id) if a.run_id in ids or a.trace_id == trace_id]
        approvals = tuple(reversed(asked))  # the records give the newest first
        effects = tuple(e for e in reversed(store.effects(tenant_id)) if e.run_id in ids)  # last changed last
        chains = tuple(chain for run in runs for chain in store.inspect_chains(tenant_id, run.run_id))
    return Followed(
        trace_id=trace_id,
        steps=steps,
        runs=runs,
        chains=chains,
        approvals=approvals,
        contracts=_contracts(compiled, {a.contract_id for a in approvals}),
        effects=effects,
        unread=tuple(unread),
    )


def signed_by(vote: StoredVote) -> dict[str, str | None]:
    """What a vote's bytes say of themselves: reviewer, key_id and decision; null what they do not say.

    A vote of a consumed approval was verified when it was consumed; this reads it, and verifies nothing.
    """
    try:
        payload = parse(vote.payload)
    except GateError:
        payload = None
    said = payload if isinstance(payload, dict) else {}
    return {name: _word(said.get(name)) for name in ("reviewer", "key_id", "decision")}


def _contracts(compiled: Compiled, wanted: set[str]) -> dict[str, tuple[str, int]]:
    document = compiled.bundle.documents.get("approvals.yaml")
    return {
        contract.contract_id: (document.file, document.position(f"/approval_contracts/{index}")[0])
        for index, contract in enumerate(compiled.bundle.contracts)
        if document is not None and contract.contract_id in wanted
    }


def _steps(trace_id: str, trace: Path, compiled: Compiled, unread: list[int]) -> Iterator[Step]:
    origins, ledger = Origins(compiled), load_ledger(compiled.bundle.folder)
    revision = assemble([compiled]).revision
    for event in _events(trace, unread):
        if event["trace_id"] == trace_id:
            yield _step(event, origins, ledger, revision)


def _step(event: Mapping[str, Any], origins: Origins, ledger: Ledger, revision: str) -> Step:
    payload = event["payload"]
    capability = payload.get("capability")
    operation = _OPERATIONS.get(event["event_type"], payload.get("operation"))
    reasons = payload.get("reasons")
    codes = [code for code in reasons if isinstance(code, str)] if isinstance(reasons, list) else []
    decided = payload.get("revision")
    return Step(
        at_ms=event["at_ms"],
        event_type=event["event_type"],
        payload=payload,
        reasons=tuple((code, origins.of(code, _word(capability), _word(operation))) for code in codes),
        release=next((r for r in ledger.releases if r.revision == decided), None),
        same_revision=decided == revision,
    )


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _events(trace: Path, unread: list[int]) -> Iterator[Mapping[str, Any]]:
    """The events in `trace`; the numbers of other lines go into `unread`: one line must not hide what the rest say."""
    validator = strict_validator(schema("trace-event"))
    found = False
    try:
        with trace.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                event = _parsed(line)
                if event is None or next(validator.iter_errors(event), None) is not None:
                    unread.append(number)
                else:
                    found = True
                    yield event
    except OSError as exc:
        raise InputError(f"`{trace}` cannot be read", code="trace_unreadable") from exc
    if unread and not found:
        hint = "give the file that the gate writes its trace to"
        raise InputError(f"`{trace}` holds no trace event", code="trace_unreadable", hint=hint)


def _parsed(line: bytes) -> Any:
    if len(line) > _MAX_LINE_BYTES:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
