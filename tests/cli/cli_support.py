from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from opa_point import OpaPoint

from gate import ActionBlocked, Gate, Identity, Run, Store
from gate.cli import cli
from gate.compiler import assemble, compile_bundle
from gate.records import EffectRecord

TENANT = "tenant-acme"
ENVIRONMENT = "test"
MESSAGE = {"to": "customer-1", "subject": "Opening hours", "body": "Nine to five."}
NOTE = "note: embedded, not for production\n"


def run(*args: str | Path, input: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
    """One command in this process; an exception that is not an answer fails the test."""
    return CliRunner().invoke(cli, [str(arg) for arg in args], input=input, env=env, catch_exceptions=False)


def document(result: Result) -> Any:
    return json.loads(result.stdout)


@dataclass
class World:
    """A bundle whose reviewer's key we hold, and records an agent has filled."""

    bundle: Path
    store_file: Path
    key_file: Path
    gate: Gate
    store: Store
    agent_run: Run

    @property
    def url(self) -> str:
        return f"sqlite:///{self.store_file}"

    @property
    def records(self) -> tuple[str, ...]:
        return ("--store", self.url, "--tenant", TENANT)

    @property
    def reviewing(self) -> tuple[str, ...]:
        return (*self.records, "--environment", ENVIRONMENT, "--bundle", str(self.bundle))

    def ask(self, *, key: str = "intent-1", reason: str = "The customer asked.", **changes: Any) -> str:
        """The id of the approval that a message is waiting for."""
        with (
            pytest.raises(ActionBlocked) as blocked,
            self.gate.tool_call(
                self.agent_run, "send_message", {**MESSAGE, **changes}, idempotency_key=key, reason=reason
            ),
        ):
            pass
        assert blocked.value.approval_id is not None
        return blocked.value.approval_id

    def break_write(self, *, key: str = "intent-1", **changes: Any) -> EffectRecord:
        """The effect of an approved message that crashed half-way."""
        approval = self.ask(key=key, **changes)
        done = run("approvals", "approve", approval, "--key", self.key_file, *self.reviewing)
        assert done.exit_code == 0, done.stderr
        with (
            pytest.raises(ConnectionResetError),
            self.gate.tool_call(
                self.agent_run,
                "send_message",
                {**MESSAGE, **changes},
                idempotency_key=key,
                reason="The customer asked.",
            ),
        ):
            raise ConnectionResetError
        return next(e for e in self.store.effects(TENANT) if e.idempotency_key == key)


def gate_on(bundle: Path, store: Store, environment: str = ENVIRONMENT) -> Gate:
    assembly = assemble([compile_bundle(bundle)])
    return Gate(OpaPoint(assembly.modules, revision=assembly.revision), store, environment=environment)


def agent_run(gate: Gate) -> Run:
    return gate.start_run(
        agent_id="my-bot-agent",
        identity=Identity(tenant_id=TENANT, principal_id="user-42"),
        session_id="session-1",
        trace_id="trace-1",
    )
