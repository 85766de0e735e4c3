"""An OPA that lives as long as a comparison: it compiles the rules once and is asked over a unix socket of its own.

It serves nobody but the process that started it, and ends with it. Knows no bundle and judges nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.errors import PdpError, ToolchainError
from gate.pdp.endpoint import MAX_SOCKET_PATH_BYTES
from gate.pdp.process import OpaProcess
from gate.pdp.transport import Transport

_START_TIMEOUT_S = 300.0
_ANSWER_TIMEOUT_MS = 300_000.0
_ANSWER_BYTES = 1 << 30
_POLL_S = 0.02
_SMALL_BYTES = 8 << 20
_SOCKET = "opa.sock"


def parallel() -> int:
    """How many questions one engine takes at a time: two engines share the cores."""
    return max(1, (os.cpu_count() or 1) // 2)


class Engine:
    """One OPA that holds the Rego below a folder. It starts when it is asked first; use as a context manager."""

    def __init__(self, tree: Path, *, binary: Path) -> None:
        self._tree, self._binary = tree, binary
        self._lock = threading.Lock()
        self._process: OpaProcess | None = None
        self._transport: Transport | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._unfit = False

    def ask(self, rule: str, document: bytes) -> Any:
        """The value of `rule`, a path such as `gate/decision`, for an input in JSON; None when OPA has none.

        Any failure inside a builtin counts as none. Raises `PdpError` when OPA ended, and `ToolchainError` when it
        cannot be started.
        """
        transport = self._started()
        if transport is None:
            return None
        status, body = transport.request(
            "POST",
            f"/v1/data/{rule}?strict-builtin-errors=true",
            body=b'{"input":' + document + b"}",
            timeout_ms=_ANSWER_TIMEOUT_MS,
            limit=_ANSWER_BYTES,
        )
        if status != 200:
            return None
        answer = json.loads(body)
        return answer.get("result") if isinstance(answer, Mapping) else None

    def close(self) -> None:
        """Ends OPA and removes its socket."""
        with self._lock:
            if self._transport is not None:
                self._transport.close()
            if self._process is not None:
                self._process.stop()
            if self._scratch is not None:
                self._scratch.cleanup()
            self._process = self._transport = self._scratch = None

    def _started(self) -> Transport | None:
        """The way to OPA; None when it does not take the rules."""
        with self._lock:
            if self._transport is None and not self._unfit:
                self._start()
            return self._transport

    def _start(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="gate-opa-", dir=_short())
        folder = Path(self._scratch.name)
        address = f"unix://{folder / _SOCKET}"
        options = ("--log-level", "error", "--skip-version-check", "--shutdown-grace-period", "0")
        self._process = OpaProcess(
            [
                *(str(self._binary.absolute()), "run", "--server", "--addr", address, "--unix-socket-perm", "0600"),
                *(*options, str(self._tree)),
            ],
            folder=folder,
            log_file=folder / "opa.log",
            environment=self._pace(),
        )
        transport = Transport(address)
        until = time.monotonic() + _START_TIMEOUT_S
        while not _answers(transport):
            if self._process.wait(_POLL_S):
                self._unfit = True  # it says why in its log, which can quote the rules
                return
            if time.monotonic() > until:
                raise ToolchainError(f"opa did not start within {_START_TIMEOUT_S:g} s", code="diff_engine_slow")
        self._transport = transport

    def _pace(self) -> dict[str, str]:
        """Of what it takes for ten thousand decisions a third is collecting garbage, unless there is room for it."""
        size = sum(file.stat().st_size for file in self._tree.rglob("*.rego"))
        room = {"GOGC": "off", "GOMEMLIMIT": "384MiB"} if size < _SMALL_BYTES else {"GOGC": "200"}
        return {"GOMAXPROCS": str(parallel()), **room}


def _short() -> str | None:
    """A folder for the socket whose path is not too long for one; None for the usual one."""
    longest = os.path.join(tempfile.gettempdir(), "gate-opa-xxxxxxxx", _SOCKET)
    return None if len(os.fsencode(longest)) <= MAX_SOCKET_PATH_BYTES else "/tmp"  # noqa: S108 - a fresh 0700 folder


def _answers(transport: Transport) -> bool:
    try:
        return transport.request("GET", "/health", timeout_ms=5_000, limit=1 << 16)[0] == 200
    except PdpError:
        return False
