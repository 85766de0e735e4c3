"""Snapshots of the tools that MCP servers offer: kept apart by verified context, no longer than anybody allows.

Decides nothing: it says how a snapshot came about, and Rego decides whether it may be used. A server that cannot be
read makes the section unknown; an old snapshot is never passed off as a new one. Keys hold digests, never a token.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from gate.canonical import canonical_bytes, digest, parse
from gate.errors import EvidenceError, InputError
from gate.evidence.host import Run
from gate.evidence.source import Question

Mode = Literal["use", "refresh", "bypass"]

MAX_SNAPSHOTS: Final = 1024
"""How many snapshots are kept; the one that was used longest ago goes first."""

LIST_TOOLS: Final = {"method": "tools/list", "parameters": {}, "pages": "all"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """Everything a server offers, as it said it just now."""

    tools: tuple[Mapping[str, Any], ...]
    """Definitions as they came over the wire, with `name`."""
    ttl_ms: object = None
    """ttlMs as the server said it; None when it said nothing."""
    cache_scope: object = None
    """cacheScope as the server said it; None when it said nothing."""
    protocol_version: str | None = None


class ToolServer(Protocol):
    """One MCP server, read over the network at every call of `list_tools`."""

    def list_tools(self) -> ToolListing:
        """Every page of the tools. Raises `EvidenceError` when the server cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was fetched, for whom and when."""

    listing: ToolListing
    definitions: Mapping[str, str]
    """Digest of each definition by tool name."""
    catalog_digest: str
    fetched_at_ms: int
    tenant_id: str | None
    principal_id: str | None
    access_ref: str
    policy_version: str | None
    partition_ref: str


def definition_digest(tool: Mapping[str, Any]) -> str:
    """Digest of one tool's definition: the order of keys is no difference, anything else is.

    Raises `InputError` (`json_*`) for a definition without a canonical form.
    """
    return digest({"domain": "gate-tool-definition/v1", "definition": dict(tool)})


class ToolCatalog:
    """The catalog cache of one host: a source of `evidence.catalog_cache` and of tool definitions. Thread-safe.

    `tool_names` maps a capability to the server's name for the tool where the two differ. `access` says what else the
    host knows of the caller's rights, such as the grant's reference; it becomes part of the partition by digest.
    `mode`: `use` keeps snapshots, `refresh` always reads and keeps, `bypass` neither looks at what is kept nor keeps.
    """

    section: Final = "catalog_cache"

    def __init__(
        self,
        servers: Mapping[str, ToolServer],
        *,
        local_max_ttl_ms: int,
        checked_by: str = "svc-mcp-catalog",
        tool_names: Mapping[str, str] | None = None,
        access: Callable[[Run], str | None] = lambda run: None,
        share_public: bool = False,
        mode: Mode = "use",
    ) -> None:
        self.checked_by = checked_by
        self._servers = dict(servers)
        self._local_max_ttl_ms = local_max_ttl_ms
        self._names = dict(tool_names or {})
        self._access = access
        self._share_public = share_public
        self._mode = mode
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Snapshot] = OrderedDict()

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """The snapshot the called tool was found in; None for anything but a call of a tool of a server."""
        found = self._server_of(question)
        if found is None:
            return None
        server, tool = found
        access_ref = self._access_ref(question.run)
        snapshot = self._snapshot(server, question, access_ref)
        listing = snapshot.listing
        return {
            "target_id": server,
            "protocol_version": listing.protocol_version,
            "request_fingerprint": digest(LIST_TOOLS),
            "partition_ref": snapshot.partition_ref,
            "tenant_ref": snapshot.tenant_id,
            "principal_ref": snapshot.principal_id,
            "access_ref": snapshot.access_ref,
            "current_access_ref": access_ref,
            "policy_version": snapshot.policy_version,
            "server_ttl_ms": listing.ttl_ms if _is_whole(listing.ttl_ms) else None,
            "server_cache_scope": listing.cache_scope if isinstance(listing.cache_scope, str) else None,
            "local_max_ttl_ms": self._local_max_ttl_ms,
            "fetched_at_ms": snapshot.fetched_at_ms,
            "cache_hit": snapshot.fetched_at_ms != question.now_ms,
            "catalog_digest_ref": snapshot.catalog_digest,
            "tool_definition": snapshot.definitions.get(tool),
        }

    def tool_definition(self, question: Question) -> str | None:
        """Digest of the definition of the called tool; None when no server offers it."""
        found = self._server_of(question)
        if found is None:
            return None
        snapshot = self._snapshot(found[0], question, self._access_ref(question.run))
        return snapshot.definitions.get(found[1])

    def invalidate(self, server: str | None = None) -> None:
        """Forgets what is kept, of one server or of all: after its notice of a change, or a right that was revoked."""
        with self._lock:
            for key in [k for k in self._kept if server is None or k.startswith(f"{server}\n")]:
                del self._kept[key]

    def _server_of(self, question: Question) -> tuple[str, str] | None:
        if question.call is None:
            return None
        name = question.call.capability
        server = question.facts.capabilities.get(name, {}).get("server")
        return (str(server), self._names.get(name, name)) if server is not None else None

    def _access_ref(self, run: Run) -> str:
        identity = run.identity
        return digest(
            {
                "domain": "gate-catalog-access/v1",
                "authorization_mode": identity.authorization_mode,
                "delegated_principal_id": identity.delegated_principal_id,
                "delegated_scope": identity.delegated_scope,
                "access": self._access(run),
            }
        )

    def _snapshot(self, server: str, question: Question, access_ref: str) -> Snapshot:
        identity, bundle = question.run.identity, question.facts.bundle or {}
        context = {
            "domain": "gate-catalog-partition/v1",
            "server": server,
            "request": LIST_TOOLS,
            "tenant_id": identity.tenant_id,
            "policy_version": bundle.get("version"),
        }
        own = digest({**context, "principal_id": identity.principal_id, "access_ref": access_ref})
        shared = digest({**context, "shared": True})
        if self._mode != "bypass":
            kept = self._find(server, [own, shared] if self._share_public else [own], question.now_ms)
            if kept is not None:
                return kept
        target = self._servers.get(server)
        if target is None:
            raise EvidenceError(f"no connection to server `{server}` is configured", code="catalog_server_unknown")
        listing = target.list_tools()
        public = self._share_public and listing.cache_scope == "public"
        snapshot = Snapshot(
            listing=listing,
            definitions=_definitions(listing),
            catalog_digest=digest({"tools": [parse(canonical_bytes(dict(tool))) for tool in listing.tools]}),
            fetched_at_ms=question.now_ms,
            tenant_id=identity.tenant_id,
            principal_id=identity.principal_id,
            access_ref=access_ref,
            policy_version=bundle.get("version"),
            partition_ref=shared if public else own,
        )
        if self._mode != "bypass":
            self._keep(f"{server}\n{snapshot.partition_ref}", snapshot)
        return snapshot

    def _find(self, server: str, partitions: list[str], now_ms: int) -> Snapshot | None:
        with self._lock:
            for partition in partitions:
                kept = self._kept.get(f"{server}\n{partition}")
                if kept is not None and self._reusable(kept, now_ms):
                    self._kept.move_to_end(f"{server}\n{partition}")
                    return kept
        return None

    def _reusable(self, kept: Snapshot, now_ms: int) -> bool:
        """True while nobody says that the server must be read again. Whether it may be used is decided in Rego."""
        if kept.fetched_at_ms == now_ms:
            # Read for this very document: its definition and its evidence come from one listing.
            return True
        ttl_ms = kept.listing.ttl_ms
        if self._mode == "refresh" or not isinstance(ttl_ms, int) or not _is_whole(ttl_ms):
            return False
        return 0 <= now_ms - kept.fetched_at_ms < min(ttl_ms, self._local_max_ttl_ms)

    def _keep(self, key: str, snapshot: Snapshot) -> None:
        with self._lock:
            self._kept[key] = snapshot
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_SNAPSHOTS:
                self._kept.popitem(last=False)


def _definitions(listing: ToolListing) -> dict[str, str]:
    found: dict[str, str] = {}
    for tool in listing.tools:
        name = tool.get("name")
        if not isinstance(name, str) or name in found:
            # Two tools under one name: which of them a call would reach cannot be told.
            raise EvidenceError("the server's tools cannot be told apart", code="catalog_ambiguous")
        try:
            found[name] = definition_digest(tool)
        except InputError as exc:
            raise EvidenceError("a tool's definition has no canonical form", code="catalog_malformed") from exc
    return found


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
