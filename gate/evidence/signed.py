"""Evidence that its source signed: read only from the bytes that were signed, under a key the served bundle names.

Pure: no store, no clock. Whether a section must be signed and how old it may be is decided in Rego.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gate.canonical import canonical_bytes, parse
from gate.errors import EvidenceError, InputError

DOMAIN: Final = "gate-evidence/v1"
"""Domain tag inside the signed bytes: a signature made for anything else is no evidence."""

_KEYS = frozenset({"domain", "environment", "section", "key_id", "facts"})


@dataclass(frozen=True, slots=True)
class SignedEvidence:
    """One section as its source signed it."""

    payload: bytes
    """Canonical JSON: domain, environment, section, key_id, facts."""
    signature: bytes
    """Ed25519 over `payload`."""


@dataclass(frozen=True, slots=True)
class VerifiedEvidence:
    """What was signed, and by which key."""

    facts: Mapping[str, Any]
    key_id: str


def sign_evidence(
    facts: Mapping[str, Any], *, section: str, environment: str, key_id: str, private_key: str
) -> SignedEvidence:
    """Signs `facts`, which should say `checked_at_ms`: undated evidence counts as unknown. Runs at the source.

    `private_key` is base64 of 32 bytes. Raises `InputError`: `key_malformed`, `json_*`.
    """
    payload = canonical_bytes(
        {
            "domain": DOMAIN,
            "environment": environment,
            "section": section,
            "key_id": key_id,
            "facts": dict(facts),
        }
    )
    try:
        key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(private_key, validate=True))
    except (ValueError, binascii.Error) as exc:
        raise InputError("the private key is not 32 bytes in base64", code="key_malformed") from exc
    return SignedEvidence(payload, key.sign(payload))


def verified_facts(
    evidence: SignedEvidence, *, section: str, environment: str, keys: Mapping[str, str]
) -> VerifiedEvidence:
    """What was signed for this section and environment; raises `EvidenceError` (`evidence_signature_invalid`)."""
    try:
        # One meaning has one form: other bytes with the same meaning are not what was signed.
        claims = parse(evidence.payload)
        canonical = canonical_bytes(claims) == evidence.payload
        key_id = claims["key_id"]
        # The id is only used to pick a key that the bundle names; it counts once the signature holds.
        raw = base64.b64decode(keys[key_id], validate=True)
        Ed25519PublicKey.from_public_bytes(raw).verify(evidence.signature, evidence.payload)
        meant = (claims["domain"], claims["environment"], claims["section"]) == (DOMAIN, environment, section)
        facts = claims["facts"]
        if not canonical or not meant or set(claims) != _KEYS or not isinstance(facts, dict):
            raise _invalid()
    except (InputError, InvalidSignature, LookupError, TypeError, ValueError) as exc:
        raise _invalid() from exc
    return VerifiedEvidence(facts, key_id)


def _invalid() -> EvidenceError:
    return EvidenceError("the signature of the evidence does not hold", code="evidence_signature_invalid")
