"""Many threads of several processes that claim one approval, round after round: one winner each, or the soak failed.

Asserts nothing: it counts.
"""

from __future__ import annotations

import multiprocessing
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from gate import canonical
from gate.errors import GateError
from gate.lab.soak_work import CAPABILITY, PRINCIPAL, TENANT, claim_of, new_run
from gate.records import ApprovalRecord, ApprovalRequest, ApprovalStatus, RunRecord, Store, StoredVote

_HOUR_MS = 3_600_000
_WAIT_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRounds:
    """What the rounds came to."""

    rounds: int
    callers: int
    """Callers of each round: processes times threads."""
    one_winner: int
    """Rounds with exactly one winner: all of them, or something is broken."""
    refusals: dict[str, int]
    """How often each code was the answer to a loser."""
    seconds: float


def claim_rounds(url: str, *, rounds: int, processes: int = 4, threads: int = 20) -> ClaimRounds:
    """Every caller claims an effect of its own in each round; only the approval stands between them."""
    begin, winners, refusals = time.monotonic(), 0, Counter[str]()
    with Store.open(url, busy_timeout_ms=60_000) as store, _callers(url, processes, threads) as (ask, answers):
        run = new_run(store)
        for _ in range(rounds):
            approval = _approved(store, run)
            for queue in ask:
                queue.put((run, approval))
            codes = [code for _ in ask for code in answers.get(timeout=_WAIT_SECONDS)]
            winners += codes.count("") == 1
            refusals.update(code for code in codes if code)
    return ClaimRounds(
        rounds=rounds,
        callers=processes * threads,
        one_winner=winners,
        refusals=dict(refusals),
        seconds=time.monotonic() - begin,
    )


@contextmanager
def _callers(url: str, processes: int, threads: int) -> Iterator[tuple[list[Any], Any]]:
    context = multiprocessing.get_context("spawn")
    answers: Any = context.Queue()
    ask: list[Any] = [context.Queue() for _ in range(processes)]
    workers = [context.Process(target=_process, args=(url, threads, queue, answers)) for queue in ask]
    for worker in workers:
        worker.start()
    try:
        yield ask, answers
    finally:
        for queue in ask:
            queue.put(None)
        for worker in workers:
            worker.join(60)
            if worker.is_alive():
                worker.kill()


def _process(url: str, threads: int, questions: Any, answers: Any) -> None:
    with Store.open(url, busy_timeout_ms=60_000, pool_size=threads) as store:
        while (question := questions.get(timeout=_WAIT_SECONDS)) is not None:
            run, approval = question
            answers.put(_at_once(store, run, approval, threads))


def _at_once(store: Store, run: RunRecord, approval: ApprovalRecord, threads: int) -> list[str]:
    barrier, codes = threading.Barrier(threads), [""] * threads

    def claim(number: int) -> None:
        wanted = claim_of(run, secrets.token_hex(12))
        barrier.wait()
        try:
            store.claim(
                replace(
                    wanted,
                    action_digest=approval.action_digest,
                    approval_id=approval.approval_id,
                    approval_version=approval.version,
                )
            )
        except GateError as exc:
            codes[number] = exc.code

    workers = [threading.Thread(target=claim, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return codes


def _approved(store: Store, run: RunRecord) -> ApprovalRecord:
    """An approval that says approved; votes are the gate's to check, and no gate is asked here."""
    name = secrets.token_hex(12)
    digest = canonical.digest({"soak": name})
    asked = store.request_approval(
        ApprovalRequest(
            tenant_id=TENANT,
            run_id=run.run_id,
            capability=CAPABILITY,
            contract_id="soak",
            contract_digest=canonical.digest({"contract": "soak"}),
            action_digest=digest,
            intent_digest=digest,
            principal_id=PRINCIPAL,
            agent_id="soak",
            session_id="soak",
            trace_id="soak",
            requested_by=PRINCIPAL,
            reason="soak",
            bundle_version="1",
            release_identity="soak",
            view={},
        ),
        max_wait_ms=_HOUR_MS,
    )
    return store.add_vote(
        TENANT,
        asked.approval_id,
        expected_version=asked.version,
        vote=StoredVote(asked.nonce.encode(), b"s" * 64),
        to_status=ApprovalStatus.APPROVED,
    )
