"""The edge-deployment bundle to act in: a copy with a throw-away reviewer, a real store, services over HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from new_store import new_store
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle, write
from gate.enforcement import Gate
from gate.evidence import HttpRights, Identity, PlanStep, Requirement, Run, sign_evidence
from gate.evidence.http_json import JsonService
from gate.evidence.services import VerifierSource
from gate.records import ReviewerKey, Store, generate_key
from gate.trace import TraceEvent

BUNDLES = Path(__file__).parents[2] / "bundles"
TENANT, PRINCIPAL, TASK = "tenant-acme", "verified-ci-principal", "approved-route-change"
KEY = generate_key()


def copied(name: str, folder: Path, placeholder: str = "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=") -> Path:
    """The bundle `name` in `folder`, whose placeholder key is ours."""
    target = folder / name
    shutil.copytree(BUNDLES / name, target)
    path = target / "reviewers.yaml"
    text = path.read_text("utf-8")
    assert placeholder in text
    path.write_text(text.replace(placeholder, KEY[1]), "utf-8")
    policy = target / "policy.yaml"
    policy.write_text(policy.read_text("utf-8").replace(placeholder, KEY[1]), "utf-8")
    write(compile_bundle(target))
    return target


def passed(question: Mapping[str, Any]) -> dict[str, str]:
    """The verdict of the trusted verifier that the action passed, signed with the key the bundle names."""
    with_store = Store.open("sqlite://")
    facts = {
        "contract": "rollout-health-verifier",
        "contract_version": "2",
        "contract_digest": "sha256:" + "8" * 64,
        "verdict": "passed",
        "action_digest": question["action_digest"],
        "checked_at_ms": with_store.now_ms() - 1000,
    }
    with_store.close()
    signed = sign_evidence(
        facts, section="verifier", environment="test", key_id="rollout-health-2026", private_key=KEY[0]
    )
    return {
        "payload": base64.b64encode(signed.payload).decode(),
        "signature": base64.b64encode(signed.signature).decode(),
    }


def point_of(folder: Path) -> OpaPoint:
    assembly = assemble([compile_bundle(folder)])
    return OpaPoint(assembly.modules, revision=assembly.revision)


@contextmanager
def http_service(answer: Callable[[Mapping[str, Any]], tuple[int, Any]]) -> Iterator[str]:
    """A real HTTP service whose answers `answer` gives: status, and a JSON value or raw bytes; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, value = answer({**question, "authorization": self.headers.get("Authorization")})
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keeps the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(slots=True)
class Rights:
    """The rights that the service knows: what is not in it is denied."""

    granted: set[tuple[str, str, str]] = field(default_factory=set)
    questions: list[Mapping[str, Any]] = field(default_factory=list)
    broken: bytes | None = None
    """Answered instead of JSON, with status 200."""
    status: int = 200

    def answer(self, question: Mapping[str, Any]) -> tuple[int, Any]:
        self.questions.append(question)
        if self.broken is not None:
            return self.status, self.broken
        decisions = [
            {**need, "decision": "allow" if tuple(need.values()) in self._granted() else "deny"}
            for need in question["requirements"]
        ]
        return self.status, {
            "tenant_ref": question["tenant_ref"],
            "principal_ref": question["principal_ref"],
            "decisions": decisions,
        }

    def _granted(self) -> set[tuple[str, str, str]]:
        # JSON objects keep the order in which the canonical form writes them.
        return {(action, access, resource) for action, resource, access in self.granted}


@dataclass(slots=True)
class EdgeAdapter:
    """Derives what a step needs from canonical ids; knows in which zone each route is now."""

    zones: dict[str, str] = field(default_factory=dict)
    name: str = "edge-resource-adapter"
    failing: bool = False

    def requirements(self, steps: Sequence[PlanStep]) -> list[Requirement]:
        if self.failing:
            raise RuntimeError("the inventory did not answer")
        return [need for index, step in enumerate(steps) for need in self._of(index, step)]

    def _of(self, index: int, step: PlanStep) -> Iterator[Requirement]:
        account = step.arguments["account"]
        if step.capability == "update_worker":
            worker = f"{account}/{step.arguments['worker']}"
            yield Requirement(step=index, action="worker.update", resource_ref=worker, required_access="Editor")
        else:
            # The zone a route leaves is affected as much as the one it goes to.
            zones = {step.arguments["zone"], self.zones.get(step.arguments["route"], step.arguments["zone"])}
            for zone in sorted(zones):
                yield Requirement(
                    step=index,
                    action="route.write",
                    resource_ref=f"{account}/{zone}",
                    required_access="Workers Routes Write",
                )


EDITOR_A = ("worker.update", "account-a/worker-a", "Editor")
ZONE_A = ("route.write", "account-a/zone-a", "Workers Routes Write")
ZONE_B = ("route.write", "account-a/zone-b", "Workers Routes Write")


def update(worker: str = "worker-a", version: str = "v8") -> PlanStep:
    return PlanStep(
        capability="update_worker",
        arguments={"account": "account-a", "worker": worker, "version": version},
        idempotency_key=f"update-{worker}-{version}",
        resource=f"account-a/{worker}",
    )


def route(zone: str = "zone-a") -> PlanStep:
    return PlanStep(
        capability="write_route",
        arguments={"account": "account-a", "route": "shop", "zone": zone},
        idempotency_key=f"route-shop-{zone}",
        resource=f"account-a/{zone}",
    )


class Kept:
    """A sink that keeps the events."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []

    def write(self, event: TraceEvent) -> None:
        event.as_line()
        self.events.append(event)

    def of(self, event_type: str) -> list[Mapping[str, Any]]:
        return [event.payload for event in self.events if event.event_type == event_type]


@dataclass(slots=True, kw_only=True)
class Edge:
    """One gate over the edge-deployment bundle, with a run in it."""

    gate: Gate
    store: Store
    run: Run
    path: Path
    trace: Kept
    rights: Rights
    service: HttpRights
    adapter: EdgeAdapter = field(default_factory=EdgeAdapter)
    bodies: list[str] = field(default_factory=list)

    def plan(self, steps: Sequence[PlanStep] | None = None, plan_ref: str = "immutable-plan-42", **options: Any) -> Any:
        enter = self.gate.resume_plan if options.pop("resume", False) else self.gate.plan
        return enter(
            options.pop("run", self.run),
            "run_change_plan",
            **{
                "plan_ref": plan_ref,
                "task_ref": TASK,
                "steps": [update(), route()] if steps is None else steps,
                "adapter": self.adapter,
                "rights": self.service,
                "reason": "The shop moves.",
                **options,
            },
        )

    def approve(self, approval_id: str | None) -> None:
        assert approval_id is not None
        approval = self.store.approval(TENANT, approval_id)
        assert approval is not None
        key = ReviewerKey(reviewer="rhea-release", key_id="rhea-release-2026", private_key=KEY[0])
        vote = self.gate.reviews.sign(approval, decision="approved", key=key)
        self.gate.reviews.vote(TENANT, approval_id, vote, decision="approved", reviewer="rhea-release")

    def status(self, capability: str) -> str:
        found = [e for e in self.store.effects(TENANT) if e.capability == capability]
        return str(found[0].status) if found else "not_started"

    def events(self, event_type: str) -> list[Mapping[str, Any]]:
        return [e.payload for e in self.store.events(TENANT, self.run.run_id) if e.event_type == event_type]


@contextmanager
def open_edge(point: Any, folder: Path, **options: Any) -> Iterator[Edge]:
    path = folder / "records.sqlite"
    url = options.pop("url", None) or new_store(path)
    store = Store.open(url, busy_timeout_ms=30_000)
    trace, rights = Kept(), Rights({EDITOR_A, ZONE_A})
    # The key of the reviewer is good from 2026 on, whatever this machine's clock says.
    verifier = VerifierSource(ask=passed, capabilities=frozenset({"roll_out"}), checked_by="rollout-health")
    options.setdefault("evidence", [verifier])
    gate = Gate(point, store, environment="test", trace=trace, **options)
    run = gate.start_run(
        agent_id="edge-deployer-ref",
        identity=Identity(tenant_id=TENANT, principal_id=PRINCIPAL),
        session_id="session-edge-1",
        trace_id="trace-edge-1",
    )
    with http_service(rights.answer) as url:
        yield Edge(
            gate=gate,
            store=store,
            run=run,
            path=path,
            trace=trace,
            rights=rights,
            service=HttpRights(JsonService(url=url)),
        )
    store.close()
