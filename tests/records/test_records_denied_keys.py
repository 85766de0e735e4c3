"""A denied key is found by what it signed, inside the claim's own transaction, on both databases."""

from __future__ import annotations

import pytest
from records_support import (
    ACTION,
    CONTRACT,
    HOUR,
    TENANT,
    approval_request,
    at_once,
    claim_of,
    error_code,
)

from gate.records import (
    ApprovalRecord,
    ApprovalStatus,
    DeniedKey,
    Store,
    StoredVote,
    VoteDecision,
    VotePayload,
    generate_key,
    peek_reason,
    sign,
    verify,
)
from gate.records.denied_keys import signed

PRIVATE, PUBLIC = generate_key()
OTHER = generate_key()


def vote_on(approval: ApprovalRecord, *, reason: str | None = None) -> StoredVote:
    payload = VotePayload(
        environment="test",
        approval_id=approval.approval_id,
        nonce=approval.nonce,
        contract_digest=CONTRACT,
        action_digest=ACTION,
        decision=VoteDecision.APPROVED,
        reviewer="mira",
        key_id="mira-key",
        issued_at_ms=1,
        expires_at_ms=approval.expires_at_ms,
        reason=reason,
    )
    return sign(payload, PRIVATE)


def granted(store: Store) -> ApprovalRecord:
    asked = store.request_approval(approval_request(), max_wait_ms=HOUR)
    return store.add_vote(
        TENANT,
        asked.approval_id,
        expected_version=1,
        vote=vote_on(asked),
        to_status=ApprovalStatus.APPROVED,
    )


@pytest.mark.parametrize(
    ("key_id", "public_key", "code"),
    [
        ("mira-key", None, "approval_key_denied"),
        ("old-key", PUBLIC, "approval_key_denied"),
        ("mira-key", OTHER[1], "approval_key_denied"),
        ("old-key", OTHER[1], ""),
        ("old-key", None, ""),
        ("old-key", "no key", ""),
    ],
)
def test_claim_is_refused_when_its_signer_was_denied_under_any_id(
    store: Store, key_id: str, public_key: str | None, code: str
) -> None:
    approval = granted(store)
    store.deny_key(TENANT, key_id, public_key=public_key, reason="stolen", denied_by="ops")
    assert error_code(lambda: store.claim(claim_of(approval))) == code
    assert len(store.effects(TENANT)) == (0 if code else 1)


def test_key_denied_by_another_tenant_loses_no_claim(store: Store) -> None:
    approval = granted(store)
    store.deny_key("tenant-other", "old-key", public_key=PUBLIC, reason="stolen", denied_by="ops")
    assert error_code(lambda: store.claim(claim_of(approval))) == ""


def test_claims_and_a_denial_at_once_leave_one_order_of_them(store: Store) -> None:
    """Whoever came first: a claim that was made was made before the denial, and none is made after it."""
    approval = granted(store)

    def call(number: int) -> None:
        if number == 0:
            store.deny_key(TENANT, "old-key", public_key=PUBLIC, reason="stolen", denied_by="ops")
        else:
            store.claim(claim_of(approval, owner=f"w-{number}"))

    codes = at_once(6, call)
    assert codes[0] == ""
    assert set(codes[1:]) <= {"", "approval_key_denied", "approval_consumed", "claim_lost", "approval_changed"}
    made = codes[1:].count("")
    assert (made <= 1, len(store.effects(TENANT))) == (True, made)
    again = claim_of(approval, owner="later", business_key="order-2", idempotency_key="key-2")
    assert error_code(lambda: store.claim(again)) in {"approval_key_denied", "approval_consumed"}


def test_vote_is_a_denied_keys_by_its_id_or_by_its_signature(store: Store) -> None:
    vote = vote_on(store.request_approval(approval_request(), max_wait_ms=HOUR))

    def key(key_id: str, public_key: str | None) -> DeniedKey:
        return DeniedKey(
            tenant_id=TENANT, key_id=key_id, public_key=public_key, reason="r", denied_by="ops", denied_at_ms=1
        )

    tampered = StoredVote(vote.payload, bytes(64))
    assert [
        signed(vote, key("mira-key", None)),
        signed(vote, key("x", PUBLIC)),
        signed(vote, key("x", OTHER[1])),
        signed(vote, key("x", "garbage")),
        signed(tampered, key("x", PUBLIC)),
        signed(tampered, key("mira-key", None)),
        signed(StoredVote(b"{}", b""), key("x", PUBLIC)),
    ] == [True, True, False, False, False, True, False]


def test_reason_is_read_back_from_the_signed_bytes_and_only_when_it_was_stated(store: Store) -> None:
    asked = store.request_approval(approval_request(), max_wait_ms=HOUR)
    with_reason, without = vote_on(asked, reason="seen the invoice"), vote_on(asked)
    payload = verify(with_reason, PUBLIC)
    assert payload is not None
    assert (payload.reason, peek_reason(with_reason)) == ("seen the invoice", "seen the invoice")
    assert (peek_reason(without), b"reason" in without.payload) == (None, False)
    for reason in ("", " ", "two\nlines", " padded", "\u202eback", "x" * 1025):
        assert error_code(lambda reason=reason: vote_on(asked, reason=reason)) == "vote_malformed"
