"""A PostgreSQL server of an experiment's own: made in a temporary folder, killed and restarted at will.

For what must not be done to a server that anybody else uses. Listens on a unix socket only; keeps nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gate.errors import ToolchainError

_USER = "postgres"
_START_SECONDS = 60


class PostgresServer:
    """One server. Use `running`."""

    def __init__(self, folder: Path, binaries: Path, settings: tuple[str, ...]) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._binaries = binaries
        self._settings = settings

    @classmethod
    @contextlib.contextmanager
    def running(cls, *settings: str) -> Iterator[PostgresServer]:
        """A new server, synced to disk like a real one; `settings` as NAME=VALUE.

        Raises `ToolchainError`: `postgres_missing` without initdb and pg_ctl, `postgres_failed` when one of them does.
        """
        binaries = find_binaries()
        # A short path of its own: a socket's path is limited, and the server's user must be able to enter it.
        folder = Path(tempfile.mkdtemp(prefix="gate-pg-"))
        server = cls(folder, binaries, ("max_connections=200", "fsync=on", *settings))
        try:
            if os.geteuid() == 0:
                shutil.chown(folder, _USER)
            server._run("initdb", "-D", str(server._data), "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale")
            server.start()
            yield server
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """The address of its database, for `Store.open`."""
        return f"postgresql+psycopg://{_USER}@/postgres?host={self._folder}"

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        options = [f"-c listen_addresses='' -c unix_socket_directories={self._folder}"]
        options += [f"-c {setting}" for setting in self._settings]
        log = str(self._folder / "log")
        wait = ("-w", "-t", str(_START_SECONDS))
        self._run("pg_ctl", "-D", str(self._data), *wait, "-l", log, "-o", " ".join(options), "start")

    def stop(self) -> None:
        """Stops the server without a word of goodbye; harmless when it does not run."""
        with contextlib.suppress(ToolchainError):
            self._run("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """SIGKILL for the server and all it started, as when a machine goes down; `start` recovers it."""
        file = self._data / "postmaster.pid"
        first = int(file.read_text("utf-8").split("\n", 1)[0])
        doomed = [first, *_children(first)]
        for pid in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(_lives(pid) for pid in doomed):
            time.sleep(0.01)
        # A dead server that is not buried yet still has its number, which would keep the next one out.
        file.unlink(missing_ok=True)
        for lock in self._folder.glob(".s.PGSQL.*"):
            lock.unlink(missing_ok=True)

    def _run(self, program: str, *arguments: str) -> None:
        # A server refuses to run as root.
        user = {"user": _USER, "group": _USER, "extra_groups": list[str]()} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [self._binaries / program, *arguments],
            check=False,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **user,  # type: ignore[call-overload]
        )
        if done.returncode != 0:
            raise ToolchainError(f"`{program}` failed with {done.returncode}", code="postgres_failed")


def find_binaries() -> Path:
    """The folder with initdb and pg_ctl. Raises `ToolchainError` `postgres_missing`."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: p.parent.name, reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    raise ToolchainError("no PostgreSQL server is installed", code="postgres_missing", hint="run `make services`")


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, _, rest = entry.read_text("utf-8").partition(" (")
            if int(rest.rpartition(") ")[2].split()[1]) == parent:
                found.append(int(number))
    return found


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2][0]
    except OSError:
        return False
    # Whoever inherits a killed server may be slow to bury it.
    return state != "Z"
