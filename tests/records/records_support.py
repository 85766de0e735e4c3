from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import postgres_support

from gate import canonical
from gate.errors import GateError
from gate.records import (
    ApprovalRecord,
    ApprovalRequest,
    ApprovalStatus,
    Claim,
    RunRecord,
    Store,
    StoredVote,
)

TENANT = "acme"
OTHER = "globex"
ACTION = canonical.digest({"action": 1})
OTHER_ACTION = canonical.digest({"action": 2})
CONTRACT = canonical.digest({"contract": 1})
INTENT = canonical.digest({"intent": 1})
EFFECT = {"principal_id": "user-1", "capability": "create_ticket", "business_key": "order-1"}
VOTE = StoredVote(b'{"vote":1}', b"s" * 64)
HOUR = 3_600_000


@dataclass(frozen=True)
class Place:
    """Where a store is, and a way to it past the gate."""

    url: str

    @property
    def is_postgres(self) -> bool:
        return self.url.startswith("postgresql")

    def raw(self, statement: str, *values: object) -> list[Any]:
        """Runs one statement with `?` for each value."""
        if self.is_postgres:
            return postgres_support.raw(self.url, statement, *values)
        return raw(Path(self.url.removeprefix("sqlite:///")), statement, *values)


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def run_record(run_id: str = "run-1", tenant_id: str = TENANT) -> RunRecord:
    return RunRecord(
        tenant_id=tenant_id,
        run_id=run_id,
        agent_id="support-agent",
        principal_id="user-1",
        session_id="session-1",
        trace_id="trace-1",
        authorization_mode="user_delegated",
        delegated_principal_id="user-1",
        delegated_scope="tickets:write",
    )


def approval_request(**changes: Any) -> ApprovalRequest:
    fields: dict[str, Any] = {
        "tenant_id": TENANT,
        "run_id": "run-1",
        "capability": "create_ticket",
        "contract_id": "ticket-contract",
        "contract_digest": CONTRACT,
        "action_digest": ACTION,
        "intent_digest": INTENT,
        "principal_id": "user-1",
        "agent_id": "support-agent",
        "session_id": "session-1",
        "trace_id": "trace-1",
        "requested_by": "support-agent",
        "reason": "external write",
        "bundle_version": "1.0.0",
        "release_identity": "release-1",
        "view": {"title": "Follow up"},
    }
    return ApprovalRequest(**{**fields, **changes})


def approved(store: Store, **changes: Any) -> ApprovalRecord:
    asked = store.request_approval(approval_request(**changes), max_wait_ms=HOUR)
    return store.add_vote(
        asked.tenant_id,
        asked.approval_id,
        expected_version=asked.version,
        vote=StoredVote(asked.nonce.encode(), b"s" * 64),
        to_status=ApprovalStatus.APPROVED,
    )


def claim_of(approval: ApprovalRecord | None = None, **changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "tenant_id": TENANT,
        "run_id": "run-1",
        "run_version": 1,
        "idempotency_key": "key-1",
        "action_digest": ACTION,
        "owner": "worker-1",
        "lease_ms": HOUR,
        "approval_id": None if approval is None else approval.approval_id,
        "approval_version": None if approval is None else approval.version,
        **EFFECT,
    }
    return Claim(**{**fields, **changes})


def raw(path: Path, statement: str, *values: object) -> list[Any]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def error_code(call: Any) -> str:
    """The code of what `call` raises; empty when it returns."""
    try:
        call()
    except GateError as exc:
        return exc.code
    return ""


def at_once(count: int, call: Any) -> list[str]:
    """Calls `call(number)` from `count` threads at once: the code of each, empty for a success."""
    barrier, codes = Barrier(count), [""] * count

    def body(number: int) -> None:
        barrier.wait()
        codes[number] = error_code(lambda: call(number))

    threads = [Thread(target=body, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return codes


def claim_from_threads(address: str, approval: ApprovalRecord, count: int, answers: Any) -> None:
    """Body of a spawned process."""
    with Store.open(address, busy_timeout_ms=30_000) as store:
        # One owner a thread and its own keys: only the approval is shared.
        answers.put(
            at_once(count, lambda n: store.claim(claim_of(approval, owner=f"w-{n}", business_key=f"{os.getpid()}-{n}")))
        )


def claim_each_from_threads(address: str, count: int, questions: Any, answers: Any) -> None:
    """Body of a spawned process: `count` threads claim each approval that comes, until None comes."""
    with Store.open(address, busy_timeout_ms=60_000, pool_size=count) as store:
        while (approval := questions.get(timeout=300)) is not None:

            def call(number: int, approval: ApprovalRecord = approval) -> None:
                key = f"{approval.approval_id}-{os.getpid()}-{number}"
                wanted = claim_of(approval, action_digest=approval.action_digest)
                store.claim(replace(wanted, owner=key, business_key=key, idempotency_key=key))

            answers.put(at_once(count, call))


def claim_effect_from_threads(address: str, count: int, answers: Any) -> None:
    """Body of a spawned process."""
    with Store.open(address, busy_timeout_ms=30_000) as store:
        answers.put(at_once(count, lambda n: store.claim(claim_of(owner=f"w-{n}"))))


def claim_and_hang(address: str, approval: ApprovalRecord, claimed: Any) -> None:
    """Body of a spawned process that is killed between its claim and its settlement."""
    store = Store.open(address)
    store.claim(claim_of(approval))
    claimed.set()
    time.sleep(600)
