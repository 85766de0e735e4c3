"""The surfaces that hold the state of a long task: who writes each, who verifies it, where to go when it fails.

Two of them belong to somebody else and are reached through adapters: the workspace, whose digest is taken from what is
there now, and the memory beyond the task, which is written to only where the policies allow that kind. Decides nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gate.decision import Decision
from gate.evidence import Run
from gate.longtask.events import CarryItem, LongTaskError, refuse

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StateSurface:
    """One surface."""

    name: str
    holds: str
    written_by: str
    verified_by: str
    when_invalid: str
    """Where to go back to; never on with what is there."""


SURFACES: tuple[StateSurface, ...] = (
    StateSurface(
        "event log",
        "what happened, in order, and everything else can be made of it again",
        "`TaskLog.append`, which takes no secret and no instruction of a tool, with a link in the run's hash chain",
        "every read of a range, row by row against the chain; signed heads show a tail that was cut off",
        "nothing is made of a broken range: storage integrity keeps both sides, and the run starts again from a backup",
    ),
    StateSurface(
        "working set",
        "the few items that the next steps need word for word",
        "the host, for one rehydration, under a limit of bytes",
        "`Rehydrator`: sources in the log, no new instruction; `policies/gate/longtask/live`: nothing is talked away",
        "it is left out; what it said stands in the event log",
    ),
    StateSurface(
        "artifact",
        "what must outlive the context: goal, constraints, decisions, open issues, locators",
        "`Coordinator`, in step 4 of a commit, from exactly one range of events",
        "`policies/gate/longtask/commit` and `items` before it is stored, `pair` before anything is built of it",
        "the pair before it, or made again of the event log under another id",
    ),
    StateSurface(
        "run checkpoint",
        "where the run goes on, and which artifact says what that means",
        "`Coordinator`, in step 5, in one transaction with the sealed authority envelope",
        "its own digest when it is read, and `policies/gate/longtask/pair`",
        "the checkpoint committed before it, with its own artifact",
    ),
    StateSurface(
        "evidence locators",
        "where a statement's evidence is, and the digest it had",
        "the strategy, from events that refer to something, and `locate` for what the host adds",
        "a `Resolver`, which reads the content again; `policies/gate/longtask/locators`",
        "missing: make it again; stale: observe again; denied: ask for the right; never taken for nothing found",
    ),
    StateSurface(
        "context packet",
        "what the model sees next",
        "`Rehydrator`, after the policies agreed, required items first",
        "its digest in the ledger; it is never stored and never read back",
        "rehydrate the committed pair again",
    ),
    StateSurface(
        "workspace",
        "products outside of the run: files, commits, rows of a business",
        "tools behind `Gate.tool_call`, and people",
        "a `Workspace`, asked for its digest at every commit and every resume",
        "observe again, repeat the tests, and commit anew; no recorded digest is ever overwritten",
    ),
    StateSurface(
        "memory",
        "what outlives the task",
        "`remember`, when the policies allow memory of that kind",
        "whoever owns the memory",
        "a statement out of a memory is evidence to be looked at again, never authority",
    ),
)
"""Every surface, from what all is made of to what is made last."""


class Workspace(Protocol):
    """What the `workspace` of a coordinator and of a rehydrator is: its digest as it is when it is asked."""

    def __call__(self) -> str:
        """Raises `LongTaskError` `workspace_unreadable`; without a digest nothing is committed or resumed."""


def workspace_now(workspace: Callable[[], str]) -> str:
    """What the workspace says now. Raises `LongTaskError` `workspace_unreadable`, whatever it raised itself."""
    try:
        return workspace()
    except LongTaskError:
        raise
    except Exception as exc:
        raise refuse("workspace_unreadable", "the workspace could not be asked for its digest") from exc


@dataclass(frozen=True, slots=True)
class FolderWorkspace:
    """A workspace that is a folder: names and contents of every file below it, but for `left_out` names."""

    root: Path
    left_out: frozenset[str] = frozenset({".git"})

    def __call__(self) -> str:
        """See `Workspace`. A link counts by where it points, and is not followed."""
        whole = hashlib.sha256()
        try:
            for name, kind, content in sorted(self._entries(self.root)):
                # With their lengths, so that no name can be taken for the end of another.
                for part in (os.fsencode(name), kind, content):
                    whole.update(len(part).to_bytes(8, "big") + part)
        except OSError as exc:
            raise refuse("workspace_unreadable", "something in the workspace cannot be read") from exc
        return f"sha256:{whole.hexdigest()}"

    def _entries(self, folder: Path) -> Iterator[tuple[str, bytes, bytes]]:
        with os.scandir(folder) as found:
            for entry in found:
                name = os.path.relpath(entry.path, self.root)
                if entry.name in self.left_out:
                    continue
                if entry.is_symlink():
                    yield name, b"link", os.fsencode(os.readlink(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    yield name, b"folder", b""
                    yield from self._entries(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield name, b"file", _content(entry.path)
                else:
                    yield name, b"other", b""


class Memory(Protocol):
    """A memory beyond the task, of any make."""

    def write(self, tenant_id: str, kind: str, item: CarryItem) -> None:
        """Keeps the item for that tenant."""


class Asked(Protocol):
    """What `remember` needs of the gate."""

    def check(self, run: Run, operation: str, request: Mapping[str, Any] | None = None) -> Decision:
        """The decision about an operation."""


def remember(gate: Asked, memory: Memory, run: Run, item: CarryItem, *, kind: str) -> None:
    """Writes a candidate to the memory, when the policies allow memory of that kind to this run.

    Raises `ActionBlocked` when they do not, `LongTaskError` `secret_memory_candidate`; then nothing was written.
    """
    if item.secret:
        raise refuse("secret_memory_candidate", "a secret is never kept beyond its task; refer to it by an id")
    gate.check(run, "memory_write", {"memory_kind": kind, "text": item.content}).enforce()
    memory.write(run.identity.tenant_id or "", kind, item)


def _content(path: str) -> bytes:
    """Digest of the file's content, read in pieces."""
    found = hashlib.sha256()
    # Whatever was swapped in since is not followed, and a pipe is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        while piece := stream.read(_CHUNK):
            found.update(piece)
    return found.digest()
