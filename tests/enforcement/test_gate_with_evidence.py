"""A gate with sources of evidence: the shipped knowledge assistant through whole calls, no secret in any sink."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle
from gate.decision import ActionBlocked
from gate.enforcement import Gate
from gate.evidence import Identity, Question, Run
from gate.evidence.catalog import ToolCatalog, ToolListing
from gate.evidence.credentials import Connection, CredentialBindings, Wanted
from gate.evidence.mcp_server import McpRegistration, McpRegistry
from gate.records import Completion, Store
from gate.trace import JsonlSink

BUNDLES = Path(__file__).resolve().parents[2] / "bundles"
NOW = 1_800_000_000_000
VERSION = "2026.04.07"
USER = Identity(
    tenant_id="tenant-acme",
    principal_id="user-42",
    authorization_mode="user_delegated",
    delegated_principal_id="user-42",
    delegated_scope="knowledge:read",
)


@dataclass
class Host:
    """What the adapters of the host would say; the tests change it between calls."""

    now_ms: int = NOW
    credential: Any = None
    grant: dict[str, Any] = field(default_factory=dict)
    tool: dict[str, Any] = field(default_factory=lambda: {"name": "search_knowledge", "description": "Searches."})
    raised: Exception | None = None

    def binding(self, wanted: Wanted) -> Connection | None:
        if self.raised is not None:
            raise self.raised
        user = wanted.identity.delegated_principal_id
        fields = {
            "connection_ref": "connection-1",
            "credential_ref": "credential-1",
            "deployment_ref": "deployment-1",
            "tenant_ref": wanted.identity.tenant_id,
            "effective_principal_ref": user,
            "credential_owner": "user",
            "credential_type": "oauth",
            "status": "active",
            "policy_version": VERSION,
            "authorization_checked_at_ms": wanted.now_ms,
            "owner_principal_ref": user,
        }
        return Connection(**{**fields, **(self.credential or {})})

    def list_tools(self) -> ToolListing:
        return ToolListing(tools=(self.tool,), ttl_ms=60_000, cache_scope="private", protocol_version="2026-07-28")


@dataclass
class Grants:
    """A source of grants in memory; the real one has its own tests."""

    host: Host
    section: str = "oauth_scope"
    checked_by: str = "svc-authorization-server"

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        if question.call is None:
            return None
        return {
            "grant_ref": "grant-42",
            "subject_ref": "user-42",
            "status": "active",
            "requested_scopes": ["knowledge.read"],
            "granted_scopes": ["knowledge.read"],
            "audience": ["https://knowledge.internal"],
            "resource": [],
            "expires_at_ms": question.now_ms + 1000,
            "task_ref": question.run.run_id,
            "policy_version": VERSION,
            **self.host.grant,
        }


@dataclass
class Scene:
    gate: Gate
    host: Host
    run: Run
    lines: Path
    store_path: Path

    def search(self, arguments: Any = None) -> Any:
        with self.gate.tool_call(self.run, "search_knowledge", arguments or {"query": "refund"}) as call:
            call.complete({"hits": 1})
        return call

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def point() -> Iterator[OpaPoint]:
    assembly = assemble([compile_bundle(BUNDLES / "knowledge-assistant")])
    made = OpaPoint(assembly.modules, revision=assembly.revision)
    yield made
    made.close()


@pytest.fixture
def scene(point: OpaPoint, tmp_path: Path) -> Iterator[Scene]:
    host, lines = Host(), tmp_path / "trace.jsonl"
    path = tmp_path / "records.sqlite"
    with Store.open(f"sqlite:///{path}") as store:
        registered = McpRegistration(
            owner="knowledge_platform", discovery_source="approved_registry", auth_mode="oauth"
        )
        gate = Gate(
            point,
            store,
            environment="test",
            trace=JsonlSink(lines),
            clock_ms=lambda: host.now_ms,
            evidence=[
                CredentialBindings(host),
                Grants(host),
                ToolCatalog({"knowledge-mcp": host}, local_max_ttl_ms=30_000),
                McpRegistry({"knowledge-mcp": registered}),
            ],
        )
        run = gate.start_run(
            agent_id="knowledge-assistant-ref", identity=USER, session_id="session-1", trace_id="trace-1"
        )
        yield Scene(gate, host, run, lines, path)


def refused(scene: Scene, arguments: Any = None) -> set[str]:
    with pytest.raises(ActionBlocked) as caught:
        scene.search(arguments)
    return set(caught.value.decision.codes) - {"configured_allow"}


def test_call_runs_when_every_section_is_sound(scene: Scene) -> None:
    call = scene.search()
    assert (str(call.decision.verdict), call.partial) == ("allow", False)
    assert call.decision.audit["credential_binding"]["requester_principal_ref"] == "user-42"


def test_trace_tells_requester_and_effective_principal_apart_and_no_credential(scene: Scene) -> None:
    scene.search()
    told = [e["payload"] for e in scene.events() if e["event_type"] == "tool_call_allowed"]
    assert [{k: t[k] for k in ("requester_principal_ref", "effective_principal_ref", "grant_ref")} for t in told] == [
        {"requester_principal_ref": "user-42", "effective_principal_ref": "user-42", "grant_ref": "grant-42"}
    ]


def test_result_under_less_than_was_asked_is_marked_partial(scene: Scene) -> None:
    scene.host.grant = {"requested_scopes": ["knowledge.read", "answers.share"]}
    assert scene.search().partial is True
    assert [e["payload"].get("partial") for e in scene.events() if e["event_type"] == "tool_call_allowed"] == [True]


def test_run_is_known_to_have_done_with_less_after_other_calls_too(scene: Scene) -> None:
    scene.host.grant = {"requested_scopes": ["knowledge.read", "answers.share"]}
    scene.search()
    scene.host.grant = {}
    scene.search({"query": "something else"})
    with Store.open(f"sqlite:///{scene.store_path}") as store:
        assert store.completion("tenant-acme", scene.run.run_id) == Completion(narrowed=("search_knowledge",))


CHANGES: list[tuple[str, Callable[[Host], None], set[str]]] = [
    ("scope gone", lambda h: h.grant.update(granted_scopes=[]), {"insufficient_granted_scope"}),
    ("grant of another run", lambda h: h.grant.update(task_ref="run-0"), {"grant_task_mismatch"}),
    ("grant revoked", lambda h: h.grant.update(status="revoked"), {"grant_not_active"}),
    ("grant malformed", lambda h: h.grant.update(granted_scopes="knowledge.read"), {"evidence_undated"}),
    ("credential of another", lambda h: setattr(h, "credential", {"owner_principal_ref": "user-43"}),
     {"credential_owner_mismatch"}),
    ("shared credential", lambda h: setattr(h, "credential", {
        "credential_owner": "agent", "owner_principal_ref": None, "effective_principal_ref": "svc-knowledge-reader"}),
     {"credential_kind_not_accepted"}),
    ("credential revoked", lambda h: setattr(h, "credential", {"status": "revoked"}), {"credential_not_current"}),
    ("provider down", lambda h: setattr(h, "raised", OSError("down")), {"evidence_undated", "tool_principal_mismatch"}),
    ("tool withdrawn", lambda h: h.tool.update(name="other"), {"tool_not_offered"}),
]  # fmt: skip


@pytest.mark.parametrize(("change", "codes"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_change_between_two_calls_is_seen_by_the_second(
    scene: Scene, change: Callable[[Host], None], codes: set[str]
) -> None:
    scene.search()
    change(scene.host)
    scene.host.now_ms += 60_000
    assert codes <= refused(scene)


def test_refusal_for_a_missing_scope_asks_for_nothing_else(scene: Scene) -> None:
    scene.host.grant = {"granted_scopes": []}
    with pytest.raises(ActionBlocked) as caught:
        scene.search()
    decision = caught.value.decision
    assert (str(decision.verdict), list(decision.obligations)) == ("deny", [])
    assert decision.audit["oauth_scope"]["missing_scopes"] == ["knowledge.read"]


def test_argument_that_names_another_user_changes_no_principal(scene: Scene) -> None:
    assert refused(scene, {"query": "refund", "user_id": "user-43"}) == {"arguments_invalid"}
    told = scene.events()[-1]["payload"]
    assert (told["requester_principal_ref"], told["effective_principal_ref"]) == ("user-42", "user-42")


SECRETS = st.text(
    alphabet="abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+/", min_size=16, max_size=64
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(secret=SECRETS, where=st.sampled_from(["error", "extra field", "cause", "access"]))
def test_secret_of_an_adapter_reaches_no_sink(
    scene: Scene, caplog: pytest.LogCaptureFixture, secret: str, where: str
) -> None:
    secret = f"tok-{secret}"
    host = scene.host
    host.raised, host.grant = None, {}
    if where == "error":
        host.raised = RuntimeError(f"401 for Bearer {secret}")
    elif where == "cause":
        host.raised = OSError(secret)
        host.raised.__cause__ = ValueError(secret)
    elif where == "extra field":
        host.grant = {"access_token": secret}
    else:
        host.grant = {"granted_scopes": [secret], "requested_scopes": "x"}
    shown: list[str] = []
    with caplog.at_level(logging.DEBUG):
        try:
            scene.search()
        except ActionBlocked as exc:
            shown += [str(exc), repr(exc), json.dumps(exc.decision.audit, default=str), str(exc.decision.reasons)]
            shown += [str(exc.__cause__), str(exc.__context__)]
        else:
            pytest.fail("the call ran although a section could not be known")
    sinks = {
        "trace": scene.lines.read_text("utf-8"),
        "log": caplog.text,
        "errors": "\n".join(shown),
        "records": "".join(p.read_bytes().decode("latin-1") for p in scene.store_path.parent.iterdir() if p.is_file()),
    }
    assert {name for name, text in sinks.items() if secret in text} == set()
