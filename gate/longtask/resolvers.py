"""Resolvers of evidence: files, git objects, versioned HTTP objects, rows of the store, events of the log.

Each reads the content again and compares its digest; that something of the name exists proves nothing. A resolver says
match, missing, stale or denied and never raises for any of them.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

import requests

from gate.longtask.canonical_form import digest
from gate.longtask.events import EventRecord, EvidenceLocator, refuse
from gate.longtask.strategies import observed_digest
from gate.records import LocatorResult

MAX_EVIDENCE_BYTES = 64 * 1024 * 1024
"""Largest content that is read again, in bytes; more cannot be verified and counts as stale."""

_GIT_TIMEOUT_SECONDS = 20


class Resolver(Protocol):
    """Reads what one kind of locator points at."""

    def read(self, ref: str) -> bytes | LocatorResult:
        """The content as it is now, or `MISSING` or `DENIED`."""


@dataclass(frozen=True, slots=True)
class FileResolver:
    """`ref` is a path below `root`, with `/`; nothing outside of it is ever read, through no link."""

    root: Path

    def read(self, ref: str) -> bytes | LocatorResult:
        """See `Resolver`."""
        path = PurePosixPath(ref)
        if path.is_absolute() or ".." in path.parts or "\x00" in ref:
            return LocatorResult.DENIED
        try:
            target = (self.root / path).resolve(strict=True)
            if not target.is_relative_to(self.root.resolve(strict=True)):
                return LocatorResult.DENIED
            # Whatever was swapped in since is not followed either.
            handle = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as stream:
                return stream.read(MAX_EVIDENCE_BYTES + 1)
        except PermissionError:
            return LocatorResult.DENIED
        except (OSError, RuntimeError):
            return LocatorResult.MISSING


@dataclass(frozen=True, slots=True)
class GitResolver:
    """`ref` is `REVISION:path` or an object id in the repository at `repository`."""

    repository: Path

    def read(self, ref: str) -> bytes | LocatorResult:
        """See `Resolver`."""
        if ref.startswith("-") or any(c in ref for c in "\x00\n"):
            return LocatorResult.DENIED
        command = ["git", "-C", str(self.repository), "cat-file", "blob", ref]
        environment = {"PATH": os.environ.get("PATH", os.defpath), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_GIT_TIMEOUT_SECONDS, check=False, env=environment
            )
        except (OSError, subprocess.TimeoutExpired):
            return LocatorResult.MISSING
        if done.returncode == 0:
            return done.stdout
        denied = b"ermission denied" in done.stderr or b"dubious ownership" in done.stderr
        return LocatorResult.DENIED if denied else LocatorResult.MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResolver:
    """`ref` is a path and query below `base_url`, which names the version; redirects are not followed."""

    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("https://", "http://127.0.0.1", "http://localhost", "http://[::1]")):
            raise refuse("resolver_url_insecure", "an HTTP resolver needs https, or this very machine")

    def read(self, ref: str) -> bytes | LocatorResult:
        """See `Resolver`."""
        if not ref.startswith("/") or ref.startswith("//") or any(ord(c) <= 0x20 for c in ref):
            return LocatorResult.DENIED
        try:
            with requests.get(
                self.base_url.rstrip("/") + ref,
                headers=dict(self.headers),
                timeout=self.timeout_seconds,
                allow_redirects=False,
                stream=True,
            ) as reply:
                if reply.status_code == requests.codes.ok:
                    parts, size = [], 0
                    for part in reply.iter_content(65_536):
                        parts.append(part)
                        size += len(part)
                        if size > MAX_EVIDENCE_BYTES:
                            break
                    return b"".join(parts)
                denied = reply.status_code in (401, 403, 407, 451)
                return LocatorResult.DENIED if denied else LocatorResult.MISSING
        except requests.RequestException:
            return LocatorResult.MISSING


@dataclass(frozen=True, slots=True)
class RowResolver:
    """`ref` names a row; `fetch` returns its canonical bytes, None when there is none, and raises when it may not."""

    fetch: Callable[[str], bytes | None]

    def read(self, ref: str) -> bytes | LocatorResult:
        """See `Resolver`."""
        try:
            found = self.fetch(ref)
        except PermissionError:
            return LocatorResult.DENIED
        return LocatorResult.MISSING if found is None else found


def locate(kind: str, ref: str, *, resolver: Resolver, workspace_digest: str) -> EvidenceLocator:
    """A locator of what is there now. Raises `LongTaskError` (`evidence_missing`, `evidence_denied`)."""
    found = resolver.read(ref)
    if isinstance(found, LocatorResult):
        raise refuse(f"evidence_{found.value}", f"the evidence is {found.value}")
    seen = _digest(found)
    return EvidenceLocator(
        locator_id="loc-" + digest([kind, ref, seen])[:40],
        kind=kind,
        ref=ref,
        content_digest=seen,
        workspace_digest=workspace_digest,
    )


def resolve(
    locators: Iterable[EvidenceLocator],
    resolvers: Mapping[str, Resolver],
    *,
    events: Sequence[EventRecord],
) -> dict[str, LocatorResult]:
    """What is found now, by locator id. `payload_ref` is read from `events`; a kind without a resolver is denied."""
    observed: dict[str, set[str]] = {}
    for event in events:
        if event.payload_ref is not None:
            observed.setdefault(event.payload_ref, set()).add(observed_digest(event))
    found: dict[str, LocatorResult] = {}
    for one in locators:
        if one.kind == "payload_ref":
            seen = observed.get(one.ref)
            if seen is None:
                result = LocatorResult.MISSING
            else:
                result = LocatorResult.MATCH if one.content_digest in seen else LocatorResult.STALE
        elif one.kind in resolvers:
            result = _compare(resolvers[one.kind].read(one.ref), one.content_digest)
        else:
            result = LocatorResult.DENIED
        found[one.locator_id] = result
    return found


def reload(locator: EvidenceLocator, resolver: Resolver) -> tuple[LocatorResult, bytes | None]:
    """On-demand reload: the content, only when it is what the locator saw."""
    found = resolver.read(locator.ref)
    result = _compare(found, locator.content_digest)
    return result, found if result is LocatorResult.MATCH and isinstance(found, bytes) else None


def _compare(found: bytes | LocatorResult, expected: str) -> LocatorResult:
    if isinstance(found, LocatorResult):
        return found
    return LocatorResult.MATCH if _digest(found) == expected else LocatorResult.STALE


def _digest(content: bytes) -> str:
    if len(content) > MAX_EVIDENCE_BYTES:
        return "too-large"
    return "sha256:" + hashlib.sha256(content).hexdigest()
