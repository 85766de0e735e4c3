from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from records_support import OTHER, TENANT, Place, error_code

from gate import canonical
from gate.errors import InputError
from gate.records import GateKey, PublicKey, SignedHead, Store, generate_key
from gate.records.tables import EVENTS

PRIVATE, PUBLIC = generate_key()
KEY = GateKey(key_id="gate-1", private_key=PRIVATE)
KEYS = {"gate-1": PublicKey(public_key=PUBLIC)}


def _events(store: Store, count: int) -> None:
    for number in range(count):
        store.append_event(TENANT, "run-1", "x", {"n": number})


def _recompute(place: Place, store: Store, *, last: int) -> None:
    """What a skilled editor does: drops the events after `last`, and makes the chain and its head hold again."""
    place.raw("DELETE FROM events WHERE tenant_id = ? AND seq > ?", TENANT, last)
    prev_hash = "sha256:" + "0" * 64
    for event in store.events(TENANT, "run-1"):
        payload = {"n": 99} if event.seq == last else dict(event.payload)
        fields = {f: getattr(event, f) for f in ("tenant_id", "run_id", "seq", "event_type", "at_ms")}
        new_hash = canonical.digest({**fields, "prev_hash": prev_hash, "payload": payload})
        place.raw(
            "UPDATE events SET payload = ?, prev_hash = ?, hash = ? WHERE tenant_id = ? AND seq = ?",
            *(canonical.canonical_bytes(payload).decode(), prev_hash, new_hash, TENANT, event.seq),
        )
        prev_hash = new_hash
    place.raw("UPDATE runs SET head_seq = ?, head_hash = ? WHERE tenant_id = ?", last, prev_hash, TENANT)


def test_signed_head_holds_and_goes_on_holding_while_the_chain_grows(store: Store) -> None:
    _events(store, 2)
    head = store.sign_head(TENANT, "run-1", KEY)
    assert (head.seq, head.hash) == (3, store.events(TENANT, "run-1")[-1].hash)
    assert store.verify_head(head, KEYS) == 3
    _events(store, 2)
    assert store.verify_head(head, KEYS) == 5


def test_tail_cut_off_and_covered_up_is_seen(store: Store, place: Place) -> None:
    _events(store, 4)
    head = store.sign_head(TENANT, "run-1", KEY)
    _recompute(place, store, last=3)
    assert store.verify_run(TENANT, "run-1") == 3
    assert error_code(lambda: store.verify_head(head, KEYS)) == "event_chain_cut"


def test_chain_recomputed_to_its_end_is_seen(store: Store, place: Place) -> None:
    _events(store, 4)
    head = store.sign_head(TENANT, "run-1", KEY)
    _recompute(place, store, last=5)
    assert store.verify_run(TENANT, "run-1") == 5
    assert error_code(lambda: store.verify_head(head, KEYS)) == "event_chain_recomputed"


def test_run_removed_without_a_trace_is_seen(store: Store, place: Place) -> None:
    head = store.sign_head(TENANT, "run-1", KEY)
    for table in ("events", "runs"):
        place.raw(f"DELETE FROM {table} WHERE tenant_id = ?", TENANT)
    assert error_code(lambda: store.verify_run(TENANT, "run-1")) == "run_unknown"
    assert error_code(lambda: store.verify_head(head, KEYS)) == "event_chain_cut"


def test_broken_chain_is_not_signed(store: Store, place: Place) -> None:
    _events(store, 2)
    place.raw("UPDATE events SET at_ms = at_ms + 1 WHERE seq = 2")
    assert error_code(lambda: store.sign_head(TENANT, "run-1", KEY)) == "event_chain_broken"
    assert error_code(lambda: store.sign_head(TENANT, "run-9", KEY)) == "run_unknown"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tenant_id", OTHER),
        ("run_id", "run-2"),
        ("seq", 2),
        ("hash", "sha256:" + "0" * 64),
        ("signed_at_ms", 1),
        ("signature", "AAAA"),
        ("signature", "not base64"),
    ],
)
def test_head_changed_in_one_field_is_refused(store: Store, field: str, value: Any) -> None:
    head = replace(store.sign_head(TENANT, "run-1", KEY), **{field: value})
    assert error_code(lambda: store.verify_head(head, KEYS)) == "head_signature_invalid"


def test_head_under_an_unknown_or_other_key_is_refused(store: Store) -> None:
    head = store.sign_head(TENANT, "run-1", KEY)
    assert error_code(lambda: store.verify_head(head, {})) == "head_key_unknown"
    other = {"gate-1": PublicKey(public_key=generate_key()[1])}
    assert error_code(lambda: store.verify_head(head, other)) == "head_signature_invalid"


def test_retired_key_verifies_what_it_signed_before_and_signs_nothing(store: Store) -> None:
    head = store.sign_head(TENANT, "run-1", KEY)
    later = {"gate-1": PublicKey(public_key=PUBLIC, retired_at_ms=head.signed_at_ms + 1)}
    assert store.verify_head(head, later) == 1
    at_once = {"gate-1": PublicKey(public_key=PUBLIC, retired_at_ms=head.signed_at_ms)}
    assert error_code(lambda: store.verify_head(head, at_once)) == "head_key_retired"
    retired = replace(KEY, retired_at_ms=store.now_ms())
    assert error_code(lambda: store.sign_head(TENANT, "run-1", retired)) == "key_retired"


def test_key_that_is_none_is_refused_without_being_repeated(store: Store) -> None:
    with pytest.raises(InputError) as caught:
        store.sign_head(TENANT, "run-1", GateKey(key_id="k", private_key="c2VjcmV0"))
    assert caught.value.code == "key_malformed"
    assert "c2VjcmV0" not in f"{caught.value}{GateKey(key_id='k', private_key='c2VjcmV0')!r}"


def test_head_as_json_is_read_back_and_nothing_else_is(store: Store) -> None:
    head = store.sign_head(TENANT, "run-1", KEY)
    written = head.to_json()
    assert SignedHead.from_json(written) == head
    broken = [{k: v for k, v in written.items() if k != name} for name in written]
    broken += [{**written, name: None} for name in written]
    broken += [{**written, "domain": "gate-approval/v1"}, {**written, "more": 1}, [], None]
    assert [error_code(lambda b=b: SignedHead.from_json(b)) for b in broken] == ["head_malformed"] * len(broken)


def test_every_event_column_but_the_payload_is_under_the_hash() -> None:
    covered = {"tenant_id", "run_id", "seq", "prev_hash", "event_type", "at_ms", "payload", "hash"}
    assert {column.name for column in EVENTS.c} == covered
