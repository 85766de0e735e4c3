"""The part of the store that keeps runs, their events, and the proof that neither was changed behind the gate.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from gate.errors import StoreError
from gate.records import chains, checks, heads, history, runs
from gate.records.chains import ChainState
from gate.records.clock import now_ms
from gate.records.database import Database
from gate.records.heads import GateKey, PublicKey, SignedHead
from gate.records.model import Event, HistoryStep, RunHistory, RunRecord
from gate.records.statuses import RunStatus


class RunStore:
    """Runs, events and chains."""

    _database: Database

    def create_run(self, new: RunRecord) -> RunRecord:
        """Records a new run, `running` at version 1. Raises `ConflictError` `run_exists`."""
        return self._database.writing(lambda tx: runs.create(tx, new))

    def run(self, tenant_id: str, run_id: str) -> RunRecord | None:
        """The run, or None when this tenant has none of that id."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: runs.find(tx, tenant_id, run_id))

    def runs_of_trace(self, tenant_id: str, trace_id: str) -> list[RunRecord]:
        """The tenant's runs that belong to the trace, by run id."""
        tenant_id, trace_id = checks.name("tenant_id", tenant_id), checks.name("trace_id", trace_id)
        return self._database.reading(lambda tx: runs.of_trace(tx, tenant_id, trace_id))

    def set_run_status(
        self, tenant_id: str, run_id: str, *, expected_version: int, status: RunStatus, reason: str
    ) -> RunRecord:
        """Moves a run. Raises `ConflictError`: `run_unknown`, `run_changed`, `run_transition_illegal`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        checks.whole("expected_version", expected_version, low=1)
        status, reason = checks.member("status", RunStatus, status), checks.text("reason", reason)
        return self._database.writing(
            lambda tx: runs.set_status(
                tx, tenant_id, run_id, expected_version=expected_version, status=status, reason=reason
            )
        )

    def append_event(self, tenant_id: str, run_id: str, event_type: str, payload: dict[str, Any]) -> Event:
        """Adds an event: ids, digests and statuses only. Raises `ConflictError` `run_unknown`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        event_type = checks.name("event_type", event_type)
        return self._database.writing(lambda tx: runs.append(tx, tenant_id, run_id, event_type, payload))

    def events(self, tenant_id: str, run_id: str) -> list[Event]:
        """The events of the run in order, unverified."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: runs.events(tx, tenant_id, run_id))

    def history(self, tenant_id: str, run_id: str) -> RunHistory | None:
        """The events of the run after a walk of their chain, in one reading; None when the tenant has no such run."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: history.read(tx, tenant_id, run_id))

    def record_step(self, tenant_id: str, run_id: str, step: HistoryStep, *, status: str) -> Event:
        """Adds a step that claimed no effect. Raises `ConflictError`: `run_unknown`, `history_changed`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        wanted, fields = history.checked(step), {"status": checks.name("status", status)}
        return self._database.writing(lambda tx: history.append(tx, runs.locked(tx, tenant_id, run_id), wanted, fields))

    def verify_run(self, tenant_id: str, run_id: str) -> int:
        """The number of events, when their chain holds.

        Raises `StoreError`: `event_chain_broken`, `run_unknown`.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: chains.verify(tx, tenant_id, run_id))

    def inspect_chains(self, tenant_id: str | None = None, run_id: str | None = None) -> Iterator[ChainState]:
        """What a walk of every chain finds: of one run, of one tenant, or of all tenants, in order.

        Raises `StoreError` `run_unknown` for a `run_id` that the tenant does not have.
        """
        if tenant_id is not None:
            tenant_id = checks.name("tenant_id", tenant_id)
        if run_id is not None:
            tenant, run = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
            yield self._database.reading(lambda tx: chains.inspect(tx, tenant, run))
            return
        last = ("", "")
        # A page and a chain at a time: one long snapshot would keep the database from cleaning up behind writers.
        while page := self._database.reading(partial(chains.each, tenant_id=tenant_id, after=last)):
            for tenant, run in page:
                yield self._database.reading(partial(chains.inspect, tenant_id=tenant, run_id=run))
            last = page[-1]

    def wrong_counters(self, tenant_id: str | None = None) -> list[tuple[str, str]]:
        """(tenant, name) of every limit counter whose value is not the sum of what effects hold of it."""
        tenant = None if tenant_id is None else checks.name("tenant_id", tenant_id)
        return self._database.reading(lambda tx: chains.wrong_counters(tx, tenant))

    def sign_head(self, tenant_id: str, run_id: str, key: GateKey) -> SignedHead:
        """The end of the run's chain, walked first and then signed; keep it where this database is not.

        Raises `StoreError`: `run_unknown`, `event_chain_broken`; `InputError`: `key_retired`, `key_malformed`.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)

        def signed(tx: Any) -> SignedHead:
            seq = chains.verify(tx, tenant_id, run_id)
            found = chains.hash_at(tx, tenant_id, run_id, seq)
            if found is None:
                raise runs.broken(run_id, 1)
            return heads.sign(tenant_id, run_id, seq=seq, head_hash=found, now=now_ms(tx), key=key)

        return self._database.reading(signed)

    def verify_head(self, head: SignedHead, keys: Mapping[str, PublicKey]) -> int:
        """The number of events now, when the chain holds and still has the signed head in it; `keys` by key id.

        Raises `StoreError`: `head_key_unknown`, `head_key_retired`, `head_signature_invalid`,
        `event_chain_broken`, `event_chain_cut`, `event_chain_recomputed`.
        """
        heads.check_signature(head, keys)

        def verified(tx: Any) -> int:
            try:
                count = chains.verify(tx, head.tenant_id, head.run_id)
            except StoreError as exc:
                # A whole chain that is gone is a tail that was cut off at its beginning.
                if exc.code != "run_unknown":
                    raise
                count = 0
            heads.check_chain(head, found=chains.hash_at(tx, head.tenant_id, head.run_id, head.seq))
            return count

        return self._database.reading(verified)
