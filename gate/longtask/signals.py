"""Service-level signals of continuity, out of the records: how well runs can be recovered, not how well they read.

Pure over what the store says. What was not measured is None, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gate import canonical
from gate.records import ArtifactStatus, LedgerEntry, LocatorResult, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """One tenant's signals. Shares are between 0 and 1; None where nothing was measured."""

    runs: int
    """With a checkpoint; what was forgotten on request is no failure, and not among them."""
    checkpoints: int
    recoverable_share: float | None
    """Of runs with a pair: those whose newest pair is whole, with its source still readable."""
    replay_share: float | None
    """Of those runs: the ones whose source events can be read and held against the chain."""
    compactions: int
    compaction_failures: int
    compaction_ms_max: int | None
    fallback_share: float | None
    """Of compactions that failed: those after which the run was rehydrated."""
    rehydrations: int
    rejections: tuple[tuple[str, int], ...]
    """Refused rehydrations by reason code."""
    orphans: int
    oldest_orphan_ms: int | None
    stale_locators: int
    migration_failures: int
    reloads: int
    reloaded_bytes: int
    repeated_evidence: int
    """Reloads of one locator more than once after one resume."""
    issues_closed_without_verification: int
    released_bytes: int
    tainted: int

    def as_dict(self) -> dict[str, object]:
        """The signals as JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**found, "rejections": dict(self.rejections)}


def collect(store: Store, tenant_id: str) -> Signals:
    """Reads the tenant's ledger and the newest pair of each of its runs."""
    ledger = store.task_ledger(tenant_id)
    runs = kept_runs(store, tenant_id)
    whole = readable = checkpoints = stale = tainted = 0
    for run_id in runs:
        checkpoints += len(store.task_checkpoints(tenant_id, run_id))
        pair = store.committed_pair(tenant_id, run_id)
        row = None if pair is None else pair.artifact
        if pair is None or row is None:
            continue
        tainted += row.status is ArtifactStatus.TAINTED
        stale += sum(one.result is LocatorResult.STALE for one in pair.locators)
        held = row.body is not None and canonical.digest_bytes(row.body.encode("utf-8")) == row.digest
        source = store.task_source_holds(tenant_id, run_id, first=row.first_sequence, last=row.last_sequence)
        readable += source
        usable = row.status in (ArtifactStatus.STORED, ArtifactStatus.HELD)
        whole += held and source and usable and pair.checkpoint.artifact_digest == row.digest
    orphans, now = store.orphans(tenant_id), store.now_ms()
    done = [entry for entry in ledger if entry.kind == "compaction"]
    failed = [entry for entry in done if entry.outcome != "ok"]
    resumed = [entry for entry in ledger if entry.kind == "rehydration"]
    refused = Counter(entry.outcome for entry in resumed if entry.outcome != "ok")
    reloads = [entry for entry in ledger if entry.kind == "reload"]
    return Signals(
        runs=len(runs),
        checkpoints=checkpoints,
        recoverable_share=_share(whole, len(runs)),
        replay_share=_share(readable, len(runs)),
        compactions=len(done),
        compaction_failures=len(failed),
        compaction_ms_max=max((entry.duration_ms for entry in done), default=None),
        fallback_share=_share(sum(_resumed_after(one, resumed) for one in failed), len(failed)),
        rehydrations=len(resumed),
        rejections=tuple(sorted(refused.items())),
        orphans=len(orphans),
        oldest_orphan_ms=max((now - each.created_at_ms for each in orphans), default=None),
        stale_locators=stale,
        migration_failures=sum(entry.kind == "migration" and entry.outcome != "ok" for entry in ledger),
        reloads=len(reloads),
        reloaded_bytes=sum(entry.bytes_after for entry in reloads),
        repeated_evidence=_repeated(ledger),
        issues_closed_without_verification=sum(
            entry.outcome == "open_issue_closed_without_verification" for entry in done
        ),
        released_bytes=sum(max(0, entry.bytes_before - entry.bytes_after) for entry in done),
        tainted=tainted,
    )


def kept_runs(store: Store, tenant_id: str) -> tuple[str, ...]:
    """The tenant's runs with a checkpoint, but for those erased with their session or its parent's."""
    return tuple(run_id for run_id in store.task_runs(tenant_id) if not _forgotten(store, tenant_id, run_id))


def _forgotten(store: Store, tenant_id: str, run_id: str) -> bool:
    seen: set[str] = set()
    following: str | None = run_id
    while following is not None and following not in seen:
        seen.add(following)
        run = store.run(tenant_id, following)
        receipt = None if run is None else store.deletion_receipt(tenant_id, run.session_id)
        if receipt is not None and receipt.status == "erased":
            return True
        following = None if run is None else run.parent_run_id
    return False


def _share(part: int, whole: int) -> float | None:
    return None if whole == 0 else round(part / whole, 4)


def _resumed_after(failed: LedgerEntry, resumed: Iterable[LedgerEntry]) -> bool:
    return any(
        entry.run_id == failed.run_id and entry.ordinal > failed.ordinal and entry.outcome == "ok" for entry in resumed
    )


def _repeated(ledger: Iterable[LedgerEntry]) -> int:
    """Reloads beyond the first of a locator, counted anew after each resume; `ledger` is in order within a run."""
    seen: Counter[tuple[str, str]] = Counter()
    repeated = 0
    for entry in ledger:
        if entry.kind == "rehydration" and entry.outcome == "ok":
            # One reload of each is what a resume needs.
            seen = Counter({key: count for key, count in seen.items() if key[0] != entry.run_id})
        elif entry.kind == "reload":
            seen[entry.run_id, entry.audit] += 1
            repeated += seen[entry.run_id, entry.audit] > 1
    return repeated
