"""A stage for long tasks: a throw-away bundle and seal key over any store, and the price repair to play on it.

For drills, measures and tests; what it decides with is the very Rego that everything else goes through.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gate import opa
from gate.compiler import Compiled, assemble
from gate.enforcement import Gate
from gate.evidence import Identity, Run
from gate.lab.continuity_bundle import AGENT, Reviewer, write_bundle
from gate.lab.longtask.trajectory import Trajectory, load, seed
from gate.longtask.commit import MAIN, Coordinator, Request
from gate.longtask.events import EventRecord
from gate.longtask.log import TaskLog
from gate.longtask.packet import BuildConfig
from gate.longtask.rehydrate import Material, Rehydrator, Target
from gate.longtask.resolvers import Resolver
from gate.pdp import DecisionPoint, EmbeddedDecisionPoint, Sidecar
from gate.records import GateKey, Store
from gate.release import build

REPOSITORY, PATH = "price-fixture", "src/pricing.py"
BUDGET = 100_000

# An experiment waits, for its engine and for each decision, on however busy a machine; a gate would not.
_DEADLINE_MS = 60_000
_START_S = 120.0


@dataclass(slots=True, kw_only=True)
class Stage:
    """One host with one gate."""

    gate: Gate
    store: Store
    tenant: str
    live: str = "workspace-price-v1"
    """Digest of the workspace as it is now."""

    def start(self, *, session: str = "") -> Run:
        """A new run, in a session of its own unless one is named."""
        name = secrets.token_hex(6)
        run = self.gate.start_run(
            agent_id=AGENT,
            identity=Identity(
                tenant_id=self.tenant,
                principal_id="operator",
                authorization_mode="user_delegated",
                delegated_principal_id="operator",
                delegated_scope="tickets:create",
            ),
            session_id=session or f"drill-{name}",
            trace_id=f"trace-{name}",
            run_id=f"run-{name}",
        )
        self.gate.record_progress(run, objective="repair the price", checkpoint_ref="checkpoint:start")
        return run

    def append(self, run: Run, *, first: int = 1, last: int = 24) -> tuple[EventRecord, ...]:
        """Appends that part of the price repair to the run's log."""
        events = tuple(e for e in repair(run.run_id).events if first <= e.sequence <= last)
        TaskLog(store=self.store).append(self.tenant, run.run_id, events)
        return events

    def coordinator(self, **changes: Any) -> Coordinator:
        """Commits in the stage's own store."""
        fields: dict[str, Any] = {"gate": self.gate, "store": self.store, "workspace": lambda: self.live}
        return Coordinator(**{**fields, "operator": "drill", **changes})

    def rehydrator(self, resolvers: Mapping[str, Resolver] | None = None, namespace: str = MAIN) -> Rehydrator:
        """The way back."""
        return Rehydrator(
            gate=self.gate,
            store=self.store,
            workspace=lambda: self.live,
            operator="drill",
            resolvers=resolvers or {},
            namespace=namespace,
        )


def repair(run_id: str) -> Trajectory:
    """The repository's own trajectory, as the log of `run_id`."""
    return Trajectory(tuple(replace(event, run_id=run_id) for event in load().events))


def request(run: Run, **changes: Any) -> Request:
    """A compaction of the price repair."""
    fields: dict[str, Any] = {
        "seed": replace(seed(), run_id=run.run_id),
        "next_step": "apply-compatible-patch",
        "completed_steps": ("inspect", "diagnose", "reject-rounding-only"),
        "pending_step": "apply-compatible-patch",
    }
    return Request(**{**fields, **changes})


def material(**changes: Any) -> Material:
    """What the host brings to a rehydration of the price repair."""
    config = BuildConfig(task_id="repair-price", repository=REPOSITORY, target_path=PATH, budget_limit=BUDGET)
    fields: dict[str, Any] = {"config": config, "target": Target(repository=REPOSITORY, target_path=PATH)}
    return Material(**{**fields, **changes})


def exercise_point(folder: Path) -> EmbeddedDecisionPoint:
    """A decision point inside this process over the exercise bundle, compiled into `folder`."""
    assembly = assemble([_exercise(folder)])
    return EmbeddedDecisionPoint(assembly.modules, revision=assembly.revision)


@contextmanager
def point_on(engine: str, folder: Path) -> Iterator[DecisionPoint]:
    """The same on `engine`: embedded, or opa for a sidecar of its own. Raises `ToolchainError` when it is not there."""
    if engine == "embedded":
        with closing(exercise_point(folder)) as embedded:
            yield embedded
        return
    binary = opa.ensure().path
    built = build([_exercise(folder)], folder / "dist", binary=binary)
    where = folder / "run"
    with (
        Sidecar.start(
            tarball=built.path, opa=binary, listen=where / "opa.sock", work_dir=where, startup_timeout_s=_START_S
        ) as sidecar,
        closing(sidecar.client(timeout_ms=_DEADLINE_MS)) as client,
    ):
        yield client


def _exercise(folder: Path) -> Compiled:
    return write_bundle(folder / AGENT, version="2026.01.01", wait_seconds=60, reviewer=Reviewer.new())


@contextmanager
def opened(point: DecisionPoint, url: str, *, tenant: str = "tenant-drill") -> Iterator[Stage]:
    """A stage over the store at `url`."""
    key = GateKey(key_id="drill", private_key=base64.b64encode(os.urandom(32)).decode("ascii"))
    with Store.open(url, busy_timeout_ms=30_000) as store:
        yield Stage(gate=Gate(point, store, environment="drill", seal_key=key), store=store, tenant=tenant)
