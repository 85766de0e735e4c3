"""A user's own compactor behind the `Strategy` protocol: a callable, or a command that speaks JSON.

What it returns is a proposal. Range, digests, locators, workspace and id are made here from the events; what it says
about authority, sources or open issues is compared with the log (`drift`) and decided on in Rego, never repaired.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from gate import canonical
from gate.errors import InputError
from gate.longtask.artifact import GROUPS, CompactionArtifact, CompactionSeed
from gate.longtask.canonical_form import canonical_text, digest, plain, serialized_bytes
from gate.longtask.events import CarryItem, EventRecord, LongTaskError, item_from, refuse, secret_event
from gate.longtask.strategies import (
    EPOCH_TEXT,
    TEACHING_BYTE_BUDGET,
    StrategyOutput,
    check_events,
    locators,
    workspace_of,
)

PROTOCOL = "gate-compactor/v1"
DEADLINE_MS = 60_000
MAX_REPLY_BYTES = 4 * 1024 * 1024

_FIELDS = frozenset({"protocol", "goal", "next_intent", *GROUPS})

Compactor = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes the request (`protocol`, `run_id`, `seed`, `events`) and returns `goal`, the groups and `next_intent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallableCompactor:
    """A compactor in this process; it gets a fresh copy of the events.

    A thread cannot be ended: one past its deadline goes on in the background, and what it returns is dropped.
    """

    name: str
    version: str
    function: Compactor
    deadline_ms: int = DEADLINE_MS
    max_reply_bytes: int = MAX_REPLY_BYTES

    def __post_init__(self) -> None:
        _limits(self.name, self.version, self.deadline_ms, self.max_reply_bytes)

    @property
    def strategy(self) -> str:
        """See `Strategy`."""
        return f"{self.name}-{self.version}"

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`. Raises `LongTaskError`: `compactor_*`, or the code of the rule that the reply breaks."""
        request = _request(events, seed)
        done: list[Mapping[str, Any] | Exception] = []

        def call() -> None:
            try:
                done.append(self.function(canonical.parse(request, max_bytes=len(request.encode()))))
            except Exception as exc:  # noqa: BLE001  # a user's code may raise anything; it is handed on as `from`
                done.append(exc)

        thread = threading.Thread(target=call, daemon=True, name=f"compactor-{self.name}")
        thread.start()
        thread.join(self.deadline_ms / 1000)
        if not done:
            raise refuse("compactor_timed_out", f"the compactor gave no reply within {self.deadline_ms} ms")
        reply = done[0]
        if isinstance(reply, Exception):
            raise refuse("compactor_failed", "the compactor raised an error") from reply
        try:
            text = json.dumps(reply, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as exc:
            raise refuse("compactor_reply_invalid", "the compactor's reply is not JSON") from exc
        if len(text.encode()) > self.max_reply_bytes:
            raise _too_large(self.max_reply_bytes)
        return _output(self.strategy, text.encode(), events, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCompactor:
    """A compactor that is a program: the request on its stdin, the reply on its stdout, exit status 0.

    It is started without a shell, in a session of its own and with `environment` only; its stderr is not read.
    """

    name: str
    version: str
    command: tuple[str, ...]
    deadline_ms: int = DEADLINE_MS
    max_reply_bytes: int = MAX_REPLY_BYTES
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.environ.get("PATH", os.defpath)})

    def __post_init__(self) -> None:
        _limits(self.name, self.version, self.deadline_ms, self.max_reply_bytes)
        if not self.command or not self.command[0].strip():
            raise refuse("compactor_command_missing", "a command compactor needs a command")

    @property
    def strategy(self) -> str:
        """See `Strategy`."""
        return f"{self.name}-{self.version}"

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`. Raises `LongTaskError`: `compactor_*`, or the code of the rule that the reply breaks."""
        # A file as stdin cannot block: a program that never reads has no way to hang the writer.
        with tempfile.TemporaryFile() as request:
            request.write(_request(events, seed).encode())
            request.seek(0)
            return _output(self.strategy, self._run(request), events, seed)

    def _run(self, request: IO[bytes]) -> bytes:
        try:
            process = subprocess.Popen(
                self.command,
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self.environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            raise refuse("compactor_unavailable", "the compactor's command cannot be started") from exc
        until = time.monotonic() + self.deadline_ms / 1000
        try:
            reply = _read(process, until, self.max_reply_bytes)
            status = process.wait(max(0.0, until - time.monotonic()))
        except (subprocess.TimeoutExpired, TimeoutError) as exc:
            raise refuse("compactor_timed_out", f"the compactor gave no reply within {self.deadline_ms} ms") from exc
        finally:
            _end(process)
        if status != 0:
            raise refuse("compactor_failed", f"the compactor's command ended with status {status}")
        return reply


def _read(process: subprocess.Popen[bytes], until: float, limit: int) -> bytes:
    stream = process.stdout
    assert stream is not None  # noqa: S101  # asked for as a pipe
    parts: list[bytes] = []
    size = 0
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, until - time.monotonic())):
                raise TimeoutError
            part = os.read(stream.fileno(), 65_536)
            if not part:
                return b"".join(parts)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            parts.append(part)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and whatever it started in its session; a no-op when all are gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _limits(name: str, version: str, deadline_ms: object, max_reply_bytes: object) -> None:
    if not name.strip() or not version.strip():
        raise refuse("compactor_unnamed", "a compactor needs a name and a version")
    for value in (deadline_ms, max_reply_bytes):
        if type(value) is not int or value < 1:
            raise refuse("compactor_limit_invalid", "a compactor's limits are positive integers")


def _too_large(limit: int) -> LongTaskError:
    return refuse("compactor_reply_too_large", f"the compactor's reply is over {limit} bytes")


def _request(events: Sequence[EventRecord], seed: CompactionSeed) -> str:
    check_events(events, seed)
    if not events:
        raise refuse("compaction_requires_events")
    if any(map(secret_event, events)):
        raise refuse("secret_event_payload", "a secret is not handed to a compactor")
    return canonical_text(
        {"protocol": PROTOCOL, "run_id": seed.run_id, "seed": plain(seed), "events": [plain(event) for event in events]}
    )


def _output(strategy: str, reply: bytes, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
    artifact = _artifact(strategy, reply, events, seed)
    after = serialized_bytes(artifact.items)
    return StrategyOutput(
        strategy=strategy,
        visible_keys=frozenset(item.key for item in artifact.items),
        context_items=artifact.items,
        artifact=artifact,
        serialized_bytes_before=serialized_bytes(tuple(events)),
        serialized_bytes_after=after,
        overflowed=after > TEACHING_BYTE_BUDGET,
        dropped_event_ids=(),
    )


def _artifact(strategy: str, reply: bytes, events: Sequence[EventRecord], seed: CompactionSeed) -> CompactionArtifact:
    try:
        data = canonical.parse(reply, max_bytes=max(len(reply), 1))
    except InputError as exc:
        raise refuse("compactor_reply_invalid", "the compactor's reply is not JSON") from exc
    if not isinstance(data, dict) or data.keys() != _FIELDS or data["protocol"] != PROTOCOL:
        raise refuse("compactor_reply_invalid", f"the compactor's reply is not a `{PROTOCOL}` document")
    if not all(isinstance(data[name], list) for name in GROUPS):
        raise refuse("compactor_reply_invalid", "a group of the compactor's reply is not a list")
    groups: dict[str, tuple[CarryItem, ...]] = {name: tuple(map(item_from, data[name])) for name in GROUPS}
    goal, intent = item_from(data["goal"]), item_from(data["next_intent"])
    source = digest(tuple(events))
    workspace = workspace_of(events, source)
    # Two replies for the same events are two artifacts: an id never stands for other content.
    said = digest([seed.run_id, source, strategy, goal, groups, intent])
    return CompactionArtifact(
        artifact_id="cmp-" + said[:32],
        run_id=seed.run_id,
        source_event_range=(events[0].sequence, events[-1].sequence),
        goal=goal,
        **groups,  # type: ignore[arg-type]  # the keys are exactly the groups
        evidence_locators=locators(events, workspace=workspace),
        next_intent=intent,
        created_at=EPOCH_TEXT,
        source_digest=source,
        workspace_digest=workspace,
    )
