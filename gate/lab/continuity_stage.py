"""Where the continuity evals play: a copy of a bundle with throw-away reviewer keys, and an action out of its cases.

Changes nothing of the bundle itself, and expects nothing of it but one golden case that asks for an approval.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gate.compiler import Compiled, compile_bundle, write
from gate.compiler.link_cases import linked_cases
from gate.continuity import Boundary, Resumption
from gate.decision import ActionBlocked, Decision
from gate.enforcement import Gate
from gate.errors import GateError, InputError
from gate.evidence import Call, EvidenceSource, Identity, Run
from gate.lab.witnesses import Witnesses
from gate.pdp import DecisionPoint
from gate.records import (
    ApprovalRecord,
    ApprovalStatus,
    Claim,
    EffectStatus,
    GateKey,
    ReviewerKey,
    Store,
    generate_key,
    public_key_of,
)
from gate.release import golden
from gate.trace import TraceEvent

Opened = Callable[[Compiled], AbstractContextManager[DecisionPoint]]
"""A decision point that serves a bundle for as long as the block lasts."""

REASONS = ("context_compaction", "context_reset", "handoff", "fork", "process_recovery")
"""Every reason of a boundary."""

KEY = "continuity-eval-key"
ENVIRONMENT = "continuity-evals"
_PUBLIC_KEY = re.compile(r"^(?P<head> *(?:- )?public_key: ).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who acts and what is attempted: a call of the bundle's own golden cases that wants an approval."""

    agent_id: str
    session_id: str
    identity: Identity
    call: Call


@dataclass(slots=True)
class Kept:
    """A sink that keeps what it is told."""

    lines: list[TraceEvent] = field(default_factory=list)

    def write(self, event: TraceEvent) -> None:
        """Keeps the event."""
        self.lines.append(event)


@dataclass(slots=True, kw_only=True)
class Stage:
    """One performance: a gate over fresh records, with its run."""

    point: DecisionPoint
    next_point: DecisionPoint
    """The same bundle at another version."""
    keys: tuple[ReviewerKey, ...]
    subject: Subject
    store: Store
    sink: Kept
    run: Run
    seal: GateKey
    file: Path
    """Where the records are."""
    sources: tuple[EvidenceSource, ...]
    """Who vouches for what the bundle wants vouched for."""

    def gate(self, point: DecisionPoint | None = None) -> Gate:
        """The gate over these records."""
        return Gate(
            point or self.point,
            self.store,
            environment=ENVIRONMENT,
            trace=self.sink,
            seal_key=self.seal,
            evidence=self.sources,
        )

    def probe(self, **changes: Any) -> Decision:
        """What is decided about the subject's call now."""
        return self.gate().check_call(self.run, replace(self.subject.call, **changes))

    def ask(self) -> ApprovalRecord:
        """The approval that the subject's call is told to wait for. Raises `InputError` when it is told otherwise."""
        call = self.subject.call
        with (
            suppress(ActionBlocked),
            self.gate().tool_call(
                self.run,
                call.capability,
                call.arguments,
                idempotency_key=KEY,
                reason=call.reason,
                resource=call.resource,
            ),
        ):
            pass
        found = [a for a in self.store.approvals(self.tenant) if a.status is ApprovalStatus.PENDING]
        if not found:
            raise _unfit("its call asks for no approval")
        return found[0]

    def approve(self, approval: ApprovalRecord) -> ApprovalRecord:
        """The approval after every reviewer whose vote counts has signed it."""
        for key in self.keys:
            if approval.status is not ApprovalStatus.PENDING:
                break
            reviews = self.gate().reviews
            with suppress(ActionBlocked):
                vote = reviews.sign(approval, decision="approved", key=key)
                approval = reviews.vote(
                    self.tenant, approval.approval_id, vote, decision="approved", reviewer=key.reviewer
                )
        if approval.status is not ApprovalStatus.APPROVED:
            raise _unfit("its reviewers cannot approve its call")
        return approval

    def lose(self, approval: ApprovalRecord) -> None:
        """The effect of the approved call, begun and without a known outcome."""
        record = self.store.run(self.tenant, self.run.run_id)
        claimed = self.store.claim(
            Claim(
                tenant_id=self.tenant,
                run_id=self.run.run_id,
                run_version=1 if record is None else record.version,
                principal_id=approval.principal_id,
                capability=approval.capability,
                business_key=approval.business_key or KEY,
                idempotency_key=KEY,
                action_digest=approval.action_digest,
                owner="continuity-evals",
                lease_ms=60_000,
                approval_id=approval.approval_id,
                approval_version=approval.version,
            )
        ).effect
        self.store.settle(
            self.tenant,
            principal_id=claimed.principal_id,
            capability=claimed.capability,
            business_key=claimed.business_key,
            fencing=claimed.fencing,
            owner=claimed.owner,
            status=EffectStatus.UNKNOWN,
        )

    def cut(self, reason: str, summary: str) -> Boundary | None:
        """A boundary: asked for, or noted where asking is refused; None when the bundle permits neither."""
        gate = self.gate()
        try:
            if reason == "process_recovery":
                return gate.recover(self.run)
            try:
                return gate.seal_summary(gate.prepare_boundary(self.run, reason), summary)
            except ActionBlocked:
                return gate.note_boundary(self.run, reason, summary=summary)
        except ActionBlocked:
            return None

    def resume(
        self, boundary: Boundary, summary: str, *, host: Run | None = None, point: DecisionPoint | None = None
    ) -> Resumption:
        """What becomes of the boundary; the stage goes on in the new epoch when it was validated."""
        presented = None if boundary.reason == "process_recovery" else summary
        found = self.gate(point).resume(boundary.envelope_id, presented, host or self.run)
        if found.run is not None:
            self.run = found.run
        return found

    def forget_obligations(self) -> None:
        """Somebody deletes what is still to be done, behind the gate."""
        self._edit("DELETE FROM obligations")

    def edit_event(self) -> None:
        """Somebody changes the first event of the log, behind the gate."""
        self._edit("UPDATE events SET event_type = event_type || '_edited' WHERE seq = 1")

    def mend_event(self) -> None:
        """Undoes `edit_event`."""
        self._edit("UPDATE events SET event_type = replace(event_type, '_edited', '') WHERE seq = 1")

    def _edit(self, statement: str) -> None:
        connection = sqlite3.connect(self.file, isolation_level=None)
        try:
            connection.execute(statement)
        finally:
            connection.close()

    @property
    def tenant(self) -> str:
        """The tenant of the subject."""
        return self.subject.identity.tenant_id or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Theatre:
    """The bundle, ready to be played on any number of times."""

    point: DecisionPoint
    next_point: DecisionPoint
    keys: tuple[ReviewerKey, ...]
    subject: Subject
    folder: Path
    sources: tuple[EvidenceSource, ...]

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """A fresh performance."""
        seal = GateKey(key_id="continuity-evals", private_key=base64.b64encode(os.urandom(32)).decode("ascii"))
        file = self.folder / f"{name}.sqlite"
        with Store.open(f"sqlite:///{file}") as store:
            sink = Kept()
            gate = Gate(self.point, store, environment=ENVIRONMENT, trace=sink, seal_key=seal, evidence=self.sources)
            run = gate.start_run(
                agent_id=self.subject.agent_id,
                identity=self.subject.identity,
                session_id=self.subject.session_id,
                trace_id="trace-continuity-evals",
            )
            gate.record_progress(run, objective="Do what the case asks for.", checkpoint_ref="checkpoint:eval")
            yield Stage(
                point=self.point,
                next_point=self.next_point,
                keys=self.keys,
                subject=self.subject,
                store=store,
                sink=sink,
                run=run,
                seal=seal,
                file=file,
                sources=self.sources,
            )


@contextmanager
def theatre(bundle: Path, opened: Opened, folder: Path) -> Iterator[Theatre]:
    """`bundle` twice, the second time at another version, both with keys of their own.

    Raises `BundleError`, and `InputError` (`eval_bundle_unfit`) for a bundle without a case that wants an approval.
    """
    name = bundle.resolve().name
    witnesses = Witnesses.hired()
    compiled, keys = _copied(bundle, folder / "now" / name, None, witnesses)
    later, _ = _copied(bundle, folder / "next" / name, keys, witnesses)
    with opened(compiled) as point, opened(later) as next_point:
        yield Theatre(
            point=point,
            next_point=next_point,
            keys=keys,
            subject=_subject(compiled, point),
            folder=folder,
            sources=witnesses.sources(compiled, environment=ENVIRONMENT),
        )


def _copied(
    bundle: Path, copy: Path, keys: tuple[ReviewerKey, ...] | None, witnesses: Witnesses
) -> tuple[Compiled, tuple[ReviewerKey, ...]]:
    shutil.copytree(bundle, copy)
    original = compile_bundle(copy)
    named = [(person.id, key.key_id) for person in original.bundle.reviewers for key in person.keys]
    if not named:
        raise _unfit("it has no reviewer")
    if keys is None:
        keys = tuple(ReviewerKey(reviewer=r, key_id=k, private_key=generate_key()[0]) for r, k in named)
    else:
        version = original.bundle.meta.version
        for name in ("bundle.yaml", "approvals.yaml"):
            path = copy / name
            path.write_text(path.read_text("utf-8").replace(version, f"{version}-next"), "utf-8")
    public = iter([_public(key) for key in keys])
    file = copy / "reviewers.yaml"
    file.write_text(_PUBLIC_KEY.sub(lambda m: m["head"] + next(public), file.read_text("utf-8")), "utf-8")
    witnesses.introduce(copy)
    compiled = compile_bundle(copy)
    write(compiled)
    return compiled, keys


def _public(key: ReviewerKey) -> str:
    return public_key_of(key.private_key)


def _subject(compiled: Compiled, point: DecisionPoint) -> Subject:
    facts = golden.as_document(point.facts(compiled.bundle.meta.agent_ids[0]))
    for case in linked_cases(compiled.bundle):
        if case.expect_verdict != "require_approval" or "approval_missing" not in case.expect_reasons:
            continue
        with suppress(GateError, KeyError, TypeError):
            return _of_document(golden.case_document(case, facts))
    raise _unfit("none of its cases wants an approval")


def _of_document(document: Mapping[str, Any]) -> Subject:
    identity, request = document["identity"], document["request"]
    names = (*("tenant_id", "principal_id", "authorization_mode", "delegated_principal_id", "delegated_scope"),)
    return Subject(
        agent_id=document["agent"]["agent_id"],
        session_id=document["trace"]["session_id"],
        identity=Identity(**{name: identity.get(name) for name in names}),
        call=Call(
            capability=request["capability"],
            arguments=request["arguments"],
            idempotency_key=KEY,
            reason=request.get("reason") or "continuity evals",
            resource=request.get("resource"),
        ),
    )


def _unfit(why: str) -> InputError:
    return InputError(
        f"the evals cannot be played on this bundle: {why}",
        code="eval_bundle_unfit",
        hint="give it a golden case that expects `approval_missing` of a call",
    )
