"""Compactors outside this code: a Python callable, a command, an HTTP endpoint; each under a deadline and a size limit.

Believes no reply: what comes back is read strictly, and whatever fails is a `CompactionError`, after which the earlier
context still stands. No text of a context and no body of a reply goes into an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import requests
import urllib3

from gate.lab.compaction.compactor import CompactedContext, CompactionError, ContextView, read_reply

TIMEOUT_SECONDS = 60.0
"""How long one compaction may take."""

MAX_REPLY_BYTES = 8 * 1_048_576
"""How large one reply may be."""

_POLL_SECONDS = 0.01
_CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class CallableCompactor:
    """A Python function. It runs in this process and thread, so nothing ends it: give a command a deadline instead."""

    name: str
    version: str
    function: Callable[[ContextView, int], CompactedContext]

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """What the function returns. Raises `CompactionError`: `compaction_failed`, `compaction_malformed`."""
        try:
            made = self.function(context, budget_tokens)
        except CompactionError:
            raise
        except Exception as exc:
            raise CompactionError("the compactor raised an error", hint=f"a `{type(exc).__name__}`") from exc
        if not isinstance(made, CompactedContext):
            raise CompactionError("the compactor gave back no compacted context", code="compaction_malformed")
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCompactor:
    """A program: the context as JSON on stdin, the compacted one on stdout. Started without a shell, in its own group.

    It gets no environment but PATH, HOME, LANG and what `environment` names: the gate's own secrets are not its own.
    """

    name: str
    version: str
    command: Sequence[str]
    environment: Sequence[str] = ()
    """Names of variables that are handed on."""
    timeout_seconds: float = TIMEOUT_SECONDS
    max_reply_bytes: int = MAX_REPLY_BYTES

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """What the program prints.

        Raises `CompactionError`: `compaction_unavailable` when it cannot be started, `compaction_failed` for an exit
        code but 0, `compaction_timed_out`, `compaction_too_large`, `compaction_malformed`.
        """
        names = ("PATH", "HOME", "LANG", *self.environment)
        with tempfile.TemporaryFile() as request, tempfile.TemporaryFile() as reply:
            # Files, not pipes: a program that reads or writes little by little cannot block either side.
            request.write(_request(context, budget_tokens))
            request.seek(0)
            try:
                process = subprocess.Popen(
                    list(self.command),
                    stdin=request,
                    stdout=reply,
                    stderr=subprocess.DEVNULL,
                    env={n: os.environ[n] for n in names if n in os.environ},
                    start_new_session=True,
                )
            except (OSError, ValueError) as exc:
                raise CompactionError("the compactor cannot be started", code="compaction_unavailable") from exc
            try:
                self._await(process, reply)
            finally:
                # Also what it left behind: a child that went on would write into the next round.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.returncode != 0:
                raise CompactionError("the compactor failed", hint=f"it ended with code {process.returncode}")
            reply.seek(0)
            return _read(reply.read(self.max_reply_bytes + 1), self.max_reply_bytes)

    def _await(self, process: subprocess.Popen[bytes], reply: BinaryIO) -> None:
        until = time.monotonic() + self.timeout_seconds
        while True:
            ended = process.poll() is not None
            if os.fstat(reply.fileno()).st_size > self.max_reply_bytes:
                raise too_large()
            if ended:
                return
            if time.monotonic() >= until:
                raise timed_out()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCompactor:
    """An HTTP endpoint: the context is posted as JSON. One try, no redirect, no proxy of the environment."""

    name: str
    version: str
    url: str
    token: str | None = None
    """Bearer token; sent over TLS or to this host only."""
    timeout_seconds: float = TIMEOUT_SECONDS
    max_reply_bytes: int = MAX_REPLY_BYTES

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
            raise CompactionError("the address of the compactor is not http or https", code="compaction_unavailable")
        if self.token is not None and parts.scheme == "http" and parts.hostname not in {"127.0.0.1", "::1"}:
            raise CompactionError(
                "a token is not sent without TLS", code="compaction_unavailable", hint="use an https address"
            )

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """What the endpoint answers.

        Raises `CompactionError`: `compaction_unavailable`, `compaction_failed` for another status than 200,
        `compaction_timed_out`, `compaction_too_large`, `compaction_malformed`.
        """
        until = time.monotonic() + self.timeout_seconds
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        with requests.Session() as session:
            session.trust_env = False
            try:
                with session.post(
                    self.url,
                    data=_request(context, budget_tokens),
                    headers=headers,
                    timeout=self.timeout_seconds,
                    stream=True,
                    allow_redirects=False,
                ) as answer:
                    if answer.status_code != requests.codes.ok:
                        raise CompactionError("the compactor failed", hint=f"it answered {answer.status_code}")
                    return _read(self._body(answer.raw, until), self.max_reply_bytes)
            except (requests.Timeout, urllib3.exceptions.TimeoutError) as exc:
                raise timed_out() from exc
            except (requests.RequestException, urllib3.exceptions.HTTPError) as exc:
                raise CompactionError("the compactor cannot be reached", code="compaction_unavailable") from exc

    def _body(self, raw: Any, until: float) -> bytes:
        body = b""
        # A chunk at a time: `timeout` is the wait for one chunk, and drops could be many.
        while chunk := raw.read1(_CHUNK):
            body += chunk
            if len(body) > self.max_reply_bytes:
                raise too_large()
            if time.monotonic() >= until:
                raise timed_out()
        return body


def _request(context: ContextView, budget_tokens: int) -> bytes:
    return json.dumps(context.as_json(budget_tokens), ensure_ascii=False, allow_nan=False).encode("utf-8")


def _read(data: bytes, limit: int) -> CompactedContext:
    if len(data) > limit:
        raise too_large()
    try:
        made = read_reply(data.decode("utf-8"))
        # JSON can name half a character, which no text may hold.
        made.text.encode("utf-8")
    except (UnicodeError, RecursionError) as exc:
        raise CompactionError("the reply of the compactor is not text", code="compaction_malformed") from exc
    return made


def timed_out() -> CompactionError:
    """The compactor took too long."""
    return CompactionError(
        "the compactor took too long", code="compaction_timed_out", hint="the earlier context still stands"
    )


def too_large() -> CompactionError:
    """The reply was over the limit."""
    return CompactionError(
        "the reply of the compactor is too large", code="compaction_too_large", hint="the earlier context still stands"
    )
