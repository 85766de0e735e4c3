"""Faults under load: a database that dies, a disk that is full, a pool that is empty, locks taken the other way round.

While it lasts, calls are refused with a code; afterwards records and world must agree. Asserts nothing: it counts.
"""

from __future__ import annotations

import os
import resource
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from gate.errors import GateError
from gate.lab.postgres_server import PostgresServer
from gate.lab.soak_work import TENANT, Audit, World, audit, claim_of, new_run, settle, work
from gate.records import Store

_THREADS = 6
_ROOM_BYTES = 200_000
_LOCK_EFFECT = text("SELECT 1 FROM effects WHERE tenant_id = :tenant AND business_key = :key FOR UPDATE")
_LOCK_RUN = text("SELECT 1 FROM runs WHERE tenant_id = :tenant AND run_id = :run FOR UPDATE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What one kind of fault did."""

    kind: str
    attempts: int
    succeeded: int
    refusals: dict[str, int]
    """How often each code was the answer."""
    audit: Audit


def database_killed(server: PostgresServer, world: World, *, times: int = 3) -> Fault:
    """Kills the server and starts it again, `times` over, while threads work."""

    def disturb() -> None:
        for _ in range(times):
            time.sleep(1.0)
            server.kill()
            time.sleep(0.5)
            server.start()
        time.sleep(1.0)

    with Store.open(server.url, busy_timeout_ms=2_000) as store:
        return _under_load("database killed and restarted", store, world, disturb)


def pool_exhausted(url: str, world: World, *, seconds: float = 2.0) -> Fault:
    """More threads than connections, and no patience."""
    with Store.open(url, busy_timeout_ms=5, pool_size=1) as store:
        return _under_load("connection pool exhausted", store, world, lambda: time.sleep(seconds), threads=16)


def deadlocks(url: str, world: World, *, times: int = 3) -> Fault:
    """Somebody past the gate locks an effect first and its run second, against the gate's order."""
    with Store.open(url, busy_timeout_ms=8_000) as store, Store.open(url) as stranger:
        return _fault("deadlocks", [_cross(store, stranger, world) for _ in range(times)], store, world)


def disk_full(path: Path, world: World, *, attempts: int = 2_000) -> Fault:
    """A child that may let no file grow by more than a little works on the SQLite file until nothing goes any more."""
    url = f"sqlite:///{path}"
    Store.open(url).close()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, _until_full(url, path, world, attempts).encode())
        finally:
            # Never back into the parent's code.
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        codes = answers.read().split(",")
    os.waitpid(child, 0)
    with Store.open(url) as store:
        # There is room again: the records are as they were, and go on.
        codes.append(work(store, new_run(store), world))
        return _fault("disk full", codes, store, world)


def _until_full(url: str, path: Path, world: World, attempts: int) -> str:
    codes: list[str] = []
    with Store.open(url, busy_timeout_ms=1_000) as store:
        run = new_run(store)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = path.stat().st_size + _ROOM_BYTES
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        refused = 0
        while len(codes) < attempts and refused < 20:
            codes.append(work(store, run, world))
            refused = refused + 1 if codes[-1] else 0
    return ",".join(codes)


def _under_load(
    kind: str, store: Store, world: World, disturb: Callable[[], None], *, threads: int = _THREADS
) -> Fault:
    codes: list[str] = []
    done = threading.Event()
    own = [new_run(store) for _ in range(threads)]

    def body(number: int) -> None:
        while not done.is_set():
            codes.append(work(store, own[number], world))

    workers = [threading.Thread(target=body, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    try:
        disturb()
    finally:
        done.set()
        for worker in workers:
            worker.join()
    return _fault(kind, codes, store, world)


def _fault(kind: str, codes: list[str], store: Store, world: World) -> Fault:
    refusals = Counter(code for code in codes if code)
    return Fault(
        kind=kind,
        attempts=len(codes),
        succeeded=codes.count(""),
        refusals=dict(refusals),
        audit=audit(store, world),
    )


def _cross(store: Store, stranger: Store, world: World) -> str:
    """One deadlock: whoever the database chooses loses, and the store tries again or refuses; its code."""
    run, key = new_run(store), secrets.token_hex(12)
    effect, holding = store.claim(claim_of(run, key)).effect, threading.Event()
    world.happen(key)

    def outside() -> None:
        names = {"tenant": TENANT, "key": key, "run": run.run_id}
        # The stranger may lose: nothing of the gate's is undone with it.
        with suppress(GateError), stranger._database.write() as tx:
            tx.execute(_LOCK_EFFECT, names)
            holding.set()
            # By now the settlement has locked the run and waits for the effect.
            time.sleep(0.5)
            tx.execute(_LOCK_RUN, names)

    other = threading.Thread(target=outside)
    other.start()
    holding.wait(10)
    code = settle(store, effect)
    other.join()
    return code
