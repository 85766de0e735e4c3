"""Signed heads: what a run's chain was at one time, under the gate's own key, to be kept where the store is not.

A chain alone can be recomputed and its tail cut off by whoever writes the database; a head kept elsewhere shows
both. Pure: opens no transaction and no file, and never holds the key longer than a call.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gate import canonical
from gate.errors import InputError, StoreError
from gate.records import checks

DOMAIN = "gate-chain-head/v1"
"""Domain tag inside the signed bytes: no other signature of the same key can stand for a head."""

_KEY_BYTES = 32
_SIGNED = ("domain", "tenant_id", "run_id", "seq", "hash", "signed_at_ms", "key_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateKey:
    """The gate's own key; base64 of 32 bytes."""

    key_id: str
    private_key: str = field(repr=False)
    retired_at_ms: int | None = None
    """From this millisecond of the database clock on the key signs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """What a head is checked against; base64 of 32 bytes."""

    public_key: str
    retired_at_ms: int | None = None
    """A head that says it was signed at or after this millisecond is refused; older ones hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedHead:
    """The end of one run's chain at one time."""

    tenant_id: str
    run_id: str
    seq: int
    """How many events the chain had."""
    hash: str
    """Hash of the last of them."""
    signed_at_ms: int
    """By the database's clock."""
    key_id: str
    signature: str
    """Base64 of the Ed25519 signature over the canonical JSON of the other fields and the domain tag."""

    def to_json(self) -> dict[str, Any]:
        """The head as a JSON object."""
        return {**self._signed(), "signature": self.signature}

    @classmethod
    def from_json(cls, value: Any) -> SignedHead:
        """Raises `InputError` `head_malformed` for anything that is not exactly such an object."""
        if type(value) is not dict or set(value) != {*_SIGNED, "signature"} or value["domain"] != DOMAIN:
            raise InputError("this is not a signed head", code="head_malformed", hint="see `gate store sign-heads`")
        try:
            for name in ("tenant_id", "run_id", "key_id", "signature"):
                checks.name(name, value[name])
            checks.digest("hash", value["hash"])
            checks.whole("seq", value["seq"], low=1)
            checks.whole("signed_at_ms", value["signed_at_ms"])
        except InputError as exc:
            raise InputError(exc.message, code="head_malformed", hint="see `gate store sign-heads`") from exc
        return cls(**{k: v for k, v in value.items() if k != "domain"})

    def _signed(self) -> dict[str, Any]:
        return {"domain": DOMAIN, **{k: getattr(self, k) for k in _SIGNED if k != "domain"}}


def sign(tenant_id: str, run_id: str, *, seq: int, head_hash: str, now: int, key: GateKey) -> SignedHead:
    """The signed head. Raises `InputError`: `key_malformed`, `key_retired`."""
    checks.name("key_id", key.key_id)
    if key.retired_at_ms is not None and key.retired_at_ms <= now:
        raise InputError(
            f"the key `{key.key_id}` is retired", code="key_retired", hint="retired keys only verify; use a new one"
        )
    private = Ed25519PrivateKey.from_private_bytes(_key_bytes(key.private_key))
    head = SignedHead(
        tenant_id=tenant_id, run_id=run_id, seq=seq, hash=head_hash, signed_at_ms=now, key_id=key.key_id, signature=""
    )
    signature = base64.b64encode(private.sign(canonical.canonical_bytes(head._signed()))).decode("ascii")
    return SignedHead(**{**{k: getattr(head, k) for k in _SIGNED if k != "domain"}, "signature": signature})


def check_signature(head: SignedHead, keys: Mapping[str, PublicKey]) -> None:
    """Raises `StoreError`: `head_key_unknown`, `head_key_retired`, `head_signature_invalid`."""
    key = keys.get(head.key_id)
    if key is None:
        raise StoreError(
            f"no public key is known under the id `{head.key_id}`",
            code="head_key_unknown",
            hint="give the public key that the head was signed with",
        )
    try:
        signature = base64.b64decode(head.signature, validate=True)
        public = Ed25519PublicKey.from_public_bytes(_key_bytes(key.public_key))
        public.verify(signature, canonical.canonical_bytes(head._signed()))
    except (InvalidSignature, binascii.Error, ValueError) as exc:
        raise StoreError(
            f"the signature of the head of run `{head.run_id}` does not hold",
            code="head_signature_invalid",
            hint="the head was changed or signed with another key",
        ) from exc
    if key.retired_at_ms is not None and key.retired_at_ms <= head.signed_at_ms:
        raise StoreError(
            f"the head of run `{head.run_id}` was signed after its key was retired",
            code="head_key_retired",
            hint="find out who still has the key",
        )


def check_chain(head: SignedHead, *, found: str | None) -> None:
    """Compares the head with the hash that a sound chain has at its number; None when the chain is shorter.

    Raises `StoreError`: `event_chain_cut`, `event_chain_recomputed`.
    """
    if found is None:
        raise StoreError(
            f"the event chain of run `{head.run_id}` ends before event {head.seq}, which it had",
            code="event_chain_cut",
            hint="the log was cut, or the store restored from an older copy: effects it forgot may have happened",
        )
    if found != head.hash:
        raise StoreError(
            f"the event chain of run `{head.run_id}` is not the one that was signed at event {head.seq}",
            code="event_chain_recomputed",
            hint="the log was rewritten outside the gate; keep the database and find out by whom",
        )


def _key_bytes(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raw = b""
    if len(raw) != _KEY_BYTES:
        raise InputError("the key is not 32 bytes in base64", code="key_malformed", hint="make a new key")
    return raw
