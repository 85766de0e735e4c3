"""MCP servers through the official SDK: their tools, read afresh, and where they come from.

Needs the extra `mcp`. Keeps nothing between two readings and caches nothing: that is `gate.evidence.catalog`'s work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gate.errors import EvidenceError, ToolchainError
from gate.evidence.catalog import ToolListing
from gate.evidence.source import Question

if TYPE_CHECKING:
    from mcp import Client, StdioServerParameters
    from mcp.client import Transport

MAX_PAGES: Final = 100
"""How many pages of tools are read: a server that never ends its list is not read at all."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server: the URL of its streamable HTTP endpoint, what starts it over stdio, or an SDK transport.

    A transport is where the host puts authentication; no credential passes through here.
    """

    target: str | StdioServerParameters | Transport
    timeout_seconds: float = 5.0

    def list_tools(self) -> ToolListing:
        """Every page of the tools. Raises `EvidenceError` (`mcp_server_unreadable`), `ToolchainError`."""
        try:
            from mcp import Client
        except ImportError as exc:
            raise ToolchainError("reading MCP servers needs `mcp`", hint="install the extra `mcp`") from exc

        async def read() -> ToolListing:
            async with Client(self.target, cache=None, read_timeout_seconds=self.timeout_seconds) as client:
                return await _all_pages(client)

        async def in_time() -> ToolListing:
            return await asyncio.wait_for(read(), self.timeout_seconds)

        try:
            return asyncio.run(in_time())
        except EvidenceError:
            raise
        except BaseException as exc:
            # The SDK wraps what happened in groups of exceptions, whose texts can quote the server.
            if isinstance(exc, KeyboardInterrupt | SystemExit):
                raise
            raise EvidenceError("the MCP server could not be read", code="mcp_server_unreadable") from exc


async def _all_pages(client: Client) -> ToolListing:
    tools: list[Mapping[str, Any]] = []
    hints: list[tuple[object, object]] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools.extend(tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools)
        said = page.model_fields_set
        # What the SDK fills in of itself is not what the server said.
        hints.append(
            (
                page.ttl_ms if "ttl_ms" in said else None,
                page.cache_scope if "cache_scope" in said else None,
            )
        )
        cursor = page.next_cursor
        if cursor is None:
            ttl_ms, scope = _strictest(hints)
            return ToolListing(
                tools=tuple(tools), ttl_ms=ttl_ms, cache_scope=scope, protocol_version=client.protocol_version
            )
    raise EvidenceError("the server's list of tools does not end", code="mcp_catalog_endless")


def _strictest(hints: list[tuple[object, object]]) -> tuple[object, object]:
    """One hint for all pages: the shortest life, and public only if every page is."""
    lives = [ttl for ttl, _ in hints]
    whole = [ttl for ttl in lives if isinstance(ttl, int)]
    scopes = {scope for _, scope in hints}
    ttl_ms = min(whole) if len(whole) == len(lives) else None
    return ttl_ms, scopes.pop() if len(scopes) == 1 else "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpRegistration:
    """What the host's registry says of one server."""

    owner: str
    """Team that answers for it."""
    discovery_source: str
    """pinned_catalog, approved_registry or runtime_discovery."""
    auth_mode: str
    """none, api_key, oauth or mutual_tls: how the host's transport authenticates it."""


@dataclass(frozen=True, slots=True)
class McpRegistry:
    """A source of `evidence.mcp`: the registered servers by the name the catalog knows them by."""

    servers: Mapping[str, McpRegistration]
    checked_by: str = "svc-mcp-registry"
    section: str = "mcp"

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """Where the called tool's server comes from; a server nobody registered is a shadow server."""
        if question.call is None:
            return None
        server = question.facts.capabilities.get(question.call.capability, {}).get("server")
        if server is None:
            return None
        known = self.servers.get(server)
        if known is None:
            return {"server": server, "shadow": True}
        return {
            "server": server,
            "discovery_source": known.discovery_source,
            "server_owner": known.owner,
            "auth_mode": known.auth_mode,
            "shadow": False,
        }
