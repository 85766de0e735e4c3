"""`verify_call`: what a tool's own process asks before it starts, so that nothing reaches it past the executor.

No rule is decided here, which is why no decision point is asked: the call *was* decided, and its decision ended in a
claim. What is left is a comparison of records, like the claim's own: the signed token with the call that came, with
the claim in the ledger and with the approval it consumed, in one transaction that takes the dispatch. Any difference
refuses, nothing here can permit what was not claimed, and a decision point would answer from an older moment than
the one in which the dispatch is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.canonical import canonical_bytes, parse
from gate.enforcement.call_token import CallToken, read
from gate.enforcement.outcome import CallRefused
from gate.errors import ConflictError, InputError
from gate.evidence import ABSENT, arguments_digest
from gate.records import Dispatch, EffectRecord, PublicKey, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedCall:
    """A call that its tool may start, once, now."""

    tenant_id: str
    run_id: str
    principal_id: str
    capability: str
    arguments: Any
    """A fresh parse of what was decided about, claimed and verified."""
    idempotency_key: str
    """Under which the tool should make its own request idempotent."""
    approval_id: str | None
    fencing: int
    """Grows with every claim on the same effect: a service that keeps the highest refuses the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallVerifier:
    """Verifies the calls of one deployment for one tool process."""

    store: Store
    environment: str
    keys: Mapping[str, PublicKey]
    """Public keys of the executors by key id."""

    def verify(
        self, token: object, *, tenant_id: str, capability: str, arguments: Any, tool: str = "tool"
    ) -> VerifiedCall:
        """Takes the dispatch of the claim that `token` is for; `tool` names the caller in the event log.

        `tenant_id` and `capability` are what the tool itself serves, `arguments` what it was called with. Raises
        `CallRefused` with a `call_token_*` code, or the code of `gate.records.dispatches.take`; `StoreError` when the
        records cannot be read, after which nothing may start either.
        """
        said = read(token, self.keys)
        self._check(said, tenant_id=tenant_id, capability=capability, arguments=arguments)
        try:
            effect = self.store.dispatch(
                Dispatch(
                    tenant_id=said.tenant_id,
                    run_id=said.run_id,
                    principal_id=said.principal_id,
                    capability=said.capability,
                    business_key=said.business_key,
                    fencing=said.fencing,
                    action_digest=said.action_digest,
                    approval_id=said.approval_id,
                    dispatched_by=tool,
                )
            )
        except ConflictError as exc:
            raise CallRefused(exc.message, code=exc.code, hint=exc.hint) from exc
        return _verified(said, effect, arguments)

    def _check(self, said: CallToken, *, tenant_id: str, capability: str, arguments: Any) -> None:
        try:
            found = arguments_digest(arguments)
        except InputError as exc:
            raise CallRefused("the arguments have no canonical form", code="call_token_arguments_mismatch") from exc
        for code, matches in (
            ("call_token_environment_mismatch", said.environment == self.environment),
            ("call_token_tenant_mismatch", said.tenant_id == tenant_id),
            ("call_token_capability_mismatch", said.capability == capability),
            ("call_token_arguments_mismatch", said.arguments_digest == found),
            # The database's clock, as for the lease; the claim itself is compared under its lock.
            ("call_token_expired", self.store.now_ms() < said.expires_at_ms),
        ):
            if not matches:
                raise CallRefused(
                    "the token is not for this call", code=code, hint="nothing was started; decide about the call anew"
                )


def _verified(said: CallToken, effect: EffectRecord, arguments: Any) -> VerifiedCall:
    return VerifiedCall(
        tenant_id=said.tenant_id,
        run_id=said.run_id,
        principal_id=said.principal_id,
        capability=said.capability,
        arguments=None if arguments is ABSENT else parse(canonical_bytes(arguments)),
        idempotency_key=effect.idempotency_key,
        approval_id=said.approval_id,
        fencing=said.fencing,
    )
