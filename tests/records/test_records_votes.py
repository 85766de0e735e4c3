from __future__ import annotations

import base64
import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from records_support import ACTION, CONTRACT

from gate import canonical
from gate.errors import InputError
from gate.records import (
    StoredVote,
    VoteDecision,
    VotePayload,
    generate_key,
    peek_key_id,
    public_key_of,
    sign,
    verify,
)

PRIVATE, PUBLIC = generate_key()
PAYLOAD = VotePayload(
    environment="production",
    approval_id="apr-0123456789abcdef",
    nonce="0" * 32,
    contract_digest=CONTRACT,
    action_digest=ACTION,
    decision=VoteDecision.APPROVED,
    reviewer="mira-manager",
    key_id="mira-manager-2026",
    issued_at_ms=1_800_000_000_000,
    expires_at_ms=1_800_000_900_000,
)
VOTE = sign(PAYLOAD, PRIVATE)


def _signed(data: bytes) -> StoredVote:
    """A sound signature over whatever `data` is."""
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(PRIVATE))
    return StoredVote(data, key.sign(data))


def _fields(**changes: Any) -> bytes:
    # What a vote does not state is left out of its bytes, so that votes from before it existed stay what they were.
    stated = {name: value for name, value in asdict(PAYLOAD).items() if value is not None}
    fields = {**stated, "decision": "approved", **changes}
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def test_vote_is_read_back_as_it_was_signed() -> None:
    assert verify(VOTE, PUBLIC) == PAYLOAD
    rejected = replace(PAYLOAD, decision=VoteDecision.REJECTED)
    assert verify(sign(rejected, PRIVATE), PUBLIC) == rejected


def test_vote_signs_the_canonical_bytes_with_the_domain_tag() -> None:
    assert VOTE.payload == _fields()
    assert canonical.parse(VOTE.payload)["domain"] == "gate-approval/v1"


def test_vote_under_another_key_is_none() -> None:
    assert verify(VOTE, generate_key()[1]) is None


@given(st.integers(min_value=0, max_value=len(VOTE.payload) * 8 - 1))
def test_vote_with_any_flipped_bit_of_the_payload_is_none(bit: int) -> None:
    data = bytearray(VOTE.payload)
    data[bit // 8] ^= 1 << bit % 8
    assert verify(StoredVote(bytes(data), VOTE.signature), PUBLIC) is None


@pytest.mark.parametrize("bit", range(512))
def test_vote_with_any_flipped_bit_of_the_signature_is_none(bit: int) -> None:
    data = bytearray(VOTE.signature)
    data[bit // 8] ^= 1 << bit % 8
    assert verify(StoredVote(VOTE.payload, bytes(data)), PUBLIC) is None


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_vote_of_random_bytes_is_none(payload: bytes, signature: bytes) -> None:
    assert verify(StoredVote(payload, signature), PUBLIC) is None
    assert verify(_signed(payload), PUBLIC) is None


BAD_VALUES: dict[str, list[Any]] = {
    "domain": ["gate-approval/v2", "", None, 1],
    "environment": ["", " ", None, 7, "a\nb", " a", "x" * 2000, ["production"]],
    "approval_id": ["", None, 1],
    "nonce": ["", None, 0],
    "contract_digest": ["", None, "sha256:abc", CONTRACT.upper()],
    "action_digest": ["", None, "sha256:abc", ACTION[:-1]],
    "decision": ["maybe", "", "APPROVED", None, True, ["approved"]],
    "reviewer": ["", None, False, {}],
    "key_id": ["", None, 3],
    "issued_at_ms": [None, True, "1", -1, 1.5, PAYLOAD.expires_at_ms],
    "expires_at_ms": [None, False, "9", 0, PAYLOAD.issued_at_ms],
    "standing_digest": ["", "sha256:abc", 1],
    "delegate_to": ["", 1, "noor-oncall"],
    "reason": ["", " ", 7],
}
CASES = [(field, value) for field, values in BAD_VALUES.items() for value in values]


def test_bad_values_are_tried_for_every_field() -> None:
    assert set(BAD_VALUES) == set(asdict(PAYLOAD))


@pytest.mark.parametrize(("field", "value"), CASES)
def test_vote_well_signed_with_a_bad_field_is_none(field: str, value: Any) -> None:
    vote = _signed(_fields(**{field: value}))
    assert (verify(vote, PUBLIC), peek_key_id(vote)) == (None, None)


@pytest.mark.parametrize(("field", "value"), CASES)
def test_vote_with_a_bad_field_is_not_signed(field: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        sign(replace(PAYLOAD, **{field: value}), PRIVATE)
    assert caught.value.code == "vote_malformed"


@pytest.mark.parametrize("field", json.loads(VOTE.payload))
def test_vote_well_signed_without_a_field_is_none(field: str) -> None:
    fields = json.loads(_fields())
    del fields[field]
    assert verify(_signed(canonical.canonical_bytes(fields)), PUBLIC) is None


@pytest.mark.parametrize(
    "data",
    [
        _fields(extra=1),
        _fields().replace(b'{"', b'{"decision":"rejected","', 1),
        _fields().replace(b":", b": ", 1),
        _fields() + b"\n",
        b"\xef\xbb\xbf" + _fields(),
        b"[" + _fields() + b"]",
        json.dumps(json.loads(_fields()), separators=(",", ":"), sort_keys=False).encode()[::-1],
        _fields().replace(b'"environment":"production"', b'"environment":"\\u0070roduction"'),
        _fields().replace(b"1800000900000", b"1800000900000.0"),
        _fields().replace(b"1800000900000", b"18000009e5"),
        _fields().replace(b"1800000900000", b"90071992547409930"),
        b"null",
        b"",
    ],
)
def test_vote_well_signed_in_another_form_is_none(data: bytes) -> None:
    vote = _signed(data)
    assert (verify(vote, PUBLIC), peek_key_id(vote)) == (None, None)


@pytest.mark.parametrize(
    "public_key",
    [
        "",
        "x",
        None,
        PUBLIC[:-1],
        PUBLIC + "=",
        PUBLIC + "\n",
        PUBLIC[:-2] + "B=",
        base64.b64encode(b"k" * 31).decode(),
    ],
)
def test_vote_under_a_malformed_key_is_none(public_key: Any) -> None:
    if public_key == PUBLIC:
        pytest.fail("the case does not change the key")
    assert verify(VOTE, public_key) is None


@pytest.mark.parametrize("length", [0, 63, 65])
def test_vote_with_a_signature_of_another_length_is_none(length: int) -> None:
    assert verify(StoredVote(VOTE.payload, (VOTE.signature + b"\0")[:length]), PUBLIC) is None


def test_vote_with_text_in_the_place_of_bytes_is_none() -> None:
    assert verify(StoredVote(VOTE.payload.decode(), VOTE.signature), PUBLIC) is None  # type: ignore[arg-type]
    assert verify(StoredVote(VOTE.payload, VOTE.signature.hex()), PUBLIC) is None  # type: ignore[arg-type]


def test_key_id_is_peeked_without_a_signature() -> None:
    assert peek_key_id(StoredVote(VOTE.payload, b"")) == "mira-manager-2026"


def test_generated_keys_differ_and_the_public_half_is_derived() -> None:
    other = generate_key()
    assert other[0] != PRIVATE
    assert public_key_of(other[0]) == other[1]


@pytest.mark.parametrize("private_key", ["", "secret-words", None, PRIVATE[:-4]])
def test_malformed_private_key_is_refused_without_being_repeated(private_key: Any) -> None:
    for call in (lambda: sign(PAYLOAD, private_key), lambda: public_key_of(private_key)):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.code == "key_malformed"
        assert "secret-words" not in str(caught.value)
