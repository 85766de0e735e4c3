"""A governed world to act in: bundle copies with throw-away reviewer keys, a real store, a real decision point."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

from new_store import new_store
from opa_point import OpaPoint

from gate.compiler import Compiled, assemble, compile_bundle, write
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, Gate
from gate.errors import GateError
from gate.evidence import Identity, Run
from gate.pdp import DecisionPoint
from gate.records import ApprovalRecord, ReviewerKey, Store, StoredVote, VoteDecision, VotePayload, generate_key, sign

BUNDLE = Path(__file__).parent / "support-triage"
AGENT = "support-triage-ref"
ENVIRONMENT = "test"
TENANT = "acme"
PRINCIPAL = "user-42"
TICKET = {"queue": "support", "requester_id": "user-42", "title": "Broken invoice"}
REASON = "The customer reported a problem."

# Reviewer: human, role, first and last day of the key.
PEOPLE = {
    "mira": ("Mira Okafor", "manager", "2020-01-01", "2098-01-01"),
    "otto": ("Otto Lind", "manager", "2020-01-01", "2098-01-01"),
    "mira-laptop": ("  MIRA okafor ", "manager", "2020-01-01", "2098-01-01"),
    "vic": ("Vic Viewer", "viewer", "2020-01-01", "2098-01-01"),
    "past": ("Paula Past", "manager", "2010-01-01", "2011-01-01"),
    "future": ("Fritz Future", "manager", "2097-01-01", "2098-01-01"),
    "self": (PRINCIPAL, "manager", "2020-01-01", "2098-01-01"),
}
KEYS = {name: generate_key() for name in PEOPLE}
UNLISTED = generate_key()

_DEFAULTS = "approvals:\n  default_reviewer: viewer\n  escalation_sla_minutes: 1\n"
_STANDING = (
    (
        "approvals.yaml",
        "on_reject: stop_run",
        "on_reject: stop_run\n    standing: {max_uses: 2, valid_seconds: 600, scope: session}",
    ),
    ("approvals.yaml", "      max_wait_seconds: 1800\n", ""),
)
_ANY_TITLE = ("approvals.yaml", "scope: session", "scope: session, free_arguments: [/title]")

VARIANTS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "plain": (),
    "quorum2": (("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager]\n    quorum: 2"),),
    "one_second": (("capabilities.yaml", "timeout_seconds: 15", "timeout_seconds: 1"),),
    "request_again": (
        ("approvals.yaml", "on_expiry: cancel_run", "on_expiry: request_again"),
        ("approvals.yaml", "max_wait_seconds: 1800", "max_wait_seconds: 3"),
    ),
    "no_pause": (("approvals.yaml", "pause_allowed: true", "pause_allowed: false"),),
    "goes_on": (("approvals.yaml", "on_reject: stop_run", "on_reject: continue_without"),),
    "next_version": tuple((file, "2026.04.07", "2026.04.08") for file in ("bundle.yaml", "approvals.yaml")),
    "controlled": (("bundle.yaml", "- reviewers.yaml", "- reviewers.yaml\n    - checkpoints.yaml"),),
    "settled_first": (("bundle.yaml", "- reviewers.yaml", "- reviewers.yaml\n    - checkpoints.yaml"),),
    "short": (("approvals.yaml", "max_wait_seconds: 1800", "max_wait_seconds: 1"),),
    "each_role": (
        (
            "approvals.yaml",
            "required_reviewers: [manager]",
            "required_reviewers: [manager, viewer]\n    all_roles: true",
        ),
    ),
    "requester_cancels": (
        ("approvals.yaml", "on_reject: stop_run", "on_reject: stop_run\n    withdrawal: {requester_may_cancel: true}"),
    ),
    "pausing": (
        ("approvals.yaml", "on_expiry: cancel_run", "on_expiry: request_again\n      while_pending: pause_run"),
        ("approvals.yaml", "on_reject: stop_run", "on_reject: continue_without"),
    ),
    "escalating": (
        ("approvals.yaml", "approval_contracts:", _DEFAULTS + "approval_contracts:"),
        ("approvals.yaml", "on_expiry: cancel_run", "on_expiry: cancel_run\n      escalation: default_reviewer"),
    ),
    "delegating": (
        ("bundle.yaml", "- reviewers.yaml", "- reviewers.yaml\n    - runtime-controls.yaml"),
        ("approvals.yaml", "on_reject: stop_run", "on_reject: stop_run\n    delegation: true"),
    ),
    "standing": (("approvals.yaml", "on_expiry: cancel_run", "on_expiry: request_again"), *_STANDING, _ANY_TITLE),
    "standing_exact": (("approvals.yaml", "on_expiry: cancel_run", "on_expiry: request_again"), *_STANDING),
    "standing_everywhere": (
        ("approvals.yaml", "on_expiry: cancel_run", "on_expiry: request_again"),
        *_STANDING,
        _ANY_TITLE,
        ("approvals.yaml", "scope: session", "scope: principal"),
    ),
    "no_memory": (("policy.yaml", "memory_write: allow", "memory_write: deny"),),
}
"""What each variant changes in the governed YAML: file, text, new text."""

ADDED: Mapping[str, Mapping[str, str]] = {
    "delegating": {
        "runtime-controls.yaml": """\
runtime_controls:
  routing: {approval_mode: human_only, approval_delegate: viewer}
"""
    },
    "settled_first": {
        "checkpoints.yaml": """\
control_checkpoints:
  - checkpoint: output
    policy_requirement: no_answer_over_an_unknown_outcome
    applies_to: ["*"]
    operations: [emit]
    predicate: state.completion.unknown > 0
    action: deny
    control_version: "1.0"
    eval_case_id: some_case
    audit_fields: [predicate_result]
"""
    },
    "controlled": {
        "checkpoints.yaml": """\
control_checkpoints:
  - checkpoint: tool_execution
    policy_requirement: no_secret_in_ticket
    applies_to: [create_ticket]
    predicate: exists arguments.body and arguments.body matches "[pP]assword"
    action: redact
    redact: [/body]
    control_version: "1.0"
    eval_case_id: some_case
    audit_fields: [predicate_result]
  - checkpoint: output
    policy_requirement: no_credential_leaves
    applies_to: ["*"]
    predicate: exists request.text and request.text matches "api_key"
    action: deny
    control_version: "1.0"
    eval_case_id: some_case
    audit_fields: [predicate_result]
"""
    },
}
"""Documents that a variant adds."""


def bundle_copy(variant: str, folder: Path) -> Path:
    """The bundle in `folder`, with the people above as its reviewers."""
    copy = folder / BUNDLE.name
    shutil.copytree(BUNDLE, copy)
    (copy / "reviewers.yaml").write_text(_reviewers(KEYS), "utf-8")
    for file, old, new in VARIANTS[variant]:
        text = (copy / file).read_text("utf-8")
        assert old in text, f"the variant `{variant}` changes nothing"
        (copy / file).write_text(text.replace(old, new), "utf-8")
    for file, text in ADDED.get(variant, {}).items():
        (copy / file).write_text(text, "utf-8")
    write(compile_bundle(copy))
    return copy


def _reviewers(keys: Mapping[str, tuple[str, str]]) -> str:
    lines = ["reviewers:"]
    for name, (human, role, first, last) in PEOPLE.items():
        lines += [
            f"  - id: {name}",
            f'    human: "{human}"',
            f"    roles: [{role}]",
            "    keys:",
            f"      - key_id: {name}-key",
            f'        public_key: "{keys[name][1]}"',
            f'        not_before: "{first}T00:00:00Z"',
            f'        not_after: "{last}T00:00:00Z"',
        ]
    return "\n".join(lines) + "\n"


def point_of(compiled: Compiled) -> OpaPoint:
    assembly = assemble([compiled])
    return OpaPoint(assembly.modules, revision=assembly.revision)


def key_of(reviewer: str) -> ReviewerKey:
    return ReviewerKey(reviewer=reviewer, key_id=f"{reviewer}-key", private_key=KEYS[reviewer][0])


def vote_on(approval: ApprovalRecord, *, private_key: str | None = None, **changes: Any) -> StoredVote:
    """A vote of mira's, signed, with `changes` to what is signed."""
    payload = VotePayload(
        environment=ENVIRONMENT,
        approval_id=approval.approval_id,
        nonce=approval.nonce,
        contract_digest=approval.contract_digest,
        action_digest=approval.action_digest,
        decision=VoteDecision.APPROVED,
        reviewer="mira",
        key_id="mira-key",
        issued_at_ms=approval.created_at_ms - 1000,
        expires_at_ms=approval.expires_at_ms,
    )
    payload = replace(payload, **changes)
    return sign(payload, private_key or KEYS["mira"][0])


@dataclass(slots=True)
class Outcome:
    """How one attempt ended."""

    verdict: str
    codes: tuple[str, ...] = ()
    ran: bool = False
    approval_id: str | None = None
    receipt: Any = None


@dataclass(slots=True, kw_only=True)
class World:
    """One gate with its records, a run in it and a tool body that counts how often it was executed."""

    gate: Gate
    store: Store
    point: DecisionPoint
    path: Path
    now: Callable[[], int]
    bodies: list[Any] = field(default_factory=list)
    """The arguments of each execution of a body."""
    _run: Run | None = None

    @property
    def run(self) -> Run:
        """A run of the principal's, started when first asked for."""
        if self._run is None:
            self._run = self.start()
        return self._run

    @property
    def runs(self) -> int:
        """How often a body was executed."""
        return len(self.bodies)

    def start(self, **changes: Any) -> Run:
        fields: dict[str, Any] = {
            "agent_id": AGENT,
            "identity": Identity(tenant_id=TENANT, principal_id=PRINCIPAL),
            "session_id": "session-1",
            "trace_id": "trace-1",
        }
        return self.gate.start_run(**{**fields, **changes})

    def attempt(
        self,
        capability: str = "create_ticket",
        arguments: Any = TICKET,
        *,
        run: Run | None = None,
        body: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Outcome:
        """One call through the gate; whatever it raises but a refusal is raised."""
        before = self.runs
        options = {"idempotency_key": "key-1", "reason": REASON, **options}
        try:
            with self.gate.tool_call(run or self.run, capability, arguments, **options) as call:
                self.bodies.append(call.arguments)
                receipt = call.complete({"n": self.runs} if body is None else body(call))
        except AlreadyCommitted as done:
            return Outcome("receipt", done.decision.codes, self.runs > before, None, done.receipt)
        except ActionBlocked as blocked:
            decision = blocked.decision
            return Outcome(str(decision.verdict), decision.codes, self.runs > before, blocked.approval_id)
        return Outcome("allow", call.decision.codes, True, None, receipt)

    def search(self, **options: Any) -> Outcome:
        """A call that needs neither approval nor claim."""
        return self.attempt("search_docs", {"query": "invoice"}, idempotency_key=None, reason=None, **options)

    def ask(self, arguments: Any = TICKET, **options: Any) -> ApprovalRecord:
        """The approval that a call asks for."""
        outcome = self.attempt(arguments=arguments, **options)
        assert (outcome.verdict, outcome.ran) == ("require_approval", False)
        assert outcome.approval_id is not None
        found = self.store.approval((options.get("run") or self.run).identity.tenant_id, outcome.approval_id)
        assert found is not None
        return found

    def vote(self, approval: ApprovalRecord, reviewer: str = "mira", decision: str = "approved") -> ApprovalRecord:
        """A vote signed with the reviewer's own key."""
        vote = self.gate.reviews.sign(approval, decision=decision, key=key_of(reviewer))
        return self.gate.reviews.vote(
            approval.tenant_id, approval.approval_id, vote, decision=decision, reviewer=reviewer
        )

    def hand_in(self, approval: ApprovalRecord, vote: StoredVote, decision: str = "approved") -> Outcome:
        """A vote from outside; how the policies answered it."""
        try:
            moved = self.gate.reviews.vote(
                approval.tenant_id, approval.approval_id, vote, decision=decision, reviewer="mira"
            )
        except ActionBlocked as blocked:
            return Outcome(str(blocked.decision.verdict), blocked.decision.codes)
        return Outcome(str(moved.status))

    def approved(self, arguments: Any = TICKET, **options: Any) -> ApprovalRecord:
        """An approval for this call, approved."""
        return self.vote(self.ask(arguments, **options))

    def status(self) -> str:
        """Status of the one effect in the records."""
        (effect,) = self.store.effects(TENANT)
        return str(effect.status)

    def reconcile(self, outcome: str, **options: Any) -> str:
        """Reconciles the one effect in the records; its status afterwards."""
        (effect,) = self.store.effects(TENANT)
        options = {"evidence_ref": "ticket-service:search", "reconciled_by": "ops", "owner_fenced": True, **options}
        return str(self.gate.reviews.reconcile(effect, outcome=outcome, **options).status)


def open_world(
    point: DecisionPoint, folder: Path, *, clock_ms: Callable[[], int] | None = None, **options: Any
) -> World:
    """A world whose store is in `folder`."""
    path = folder / "records.sqlite"
    store = Store.open(new_store(path), busy_timeout_ms=30_000)
    if clock_ms is not None:
        options["clock_ms"] = clock_ms
    gate = Gate(point, store, environment=ENVIRONMENT, **options)
    return World(gate=gate, store=store, point=point, path=path, now=clock_ms or store.now_ms)


def error_code(call: Callable[[], Any]) -> str:
    """The code of what `call` raises; empty when it returns."""
    try:
        call()
    except GateError as exc:
        return exc.code
    return ""


def at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What `call(number)` returned or raised in each of `count` threads started at once."""
    barrier, answers = Barrier(count), [None] * count

    def body(number: int) -> None:
        barrier.wait()
        try:
            answers[number] = call(number)
        except Exception as exc:  # noqa: BLE001 - an answer like any other, for the test to judge
            answers[number] = exc

    threads = [Thread(target=body, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def mark(file: Path) -> int:
    """Counts one execution of a body in a file, across threads and processes; how many there are now."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, b".")
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def call_from_threads(bundle: str, folder: str, run: Run, count: int, answers: Any) -> None:
    """Body of a spawned process: the same approved call from `count` threads at once."""
    world = open_world(point_of(compile_bundle(Path(bundle))), Path(folder))
    counter = Path(folder) / "bodies"

    def call(_: int) -> str:
        return world.attempt(run=run, body=lambda _: {"n": mark(counter)}).verdict

    answers.put([str(answer) for answer in at_once(count, call)])
    world.store.close()


def call_and_hang(bundle: str, folder: str, run: Run, claimed: Any) -> None:
    """Body of a spawned process that is killed after its claim and before its effect."""
    world = open_world(point_of(compile_bundle(Path(bundle))), Path(folder))
    with world.gate.tool_call(run, "create_ticket", TICKET, idempotency_key="key-1", reason=REASON):
        claimed.set()
        time.sleep(600)


def raw(path: Path, statement: str, *values: object) -> list[Any]:
    """What somebody with the database file could do."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()
