"""Ratios measured in one run: the client and the full check beside a raw OPA round trip, and growth with the catalog.

The three are interleaved, so that a noisy machine disturbs them alike; what counts is the ratio, not the milliseconds.
"""

from __future__ import annotations

import http.client
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from gate import opa
from gate.compiler import compile_bundle, write
from gate.enforcement import Gate
from gate.evidence import Call, Evidence, EvidenceBuilder, EvidenceSource, Identity, Run
from gate.lab.synthetic import write_bundle
from gate.lab.witnesses import Witnesses
from gate.pdp import Sidecar
from gate.records import Store
from gate.release import build

Transport = Literal["tcp", "socket"]

BUDGETS: Mapping[str, float] = {
    "client / raw": 1.5,
    "full check / raw": 2.5,
    "decision p50 ms": 1.0,
    "10000 / 10 capabilities": 1.3,
    "2000 capabilities, 500 controls: compile s": 10.0,
    "unbound control µs": 20.0,
}
"""What the figures are held against; a miss is a reason to look, not a failed test."""

_QUERY = "/v1/data/gate/decision?provenance=true&strict-builtin-errors=true"
_WARM_UP = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long one kind of call took, in milliseconds."""

    transport: str
    threads: int
    what: str
    p50: float
    p95: float
    p99: float
    ratio: float
    """p50 over the p50 of the raw round trip of the same transport and number of threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Decision time with a catalog of `capabilities` entries, each with its contract."""

    capabilities: int
    bound: int
    """Controls bound to one capability each."""
    unbound: int
    """Controls of every capability."""
    compile_s: float
    """From YAML to Rego, in seconds."""
    eval_p50_ms: float
    """OPA's own timer of the query."""
    ratio: float
    """Over the first bundle of the series."""


def _percentile(sorted_values: list[float], fraction: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * fraction))]


class RawClient:
    """The cheapest honest client: one kept-alive connection, ready bytes out, bytes in, nothing looked at."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._headers = {"Authorization": f"Bearer {sidecar.token}", "Content-Type": "application/json"}
        if sidecar.url.startswith("unix://"):
            self._connection = http.client.HTTPConnection("localhost")
            self._connection.sock = socket.socket(socket.AF_UNIX)
            self._connection.sock.connect(sidecar.url.removeprefix("unix://"))
        else:
            address = urlsplit(sidecar.url)
            self._connection = http.client.HTTPConnection(address.hostname or "", address.port)
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, body: bytes, query: str = _QUERY) -> bytes:
        """One round trip."""
        self._connection.request("POST", query, body, self._headers)
        return self._connection.getresponse().read()

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


def measure_calls(bundle: Path, *, rounds: int) -> Iterator[Timing]:
    """Client and full check beside raw, over both transports, with 1 and 8 threads.

    `rounds` is the number of calls of each kind in each thread.
    """
    binary = opa.ensure().path
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as folder:
        root = Path(folder)
        compiled = compile_bundle(bundle)
        # One source, as a host with MCP tools has; what it costs is part of a full check.
        registry = Witnesses.hired().sources(compiled, environment="bench")[:1]
        built = build([compiled], root / "dist", binary=binary, trial=True)
        for transport in ("tcp", "socket"):
            listen: Any = "tcp" if transport == "tcp" else root / "s" / "opa.sock"
            with (
                Sidecar.start(tarball=built.path, opa=binary, listen=listen, work_dir=root / "s") as sidecar,
                Store.open(f"sqlite:///{root}/{transport}.sqlite") as store,
            ):
                for threads in (1, 8):
                    yield from _measure(sidecar, store, registry, transport, threads, rounds)


def _measure(
    sidecar: Sidecar, store: Store, registry: Sequence[EvidenceSource], transport: str, threads: int, rounds: int
) -> Iterator[Timing]:
    point = sidecar.client(timeout_ms=10_000)
    gate = Gate(point, store, environment="bench", evidence=registry)
    run = _run(gate, f"{transport}-{threads}")
    call = Call(capability="search_docs", arguments={"query": "how to correct an invoice"})
    evidence = Evidence.of(registry, environment="bench")
    prepared = EvidenceBuilder(store=store, environment="bench", evidence=evidence).tool_call(
        run, call, now_ms=time.time_ns() // 1_000_000, facts=point.facts(run.agent_id)
    )
    body = json.dumps({"input": prepared.document}).encode()

    def work(out: dict[str, list[float]]) -> None:
        raw = RawClient(sidecar)
        kinds: dict[str, Callable[[], object]] = {
            "raw": lambda: raw.post(body),
            "client": lambda: point.decide(prepared.document),
            "full check": lambda: gate.check_call(run, call).enforce(),
        }
        for number in range(rounds + _WARM_UP):
            for name, act in kinds.items():
                start = time.perf_counter()
                act()
                if number >= _WARM_UP:
                    out[name].append((time.perf_counter() - start) * 1e3)
        raw.close()

    results: list[dict[str, list[float]]] = [{"raw": [], "client": [], "full check": []} for _ in range(threads)]
    workers = [threading.Thread(target=work, args=(out,)) for out in results]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    point.close()
    base = 0.0
    for name in ("raw", "client", "full check"):
        values = sorted(v for out in results for v in out[name])
        p50 = _percentile(values, 0.50)
        base = base or p50
        yield Timing(
            transport=transport,
            threads=threads,
            what=name,
            p50=p50,
            p95=_percentile(values, 0.95),
            p99=_percentile(values, 0.99),
            ratio=p50 / base,
        )


def _run(gate: Gate, name: str) -> Run:
    return gate.start_run(
        agent_id="support-triage-ref",
        identity=Identity(tenant_id="bench", principal_id="bench"),
        session_id=name,
        trace_id=name,
        run_id=name,
    )


def measure_growth(bundles: Sequence[tuple[int, int, int]], *, rounds: int) -> Iterator[Growth]:
    """Decision time over synthetic bundles, each (capabilities, bound controls, unbound controls)."""
    binary = opa.ensure().path
    base = 0.0
    for capabilities, bound, unbound in bundles:
        with tempfile.TemporaryDirectory(prefix="gate-bench-") as folder:
            root = Path(folder)
            write_bundle(root / "synthetic", capabilities=capabilities, bound=bound, unbound=unbound)
            start = time.perf_counter()
            compiled = compile_bundle(root / "synthetic")
            write(compiled)
            seconds = time.perf_counter() - start
            built = build([compiled], root / "dist", binary=binary, trial=True)
            with Sidecar.start(
                tarball=built.path,
                opa=binary,
                listen=root / "s" / "opa.sock",
                work_dir=root / "s",
                startup_timeout_s=600,
            ) as sidecar:
                p50 = _eval_p50(sidecar, root, capabilities, rounds)
        base = base or p50
        yield Growth(
            capabilities=capabilities,
            bound=bound,
            unbound=unbound,
            compile_s=seconds,
            eval_p50_ms=p50,
            ratio=p50 / base,
        )


def _eval_p50(sidecar: Sidecar, root: Path, size: int, rounds: int) -> float:
    with Store.open(f"sqlite:///{root}/bench.sqlite") as store:
        point = sidecar.client(timeout_ms=60_000)
        run = _run(Gate(point, store, environment="bench"), "growth")
        call = Call(
            capability=f"capability_{size // 2}", arguments={"order": "o-1"}, idempotency_key="k-1", reason="bench"
        )
        prepared = EvidenceBuilder(store=store, environment="bench").tool_call(
            run, call, now_ms=time.time_ns() // 1_000_000, facts=point.facts(run.agent_id)
        )
        point.close()
    body, raw = json.dumps({"input": prepared.document}).encode(), RawClient(sidecar)
    values = []
    for number in range(rounds + _WARM_UP):
        reply = json.loads(raw.post(body, _QUERY + "&metrics=true"))
        if number >= _WARM_UP:
            values.append(reply["metrics"]["timer_rego_query_eval_ns"] / 1e6)
    raw.close()
    return _percentile(sorted(values), 0.50)
