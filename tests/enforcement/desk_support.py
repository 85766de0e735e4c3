"""A refund desk to act in: a copy of the shipped bundle with throw-away reviewer keys, one store for several gates."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle, write
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, EffectNotStarted, Gate
from gate.evidence import Identity, Run
from gate.evidence.services import Ask, charge_review_source
from gate.pdp import DecisionPoint
from gate.records import GateKey, PublicKey, ReviewerKey, Store, generate_key

ENVIRONMENT = "test"
TENANT = "cedardesk"
PRINCIPAL = "user-7"
REASON = "The customer was charged twice."
REVIEWERS = {"sana-support": "sana-support-2026", "mark-manager": "mark-manager-2026"}
KEYS = {name: generate_key() for name in REVIEWERS}
CALL_PRIVATE, CALL_PUBLIC = generate_key()
CALL_KEY = GateKey(key_id="executor-1", private_key=CALL_PRIVATE)
CALL_KEYS: Mapping[str, PublicKey] = {"executor-1": PublicKey(public_key=CALL_PUBLIC)}


def desk_copy(repo: Path, folder: Path, *changes: tuple[str, str, str]) -> Path:
    """The bundle in `folder`; each change is file, text, new text."""
    copy = folder / "refund-desk"
    shutil.copytree(repo / "bundles" / "refund-desk", copy)
    public = iter(KEYS.values())
    file = copy / "reviewers.yaml"
    listed = re.sub(r"public_key: .*", lambda _: f"public_key: {next(public)[1]}", file.read_text("utf-8"))
    file.write_text(listed, "utf-8")
    for name, old, new in changes:
        text = (copy / name).read_text("utf-8")
        assert old in text, f"`{old}` is not in {name}"
        (copy / name).write_text(text.replace(old, new), "utf-8")
    write(compile_bundle(copy))
    return copy


def desk_point(bundle: Path) -> OpaPoint:
    assembly = assemble([compile_bundle(bundle)])
    return OpaPoint(assembly.modules, revision=assembly.revision)


def all_duplicates(question: Mapping[str, Any]) -> dict[str, Any]:
    """Billing, where every charge repeats another one of the same customer, whatever the amount."""
    return {
        **{name: question[name] for name in ("charge_id", "tenant_id", "principal_id")},
        "duplicate": True,
        "duplicate_of": f"{question['charge_id']}-first",
        "amount_minor": 1_000_000,
        "currency": "USD",
    }


@dataclass(slots=True, kw_only=True)
class Desk:
    """One gate of a refund desk."""

    gate: Gate
    store: Store
    paid: list[int] = field(default_factory=list)
    """The amounts of the executions that really ran."""
    _run: Run | None = None

    @classmethod
    def open(
        cls,
        point: DecisionPoint,
        url: str,
        *,
        clock_ms: Callable[[], int] | None = None,
        billing: Ask = all_duplicates,
        **options: Any,
    ) -> Desk:
        """A desk on a store of its own at `url`; `billing` says what it knows of a charge."""
        store = Store.open(url, busy_timeout_ms=30_000, **options)
        clock = {} if clock_ms is None else {"clock_ms": clock_ms}
        gate = Gate(
            point,
            store,
            environment=ENVIRONMENT,
            call_key=CALL_KEY,
            call_keys=CALL_KEYS,
            evidence=[charge_review_source(billing)],
            evidence_timeout_ms=30_000,
            **clock,
        )
        return cls(gate=gate, store=store)

    @property
    def run(self) -> Run:
        if self._run is None:
            self._run = self.start()
        return self._run

    def start(self, **changes: Any) -> Run:
        fields: dict[str, Any] = {
            "agent_id": "refund-desk-ref",
            "identity": Identity(tenant_id=TENANT, principal_id=PRINCIPAL),
            "session_id": "session-1",
            "trace_id": "trace-1",
        }
        return self.gate.start_run(**{**fields, **changes})

    def refund(
        self,
        amount: int,
        charge: str,
        *,
        run: Run | None = None,
        capability: str = "issue_refund",
        key: str | None = None,
        fails: BaseException | None = None,
    ) -> tuple[str, ...]:
        """The verdict and the codes of one call; `fails` is raised by the tool."""
        options = {"idempotency_key": key or f"key-{charge}", "reason": REASON}
        try:
            with self.gate.tool_call(run or self.run, capability, refund_of(amount, charge), **options) as call:
                if fails is not None:
                    raise fails
                self.paid.append(amount)
                call.complete({"refund": charge})
        except AlreadyCommitted as done:
            return ("receipt", done.receipt["refund"])
        except ActionBlocked as blocked:
            return (str(blocked.decision.verdict), *blocked.decision.codes)
        except (EffectNotStarted, TimeoutError) as exc:
            return (type(exc).__name__,)
        return ("allow", *call.decision.codes)

    def counter(self, part: str) -> int:
        """The value of the one counter whose name has `part` in it; 0 when there is none yet."""
        found = [
            use["name"]
            for event in self.store.events(TENANT, self.run.run_id)
            for use in event.payload.get("counters", ())
            if part in use["name"]
        ]
        return self.store.counter(TENANT, found[0]).value if found else 0


def refund_of(amount: Any, charge: str) -> dict[str, Any]:
    return {"charge_id": charge, "amount_minor": amount, "currency": "USD"}


def key_of(reviewer: str) -> ReviewerKey:
    return ReviewerKey(reviewer=reviewer, key_id=REVIEWERS[reviewer], private_key=KEYS[reviewer][0])
