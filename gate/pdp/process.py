"""One OPA process that ends with the gate, whichever way the gate ends.

Knows no configuration and no bundle, and never reads what OPA prints.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from gate.errors import ToolchainError

_STOP_TIMEOUT_S = 3.0
# Trades a few MB of garbage for fewer collections, whose pauses are what shows at p99 with a heap this small.
_STEADY = {"GOGC": "400"}

# Started between the gate and OPA, and replaced by it: asks the kernel to end OPA with the thread that
# started it. A `preexec_fn` would run Python between fork and exec, which can deadlock in a process that
# has threads.
_LEASH = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class OpaProcess:
    """One OPA process and the thread that starts it and waits for it.

    The kernel's "end with your parent" means the *thread* that started the process: this one lives exactly
    as long as OPA or the gate, where the caller's may end earlier.
    """

    def __init__(
        self, command: list[str], *, folder: Path, log_file: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Returns when it was started; raises `ToolchainError` with code `sidecar_not_started`.

        `environment` takes the place of what OPA's own runtime is told for steady latency.
        """
        self.ended = threading.Event()
        self.exit_code: int | None = None
        self.pid = 0
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes]
        self._failure: OSError | None = None
        started = threading.Event()
        threading.Thread(
            target=self._live,
            args=(command, folder, log_file, started, environment or _STEADY),
            name="opa sidecar",
            daemon=True,
        ).start()
        started.wait()
        if self._failure is not None:
            raise ToolchainError("opa could not be started", code="sidecar_not_started") from self._failure

    def wait(self, timeout_s: float | None) -> bool:
        """True when OPA has ended, at most `timeout_s` seconds from now."""
        return self.ended.wait(timeout_s)

    def stop(self) -> None:
        """SIGTERM, then SIGKILL after three seconds; nothing when OPA has ended."""
        if os.getpid() != self._owner:
            return  # a forked child has a copy of this object, not the process
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.ended.is_set():
                return
            self._process.send_signal(number)
            self.ended.wait(_STOP_TIMEOUT_S)

    def _live(
        self,
        command: list[str],
        folder: Path,
        log_file: Path,
        started: threading.Event,
        environment: Mapping[str, str],
    ) -> None:
        # Not the gate's environment: policies can read OPA's.
        env = {**environment, "HOME": str(folder), "PATH": os.defpath}
        try:
            with log_file.open("ab") as log:
                process = subprocess.Popen(
                    _leashed(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=env
                )
        except OSError as exc:
            self._failure = exc
            self.ended.set()
            started.set()
            return
        self._process, self.pid = process, process.pid
        started.set()
        self.exit_code = process.wait()
        self.ended.set()


def _leashed(command: list[str]) -> list[str]:
    if not sys.platform.startswith("linux") or not sys.executable:
        return command  # only Linux can tie a process to its parent; elsewhere `stop` is all there is
    return [sys.executable, "-I", "-S", "-c", _LEASH, str(os.getpid()), *command]
