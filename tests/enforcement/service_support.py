"""A refund service in a process of its own, and the calls that an executor lets through to it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from desk_support import CALL_PUBLIC, ENVIRONMENT, REASON, TENANT, Desk, key_of, refund_of

from gate.enforcement import EffectNotStarted, ToolCall

SERVICE = Path(__file__).with_name("refund_service.py")


@dataclass(slots=True)
class Service:
    """A running refund service, and what it paid."""

    port: int
    ledger: Path

    def call(self, token: str | None, arguments: Any) -> tuple[int, str]:
        """The status and the code or the charge of one request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {} if token is None else {"X-Gate-Call": token}
        connection.request("POST", "/refund", json.dumps(arguments), headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body.get("refused") or body["refund"]

    @property
    def paid(self) -> list[dict[str, Any]]:
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text("utf-8").splitlines()]


@contextlib.contextmanager
def serving(url: str, folder: Path, *, tenant: str = TENANT, environment: str = ENVIRONMENT) -> Iterator[Service]:
    ledger = folder / "paid.jsonl"
    keys = json.dumps({"executor-1": CALL_PUBLIC})
    process = subprocess.Popen(
        [sys.executable, str(SERVICE), url, str(ledger), tenant, environment, keys], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Service(int(process.stdout.readline()), ledger)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def claimed(desk: Desk, amount: int, charge: str, **options: Any) -> Iterator[ToolCall]:
    """A call that was let through; it settles as failed before the effect when the test does not complete it."""
    arguments = refund_of(amount, charge)
    with (
        contextlib.suppress(EffectNotStarted),
        desk.gate.tool_call(
            options.pop("run", desk.run),
            "issue_refund",
            arguments,
            idempotency_key=f"key-{charge}",
            reason=REASON,
            **options,
        ) as call,
    ):
        yield call
        if not call.completed:
            raise EffectNotStarted("the test did not start it")


def approve(desk: Desk, amount: int, charge: str) -> str:
    """A support reviewer's approval of the refund; its id."""
    asked = desk.refund(amount, charge)
    assert asked[0] == "require_approval"
    (approval,) = [a for a in desk.store.approvals(TENANT) if str(a.status) == "pending"]
    vote = desk.gate.reviews.sign(approval, decision="approved", key=key_of("sana-support"))
    desk.gate.reviews.vote(TENANT, approval.approval_id, vote, decision="approved", reviewer="sana-support")
    return approval.approval_id
