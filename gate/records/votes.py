"""Reviewers' votes: signed with Ed25519, and read back only from the bytes that were signed.

Pure: no store, no files, no clock. Whether a reviewer may approve, whether a key is still valid and how many
votes are needed is decided in Rego; nothing here knows.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gate import canonical
from gate.errors import InputError
from gate.records.model import StoredVote

DOMAIN = "gate-approval/v1"
"""Domain tag inside the signed bytes: a signature made for anything else is no vote."""

_KEY_BYTES = 32
_SIGNATURE_BYTES = 64
_MAX_TEXT = 1024
_DIGESTS = ("contract_digest", "action_digest")
_TIMES = ("issued_at_ms", "expires_at_ms")
_TEXTS = ("environment", "approval_id", "nonce", "reviewer", "key_id")


class VoteDecision(StrEnum):
    """What a reviewer can say."""

    APPROVED = "approved"
    REJECTED = "rejected"
    DELEGATED = "delegated"
    """The reviewer's own vote is handed to another."""
    CANCELLED = "cancelled"
    """A pending request is taken back."""
    REVOKED = "revoked"
    """An approval that was given is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VotePayload:
    """What a reviewer signs."""

    environment: str
    approval_id: str
    nonce: str
    contract_digest: str
    action_digest: str
    decision: VoteDecision
    reviewer: str
    key_id: str
    issued_at_ms: int
    expires_at_ms: int
    domain: str = DOMAIN
    standing_digest: str | None = None
    """What a standing approval is for; signed only where the request asks for one."""
    delegate_to: str | None = None
    """Reviewer to whom a delegated vote is handed; signed only then."""
    reason: str | None = None
    """Why, in the reviewer's own words, on one line; for people, and no rule reads it."""


_OPTIONAL = frozenset({"standing_digest", "delegate_to", "reason"})
_KEYS = frozenset(VotePayload.__dataclass_fields__) - _OPTIONAL


def sign(payload: VotePayload, private_key: str) -> StoredVote:
    """The signed vote. `private_key` is base64 of 32 bytes.

    Raises `InputError`: `vote_malformed` for a payload that `verify` would not read, `key_malformed`.
    """
    # A plain str, because a member of an enum is not JSON.
    stated = {name: value for name, value in asdict(payload).items() if value is not None or name not in _OPTIONAL}
    fields = {**stated, "decision": str(payload.decision)}
    if _read(fields) is None:
        raise InputError("a field of the vote is absent, blank or of the wrong type", code="vote_malformed")
    raw = _key_bytes(private_key)
    if raw is None:
        raise InputError("the private key is not 32 bytes in base64", code="key_malformed", hint="make a new key")
    data = canonical.canonical_bytes(fields)
    return StoredVote(data, Ed25519PrivateKey.from_private_bytes(raw).sign(data))


def verify(vote: StoredVote, public_key: str) -> VotePayload | None:
    """What was signed, if the signature holds under `public_key` (base64 of 32 bytes); None for any fault."""
    raw = _key_bytes(public_key)
    if raw is None or type(vote.payload) is not bytes or type(vote.signature) is not bytes:
        return None
    if len(vote.signature) != _SIGNATURE_BYTES:
        return None
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(vote.signature, vote.payload)
    except (InvalidSignature, ValueError):
        return None
    fields = _parsed(vote)
    return None if fields is None else _read(fields)


def peek_key_id(vote: StoredVote) -> str | None:
    """The key id that the vote claims, unverified: good for choosing a public key, for nothing else."""
    fields = _parsed(vote)
    payload = None if fields is None else _read(fields)
    return None if payload is None else payload.key_id


def peek_reason(vote: StoredVote) -> str | None:
    """The reason that the vote's bytes state, as unverified as the vote is; None when they state none."""
    fields = _parsed(vote)
    payload = None if fields is None else _read(fields)
    return None if payload is None else payload.reason


def generate_key() -> tuple[str, str]:
    """A new pair (private key, public key), each base64 of 32 bytes."""
    private = Ed25519PrivateKey.generate()
    pair = (private.private_bytes_raw(), private.public_key().public_bytes_raw())
    return base64.b64encode(pair[0]).decode("ascii"), base64.b64encode(pair[1]).decode("ascii")


def public_key_of(private_key: str) -> str:
    """The public half, base64 of 32 bytes. Raises `InputError` `key_malformed`."""
    raw = _key_bytes(private_key)
    if raw is None:
        raise InputError("the private key is not 32 bytes in base64", code="key_malformed", hint="make a new key")
    public = Ed25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
    return base64.b64encode(public).decode("ascii")


def _parsed(vote: StoredVote) -> dict[str, Any] | None:
    if type(vote.payload) is not bytes:
        return None
    try:
        fields = canonical.parse(vote.payload)
        # One meaning has one form: other bytes with the same meaning are not what the signer was shown.
        if type(fields) is not dict or canonical.canonical_bytes(fields) != vote.payload:
            return None
    except InputError:
        return None
    return fields


def _read(fields: dict[str, Any]) -> VotePayload | None:
    if set(fields) - _OPTIONAL != _KEYS or fields["domain"] != DOMAIN:
        return None
    if type(fields["decision"]) is not str or fields["decision"] not in set(VoteDecision):
        return None
    if not all(_is_text(fields[k]) for k in _TEXTS) or not all(canonical.is_digest(fields[k]) for k in _DIGESTS):
        return None
    if "standing_digest" in fields and not canonical.is_digest(fields["standing_digest"]):
        return None
    # Whoever hands his vote on says to whom, and nobody else names anybody.
    if (fields["decision"] == VoteDecision.DELEGATED) != ("delegate_to" in fields):
        return None
    if any(name in fields and not _is_text(fields[name]) for name in ("delegate_to", "reason")):
        return None
    issued, expires = (fields[k] for k in _TIMES)
    if type(issued) is not int or type(expires) is not int or not 0 <= issued < expires:
        return None
    if expires > canonical.MAX_SAFE_INTEGER:
        return None
    return VotePayload(**{**fields, "decision": VoteDecision(fields["decision"])})


def _is_text(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= _MAX_TEXT and value.isprintable() and value == value.strip()


def _key_bytes(text: object) -> bytes | None:
    if type(text) is not str:
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # The last base64 digit has spare bits: two texts for one key would be two keys to a reader of the bundle.
    return raw if len(raw) == _KEY_BYTES and base64.b64encode(raw).decode("ascii") == text else None
