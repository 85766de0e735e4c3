"""Where faults are injected: a throw-away bundle, records, a ticket service behind `verify_call`, a session on disk.

Everything is the real thing but the tickets. Expects nothing; keeps what happened.
"""

from __future__ import annotations

import base64
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.compiler import Compiled, compile_bundle, write
from gate.continuity import Boundary, Resumption
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, CallRefused, EffectNotStarted, Gate
from gate.errors import GateError, InputError
from gate.evidence import Identity, Run
from gate.lab.continuity_bundle import AGENT, Reviewer, write_bundle
from gate.lab.continuity_stage import Opened
from gate.pdp import DecisionPoint
from gate.records import ApprovalRecord, EffectRecord, GateKey, PublicKey, Store, generate_key

TENANT, CAPABILITY, KEY = "tenant-acme", "create_ticket", "ticket-intent-1"
TICKET = {"title": "Broken invoice"}
SUMMARY = "The ticket is written, or is about to be."
_ENVIRONMENT = "compaction-faults"
_FULL = (
    "CREATE TRIGGER full BEFORE INSERT ON messages WHEN (SELECT count(*) FROM messages) >= LIMIT_OF_ROWS"
    " BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
)
_PERMITS = frozenset({"operation_allowed", "configured_allow", "configured_with_approval"})
# Findings that permit: a refusal is told by the others.
_IDENTITY = Identity(
    tenant_id=TENANT,
    principal_id="user-42",
    authorization_mode="user_delegated",
    delegated_principal_id="user-42",
    delegated_scope="tickets:create",
)


@dataclass(slots=True, kw_only=True)
class TicketService:
    """The tool: asks the records itself, and notes every ticket in a file that survives a crash."""

    gate: Gate
    file: Path

    def write(self, token: object, arguments: Any, *, capability: str = CAPABILITY, tenant: str = TENANT) -> Any:
        """Writes a ticket. Raises `CallRefused` for what did not come through the executor."""
        self.gate.verify_call(
            token, tenant_id=tenant, capability=capability, arguments=arguments, tool="ticket-service"
        )
        with self.file.open("a", encoding="utf-8") as file:
            file.write("written\n")
            file.flush()
            os.fsync(file.fileno())
        return {"ticket": self.count}

    @property
    def count(self) -> int:
        """How many tickets there are."""
        return len(self.file.read_text("utf-8").splitlines()) if self.file.exists() else 0


@dataclass(slots=True, kw_only=True)
class Session:
    """A session's messages in SQLite, replaced as sessions are: cleared, then written again, not in one step."""

    file: Path

    def replace(self, messages: list[str], *, fail_after: int | None = None) -> None:
        """Puts `messages` in the place of all; the database refuses any beyond `fail_after`.

        Raises `InputError` (`session_replacement_failed`) then.
        """
        connection = sqlite3.connect(self.file, isolation_level=None)
        try:
            connection.execute("CREATE TABLE IF NOT EXISTS messages (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")
            connection.execute("DROP TRIGGER IF EXISTS full")
            if fail_after is not None:
                connection.execute(_FULL.replace("LIMIT_OF_ROWS", str(fail_after)))
            connection.execute("DELETE FROM messages")
            connection.executemany("INSERT INTO messages (text) VALUES (?)", [(text,) for text in messages])
        except sqlite3.Error as exc:
            raise InputError("the session could not be replaced", code="session_replacement_failed") from exc
        finally:
            connection.close()

    @property
    def text(self) -> str:
        """All that a model would be shown."""
        connection = sqlite3.connect(self.file)
        try:
            return "\n".join(row[0] for row in connection.execute("SELECT text FROM messages ORDER BY n"))
        finally:
            connection.close()


@dataclass(slots=True, kw_only=True)
class Stage:
    """One performance over fresh records."""

    point: DecisionPoint
    store: Store
    gate: Gate
    gate_over: Callable[[DecisionPoint], Gate]
    """The same gate over the same records, asking another decision point."""
    service: TicketService
    session: Session
    reviewer: Reviewer
    run: Run
    folder: Path
    seen: list[str] = field(default_factory=list)
    """What was answered, step by step: `step: codes`."""

    def note(self, step: str, *codes: str) -> None:
        """Keeps what was answered at a step."""
        self.seen.append(f"{step}: {', '.join(codes) or 'done'}")

    def call(self, step: str, *, key: str = KEY) -> set[str]:
        """Tries to write the ticket through the gate: `written`, `receipt` or the codes of the refusal."""
        try:
            with self.gate.tool_call(self.run, CAPABILITY, TICKET, idempotency_key=key, reason="faults") as call:
                try:
                    call.complete(self.service.write(call.token, call.arguments))
                except CallRefused as exc:
                    raise EffectNotStarted("the ticket service refused") from exc
            answer = {"written"}
        except AlreadyCommitted:
            answer = {"receipt"}
        except ActionBlocked as exc:
            answer = set(exc.decision.codes) - _PERMITS
        except GateError as exc:
            answer = {exc.code}
        self.note(step, *sorted(answer))
        return answer

    def approve(self) -> None:
        """A reviewer signs the approval that waits."""
        approval = self.approval("pending")
        vote = self.gate.reviews.sign(approval, decision="approved", key=self.reviewer.key)
        self.gate.reviews.vote(
            TENANT, approval.approval_id, vote, decision="approved", reviewer=self.reviewer.key.reviewer
        )
        self.note("a reviewer approves")

    def approval(self, status: str) -> ApprovalRecord:
        """The approval in this status. Raises `InputError` when there is not exactly one."""
        found = [a for a in self.store.approvals(TENANT) if str(a.status) == status]
        if len(found) != 1:
            raise InputError(f"{len(found)} approvals are {status}", code="faults_unfit")
        return found[0]

    def compact(self, step: str, *, told: bool = True) -> Boundary | set[str]:
        """A compaction that is asked for: the boundary, or the codes with which it is refused."""
        try:
            boundary = self.gate.prepare_boundary(self.run, "context_compaction")
        except ActionBlocked as exc:
            codes = set(exc.decision.codes) - _PERMITS
        except GateError as exc:
            codes = {exc.code}
        else:
            if told:
                self.note(step, "boundary_written")
            return boundary
        if told:
            self.note(step, *sorted(codes))
        return codes

    def resume(self, step: str, boundary: Boundary, presented: str | None) -> Resumption:
        """Goes on in the new epoch when the boundary was validated."""
        found = self.gate.resume(boundary.envelope_id, presented, self.run)
        self.note(step, str(found.status), found.reason)
        if found.run is not None:
            self.run = found.run
        return found

    def effect(self) -> EffectRecord:
        """The one effect. Raises `InputError` when there is not exactly one."""
        found = list(self.store.effects(TENANT))
        if len(found) != 1:
            raise InputError(f"{len(found)} effects are recorded", code="faults_unfit")
        return found[0]

    def outlast_lease(self) -> None:
        """Waits until the claim on the effect ran out: before that its owner may still be at work."""
        left = (self.effect().lease_expires_at_ms - self.store.now_ms() + 50) / 1000
        time.sleep(max(0.0, left))
        self.note("the lease of the claim runs out")

    def reconcile(self, outcome: str) -> None:
        """Somebody looked at the ticket service, and says what became of the effect."""
        self.gate.reviews.reconcile(
            self.effect(), outcome=outcome, evidence_ref="ticket-service:1", reconciled_by="ops", owner_fenced=True
        )
        self.note("reconciled with the ticket service", outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theatre:
    """The bundle, served, ready to be played on any number of times."""

    point: DecisionPoint
    reviewer: Reviewer
    folder: Path

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """A fresh performance."""
        folder = self.folder / name
        folder.mkdir()
        private, public = generate_key()
        url = f"sqlite:///{folder}/records.sqlite"
        with Store.open(url) as store, Store.open(url) as service_store:
            keys = {"executor": PublicKey(public_key=public)}
            seal = GateKey(key_id="seal", private_key=base64.b64encode(os.urandom(32)).decode("ascii"))
            call_key = GateKey(key_id="executor", private_key=private)

            def gate_over(point: DecisionPoint) -> Gate:
                return Gate(point, store, environment=_ENVIRONMENT, call_key=call_key, seal_key=seal)

            gate = gate_over(self.point)
            run = gate.start_run(agent_id=AGENT, identity=_IDENTITY, session_id="session-1", trace_id="trace-1")
            gate.record_progress(run, objective="Write the ticket.", checkpoint_ref="checkpoint:1")
            verifier = Gate(self.point, service_store, environment=_ENVIRONMENT, call_keys=keys)
            yield Stage(
                point=self.point,
                store=store,
                gate=gate,
                gate_over=gate_over,
                service=TicketService(gate=verifier, file=folder / "tickets"),
                session=Session(file=folder / "session.sqlite"),
                reviewer=self.reviewer,
                run=run,
                folder=folder,
            )


@contextmanager
def theatre(opened: Opened) -> Iterator[Theatre]:
    """The bundle behind a decision point that `opened` makes; everything is taken down again."""
    reviewer = Reviewer.new()
    with tempfile.TemporaryDirectory(prefix="gate-faults-") as name:
        folder = Path(name)
        with opened(_impatient(folder / "bundle" / AGENT, reviewer)) as point:
            yield Theatre(point=point, reviewer=reviewer, folder=folder)


def _impatient(folder: Path, reviewer: Reviewer) -> Compiled:
    """The bundle with a tool that is given up after one second."""
    write_bundle(folder, version="1.0.0", wait_seconds=3600, reviewer=reviewer)
    file = folder / "capabilities.yaml"
    file.write_text(file.read_text("utf-8").replace("timeout_seconds: 15", "timeout_seconds: 1"), "utf-8")
    compiled = compile_bundle(folder)
    write(compiled)
    return compiled
