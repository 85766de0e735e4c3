"""`Gate`: what an agent's tool executor calls. Safe to share between threads.

Python gathers evidence, Rego decides, this enforces: nothing here looks at a capability, an approval or an effect to
decide whether a call may run.
"""

from __future__ import annotations

import functools
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gate.canonical import canonical_bytes, parse
from gate.compiler.model import CHECKPOINTS
from gate.continuity import Desk, Sealer
from gate.decision import ActionBlocked, Decision
from gate.enforcement.asking import Answer, ask, refusal
from gate.enforcement.call_token import token_of
from gate.enforcement.crossing import Crossing
from gate.enforcement.deadline import run_with_deadline
from gate.enforcement.obligations import ENDED, MAX_ROUNDS, refuse_unknown, undischarged
from gate.enforcement.outcome import AlreadyCommitted, EffectNotStarted, EffectOutcomeUnknown
from gate.enforcement.partial import marked
from gate.enforcement.plan import PlanCarrier
from gate.enforcement.planning import Planning
from gate.enforcement.redaction import redacted
from gate.enforcement.review import Reviews
from gate.enforcement.sessions import Sessions
from gate.enforcement.tool_call import CallRunner, ToolCall
from gate.enforcement.tracing import Tracer
from gate.enforcement.verify import CallVerifier, VerifiedCall
from gate.errors import EvidenceError, GateError, InputError
from gate.evidence import (
    ABSENT,
    Call,
    Evidence,
    EvidenceBuilder,
    EvidenceSource,
    Identity,
    PlanPlace,
    Prepared,
    Run,
    require_text,
)
from gate.pdp import DecisionPoint, Facts
from gate.records import Claimed, EffectStatus, GateKey, PublicKey, RunRecord, RunStatus, Store
from gate.trace import NullSink, TraceSink

Tool = Callable[..., Any]

_CHECKED = frozenset(
    {
        *("run_start", "user_message", "retrieve", "model_call", "memory_write", "list_tools"),
        *("elicit", "progress", "emit", "notify"),
    }
)
CHECKPOINT_OF: Mapping[str, str] = {
    operation: checkpoint
    for checkpoint, operations in CHECKPOINTS.items()
    for operation in operations
    if operation in _CHECKED
}
"""Operations that `Gate.check` asks about, and the checkpoint each belongs to; the policies check the pairing."""


def system_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Gate(Crossing, Planning):
    """The policy enforcement point of one deployment.

    `environment` names the deployment and is signed into every approval. `clock_ms` is the gate's clock in
    milliseconds; expiry of approvals is compared with the database's clock besides. `evidence` are the host's sources,
    one for each section, which together may take `evidence_timeout_ms` for a document. `call_key` signs what the
    executor hands to tools that verify their calls; `call_keys` are the public keys such a tool accepts, by key id.
    `seal_key` seals envelopes: without one no boundary is written; `seal_keys` are keys of earlier seals, by id.

    Raises `InputError` (`evidence_*`) for sources that cannot be used together.
    """

    def __init__(
        self,
        point: DecisionPoint,
        store: Store,
        *,
        environment: str,
        trace: TraceSink | None = None,
        clock_ms: Callable[[], int] = system_clock_ms,
        call_key: GateKey | None = None,
        call_keys: Mapping[str, PublicKey] | None = None,
        seal_key: GateKey | None = None,
        seal_keys: Mapping[str, PublicKey] | None = None,
        evidence: Iterable[EvidenceSource] = (),
        evidence_timeout_ms: int = 2_000,
    ) -> None:
        self._point = point
        self._store = store
        sink = trace or NullSink()
        self._tracer = Tracer(sink, clock_ms)
        self._clock_ms = clock_ms
        self._evidence = EvidenceBuilder(
            store=store,
            environment=environment,
            evidence=Evidence.of(evidence, environment=environment, timeout_ms=evidence_timeout_ms),
        )
        self._runner = CallRunner(
            point=point,
            store=store,
            evidence=self._evidence,
            clock_ms=clock_ms,
            owner=_owner,
            tracer=self._tracer,
            sign=None if call_key is None else functools.partial(_signed, call_key, environment, clock_ms),
        )
        self._plans = PlanCarrier(store=store, runner=self._runner, tracer=self._tracer, enter=self._carried_out)
        self._verifier = CallVerifier(store=store, environment=environment, keys=dict(call_keys or {}))
        self._desk = Desk(
            ask=functools.partial(ask, point),
            # Looked up when it is asked: a tool's process, which only verifies calls, has no decision point.
            evidence_facts=lambda agent_id: point.facts(agent_id),
            store=store,
            evidence=self._evidence,
            sealer=Sealer(key=seal_key, keys=seal_keys or {}),
            clock_ms=clock_ms,
            sink=sink,
        )
        self.reviews = Reviews(
            point=point,
            store=store,
            evidence=self._evidence,
            clock_ms=clock_ms,
            environment=environment,
            tracer=self._tracer,
        )
        """Votes on approvals and reconciliation of effects, for people."""
        self.sessions = Sessions(store, self.check, self._check_resume)
        """Stateful conversations with the servers of tools."""

    def start_run(
        self,
        *,
        agent_id: str,
        identity: Identity,
        session_id: str,
        trace_id: str,
        run_id: str | None = None,
        role: str | None = None,
    ) -> Run:
        """Starts a run, in epoch 1, after asking at checkpoint input, operation run_start.

        Raises `ActionBlocked` unless allowed, `InputError` for a blank name, `ConflictError` when the run exists.
        """
        run = Run(
            agent_id=agent_id,
            session_id=session_id,
            run_id=run_id or f"run-{secrets.token_hex(8)}",
            trace_id=trace_id,
            identity=identity,
            epoch=1,
            role=role,
        )
        decision = self.check(run, "run_start").enforce()
        try:
            refuse_unknown(decision, frozenset())
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, None)) from exc
        self._store.create_run(
            RunRecord(
                tenant_id=identity.tenant_id or "",
                run_id=run.run_id,
                agent_id=agent_id,
                principal_id=identity.principal_id or "",
                session_id=session_id,
                trace_id=trace_id,
                authorization_mode=identity.authorization_mode,
                delegated_principal_id=identity.delegated_principal_id,
                delegated_scope=identity.delegated_scope,
            )
        )
        return run

    def end_run(self, run: Run, status: RunStatus = RunStatus.COMPLETED) -> None:
        """Ends a run: `status` is completed, cancelled or stopped.

        Raises `InputError` for another status or an unknown run, `ConflictError` when it ended or changed meanwhile.
        """
        if status not in ENDED:
            raise InputError(f"`{status}` does not end a run", code="run_status_invalid")
        self._move_run(run, status, "ended by the host")

    def pause_run(self, run: Run) -> None:
        """Pauses a run: nothing runs in it until `resume_run`. Raises as `end_run` does."""
        self._move_run(run, RunStatus.PAUSED, "paused by the host")

    def resume_run(self, run: Run) -> None:
        """Lets a paused run go on; every call is decided afresh. Raises as `end_run` does."""
        self._move_run(run, RunStatus.RUNNING, "resumed by the host")

    def _move_run(self, run: Run, status: RunStatus, reason: str) -> None:
        tenant = run.identity.tenant_id or ""
        record = self._store.run(tenant, run.run_id)
        if record is None:
            raise InputError(f"run `{run.run_id}` is not known", code="run_unknown")
        self._store.set_run_status(tenant, run.run_id, expected_version=record.version, status=status, reason=reason)

    def check(self, run: Run, operation: str, request: Mapping[str, Any] | None = None) -> Decision:
        """The decision about any operation but a tool call; `request` is what the model asked. Carries nothing out.

        Raises `InputError` for an operation that is not in `CHECKPOINT_OF` and for a request that is not JSON.
        """
        return self._asked(run, operation, request).decision

    def _asked(self, run: Run, operation: str, request: Mapping[str, Any] | None) -> Answer:
        require_text("operation", operation)
        checkpoint = CHECKPOINT_OF.get(operation)
        if checkpoint is None:
            raise InputError(f"`{operation!a}` is not an operation that can be checked", code="operation_unknown")

        def prepare(facts: Facts) -> Any:
            return self._evidence.operation(
                run,
                checkpoint=checkpoint,
                operation=operation,
                now_ms=self._clock_ms(),
                facts=facts,
                request={} if request is None else request,
            )

        answer = ask(self._point, run.agent_id, prepare)
        self._tracer.decision(run, answer.decision)
        return answer

    def emit(self, run: Run, output: Any) -> Any:
        """What of `output` may leave, asked at checkpoint output: a copy of exactly what was decided about.

        `output` is a text, which predicates see as `request.text`, or a JSON object or list. Where the run's work is
        not whole, the copy says what was finished, failed or is unknown (`gate.enforcement.partial`); policies see the
        same as `state.completion`. Raises `ActionBlocked` when it may not leave, must be redacted where nothing can be
        pointed at, or must be marked and is a list.
        """
        output = parse(canonical_bytes(output))
        shown = output
        for _ in range(MAX_ROUNDS):
            request = {"text": shown} if isinstance(shown, str) else {"output": shown}
            answer = self._asked(run, "emit", request)
            decision = answer.decision.enforce()
            try:
                refuse_unknown(decision, frozenset({"redact", "mark_partial"}))
                # Of the unmarked output, so that a mark is not marked when the work went on meanwhile.
                output = redacted(decision, output)
                wanted = output
                if decision.obligation("mark_partial") is not None:
                    wanted = marked(output, None if answer.prepared is None else answer.prepared.completion)
            except EvidenceError as exc:
                raise ActionBlocked(refusal(exc, None)) from exc
            if wanted == shown:
                return shown
            shown = wanted
        raise ActionBlocked(refusal(undischarged(), None))

    def check_call(self, run: Run, call: Call) -> Decision:
        """The decision about a tool call, without asking for approval, claiming or running anything."""
        return self._tracer.decision(run, self._runner.ask(run, call).decision)

    def _check_resume(self, run: Run, call: Call) -> Decision:
        return self._tracer.decision(run, self._runner.ask(run, call, operation="resume_tool").decision)

    @contextmanager
    def tool_call(
        self,
        run: Run,
        capability: str,
        arguments: Any = ABSENT,
        *,
        idempotency_key: str | None = None,
        reason: str | None = None,
        resource: str | None = None,
        approval_id: str | None = None,
    ) -> Iterator[ToolCall]:
        """Enters only when the call may run now, and settles its effect on exit.

        Raises `ActionBlocked` (with the decision, and the approval that was asked for) when it may not,
        `AlreadyCommitted` with the first receipt when it already did, `InputError` for arguments that are not JSON.
        An exception out of the body settles the effect as unknown, unless it is `EffectNotStarted` or `complete` was
        called before; leaving the body normally settles it as committed.
        """
        call = Call(
            capability=capability,
            arguments=arguments,
            idempotency_key=idempotency_key,
            reason=reason,
            resource=resource,
            approval_id=approval_id,
        )
        with self._carried_out(run, call) as entered:
            yield entered

    @contextmanager
    def _carried_out(self, run: Run, call: Call, plan: PlanPlace | None = None) -> Iterator[ToolCall]:
        try:
            entered = self._runner.enter(run, call, plan=plan)
        except GateError as exc:
            self._tracer.blocked(run, exc)
            raise
        try:
            self._tracer.allowed(run, entered.decision)
        except BaseException:
            self._settle(run, entered, EffectStatus.FAILED_BEFORE_EFFECT)
            raise
        try:
            yield entered
        except BaseException as exc:
            try:
                self._settle(run, entered, _status_after(exc, entered))
            except GateError:
                if isinstance(exc, Exception):
                    raise
                # An interrupt outranks the failure to record; the effect stays claimed, which blocks.
            raise
        self._settle(run, entered, EffectStatus.COMMITTED)

    def tool(self, capability: str) -> Callable[[Tool], Tool]:
        """Decorates a tool body: `wrapped(run, arguments, *, idempotency_key=…, reason=…, approval_id=…)`.

        The body gets the decided arguments as keywords and returns its JSON receipt; a call that already happened
        returns the first receipt without running. The body is given up after the catalog's `timeout_seconds`: the
        effect is then unknown and `EffectOutcomeUnknown` is raised.
        """

        def decorate(body: Tool) -> Tool:
            @functools.wraps(body)
            def wrapped(run: Run, arguments: Any = ABSENT, **options: Any) -> Any:
                try:
                    with self.tool_call(run, capability, arguments, **options) as call:
                        keywords = call.arguments
                        if not isinstance(keywords, dict):
                            raise EffectNotStarted("a decorated tool takes its arguments as an object")
                        return call.complete(
                            run_with_deadline(functools.partial(body, **keywords), call.timeout_seconds)
                        )
                except AlreadyCommitted as done:
                    return done.receipt

            return wrapped

        return decorate

    def verify_call(
        self, token: object, *, tenant_id: str, capability: str, arguments: Any = ABSENT, tool: str = "tool"
    ) -> VerifiedCall:
        """In the tool's own process, before it starts: refuses what did not come through the executor.

        Asks no decision point; see `gate.enforcement.verify`. Raises `CallRefused`, `StoreError`.
        """
        return self._verifier.verify(token, tenant_id=tenant_id, capability=capability, arguments=arguments, tool=tool)

    def _settle(self, run: Run, call: ToolCall, status: EffectStatus) -> None:
        try:
            self._runner.settle(call, status)
        except GateError as exc:
            unknown = EffectOutcomeUnknown(
                "the effect's outcome could not be recorded", hint="reconcile it under its idempotency key"
            )
            try:
                self._tracer.unsettled(run, exc)
            except GateError:
                raise unknown from exc
            raise unknown from exc
        if call.claimed is not None:
            self._tracer.settled(run, status=str(status), business_key=call.claimed.effect.business_key)


def _status_after(error: BaseException, call: ToolCall) -> EffectStatus:
    if call.completed:
        return EffectStatus.COMMITTED
    return EffectStatus.FAILED_BEFORE_EFFECT if isinstance(error, EffectNotStarted) else EffectStatus.UNKNOWN


def _signed(key: GateKey, environment: str, clock_ms: Callable[[], int], claimed: Claimed, prepared: Prepared) -> str:
    return token_of(claimed, prepared, key=key, environment=environment, issued_at_ms=clock_ms())


def _owner() -> str:
    """Unique to one attempt of one process, so that a claim is settled only by whoever made it."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}:{secrets.token_hex(8)}"
