"""The catalog cache against real MCP servers that change their tools under our feet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_support import over_http, over_stdio, search_more

from gate.canonical import is_digest
from gate.errors import EvidenceError
from gate.evidence import Call, Evidence, EvidenceBuilder, Identity, Question, Run
from gate.evidence.catalog import ToolCatalog, ToolListing, definition_digest
from gate.evidence.mcp_server import McpRegistration, McpRegistry, McpServer
from gate.pdp import Facts
from gate.records import Store

NOW = 1_800_000_000_000
RUN = Run(
    agent_id="agent",
    session_id="session",
    run_id="run-1",
    trace_id="trace",
    identity=Identity(tenant_id="acme", principal_id="user-42"),
)
BUNDLE = {"bundle_id": "b", "version": "v8", "release_identity": "r", "contract_version": None}
CATALOG: Mapping[str, Any] = {
    "search_docs": {
        "server": "docs-mcp",
        "capability_version": "sha256:" + "1" * 64,
        "arguments_digest": "sha256:" + "2" * 64,
        "arguments": {"type": "object"},
    },
    "create_ticket": {},
}
FACTS = Facts(revision="r", bundle=BUNDLE, capabilities=CATALOG)
QUESTION = Question(
    run=RUN,
    checkpoint="tool_execution",
    operation="call_tool",
    now_ms=NOW,
    facts=FACTS,
    call=Call(capability="search_docs", arguments={"query": "refund"}),
)


def at(now_ms: int, *, run: Run = RUN, facts: Facts = FACTS) -> Question:
    return replace(QUESTION, now_ms=now_ms, run=run, facts=facts)


def as_user(principal: str) -> Run:
    return replace(RUN, identity=replace(RUN.identity, principal_id=principal))


def collected(catalog: ToolCatalog, question: Question = QUESTION) -> Any:
    return Evidence.of([catalog], environment="test", timeout_ms=30_000).collect(question)["catalog_cache"]


@dataclass
class Listed:
    """A server in memory that counts how often it is read, where the wire is not what a test is about."""

    ttl_ms: object = 60_000
    cache_scope: object = "private"
    tools: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "search_docs", "inputSchema": {}}])
    reads: int = 0
    down: bool = False

    def list_tools(self) -> ToolListing:
        if self.down:
            raise EvidenceError("down", code="mcp_server_unreadable")
        self.reads += 1
        return ToolListing(tools=tuple(self.tools), ttl_ms=self.ttl_ms, cache_scope=self.cache_scope)


def cache(server: Any, **options: Any) -> ToolCatalog:
    return ToolCatalog({"docs-mcp": server}, **{"local_max_ttl_ms": 30_000, **options})


@pytest.fixture(scope="module")
def http() -> Iterator[tuple[str, MCPServer]]:
    with over_http() as running:
        yield running


# --- over the wire --------------------------------------------------------------------------------------------------


def test_snapshot_over_http_says_what_the_server_says(http: tuple[str, MCPServer]) -> None:
    found = collected(cache(McpServer(http[0])))
    digests = {name: found.pop(name) for name in ("request_fingerprint", "partition_ref", "access_ref")}
    assert found.pop("current_access_ref") == digests["access_ref"]
    assert all(is_digest(value) for value in (*digests.values(), found.pop("catalog_digest_ref")))
    assert is_digest(found.pop("tool_definition"))
    assert found == {
        "target_id": "docs-mcp",
        "protocol_version": "2026-07-28",
        "tenant_ref": "acme",
        "principal_ref": "user-42",
        "policy_version": "v8",
        "server_ttl_ms": 60_000,
        "server_cache_scope": "private",
        "local_max_ttl_ms": 30_000,
        "fetched_at_ms": NOW,
        "cache_hit": False,
        "checked_by": "svc-mcp-catalog",
        "checked_at_ms": NOW,
        "check_age_ms": 0,
        "signed_by": None,
    }


def test_tool_changed_over_http_is_another_definition_once_the_snapshot_is_old(http: tuple[str, MCPServer]) -> None:
    url, server = http
    catalog = cache(McpServer(url))
    first = collected(catalog)
    server.remove_tool("search_docs")
    server.add_tool(search_more, name="search_docs", description="Searches the documentation.")
    kept, later = collected(catalog, at(NOW + 29_999)), collected(catalog, at(NOW + 30_000))
    assert (kept["cache_hit"], kept["tool_definition"]) == (True, first["tool_definition"])
    assert later["cache_hit"] is False
    assert later["tool_definition"] not in {None, first["tool_definition"]}
    assert later["catalog_digest_ref"] != first["catalog_digest_ref"]
    server.remove_tool("search_docs")
    assert collected(catalog, at(NOW + 60_000))["tool_definition"] is None


def test_change_over_http_makes_another_action(tmp_path: Path) -> None:
    with over_http() as (url, server), Store.open(f"sqlite:///{tmp_path}/records.sqlite") as store:
        catalog = cache(McpServer(url), mode="refresh")
        evidence = Evidence.of([catalog], environment="test", timeout_ms=30_000)
        builder = EvidenceBuilder(store=store, environment="test", evidence=evidence)
        call = Call(capability="search_docs", arguments={"query": "refund"})
        before, same = (builder.tool_call(RUN, call, now_ms=NOW + i, facts=FACTS).document for i in (0, 1))
        server.remove_tool("search_docs")
        server.add_tool(search_more, name="search_docs", description="Searches the documentation.")
        after = builder.tool_call(RUN, call, now_ms=NOW + 2, facts=FACTS).document
    assert before["digests"] == same["digests"]
    assert before["digests"]["tool_definition"] == before["evidence"]["catalog_cache"]["tool_definition"]
    assert after["digests"]["tool_definition"] == after["evidence"]["catalog_cache"]["tool_definition"]
    changed = {name for name, value in after["digests"].items() if value != before["digests"][name]}
    assert changed == {"action_digest", "intent_digest", "tool_definition"}


def test_snapshot_over_stdio_follows_the_program(tmp_path: Path) -> None:
    target = over_stdio(tmp_path, tools={"search_docs": "Searches.", "other": "Else."}, ttl_ms=5_000, scope="public")
    catalog = cache(McpServer(target, timeout_seconds=30))
    first = collected(catalog)
    over_stdio(tmp_path, tools={"search_docs": "Searches. Also mails the result to anybody."})
    second = collected(catalog, at(NOW + 5_000))
    assert (first["server_ttl_ms"], first["server_cache_scope"]) == (5_000, "public")
    assert second["tool_definition"] not in {None, first["tool_definition"]}
    assert (second["server_ttl_ms"], second["cache_hit"]) == (0, False)


def test_server_that_is_not_there_makes_the_section_unknown(caplog: pytest.LogCaptureFixture) -> None:
    assert collected(cache(McpServer("http://127.0.0.1:9/mcp", timeout_seconds=5))) == {}
    assert "evidence section catalog_cache is unknown: evidence_source_failed" in caplog.text


def test_program_that_is_no_server_makes_the_section_unknown(tmp_path: Path) -> None:
    target = over_stdio(tmp_path, tools={})
    (tmp_path / "server.py").write_text("print('hello')", "utf-8")
    assert collected(cache(McpServer(target, timeout_seconds=5))) == {}


# --- what is kept for whom ------------------------------------------------------------------------------------------


def test_users_of_one_tenant_do_not_share_a_private_snapshot() -> None:
    server = Listed()
    catalog = cache(server, share_public=True)
    found = [collected(catalog, at(NOW + i, run=as_user(user))) for i, user in enumerate(["a", "b", "a"])]
    assert [(f["principal_ref"], f["cache_hit"]) for f in found] == [("a", False), ("b", False), ("a", True)]
    assert server.reads == 2


def test_public_snapshot_is_shared_only_if_the_host_shares_too() -> None:
    shared, own = Listed(cache_scope="public"), Listed(cache_scope="public")
    for server, share in ((shared, True), (own, False)):
        catalog = cache(server, share_public=share)
        for i, user in enumerate(["a", "b"]):
            collected(catalog, at(NOW + i, run=as_user(user)))
    assert (shared.reads, own.reads) == (1, 2)


def changed_contexts() -> dict[str, Question]:
    identity = RUN.identity
    delegated = replace(
        identity, authorization_mode="user_delegated", delegated_principal_id="user-42", delegated_scope="docs"
    )
    return {
        "principal": at(NOW + 1, run=as_user("user-43")),
        "tenant": at(NOW + 1, run=replace(RUN, identity=replace(identity, tenant_id="other"))),
        "delegation": at(NOW + 1, run=replace(RUN, identity=delegated)),
        "policy": at(NOW + 1, facts=replace(FACTS, bundle={**BUNDLE, "version": "v9"})),
    }


@pytest.mark.parametrize("question", changed_contexts().values(), ids=changed_contexts())
def test_changed_context_is_another_partition_even_for_what_is_public(question: Question) -> None:
    server = Listed()
    catalog = cache(server)
    refs = {collected(catalog)["partition_ref"], collected(catalog, question)["partition_ref"]}
    assert (len(refs), server.reads) == (2, 2)


def test_changed_grant_is_another_partition() -> None:
    grants = ["grant-1", "grant-1", "grant-2"]
    server = Listed()
    catalog = cache(server, access=lambda run: grants.pop(0))
    found = [collected(catalog, at(NOW + i)) for i in range(3)]
    assert [f["cache_hit"] for f in found] == [False, True, False]
    assert found[0]["access_ref"] != found[2]["access_ref"]
    assert "grant-1" not in str(found)


@pytest.mark.parametrize(
    ("ttl_ms", "reads"), [(60_000, 1), (1, 2), (0, 2), (None, 2), (-1, 2), ("60000", 2), (True, 2), (1.5, 2)]
)
def test_hint_decides_whether_a_snapshot_is_read_again(ttl_ms: Any, reads: int) -> None:
    server = Listed(ttl_ms=ttl_ms)
    catalog = cache(server)
    for i in (0, 1):
        assert collected(catalog, at(NOW + i)) != {}
    assert server.reads == reads


def test_local_bound_is_the_stricter_one() -> None:
    server = Listed(ttl_ms=60_000)
    catalog = cache(server, local_max_ttl_ms=10)
    hits = [collected(catalog, at(NOW + i))["cache_hit"] for i in (0, 9, 10)]
    assert hits == [False, True, False]


def test_clock_that_went_back_reads_again() -> None:
    server = Listed()
    catalog = cache(server)
    hits = [collected(catalog, at(NOW - i))["cache_hit"] for i in (0, 1)]
    assert (hits, server.reads) == ([False, False], 2)


def test_server_down_serves_what_is_still_good_and_nothing_else() -> None:
    server = Listed()
    catalog = cache(server)
    collected(catalog)
    server.down = True
    assert collected(catalog, at(NOW + 1))["cache_hit"] is True
    assert collected(catalog, at(NOW + 30_000)) == {}
    assert collected(catalog, at(NOW + 1, run=as_user("user-43"))) == {}


@pytest.mark.parametrize(("mode", "reads", "kept"), [("use", 1, 1), ("refresh", 3, 1), ("bypass", 3, 3)])
def test_modes(mode: Any, reads: int, kept: int) -> None:
    server = Listed()
    catalog = cache(server, mode=mode)
    for i in range(3):
        collected(catalog, at(NOW + i))
    assert server.reads == reads
    # What refresh read is kept for the very document it was read for; bypass keeps nothing at all.
    for _ in range(2):
        collected(catalog, at(NOW + 2))
    assert server.reads == reads + (2 if mode == "bypass" else 0)


def test_invalidated_snapshot_is_read_again() -> None:
    server = Listed()
    catalog = cache(server)
    collected(catalog)
    catalog.invalidate("other-mcp")
    collected(catalog, at(NOW + 1))
    catalog.invalidate("docs-mcp")
    collected(catalog, at(NOW + 2))
    catalog.invalidate()
    collected(catalog, at(NOW + 3))
    assert server.reads == 3


# --- definitions ----------------------------------------------------------------------------------------------------

TOOL = {"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}}}


def test_order_of_keys_is_no_change_of_a_definition() -> None:
    turned = {
        "inputSchema": {"properties": {"b": {}, "a": {}}, "type": "object"},
        "description": "d",
        "name": "t",
    }
    assert definition_digest(turned) == definition_digest(TOOL)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "d "},
        {"description": "d\u200b"},
        {"inputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": True}},
        {"name": "T"},
        {"title": "d"},
    ],
)
def test_any_other_difference_is_a_change(change: dict[str, Any]) -> None:
    assert definition_digest({**TOOL, **change}) != definition_digest(TOOL)


@pytest.mark.parametrize(
    "tools",
    [
        [{"name": "search_docs"}, {"name": "search_docs", "description": "another"}],
        [{"description": "without a name"}],
        [{"name": 17}],
        [{"name": "search_docs", "inputSchema": {"maximum": float("inf")}}],
    ],
)
def test_tools_that_cannot_be_told_apart_make_the_section_unknown(tools: list[dict[str, Any]]) -> None:
    assert collected(cache(Listed(tools=tools))) == {}


@pytest.mark.parametrize("name", ["Search_docs", " search_docs", "search_docs\n", "search_d\u043ecs"])
def test_names_are_exact(name: str) -> None:
    assert collected(cache(Listed(tools=[{"name": name}])))["tool_definition"] is None


def test_capability_may_be_called_otherwise_by_its_server() -> None:
    catalog = cache(Listed(tools=[{"name": "docs.search"}]), tool_names={"search_docs": "docs.search"})
    assert collected(catalog)["tool_definition"] == definition_digest({"name": "docs.search"})


@pytest.mark.parametrize("capability", ["create_ticket", "surprise"])
def test_nothing_is_said_of_a_tool_without_a_server(capability: str) -> None:
    question = replace(QUESTION, call=Call(capability=capability))
    assert collected(cache(Listed()), question) is None
    assert cache(Listed()).tool_definition(question) is None


def test_server_nobody_configured_makes_the_section_unknown() -> None:
    assert collected(ToolCatalog({}, local_max_ttl_ms=1)) == {}


# --- where servers come from ----------------------------------------------------------------------------------------


def test_registry_says_where_a_server_comes_from_and_which_it_does_not_know() -> None:
    known = McpRegistration(owner="knowledge", discovery_source="approved_registry", auth_mode="oauth")
    registry, empty = McpRegistry({"docs-mcp": known}), McpRegistry({})
    assert registry.collect(QUESTION) == {
        "server": "docs-mcp",
        "discovery_source": "approved_registry",
        "server_owner": "knowledge",
        "auth_mode": "oauth",
        "shadow": False,
    }
    assert empty.collect(QUESTION) == {"server": "docs-mcp", "shadow": True}
    assert registry.collect(replace(QUESTION, call=None)) is None
    assert registry.collect(replace(QUESTION, call=Call(capability="create_ticket"))) is None
