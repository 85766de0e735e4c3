"""Durable claims a second, their p50 and p99, and what a claim costs beside a thousand and a million effects.

Measures a store it is given, which must be empty and is not empty afterwards; asserts nothing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from gate import canonical
from gate.records import Claim, RunRecord, Store

TARGETS = {"sqlite": 300, "postgresql": 1000}
"""Durable claims a second on two cores that a release must reach (issue 5)."""

_TENANT = "bench"
_LEASE_MS = 3_600_000
_WARM_UP = 50
_ACTION = canonical.digest({"bench": "claim"})
# The recursive query is the part of SQL that both databases share for counting.
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT {low} UNION ALL SELECT i + 1 FROM n WHERE i < {high}) "
_EFFECTS = (
    "INSERT INTO effects (tenant_id, principal_id, capability, business_key, status, idempotency_key, action_digest, "
    "run_id, owner, fencing, attempt, lease_expires_at_ms, version, updated_at_ms) {numbers} "
    "SELECT 'bench', 'user-' || (i % 1000), 'create_ticket', 'old-' || i, 'side_effect_committed', 'old-' || i, "
    "'{action}', '{run}', 'bench', 1, 1, 1, 2, i FROM n"
)
_KEYS = (
    "INSERT INTO idempotency_keys (tenant_id, principal_id, capability, idempotency_key, action_digest, run_id, "
    "first_used_at_ms) {numbers} "
    "SELECT 'bench', 'user-' || (i % 1000), 'create_ticket', 'old-' || i, '{action}', '{run}', i FROM n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRate:
    """How fast one store took claims, each committed to disk before it counted."""

    database: str
    processes: int
    threads: int
    """Threads of each process."""
    claims: int
    per_second: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCost:
    """What one claim costs beside `rows` effects, one caller at a time."""

    database: str
    rows: int
    p50_ms: float
    p99_ms: float


def measure_rate(url: str, *, claims: int = 4000, processes: int = 2, threads: int = 4) -> ClaimRate:
    """Claims of distinct effects from all workers at once; each worker has a run of its own."""
    database = url.partition(":")[0].partition("+")[0]
    Store.open(url).close()
    context = multiprocessing.get_context("spawn")
    answers: Any = context.Queue()
    start = context.Barrier(processes)
    share = claims // (processes * threads)
    workers = [context.Process(target=_process, args=(url, threads, share, start, answers)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
    spent = [duration for durations, _, _ in found for duration in durations]
    seconds = max(end for _, _, end in found) - min(begin for _, begin, _ in found)
    return ClaimRate(
        database=database,
        processes=processes,
        threads=threads,
        claims=len(spent),
        per_second=len(spent) / seconds,
        p50_ms=_percentile(spent, 50),
        p99_ms=_percentile(spent, 99),
    )


def measure_growth(url: str, *, sizes: Sequence[int] = (1_000, 1_000_000), claims: int = 500) -> list[ClaimCost]:
    """The cost of a claim at each of the rising `sizes`; the rows are inserted in bulk, past the gate."""
    database = url.partition(":")[0].partition("+")[0]
    costs, rows = [], 0
    with Store.open(url, busy_timeout_ms=600_000) as store:
        run = _new_run(store)
        for size in sizes:
            _fill(store, run, rows + 1, size)
            rows = size
            _claims(store, run, _WARM_UP)
            spent = _claims(store, run, claims)
            costs.append(
                ClaimCost(database=database, rows=size, p50_ms=_percentile(spent, 50), p99_ms=_percentile(spent, 99))
            )
    return costs


def _fill(store: Store, run: RunRecord, low: int, high: int) -> None:
    numbers = _NUMBERS.format(low=low, high=high)

    def fill(tx: Connection) -> None:
        for statement in (_EFFECTS, _KEYS):
            tx.exec_driver_sql(statement.format(numbers=numbers, action=_ACTION, run=run.run_id).replace("%", "%%"))

    def fill_sqlite(tx: Connection) -> None:
        for statement in (_EFFECTS, _KEYS):
            tx.exec_driver_sql(statement.format(numbers=numbers, action=_ACTION, run=run.run_id))

    # The driver of PostgreSQL reads a lone % as the start of a parameter.
    store._database.writing(fill_sqlite if store._database.location.url is None else fill)


def _process(url: str, threads: int, share: int, start: Any, answers: Any) -> None:
    durations: list[float] = []
    with Store.open(url, busy_timeout_ms=60_000, pool_size=threads) as store:
        own = [_new_run(store) for _ in range(threads)]
        for run in own:
            _claims(store, run, _WARM_UP // threads)
        start.wait()
        begin = time.monotonic()
        workers = [threading.Thread(target=lambda r=run: durations.extend(_claims(store, r, share))) for run in own]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        answers.put((durations, begin, time.monotonic()))


def _new_run(store: Store) -> RunRecord:
    return store.create_run(
        RunRecord(
            tenant_id=_TENANT,
            run_id=f"run-{secrets.token_hex(8)}",
            agent_id="bench",
            principal_id="user-1",
            session_id="bench",
            trace_id="bench",
            authorization_mode="user_delegated",
        )
    )


def _claims(store: Store, run: RunRecord, count: int) -> list[float]:
    """Seconds that each of `count` claims took."""
    spent = []
    for _ in range(count):
        key = secrets.token_hex(12)
        claim = Claim(
            tenant_id=_TENANT,
            run_id=run.run_id,
            run_version=run.version,
            principal_id="user-1",
            capability="create_ticket",
            business_key=key,
            idempotency_key=key,
            action_digest=_ACTION,
            owner=key,
            lease_ms=_LEASE_MS,
        )
        began = time.perf_counter()
        store.claim(claim)
        spent.append(time.perf_counter() - began)
    return spent


def _percentile(seconds: Sequence[float], percent: int) -> float:
    return statistics.quantiles(seconds, n=100)[percent - 1] * 1000


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints one JSON document."""
    parser = argparse.ArgumentParser(prog="python -m gate.lab.bench_records", description=__doc__)
    parser.add_argument("--store", help="an empty store; default: a new SQLite file")
    parser.add_argument("--claims", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=4, help="of each process")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 1_000_000], help="rising numbers of effects")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gate-") as scratch:
        url = options.store or f"sqlite:///{Path(scratch) / 'records.sqlite'}"
        rate = measure_rate(url, claims=options.claims, processes=options.processes, threads=options.threads)
        growth = measure_growth(url, sizes=options.sizes)
    document = {
        "rate": asdict(rate),
        "target_per_second": TARGETS[rate.database],
        "growth": [asdict(cost) for cost in growth],
    }
    sys.stdout.write(canonical.canonical_bytes(document).decode("utf-8") + "\n")


if __name__ == "__main__":
    main()
