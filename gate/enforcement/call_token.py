"""The token that an executor hands to a tool: which claim it won, for which arguments, signed with the gate's key.

Pure: opens no store and no file. A token permits nothing by itself; `gate.enforcement.verify` compares it with the
records. It holds digests and names, no argument value.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gate.canonical import canonical_bytes, parse
from gate.enforcement.outcome import CallRefused
from gate.errors import InputError
from gate.evidence import Prepared
from gate.records import Claimed, GateKey, PublicKey

DOMAIN = "gate-call/v1"
"""Domain tag inside the signed bytes: no other signature of the same key can stand for a token."""

MAX_TOKEN = 16_384
"""Longest token in characters."""

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CallToken:
    """What the executor says of one claimed call."""

    environment: str
    tenant_id: str
    run_id: str
    principal_id: str
    capability: str
    business_key: str
    fencing: int
    action_digest: str
    arguments_digest: str
    approval_id: str | None
    issued_at_ms: int
    """By the gate's clock; a key that was retired before signed nothing."""
    expires_at_ms: int
    """End of the claim's lease, by the database's clock."""
    key_id: str


_TYPES = {
    field.name: (int,) if field.name in ("fencing", "issued_at_ms", "expires_at_ms") else (str,)
    for field in fields(CallToken)
} | {"approval_id": (str, type(None))}


def issue(token: CallToken, key: GateKey) -> str:
    """The signed token as text. Raises `InputError`: `key_malformed`, `key_retired`."""
    if key.retired_at_ms is not None and key.retired_at_ms <= token.issued_at_ms:
        raise InputError(f"the key `{key.key_id}` is retired", code="key_retired", hint="use a new key")
    payload = canonical_bytes({"domain": DOMAIN, **asdict(token)})
    try:
        private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key.private_key, validate=True))
    except (binascii.Error, ValueError) as exc:
        raise InputError("the key is not 32 bytes in base64", code="key_malformed", hint="make a new key") from exc
    return f"{_text(payload)}.{_text(private.sign(payload))}"


def token_of(claimed: Claimed, prepared: Prepared, *, key: GateKey, environment: str, issued_at_ms: int) -> str:
    """The token of a claim that was just won for the call that `prepared` froze. Raises as `issue` does."""
    effect, action, approval = claimed.effect, prepared.action, claimed.approval_id
    if action is None:
        raise InputError("no action was claimed", code="call_not_claimed")
    said = CallToken(
        environment=environment,
        tenant_id=effect.tenant_id,
        run_id=effect.run_id,
        principal_id=effect.principal_id,
        capability=effect.capability,
        business_key=effect.business_key,
        fencing=effect.fencing,
        action_digest=effect.action_digest,
        arguments_digest=action.arguments_digest,
        approval_id=approval,
        issued_at_ms=issued_at_ms,
        expires_at_ms=effect.lease_expires_at_ms,
        key_id=key.key_id,
    )
    return issue(said, key)


def read(text: object, keys: Mapping[str, PublicKey]) -> CallToken:
    """The token in `text`, after its signature was found to hold.

    Raises `CallRefused`: `call_token_missing`, `call_token_malformed`, `call_token_key_unknown`,
    `call_token_key_retired`, `call_token_signature_invalid`.
    """
    if text is None or text == "":
        raise CallRefused(
            "the call has no token", code="call_token_missing", hint="call the tool through the gate's executor"
        )
    payload, signature, token = _parsed(text)
    key = keys.get(token.key_id)
    if key is None:
        raise CallRefused("the token is signed with a key nobody listed here", code="call_token_key_unknown")
    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public_key, validate=True))
        public.verify(signature, payload)
    except (InvalidSignature, binascii.Error, ValueError) as exc:
        raise CallRefused("the signature of the token does not hold", code="call_token_signature_invalid") from exc
    if key.retired_at_ms is not None and key.retired_at_ms <= token.issued_at_ms:
        raise CallRefused("the token was signed after its key was retired", code="call_token_key_retired")
    return token


def _parsed(text: object) -> tuple[bytes, bytes, CallToken]:
    malformed = CallRefused("this is not a token of the gate", code="call_token_malformed")
    if not isinstance(text, str) or len(text) > MAX_TOKEN or text.count(".") != 1:
        raise malformed
    try:
        payload, signature = (_bytes(part) for part in text.split("."))
        value: Any = parse(payload)
    except (binascii.Error, ValueError, InputError) as exc:
        raise malformed from exc
    if type(value) is not dict or value.pop("domain", None) != DOMAIN or set(value) != set(_TYPES):
        raise malformed
    if any(type(value[name]) not in types for name, types in _TYPES.items()):
        raise malformed
    return payload, signature, CallToken(**value)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _text(data) != text:
        # One token has one spelling: a second one would be another text with the same meaning.
        raise ValueError("not the canonical spelling")
    return data
