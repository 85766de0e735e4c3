"""Where the continuity evals play: a copy of a bundle with throw-away keys, and an action out of its cases.

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
from gate.continuity import Boundary, Recipient, Resumption
from gate.decision import ActionBlocked, Decision
from gate.enforcement import Gate
from gate.enforcement.gate import system_clock_ms
from gate.errors import InputError
from gate.evidence import Run
from gate.lab.continuity_cast import KEY, Subject, subjects
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
from gate.trace import TraceEvent

Opened = Callable[[Compiled], AbstractContextManager[DecisionPoint]]
"""A decision point that serves a bundle for as long as the block lasts."""

REASONS = ("context_compaction", "context_reset", "handoff", "fork", "process_recovery")
"""Every reason of a boundary."""

_PUBLIC_KEY = re.compile(r"^(?P<head> *(?:- )?public_key: ).*$", re.MULTILINE)


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
    recatalogued: DecisionPoint
    """The same version of the bundle with another definition of the subject's capability."""
    keys: tuple[ReviewerKey, ...]
    subject: Subject
    store: Store
    sink: Kept
    run: Run
    seal: GateKey
    file: Path
    """Where the records are."""
    ahead_ms: int = 0
    """How far the gate's clock is ahead of the database's."""

    def gate(self, point: DecisionPoint | None = None) -> Gate:
        """The gate over these records."""
        return Gate(
            point or self.point,
            self.store,
            environment=self.subject.environment,
            trace=self.sink,
            seal_key=self.seal,
            evidence=self.subject.sources,
            clock_ms=lambda: system_clock_ms() + self.ahead_ms,
        )

    def play_before(self) -> None:
        """What the subject's case says has happened already, as far as it can be done."""
        for call in self.subject.before:
            with (
                suppress(ActionBlocked),
                self.gate().tool_call(
                    self.run, call.capability, call.arguments, idempotency_key=call.idempotency_key, reason=call.reason
                ),
            ):
                pass

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
            to = Recipient(agent_id=self.run.agent_id) if reason == "handoff" else None
            try:
                return gate.seal_summary(gate.prepare_boundary(self.run, reason, to=to), summary)
            except ActionBlocked:
                return gate.note_boundary(self.run, reason, summary=summary, to=to)
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
    recatalogued: DecisionPoint
    keys: tuple[ReviewerKey, ...]
    subject: Subject
    folder: Path

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """A fresh performance."""
        seal = GateKey(key_id="continuity-evals", private_key=base64.b64encode(os.urandom(32)).decode("ascii"))
        file, subject = self.folder / f"{name}.sqlite", self.subject
        with Store.open(f"sqlite:///{file}") as store:
            sink = Kept()
            gate = Gate(
                self.point,
                store,
                environment=subject.environment,
                trace=sink,
                seal_key=seal,
                evidence=subject.sources,
            )
            run = gate.start_run(
                agent_id=subject.agent_id,
                identity=subject.identity,
                session_id=subject.session_id,
                trace_id="trace-continuity-evals",
                run_id=subject.run_id,
            )
            gate.record_progress(run, objective="Do what the case asks for.", checkpoint_ref="checkpoint:eval")
            stage = Stage(
                point=self.point,
                next_point=self.next_point,
                recatalogued=self.recatalogued,
                keys=self.keys,
                subject=subject,
                store=store,
                sink=sink,
                run=run,
                seal=seal,
                file=file,
            )
            stage.play_before()
            yield stage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """Throw-away keys in place of all that a bundle trusts."""

    reviewers: tuple[ReviewerKey, ...]
    evidence: Mapping[str, str]
    """Private key of each source that signs what it says, by key id."""


@contextmanager
def theatre(bundle: Path, opened: Opened, folder: Path) -> Iterator[Theatre]:
    """`bundle` three times: as it is, at another version, and with another definition of the subject's capability.

    Raises `BundleError`, and `InputError` (`eval_bundle_unfit`) for a bundle without a case that wants an approval.
    """
    name = bundle.resolve().name
    keys = _new_keys(compile_bundle(bundle))
    now = _copied(bundle, folder / "now" / name, keys)
    later = _copied(bundle, folder / "next" / name, keys, _next_version)
    with opened(now) as point, opened(later) as next_point:
        subject = _fit(now, point, keys, folder)
        other = _copied(
            bundle, folder / "other" / name, keys, lambda copy, _: _redefined(copy, subject.call.capability)
        )
        with opened(other) as recatalogued:
            yield Theatre(
                point=point,
                next_point=next_point,
                recatalogued=recatalogued,
                keys=keys.reviewers,
                subject=subject,
                folder=folder,
            )


def _fit(compiled: Compiled, point: DecisionPoint, keys: _Keys, folder: Path) -> Subject:
    """The first subject whose call can be brought to its approval here, and approved.

    The plainest of all when none can, as where the rules about approvals are gone: the evals then say what that does.
    """
    found = list(subjects(compiled, point, keys.evidence))
    if not found:
        raise _unfit("none of its cases wants an approval")
    for number, subject in enumerate(found):
        rehearsal = Theatre(
            point=point,
            next_point=point,
            recatalogued=point,
            keys=keys.reviewers,
            subject=subject,
            folder=folder,
        )
        with suppress(InputError, ActionBlocked), rehearsal.stage(f"rehearsal-{number}") as stage:
            stage.approve(stage.ask())
            if stage.probe().allowed:
                return subject
    return found[0]


def _new_keys(original: Compiled) -> _Keys:
    named = [(person.id, key.key_id) for person in original.bundle.reviewers for key in person.keys]
    if not named:
        raise _unfit("it has no reviewer")
    contracts = original.bundle.policy.evidence.values()
    signing = {key_id for contract in contracts for key_id in contract.signature_keys or {}}
    return _Keys(
        reviewers=tuple(ReviewerKey(reviewer=r, key_id=k, private_key=generate_key()[0]) for r, k in named),
        evidence={key_id: generate_key()[0] for key_id in sorted(signing)},
    )


Change = Callable[[Path, Compiled], None]
"""What is different in a copy; given the original."""


def _copied(bundle: Path, copy: Path, keys: _Keys, change: Change | None = None) -> Compiled:
    shutil.copytree(bundle, copy)
    original = compile_bundle(copy)
    public = iter([public_key_of(key.private_key) for key in keys.reviewers])
    _edit(copy / "reviewers.yaml", lambda text: _PUBLIC_KEY.sub(lambda m: m["head"] + next(public), text))
    for contract in original.bundle.policy.evidence.values():
        for key_id, old in (contract.signature_keys or {}).items():
            _edit(copy / "policy.yaml", _exchange(old, public_key_of(keys.evidence[key_id])))
    if change is not None:
        change(copy, original)
    compiled = compile_bundle(copy)
    write(compiled)
    return compiled


def _next_version(copy: Path, original: Compiled) -> None:
    version = original.bundle.meta.version
    for name in ("bundle.yaml", "approvals.yaml", "compaction.yaml"):
        if (copy / name).exists():
            _edit(copy / name, _exchange(version, f"{version}-next"))


def _redefined(copy: Path, capability: str) -> None:
    """Another time limit: the least that makes it another version of the capability."""
    entry = re.compile(
        rf"(?P<head>^  {re.escape(capability)}:\n(?:    .*\n)*?    timeout_seconds: )(?P<n>\d+)", re.MULTILINE
    )
    _edit(copy / "capabilities.yaml", lambda text: entry.sub(lambda m: f"{m['head']}{int(m['n']) + 1}", text))


def _exchange(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def _edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text("utf-8")), "utf-8")


def _unfit(why: str) -> InputError:
    return InputError(
        f"the evals cannot be played on this bundle: {why}",
        code="eval_bundle_unfit",
        hint="give it a golden case that expects `approval_missing` of a call",
    )
