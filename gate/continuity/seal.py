"""The gate's seal over an envelope: an Ed25519 signature with the key's id, under a domain of its own.

Proves that the gate wrote these bytes, not that they may be acted on. Opens no file and no store.
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
from gate.errors import InputError
from gate.records import GateKey, PublicKey

DOMAIN = "gate-envelope-seal/v1"
"""Domain tag inside the signed bytes: no other signature of the same key can stand for a seal."""

_FIELDS = {"domain", "key_id", "sealed_at_ms", "signature"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What became of the check of a stored seal."""

    key_id: str | None
    """As the seal names it; None when it cannot be read."""
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealer:
    """Seals with one key and checks against all that were ever used, the retired ones included."""

    key: GateKey | None = None
    """None: nothing can be sealed."""
    keys: Mapping[str, PublicKey] = field(default_factory=dict)
    """By key id; the public half of `key` need not be among them."""

    def sign(self, body: str, *, now_ms: int) -> str:
        """The seal over `body` as canonical JSON.

        Raises `InputError`: `seal_key_missing`, `key_malformed`, `key_retired`.
        """
        key = self.key
        if key is None:
            raise InputError(
                "this gate has no key to seal envelopes with",
                code="seal_key_missing",
                hint="give the gate a `seal_key`",
            )
        if key.retired_at_ms is not None and key.retired_at_ms <= now_ms:
            raise InputError(f"the key `{key.key_id}` is retired", code="key_retired", hint="retired keys only verify")
        signed = _signed_bytes(body, key.key_id, now_ms)
        signature = base64.b64encode(_private(key).sign(signed)).decode("ascii")
        seal = {"domain": DOMAIN, "key_id": key.key_id, "sealed_at_ms": now_ms, "signature": signature}
        return canonical.canonical_bytes(seal).decode("utf-8")

    def check(self, body: str, seal: str | None) -> Seal:
        """What the stored seal proves about the stored body. Never raises for what it reads."""
        try:
            found = canonical.parse(seal) if seal is not None else None
        except InputError:
            found = None
        if type(found) is not dict or set(found) != _FIELDS or found["domain"] != DOMAIN:
            return Seal(key_id=None, valid=False)
        key_id, at = found["key_id"], found["sealed_at_ms"]
        if type(key_id) is not str or type(at) is not int:
            return Seal(key_id=None, valid=False)
        return Seal(key_id=key_id, valid=self._holds(body, key_id, at, found["signature"]))

    def _holds(self, body: str, key_id: str, sealed_at_ms: int, signature: Any) -> bool:
        key = self._public(key_id)
        if key is None or (key.retired_at_ms is not None and key.retired_at_ms <= sealed_at_ms):
            return False
        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public_key, validate=True))
            public.verify(base64.b64decode(signature, validate=True), _signed_bytes(body, key_id, sealed_at_ms))
        except (InvalidSignature, binascii.Error, ValueError, TypeError, InputError):
            return False
        return True

    def _public(self, key_id: str) -> PublicKey | None:
        if key_id in self.keys:
            return self.keys[key_id]
        if self.key is None or self.key.key_id != key_id:
            return None
        raw = _private(self.key).public_key().public_bytes_raw()
        return PublicKey(public_key=base64.b64encode(raw).decode("ascii"), retired_at_ms=self.key.retired_at_ms)


def _private(key: GateKey) -> Ed25519PrivateKey:
    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(key.private_key, validate=True))
    except (binascii.Error, ValueError, TypeError) as exc:
        raise InputError("the key is not 32 bytes in base64", code="key_malformed", hint="make a new key") from exc


def _signed_bytes(body: str, key_id: str, sealed_at_ms: int) -> bytes:
    return canonical.canonical_bytes(
        {
            "domain": DOMAIN,
            "key_id": key_id,
            "sealed_at_ms": sealed_at_ms,
            "body_digest": canonical.digest_bytes(body.encode("utf-8", "surrogatepass")),
        }
    )
