"""Capability sessions around a real stateful MCP server: progress and elicitation, pause, expiry, replacement."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mcp_types
import pytest
import uvicorn
from mcp import Client
from mcp.server.mcpserver import Context, MCPServer
from new_store import new_store
from opa_point import OpaPoint
from pydantic import BaseModel

from gate.compiler import assemble, compile_bundle
from gate.decision import ActionBlocked
from gate.enforcement import Gate
from gate.errors import ConflictError, InputError
from gate.evidence import Call, Identity, Run
from gate.evidence.mcp_server import McpRegistration, McpRegistry
from gate.evidence.sessions import SessionEvidence
from gate.records import SessionRecord, SessionStatus, Store

BUNDLES = Path(__file__).resolve().parents[2] / "bundles"
USER = Identity(tenant_id="tenant-acme", principal_id="user-42")
HOUR_MS = 3_600_000
SEARCH = Call(capability="search_docs", arguments={"query": "refund"})
DOCS = McpRegistration(owner="knowledge_platform", discovery_source="approved_registry", auth_mode="oauth")


@dataclass
class Scene:
    gate: Gate
    store: Store
    run: Run
    shift_ms: int = 0

    def open(self, session_id: str = "docs-1", *, run: Run | None = None, **changes: Any) -> SessionRecord:
        fields = {"capability": "search_docs", "server": "docs-mcp", "lifetime_ms": HOUR_MS}
        return self.gate.sessions.open(run or self.run, session_id=session_id, **{**fields, **changes})

    def start(self, **identity: Any) -> Run:
        who = Identity(**{"tenant_id": "tenant-acme", "principal_id": "user-42", **identity})
        return self.gate.start_run(
            agent_id="support-triage-ref", identity=who, session_id="session-1", trace_id="trace-1"
        )


@pytest.fixture(scope="module")
def point() -> Iterator[OpaPoint]:
    assembly = assemble([compile_bundle(BUNDLES / "support-triage")])
    made = OpaPoint(assembly.modules, revision=assembly.revision)
    yield made
    made.close()


@pytest.fixture
def scene(point: OpaPoint, tmp_path: Path) -> Iterator[Scene]:
    with Store.open(new_store(tmp_path / "records.sqlite")) as store:
        made: list[Scene] = []

        def clock_ms() -> int:
            return time.time_ns() // 1_000_000 + (made[0].shift_ms if made else 0)

        sources = [SessionEvidence(store), McpRegistry({"docs-mcp": DOCS})]
        gate = Gate(point, store, environment="test", evidence=sources, clock_ms=clock_ms)
        run = gate.start_run(agent_id="support-triage-ref", identity=USER, session_id="session-1", trace_id="trace-1")
        made.append(Scene(gate, store, run))
        yield made[0]


def blocked(ask: Any) -> set[str]:
    with pytest.raises(ActionBlocked) as caught:
        ask()
    return {r.code for r in caught.value.decision.reasons if r.verdict != "allow"}


def conflict(ask: Any) -> str:
    with pytest.raises(ConflictError) as caught:
        ask()
    return caught.value.code


# --- a real server --------------------------------------------------------------------------------------------------


class Wanted(BaseModel):
    answer: str


def stateful_server() -> MCPServer:
    server = MCPServer("docs", log_level="CRITICAL")

    @server.tool()
    async def search_docs(query: str, ctx: Context) -> str:
        """Searches, tells how far it is, and asks the user back."""
        await ctx.report_progress(1, 2)
        said = await ctx.elicit("Which edition?", Wanted)
        await ctx.report_progress(2, 2)
        return f"{query} in {said.data.answer if said.action == 'accept' else 'no edition'}"

    return server


def talk(scene: Scene, url: str, session: SessionRecord, *, sensitive: bool | None) -> tuple[str, list[set[str]]]:
    """One call over a stateful connection, every progress event and question put to the gate first."""
    refused: list[set[str]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        try:
            await asyncio.to_thread(scene.gate.sessions.progress, scene.run, session)
        except ActionBlocked as exc:
            refused.append(set(exc.decision.codes))

    async def elicit(context: Any, params: Any) -> mcp_types.ElicitResult:
        try:
            await asyncio.to_thread(scene.gate.sessions.elicit, scene.run, session, sensitive=sensitive)
        except ActionBlocked as exc:
            refused.append({r.code for r in exc.decision.reasons if r.verdict != "allow"})
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content={"answer": "2026"})

    async def call() -> str:
        async with Client(url, mode="legacy", elicitation_callback=elicit, read_timeout_seconds=30) as client:
            result = await client.call_tool("search_docs", {"query": "refund"}, progress_callback=progress)
            # Progress arrives beside the answer; what is under way is let through before the connection closes.
            await asyncio.sleep(0.5)
            return str(result.content[0].text)  # type: ignore[union-attr]

    return asyncio.run(call()), refused


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        http = uvicorn.Server(uvicorn.Config(stateful_server().streamable_http_app(), log_level="critical"))
        thread = threading.Thread(target=http.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 20
        while not http.started and time.monotonic() < until:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        http.should_exit = True
        thread.join(10)


def test_live_session_lets_progress_and_a_harmless_question_through(scene: Scene, url: str) -> None:
    session = scene.open(remote_session_id="mcp-session-secret")
    assert talk(scene, url, session, sensitive=False) == ("refund in 2026", [])
    found = scene.store.session("tenant-acme", "docs-1")
    assert found is not None
    assert (found.progress_events, found.elicitations) == (2, 1)
    told = [e.event_type for e in scene.store.events("tenant-acme", scene.run.run_id)]
    assert sorted(t for t in told if t.startswith("session_")) == [
        "session_elicitation", "session_opened", "session_progress", "session_progress",
    ]  # fmt: skip
    assert "mcp-session-secret" not in str(found)


@pytest.mark.parametrize("sensitive", [True, None])
def test_question_for_a_secret_never_reaches_the_user(scene: Scene, url: str, sensitive: bool | None) -> None:
    answer, refused = talk(scene, url, scene.open(), sensitive=sensitive)
    assert (answer, refused) == ("refund in no edition", [{"elicitation_refused"}])


def test_paused_session_lets_nothing_through_until_it_is_resumed(scene: Scene, url: str) -> None:
    paused = scene.gate.sessions.pause(scene.open())
    answer, refused = talk(scene, url, paused, sensitive=False)
    assert answer == "refund in no edition"
    assert [r & {"session_not_live"} for r in refused] == [{"session_not_live"}] * 3
    resumed = scene.gate.sessions.resume(scene.run, paused, SEARCH)
    assert resumed.paused_at_ms is not None
    assert talk(scene, url, resumed, sensitive=False) == ("refund in 2026", [])


def test_resumption_is_decided_before_the_record_moves(scene: Scene) -> None:
    paused = scene.gate.sessions.pause(scene.open())
    stranger = replace(scene.run, identity=replace(scene.run.identity, principal_id="user-43"))

    def refused(run: Run, call: Call) -> set[str]:
        codes = blocked(lambda: scene.gate.sessions.resume(run, paused, call))
        kept = scene.store.session(paused.tenant_id, paused.session_id)
        assert kept is not None
        assert (kept.status, kept.version) == (paused.status, paused.version)
        return codes

    assert "principal_mismatch" in refused(stranger, SEARCH)
    assert "session_binding_mismatch" in refused(scene.run, replace(SEARCH, capability="export_tickets"))
    assert "arguments_invalid" in refused(scene.run, replace(SEARCH, arguments={"query": 7}))
    scene.shift_ms = HOUR_MS + 1000
    assert refused(scene.run, SEARCH) == {"session_not_live"}
    scene.shift_ms = 0
    assert scene.gate.sessions.resume(scene.run, paused, SEARCH).status == "active"


# --- without the wire -----------------------------------------------------------------------------------------------


def test_session_past_its_expiry_lets_nothing_through(scene: Scene) -> None:
    session = scene.open()
    scene.shift_ms = HOUR_MS + 1000
    assert blocked(lambda: scene.gate.sessions.progress(scene.run, session)) == {"session_not_live"}


def test_session_that_expired_between_decision_and_record_is_a_conflict(scene: Scene) -> None:
    session = scene.open(lifetime_ms=1)
    scene.shift_ms = -HOUR_MS
    time.sleep(0.01)
    assert conflict(lambda: scene.store.note_progress("tenant-acme", session.session_id)) == "session_not_live"


def test_closed_session_is_over(scene: Scene) -> None:
    closed = scene.gate.sessions.close(scene.open())
    assert blocked(lambda: scene.gate.sessions.progress(scene.run, closed)) == {"session_not_live"}
    assert conflict(lambda: scene.gate.sessions.close(closed)) == "session_transition_illegal"
    assert blocked(lambda: scene.gate.sessions.resume(scene.run, closed, SEARCH)) == {"session_not_live"}


def test_expired_session_is_replaced_once(scene: Scene) -> None:
    old = scene.open()
    assert conflict(lambda: scene.open("docs-2", replaces="docs-1")) == "session_not_ended"
    scene.gate.sessions.expire(old)
    new = scene.open("docs-2", replaces="docs-1")
    assert new.reinitialized_from == "docs-1"
    assert scene.gate.sessions.progress(scene.run, new).progress_events == 1
    assert conflict(lambda: scene.open("docs-3", replaces="docs-1")) == "session_replaced"
    assert conflict(lambda: scene.open("docs-4", replaces="docs-9")) == "session_unknown"


def test_session_of_another_principal_is_refused(scene: Scene) -> None:
    other = scene.start(principal_id="user-43")
    session = scene.open("docs-b", run=other)
    assert blocked(lambda: scene.gate.sessions.progress(scene.run, session)) == {"session_binding_mismatch"}
    scene.gate.sessions.expire(session)
    assert conflict(lambda: scene.open("docs-c", replaces="docs-b")) == "session_unknown"


def test_session_of_another_tenant_does_not_exist(scene: Scene) -> None:
    other = scene.start(tenant_id="tenant-other")
    session = scene.open("docs-b", run=other)
    assert scene.store.session("tenant-acme", "docs-b") is None
    codes = blocked(lambda: scene.gate.sessions.progress(scene.run, session))
    assert {"session_binding_mismatch", "session_not_live"} <= codes


def test_session_for_another_capability_is_refused(scene: Scene) -> None:
    listing = scene.open(capability="export_tickets")
    codes = blocked(lambda: scene.gate.sessions.progress(scene.run, listing))
    assert codes == {"session_capability_denied"}


def test_session_changed_by_somebody_else_is_a_conflict(scene: Scene) -> None:
    session = scene.open()
    scene.gate.sessions.progress(scene.run, session)
    assert conflict(lambda: scene.gate.sessions.pause(session)) == "session_changed"


def test_session_of_an_unknown_or_ended_run_is_not_opened(scene: Scene) -> None:
    scene.open()
    assert conflict(scene.open) == "session_exists"
    scene.gate.end_run(scene.run)
    assert conflict(lambda: scene.open("docs-2")) == "run_closed"


@pytest.mark.parametrize(
    "changes", [{"lifetime_ms": 0}, {"lifetime_ms": "1"}, {"server": " "}, {"session_id": ""}, {"capability": "a\n"}]
)
def test_session_that_no_record_can_hold_is_refused(scene: Scene, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        scene.open(**changes)


def test_states_are_the_closed_set() -> None:
    assert [str(s) for s in SessionStatus] == ["active", "paused", "expired", "closed"]
