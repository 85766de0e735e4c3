"""The CedarDesk refund: a review that is pending, sixty turns of noise, five compactions, "can you finish it now?".

Plays on a throw-away copy of the refund desk with throw-away reviewer keys. The compactor loses the review on purpose;
the story shows that nothing depended on it. Expects nothing: it reports what was answered, paid and recorded.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.canonical import digest
from gate.compiler import Compiled, compile_bundle, write
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, CallRefused, EffectNotStarted, Gate
from gate.errors import InputError
from gate.evidence import Identity, Run
from gate.lab.billing import Billing
from gate.lab.demo import decision_point
from gate.records import GateKey, PublicKey, ReviewerKey, Store, generate_key

TENANT = "cedardesk"
COMPACTIONS = 5
TURNS = 60
_ENVIRONMENT = "refund-story"
_PRINCIPAL = "user-7"
_REASON = "The customer was charged twice."
_REFUND, _MANAGER_REFUND = "issue_refund", "issue_manager_refund"
_UNREVIEWED_UP_TO = 2500
_BOUNDARIES = (
    (_REFUND, 2500),
    (_REFUND, 2501),
    (_REFUND, 10000),
    (_REFUND, 10001),
    (_MANAGER_REFUND, 10001),
)
"""Of charges that billing has verified to be duplicates."""
_NOISE = (
    "Where is my parcel? It was promised for Tuesday.",
    "Here is a screenshot of the tracking page.",
    "Do you have the blue kettle in stock again?",
    "lookup_charge: one charge, one charge, one charge.",
)
_SUMMARY = "The customer was charged 78.00 twice; the duplicate is verified and the claim is valid."
_PUBLIC_KEY = re.compile(r"public_key: .*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the story."""

    title: str
    verdict: str
    reasons: tuple[str, ...]
    paid: bool
    """The refund service paid in this step."""
    ledger_unchanged: bool
    """No side effect was recorded, or changed, in this step."""


@dataclass(slots=True, kw_only=True)
class RefundService:
    """The tool, behind `verify_call`: it trusts no caller, and asks the records itself."""

    gate: Gate
    payments: list[dict[str, Any]] = field(default_factory=list)

    def pay(self, token: object, capability: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Pays. Raises `CallRefused` for what did not come through the executor."""
        call = self.gate.verify_call(
            token, tenant_id=TENANT, capability=capability, arguments=arguments, tool="refund-service"
        )
        self.payments.append(call.arguments)
        return {"refund_id": f"re-{len(self.payments)}"}


@dataclass(slots=True)
class Conversation:
    """What the model sees, and nothing else: a compaction replaces it."""

    messages: list[str] = field(default_factory=list)
    compactions: int = 0

    def compact(self) -> None:
        """Keeps that the claim is valid, and loses that a review is pending."""
        self.messages = [_SUMMARY]
        self.compactions += 1


@contextlib.contextmanager
def stage(bundle: Path, engine: str) -> Iterator[Story]:
    """Sets the story up on `engine` (embedded or opa) and takes everything down again."""
    with tempfile.TemporaryDirectory(prefix="gate-refund-") as folder:
        root = Path(folder)
        compiled, keys = copy_with_throwaway_keys(bundle, root)
        private, public = generate_key()
        url = f"sqlite:///{root}/refunds.sqlite"
        with (
            decision_point(compiled, engine, root) as (point, _),
            Store.open(url) as store,
            Store.open(url) as service_store,
        ):
            key = GateKey(key_id="executor", private_key=private)
            listed = {"executor": PublicKey(public_key=public)}
            service = RefundService(gate=Gate(point, service_store, environment=_ENVIRONMENT, call_keys=listed))
            billing = Billing(TENANT)
            gate = Gate(point, store, environment=_ENVIRONMENT, call_key=key, evidence=[billing.source()])
            yield Story(gate=gate, store=store, keys=keys, service=service, billing=billing)


def copy_with_throwaway_keys(bundle: Path, root: Path) -> tuple[Compiled, dict[str, ReviewerKey]]:
    """The refund desk's bundle, copied into `root` with new reviewer keys, which are returned by role.

    Raises `InputError` (`demo_bundle_unfit`) for another bundle.
    """
    # Before anything is copied: what is wrong with the bundle is told where it is.
    reviewers = compile_bundle(bundle).bundle.reviewers
    copy = root / bundle.resolve().name
    shutil.copytree(bundle, copy)
    made = {r.id: (r.keys[0].key_id, *generate_key()) for r in reviewers if r.keys}
    if not {"support_reviewer", "manager"} <= {role for r in reviewers for role in r.roles} or len(made) != len(
        reviewers
    ):
        raise InputError("the story needs the refund desk's bundle", code="demo_bundle_unfit")
    file, public = copy / "reviewers.yaml", iter(made.values())
    file.write_text(_PUBLIC_KEY.sub(lambda _: f"public_key: {next(public)[2]}", file.read_text("utf-8")), "utf-8")
    compiled = compile_bundle(copy)
    write(compiled)
    keys = {name: ReviewerKey(reviewer=name, key_id=k, private_key=private) for name, (k, private, _) in made.items()}
    return compiled, {r.roles[0]: keys[r.id] for r in compiled.bundle.reviewers}


@dataclass(slots=True, kw_only=True)
class Story:
    """The cast of one performance."""

    gate: Gate
    store: Store
    keys: dict[str, ReviewerKey]
    """A reviewer's key by role."""
    service: RefundService
    billing: Billing
    conversation: Conversation = field(default_factory=Conversation)

    def play(self) -> Iterator[Step]:
        """Plays the whole story, a step at a time."""
        for number, (capability, amount) in enumerate(_BOUNDARIES):
            run, charge = self._start(f"session-boundary-{number}"), f"ch-{number}"
            self._charge(charge, amount, duplicate_of=f"{charge}-first")
            title = f"{amount // 100}.{amount % 100:02} by {capability}"
            yield self._call(run, title, capability, _refund(charge, amount), key=f"boundary-{number}")
        yield from self._unverified()
        self._charge("ch-78", 7800, duplicate_of="ch-78-first")
        run, refund = self._start("session-refund-78"), _refund("ch-78", 7800)
        step = self._call(run, "78.00 is proposed", _REFUND, refund, key="refund-78")
        yield step
        self.conversation.messages += [_SUMMARY, "The refund of 78.00 waits for a support reviewer."]
        for number in range(COMPACTIONS):
            yield self._noise(run, number)
            self.conversation.compact()
            asked = f"compaction {number + 1}: can you finish it now?"
            yield self._call(run, asked, _REFUND, refund, key="refund-78")
            yield self._past_the_gate(f"compaction {number + 1}: the tool, asked directly", refund)
        yield self._review(run, refund)
        yield self._call(run, "finished, with the review", _REFUND, refund, key="refund-78")
        yield self._call(run, "and once more: its receipt", _REFUND, refund, key="refund-78")

    def unreviewed(self) -> int:
        """How many payments that want a review no consumed approval stands for: none, or the desk is open."""
        wanted = len([p for p in self.service.payments if not self._automatic(p)])
        return max(0, wanted - sum(str(a.status) == "consumed" for a in self.store.approvals(TENANT)))

    def _automatic(self, payment: dict[str, Any]) -> bool:
        charge = self.billing.charges.get(payment["charge_id"], {})
        return payment["amount_minor"] <= _UNREVIEWED_UP_TO and charge.get("duplicate") is True

    def _unverified(self) -> Iterator[Step]:
        """25.00 that nobody verified to be charged twice."""
        run, amount = self._start("session-unverified"), _UNREVIEWED_UP_TO
        self._charge("ch-once", amount)
        for title, charge in (
            ("25.00 of a charge that is no duplicate", "ch-once"),
            ("25.00 of a charge that billing does not know", "ch-unknown"),
        ):
            yield self._call(run, title, _REFUND, _refund(charge, amount), key=charge)
        self._charge("ch-dark", amount, duplicate_of="ch-dark-first")
        self.billing.down = True
        yield self._call(run, "25.00 while billing does not answer", _REFUND, _refund("ch-dark", amount), key="ch-dark")
        self.billing.down = False

    def _charge(self, charge: str, amount: int, *, duplicate_of: str | None = None) -> None:
        self.billing.charge(charge, amount, principal_id=_PRINCIPAL, duplicate_of=duplicate_of)

    def _start(self, session: str) -> Run:
        return self.gate.start_run(
            agent_id="refund-desk-ref",
            identity=Identity(tenant_id=TENANT, principal_id=_PRINCIPAL),
            session_id=session,
            trace_id=f"trace-{session}",
        )

    def _noise(self, run: Run, number: int) -> Step:
        before, turns = self._ledger(), TURNS // COMPACTIONS
        decision = None
        for turn in range(turns):
            text = _NOISE[turn % len(_NOISE)]
            self.conversation.messages.append(text)
            decision = self.gate.check(run, "user_message", {"text": text}).enforce()
        return Step(
            title=f"turns {number * turns + 1} to {(number + 1) * turns} of noise",
            verdict="" if decision is None else str(decision.verdict),
            reasons=() if decision is None else decision.codes,
            paid=False,
            ledger_unchanged=self._ledger() == before,
        )

    def _call(self, run: Run, title: str, capability: str, arguments: dict[str, Any], *, key: str) -> Step:
        before, paid = self._ledger(), len(self.service.payments)

        def step(verdict: str, reasons: tuple[str, ...]) -> Step:
            return Step(
                title=title,
                verdict=verdict,
                reasons=reasons,
                paid=len(self.service.payments) > paid,
                ledger_unchanged=self._ledger() == before,
            )

        try:
            with self.gate.tool_call(run, capability, arguments, idempotency_key=key, reason=_REASON) as call:
                try:
                    call.complete(self.service.pay(call.token, capability, call.arguments))
                except CallRefused as exc:
                    raise EffectNotStarted("the refund service refused") from exc
        except AlreadyCommitted as done:
            return step(f"receipt {done.receipt['refund_id']}", done.decision.codes)
        except ActionBlocked as blocked:
            return step(str(blocked.decision.verdict), blocked.decision.codes)
        return step(str(call.decision.verdict), call.decision.codes)

    def _past_the_gate(self, title: str, arguments: dict[str, Any]) -> Step:
        before, paid = self._ledger(), len(self.service.payments)
        try:
            # All that a model has to show after the compaction is what it remembers.
            self.service.pay(self.conversation.messages[0], _REFUND, arguments)
            verdict, reasons = "paid", list[str]()
        except CallRefused as exc:
            verdict, reasons = "refused by the tool", [exc.code]
        return Step(
            title=title,
            verdict=verdict,
            reasons=tuple(reasons),
            paid=len(self.service.payments) > paid,
            ledger_unchanged=self._ledger() == before,
        )

    def _review(self, run: Run, arguments: dict[str, Any]) -> Step:
        before = self._ledger()
        pending = [a for a in self.store.approvals(TENANT) if a.run_id == run.run_id and str(a.status) == "pending"]
        if len(pending) != 1:
            raise InputError("the story needs a bundle that asks for one review", code="demo_bundle_unfit")
        key = self.keys["support_reviewer"]
        vote = self.gate.reviews.sign(pending[0], decision="approved", key=key)
        moved = self.gate.reviews.vote(TENANT, pending[0].approval_id, vote, decision="approved", reviewer=key.reviewer)
        return Step(
            title="a support reviewer signs it",
            verdict=str(moved.status),
            reasons=(),
            paid=False,
            ledger_unchanged=self._ledger() == before,
        )

    def _ledger(self) -> str:
        rows = [(e.business_key, str(e.status), e.fencing, e.version) for e in self.store.effects(TENANT)]
        return digest([list(row) for row in sorted(rows)])


def _refund(charge: str, amount: int) -> dict[str, Any]:
    return {"charge_id": charge, "amount_minor": amount, "currency": "USD"}
