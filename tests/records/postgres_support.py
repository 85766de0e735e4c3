"""A real PostgreSQL for the tests: the one named in the environment, or a server of their own in a temporary folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest
from sqlalchemy import URL, make_url

from gate.records import Store
from gate.records.migrations import LATEST
from gate.records.tables import METADATA

URL_VARIABLE = "GATE_TEST_POSTGRES_URL"
_USER = "postgres"
_numbers = itertools.count()


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


def missing(reason: str) -> NoReturn:
    """In CI a failure, because a skipped proof proves nothing; elsewhere a skip that says why."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Server:
    """A server of the tests' own."""

    folder: Path
    bin: Path
    settings: tuple[str, ...] = ()
    started: bool = field(default=False)

    @classmethod
    @contextlib.contextmanager
    def running(cls, *settings: str) -> Iterator[Server]:
        """A new server on a unix socket, synced to disk like a real one; `settings` as NAME=VALUE."""
        found = binaries()
        if found is None:
            missing(f"no PostgreSQL: set {URL_VARIABLE}, or install initdb and pg_ctl")
        # Not in pytest's folder: the server's user may not enter it, and a socket's path has to be short.
        folder = Path(tempfile.mkdtemp(prefix="gate-pg-"))
        server = cls(folder, found, settings)
        try:
            if os.geteuid() == 0:
                shutil.chown(folder, _USER)
            server.run("initdb", "-D", str(folder / "data"), "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale")
            server.start()
            yield server
        finally:
            if server.started:
                server.stop()
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, program: str, *arguments: str, check: bool = True) -> None:
        subprocess.run(
            [self.bin / program, *arguments],
            check=check,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A server refuses to run as root.
            **({"user": _USER, "group": _USER, "extra_groups": []} if os.geteuid() == 0 else {}),
        )

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder}"
        for setting in ("max_connections=200", "fsync=on", *self.settings):
            options += f" -c {setting}"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", "60", "-l", log, "-o", options, "start")
        self.started = True

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", "immediate", "stop", check=False)
        self.started = False

    def kill(self) -> None:
        """SIGKILL for the server and everything it started, at once, and waits until they are gone."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split("\n")[0])
        pids = [first, *_children(first)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(_alive(pid) for pid in pids):
            time.sleep(0.01)
        # A dead server that nobody has buried yet still has its number, which would keep the next one out.
        (self.folder / "data" / "postmaster.pid").unlink()
        for lock in self.folder.glob(".s.PGSQL.*"):
            lock.unlink()
        self.started = False

    @property
    def url(self) -> URL:
        return URL.create("postgresql+psycopg", _USER, database="postgres", query={"host": str(self.folder)})


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, _, rest = entry.read_text().partition(" (")
            if int(rest.rpartition(") ")[2].split()[1]) == parent:
                found.append(int(pid))
    return found


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    # Whoever inherits a killed server may be slow to bury it.
    return state != "Z"


def connect(url: URL | str) -> psycopg.Connection[Any]:
    """A connection past the gate, on which nothing but unique keys and checks holds."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    connection = psycopg.connect(address, autocommit=True)
    connection.execute("SET session_replication_role = replica; SET lock_timeout = 20000")
    return connection


def raw(url: str, statement: str, *values: object) -> list[Any]:
    """Runs one statement with `?` for each value."""
    with contextlib.closing(connect(url)) as connection:
        cursor = connection.execute(re.sub(r"%", "%%", statement).replace("?", "%s"), values)
        return [] if cursor.description is None else cursor.fetchall()


class Schemas:
    """Hands out schemas of one server: migrated and empty ones used again and again, or new ones."""

    def __init__(self, server: URL) -> None:
        self._server = server
        self._clean: list[str] = []

    @contextlib.contextmanager
    def fresh(self) -> Iterator[str]:
        """The address of a schema with nothing in it."""
        name = f"t{os.getpid()}_{next(_numbers)}"
        raw(str_url(self._server), f"CREATE SCHEMA {name}")
        try:
            yield self._address(name)
        finally:
            self._drop(name)

    @contextlib.contextmanager
    def migrated(self) -> Iterator[str]:
        """The address of a schema with the tables of a store and no records in them."""
        name = self._clean.pop() if self._clean else self._made()
        yield self._address(name)
        if self._emptied(name):
            self._clean.append(name)
        else:
            self._drop(name)

    def drop(self) -> None:
        while self._clean:
            self._drop(self._clean.pop())

    def _made(self) -> str:
        name = f"t{os.getpid()}_{next(_numbers)}"
        raw(str_url(self._server), f"CREATE SCHEMA {name}")
        Store.open(self._address(name)).close()
        return name

    def _emptied(self, name: str) -> bool:
        """False when a test changed more than records."""
        with contextlib.closing(connect(self._address(name))) as connection:
            found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,)).fetchall()
            versions = connection.execute("SELECT version FROM schema_version ORDER BY version").fetchall()
            if {t for (t,) in found} != set(METADATA.tables) or versions != [(n + 1,) for n in range(LATEST)]:
                return False
            for table in METADATA.tables:
                if table != "schema_version":
                    connection.execute(f"DELETE FROM {table}")
        return True

    def _address(self, name: str) -> str:
        return str_url(self._server.update_query_dict({"options": f"-csearch_path={name}"}))

    def _drop(self, name: str) -> None:
        raw(str_url(self._server), f"DROP SCHEMA {name} CASCADE")


def str_url(url: URL) -> str:
    return url.render_as_string(hide_password=False)
