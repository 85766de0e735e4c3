"""Resolvers of evidence: files, git objects, versioned HTTP objects, rows of the store, events of the log.

Each reads the content again and compares its digest; that something of the name exists proves nothing. A resolver says
what it read, missing or denied, never that something matches; one that fails has shown nothing and counts as denied.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import unquote, urlsplit

import requests

from gate.longtask.canonical_form import digest
from gate.longtask.events import EventRecord, EvidenceLocator, refuse
from gate.longtask.strategies import observed_digest
from gate.records import LocatorResult

MAX_EVIDENCE_BYTES = 64 * 1024 * 1024
"""Largest content that is read again, in bytes; more cannot be verified: it is not located, and counts as stale."""

_GIT_TIMEOUT_SECONDS = 20
_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})
_PATH_STEP = re.compile(r"[/\\]")


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
        if path.is_absolute() or ".." in path.parts or "\x00" in ref or not _encodable(ref):
            return LocatorResult.DENIED
        try:
            target = (self.root / path).resolve(strict=True)
            if not target.is_relative_to(self.root.resolve(strict=True)):
                return LocatorResult.DENIED
            # Whatever was swapped in since is not followed either.
            handle = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                # A pipe or a device has no content to compare; a folder none either.
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return LocatorResult.MISSING
                with os.fdopen(handle, "rb", closefd=False) as stream:
                    return stream.read(MAX_EVIDENCE_BYTES + 1)
            finally:
                os.close(handle)
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
        if ref.startswith("-") or any(c in ref for c in "\x00\n") or not _encodable(ref):
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
    """How long the server may be silent."""
    deadline_seconds: float = 30.0
    """How long it may take in all, however much it says; what is not there by then is missing."""

    def __post_init__(self) -> None:
        try:
            base = urlsplit(self.base_url)
            sound = base.scheme == "https" or (base.scheme == "http" and base.hostname in _THIS_MACHINE)
        except ValueError:
            sound = False
        if not sound or not base.hostname or "@" in base.netloc or base.query or base.fragment:
            raise refuse("resolver_url_insecure", "an HTTP resolver needs https, or this very machine")

    def read(self, ref: str) -> bytes | LocatorResult:
        """See `Resolver`."""
        if not ref.startswith("/") or ref.startswith("//") or any(ord(c) <= 0x20 or c == "#" for c in ref):
            return LocatorResult.DENIED
        # A server, or whatever sends the request, may read these as the way out of the base.
        steps = _PATH_STEP.split(unquote(unquote(ref.partition("?")[0])))
        if not _encodable(ref) or {".", ".."} & set(steps):
            return LocatorResult.DENIED
        found: list[bytes | LocatorResult] = []
        # A server that says a little again and again is never silent: only whoever does not wait for it is safe.
        thread = threading.Thread(target=lambda: found.append(self._read(ref)), daemon=True, name="evidence-http")
        thread.start()
        thread.join(self.deadline_seconds)
        return found[0] if found else LocatorResult.MISSING

    def _read(self, ref: str) -> bytes | LocatorResult:
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
        except (OSError, ValueError):
            # What `requests` raises is an `OSError`; a header or an address that cannot be sent, a `ValueError`.
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
    """A locator of what is there now. Raises `LongTaskError`: `evidence_missing`, `evidence_denied`,
    `evidence_too_large`."""
    found = _read(resolver, ref)
    if isinstance(found, LocatorResult):
        raise refuse(f"evidence_{found.value}", f"the evidence is {found.value}")
    if len(found) > MAX_EVIDENCE_BYTES:
        raise refuse("evidence_too_large", f"evidence of over {MAX_EVIDENCE_BYTES} bytes cannot be verified")
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
            result = _compare(_read(resolvers[one.kind], one.ref), one.content_digest)
        else:
            result = LocatorResult.DENIED
        found[one.locator_id] = result
    return found


def reload(locator: EvidenceLocator, resolver: Resolver) -> tuple[LocatorResult, bytes | None]:
    """On-demand reload: the content, only when it is what the locator saw."""
    found = _read(resolver, locator.ref)
    result = _compare(found, locator.content_digest)
    return result, found if result is LocatorResult.MATCH and isinstance(found, bytes) else None


def _read(resolver: Resolver, ref: str) -> bytes | LocatorResult:
    """What the resolver says, as far as it may say it: content, missing or denied."""
    try:
        found: object = resolver.read(ref)
    except Exception:  # noqa: BLE001  # a host's own resolver may raise anything; it has shown nothing
        return LocatorResult.DENIED
    if found is LocatorResult.MISSING:
        return LocatorResult.MISSING
    return found if isinstance(found, bytes) else LocatorResult.DENIED


def _compare(found: bytes | LocatorResult, expected: str) -> LocatorResult:
    if isinstance(found, LocatorResult):
        return found
    same = len(found) <= MAX_EVIDENCE_BYTES and _digest(found) == expected
    return LocatorResult.MATCH if same else LocatorResult.STALE


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _encodable(ref: str) -> bool:
    try:
        ref.encode()
    except UnicodeEncodeError:
        return False
    return True
