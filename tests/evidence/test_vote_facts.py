from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.canonical import digest
from gate.evidence.votes import approval_facts, vote_facts
from gate.records import StoredVote, VoteDecision, VotePayload, generate_key, sign

PRIVATE, PUBLIC = generate_key()
STRANGER, _ = generate_key()
REVIEWERS = {
    "mira": {"human": "Mira", "roles": ["manager"], "keys": {"k1": {"public_key": PUBLIC}}},
    "keyless": {"human": "Nobody", "roles": ["manager"]},
}
PAYLOAD = VotePayload(
    environment="test",
    approval_id="apr-1",
    nonce="nonce",
    contract_digest=digest("contract"),
    action_digest=digest("action"),
    decision=VoteDecision.APPROVED,
    reviewer="mira",
    key_id="k1",
    issued_at_ms=1,
    expires_at_ms=2,
)
FACTS: dict[str, Any] = {
    "reviewer": "mira",
    "key_id": "k1",
    "decision": "approved",
    "approval_id": "apr-1",
    "nonce": "nonce",
    "environment": "test",
    "action_digest": digest("action"),
    "contract_digest": digest("contract"),
    "issued_at_ms": 1,
    "expires_at_ms": 2,
}
UNVERIFIED = {**dict.fromkeys(FACTS), "verified": False}


def test_vote_facts_of_a_sound_vote_are_what_was_signed() -> None:
    assert vote_facts(sign(PAYLOAD, PRIVATE), REVIEWERS) == {**FACTS, "verified": True}


def test_vote_facts_carry_what_the_bytes_say_even_when_it_is_another_reviewer() -> None:
    vote = sign(replace(PAYLOAD, reviewer="otto"), PRIVATE)

    assert vote_facts(vote, REVIEWERS) == {**FACTS, "reviewer": "otto", "verified": True}


SOUND = sign(PAYLOAD, PRIVATE)
UNREADABLE = {
    "signed with a key nobody listed": sign(PAYLOAD, STRANGER),
    "naming a key nobody listed": sign(replace(PAYLOAD, key_id="k2"), PRIVATE),
    "changed after signing": StoredVote(SOUND.payload.replace(b"apr-1", b"apr-2"), SOUND.signature),
    "signature cut": StoredVote(SOUND.payload, SOUND.signature[:-1]),
    "signature of another vote": StoredVote(
        SOUND.payload, sign(replace(PAYLOAD, decision=VoteDecision.REJECTED), PRIVATE).signature
    ),
    "no signature": StoredVote(SOUND.payload, b"\0" * 64),
    "not JSON": StoredVote(b"approved by the manager", SOUND.signature),
    "empty": StoredVote(b"", b""),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_vote_facts_of_a_vote_that_does_not_hold_say_nothing_else(name: str) -> None:
    assert vote_facts(UNREADABLE[name], REVIEWERS) == UNVERIFIED


def test_vote_facts_without_reviewers_verify_nothing() -> None:
    assert vote_facts(SOUND, {}) == UNVERIFIED


def test_approval_facts_of_no_approval_are_null() -> None:
    assert approval_facts(None, REVIEWERS, []) is None
