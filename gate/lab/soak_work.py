"""What the soak works with: a claimed effect whose tool writes to a file outside, and what must hold afterwards.

The file stands for the world: a line in it is an effect that happened, whatever the records say.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gate import canonical
from gate.errors import GateError
from gate.records import Claim, EffectRecord, EffectStatus, RunRecord, Store

TENANT = "soak"
CAPABILITY = "issue_refund"
PRINCIPAL = "user-7"


@dataclass(frozen=True, slots=True)
class World:
    """An append-only file of the effects that happened."""

    path: Path

    def happen(self, key: str) -> None:
        """Writes one line and waits for the disk."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{key}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def happened(self) -> Counter[str]:
        """How often each effect happened."""
        return Counter(self.path.read_text("utf-8").split()) if self.path.exists() else Counter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the records and the world say of each other afterwards."""

    happened: int
    twice: int
    """Effects that happened more than once: must be 0."""
    forgotten: int
    """Effects that happened and of which the records know nothing, or that they did not: must be 0."""
    broken_chains: int
    """Event chains that `gate store verify` would name: must be 0."""
    wrong_counters: int
    """Counters that are not what effects hold of them: must be 0."""

    @property
    def lost(self) -> int:
        """Everything that went wrong, counted."""
        return self.twice + self.forgotten + self.broken_chains + self.wrong_counters


def audit(store: Store, world: World, *, tenant: str = TENANT) -> Audit:
    """Compares the records with the world; effects are told apart by their idempotency key."""
    happened = world.happened()
    status = {effect.idempotency_key: effect.status for effect in store.effects(tenant)}
    unsaid = (None, EffectStatus.FAILED_BEFORE_EFFECT)
    return Audit(
        happened=sum(happened.values()),
        twice=sum(count > 1 for count in happened.values()),
        forgotten=sum(status.get(key) in unsaid for key in happened),
        broken_chains=sum(not state.sound for state in store.inspect_chains()),
        wrong_counters=len(store.wrong_counters()),
    )


def new_run(store: Store, tenant: str = TENANT) -> RunRecord:
    """A run for one worker."""
    return store.create_run(
        RunRecord(
            tenant_id=tenant,
            run_id=f"run-{secrets.token_hex(8)}",
            agent_id="soak",
            principal_id=PRINCIPAL,
            session_id="soak",
            trace_id="soak",
            authorization_mode="platform_owned",
        )
    )


def claim_of(run: RunRecord, key: str, *, lease_ms: int = 3_600_000) -> Claim:
    """A claim of the effect `key`."""
    return Claim(
        tenant_id=run.tenant_id,
        run_id=run.run_id,
        run_version=run.version,
        principal_id=PRINCIPAL,
        capability=CAPABILITY,
        business_key=key,
        idempotency_key=key,
        action_digest=canonical.digest({"soak": key}),
        owner=key,
        lease_ms=lease_ms,
    )


def work(store: Store, run: RunRecord, world: World) -> str:
    """One effect from claim to settlement; the code of what refused it, empty when nothing did.

    After a claim whose fate is not known nothing happens: it counts as made.
    """
    key = secrets.token_hex(12)
    try:
        claimed = store.claim(claim_of(run, key)).effect
        world.happen(key)
    except GateError as exc:
        return exc.code
    return settle(store, claimed)


def settle(store: Store, effect: EffectRecord) -> str:
    """Settles a claimed effect as committed; the code of what refused it, empty when nothing did."""
    try:
        store.settle(
            effect.tenant_id,
            principal_id=effect.principal_id,
            capability=effect.capability,
            business_key=effect.business_key,
            fencing=effect.fencing,
            owner=effect.owner,
            status=EffectStatus.COMMITTED,
        )
    except GateError as exc:
        return exc.code
    return ""
