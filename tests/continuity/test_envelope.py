"""The typed envelope: both forms read and written, and every operator's text, the first mistake first."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from gate.continuity.envelope import (
    ContinuityEnvelope,
    ContinuityState,
    EventRange,
    PendingAction,
    require_envelope,
    require_state,
)
from gate.continuity.envelope_checks import ContinuityError, validation_time_ms
from gate.continuity.envelope_file import load_envelope
from gate.errors import BundleError

SUMMARY = "sha256:8613fe15d0a3abc5fad2b09844ed9444ec1ec2863659fefab3d3ad2e890960c9"
ACTION = "sha256:" + "1" * 64

# The documented sample, with real digests in place of its placeholders.
SEED: dict[str, Any] = {
    "schema_version": "continuity-envelope/v1",
    "envelope_id": "ce-2026-07-21-001",
    "session_id": "session-support-001",
    "source_trace_id": "trace-support-042",
    "reset_reason": "context_compaction",
    "objective": "Resolve the support request without creating a duplicate ticket.",
    "exact_constraint_refs": ["event:user-constraint-017"],
    "pending_obligations": ["reconcile_ticket_write"],
    "tenant_id": "tenant-acme",
    "principal_id": "user-42",
    "authorization_mode": "user_delegated",
    "delegated_principal_id": "user-42",
    "delegated_scope": "tickets:create",
    "policy_version": "policy-v4",
    "capability_name": "create_ticket",
    "capability_version": "create-ticket-v3",
    "approval_id": "apr-017",
    "action_digest": ACTION,
    "approval_expires_at": "2026-07-21T18:00:00Z",
    "idempotency_key": "ticket-intent-017",
    "side_effect_status": "side_effect_unknown",
    "checkpoint_ref": "checkpoint:support-042-step-6",
    "sandbox_snapshot_ref": "snapshot:support-042",
    "budget_remaining": 7,
    "source_event_range": {"first": "event-0001", "last": "event-0142"},
    "summary_sha256": SUMMARY,
    "evidence_refs": ["trace:trace-support-042", "approval:apr-017"],
    "requires_reauthorization": True,
}
FLAT = ("capability_name", "capability_version", "approval_id", "action_digest")
FLAT += ("approval_expires_at", "idempotency_key", "side_effect_status")
STATE: dict[str, Any] = {
    **{key: SEED[key] for key in ("tenant_id", "principal_id", "authorization_mode", "policy_version", *FLAT)},
    **{key: SEED[key] for key in ("delegated_principal_id", "delegated_scope", "checkpoint_ref")},
    "approval_status": "approved",
}
del STATE["approval_expires_at"]

NAIVE = "Continuity timestamp must include a timezone: approval_expires_at"
INVALID = "Continuity timestamp is invalid: approval_expires_at"
FLAG = "Continuity envelope must require reauthorization"
WHOLE = "Continuity field must be a whole number: "

STRINGS = [
    *("schema_version", "envelope_id", "session_id", "source_trace_id", "tenant_id", "principal_id"),
    *("authorization_mode", "policy_version", *FLAT, "checkpoint_ref", "summary_sha256"),
]


def said(value: object) -> str:
    with pytest.raises(ContinuityError) as caught:
        ContinuityEnvelope.from_seed(value)
    assert caught.value.code.startswith("continuity_")
    assert caught.value.hint
    return caught.value.message


def test_seed_form_has_all_28_fields_and_is_written_as_it_was_read() -> None:
    assert len(SEED) == 28
    assert ContinuityEnvelope.from_seed(SEED).as_seed() == SEED
    assert list(ContinuityEnvelope.from_seed({"continuity_envelope": SEED}).as_seed()) == list(SEED)


def test_seed_form_is_one_action() -> None:
    envelope = ContinuityEnvelope.from_seed(SEED)
    assert envelope.actions == (PendingAction(**{key: SEED[key] for key in FLAT}),)
    assert envelope.source_event_range == EventRange(first=1, last=142)


@pytest.mark.parametrize("count", [0, 2])
def test_form_with_actions_is_written_as_it_was_read(count: int) -> None:
    bare = {"capability_name": "search_docs", "capability_version": "v1", "action_digest": ACTION}
    actions = [{**bare, "side_effect_status": "not_started"}, {key: SEED[key] for key in FLAT}][:count]
    several = {**{key: SEED[key] for key in SEED if key not in FLAT}, "actions": actions}
    assert ContinuityEnvelope.from_seed(several).as_seed() == several


def test_aliases_are_read_and_the_canonical_word_is_written() -> None:
    written = {
        alias: ContinuityEnvelope.from_seed({**SEED, "side_effect_status": alias}).as_seed()["side_effect_status"]
        for alias in ("not_executed", "applied", "partial_side_effect")
    }
    assert written == {
        "not_executed": "not_started",
        "applied": "side_effect_committed",
        "partial_side_effect": "partial_side_effect",
    }


def test_white_space_around_strings_is_not_stored() -> None:
    padded = {**SEED, **{key: f" {SEED[key]}\n" for key in (*STRINGS, "delegated_principal_id", "delegated_scope")}}
    assert ContinuityEnvelope.from_seed(padded).as_seed() == SEED


def test_only_a_recovery_comes_without_a_summary() -> None:
    bare = {key: value for key, value in SEED.items() if key != "summary_sha256"}
    assert said(bare) == "Continuity field is required: summary_sha256"
    recovered = {**bare, "reset_reason": "process_recovery"}
    assert ContinuityEnvelope.from_seed(recovered).as_seed() == recovered


@pytest.mark.parametrize("field", STRINGS)
def test_string_missing_blank_or_of_another_type_is_refused_by_its_text(field: str) -> None:
    missing = {key: value for key, value in SEED.items() if key != field}
    assert said(missing) == f"Continuity field is required: {field}"
    for blank in ("", " \t\n"):
        assert said({**SEED, field: blank}) == f"Continuity field is required: {field}"
    for wrong in (None, 17, True, ["x"], {}):
        assert said({**SEED, field: wrong}) == f"Continuity field must be a string: {field}"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"schema_version": "v2"}, "Continuity schema version is not supported: v2"),
        ({"authorization_mode": "root"}, "Continuity authorization mode is not supported: root"),
        ({"side_effect_status": "done"}, "Continuity side-effect status is not supported: done"),
        ({"delegated_principal_id": " "}, "Continuity field is required: delegated_principal_id"),
        ({"delegated_scope": ""}, "Continuity field is required: delegated_scope"),
        ({"delegated_scope": 7}, "Continuity field must be a string: delegated_scope"),
        ({"approval_expires_at": "2026-07-21"}, NAIVE),
        ({"approval_expires_at": "2026-07-21T18:00:00"}, NAIVE),
        ({"approval_expires_at": "2026-02-30T18:00:00Z"}, INVALID),
        ({"approval_expires_at": "soon"}, INVALID),
        ({"summary_sha256": "md5:" + "a" * 32}, "Continuity summary digest must use sha256"),
        ({"summary_sha256": "sha256:compacted-view"}, "Continuity summary digest must use sha256"),
        ({"summary_sha256": "sha256:" + "A" * 64}, "Continuity summary digest must use sha256"),
        ({"summary_sha256": "sha256:" + "a" * 63}, "Continuity summary digest must use sha256"),
        ({"requires_reauthorization": False}, "Continuity envelope must require reauthorization"),
        ({"requires_reauthorization": 1}, "Continuity reauthorization flag must be a boolean"),
        ({"reset_reason": "boredom"}, "Continuity reset reason is not supported: boredom"),
        ({"budget_remaining": -1}, WHOLE + "budget_remaining"),
        ({"budget_remaining": True}, WHOLE + "budget_remaining"),
        ({"source_event_range": {"first": "event-2", "last": "event-1"}}, WHOLE + "source_event_range"),
        ({"source_event_range": {"first": "event-x", "last": "event-1"}}, WHOLE + "source_event_range"),
        ({"source_event_range": None}, "Continuity field is required: source_event_range"),
        ({"exact_constraint_refs": "event:1"}, "Continuity field must be a list: exact_constraint_refs"),
        ({"evidence_refs": [""]}, "Continuity field is required: evidence_refs"),
        ({"authorized_by_summary": True}, "Continuity field is not supported: authorized_by_summary"),
        ({"actions": []}, "Continuity field is not supported: capability_name"),
    ],
)
def test_field_that_is_wrong_is_refused_by_its_text(change: dict[str, Any], text: str) -> None:
    assert said({**SEED, **change}) == text


@pytest.mark.parametrize("expiry", ["9999-12-31T23:59:59Z", "2026-07-21T21:00:00+03:00", "0001-01-01T00:00:00+14:00"])
def test_far_and_offset_expiries_are_read(expiry: str) -> None:
    assert (
        ContinuityEnvelope.from_seed({**SEED, "approval_expires_at": expiry}).actions[0].approval_expires_at == expiry
    )


# Everything is wrong from one check on: the earliest wins.
ORDER: list[tuple[dict[str, Any], str]] = [
    ({"envelope_id": 1}, "Continuity field must be a string: envelope_id"),
    ({"summary_sha256": " "}, "Continuity field is required: summary_sha256"),
    ({"delegated_scope": None}, "Continuity field must be a string: delegated_scope"),
    ({"side_effect_status": "x"}, "Continuity side-effect status is not supported: x"),
    ({"schema_version": "x"}, "Continuity schema version is not supported: x"),
    ({"authorization_mode": "x"}, "Continuity authorization mode is not supported: x"),
    ({"delegated_principal_id": ""}, "Continuity field is required: delegated_principal_id"),
    ({"approval_expires_at": "x"}, INVALID),
    ({"summary_sha256": "x"}, "Continuity summary digest must use sha256"),
    ({"requires_reauthorization": "x"}, "Continuity reauthorization flag must be a boolean"),
    ({"reset_reason": "x"}, "Continuity reset reason is not supported: x"),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_several_mistakes_are_answered_with_the_earliest(first: int) -> None:
    broken = dict(SEED)
    for change, _ in reversed(ORDER[first:]):
        broken |= change
    assert said(broken) == ORDER[first][1]


@pytest.mark.parametrize("value", [None, 17, "text", [SEED], {"continuity_envelope": None}])
def test_what_is_no_envelope_is_refused(value: object) -> None:
    assert said(value) == "Continuity envelope must be ContinuityEnvelope"


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ("x", "Continuity field must be a list: actions"),
        ([17], "Continuity field must be a list: actions"),
        ([{}], "Continuity field is required: capability_name"),
        ([{"authority": "all"}], "Continuity field is not supported: authority"),
        (
            [{**{key: SEED[key] for key in FLAT}, "approval_expires_at": None}],
            "Continuity field is required: approval_expires_at",
        ),
        ([{**{key: SEED[key] for key in FLAT}, "approval_id": None}], "Continuity field is required: approval_id"),
    ],
)
def test_actions_that_are_wrong_are_refused(actions: object, text: str) -> None:
    bare = {key: value for key, value in SEED.items() if key not in FLAT}
    assert said({**bare, "actions": actions}) == text


def test_state_is_checked_in_its_own_order() -> None:
    assert ContinuityState(**STATE).approval_status == "approved"
    for change, text in [
        ({"tenant_id": " "}, "Continuity field is required: tenant_id"),
        ({"checkpoint_ref": None}, "Continuity field must be a string: checkpoint_ref"),
        ({"delegated_scope": 7}, "Continuity field must be a string: delegated_scope"),
        ({"side_effect_status": "x", "authorization_mode": "x"}, "Continuity side-effect status is not supported: x"),
        ({"authorization_mode": "x", "approval_status": "x"}, "Continuity authorization mode is not supported: x"),
        ({"approval_status": "yes"}, "Continuity approval status is not supported: yes"),
    ]:
        with pytest.raises(ContinuityError) as caught:
            ContinuityState(**{**STATE, **change})
        assert caught.value.message == text


def test_what_is_no_envelope_or_state_is_no_argument() -> None:
    envelope, state = ContinuityEnvelope.from_seed(SEED), ContinuityState(**STATE)
    assert require_envelope(envelope) is envelope
    assert require_state(state) is state
    with pytest.raises(ContinuityError, match=r"^Continuity envelope must be ContinuityEnvelope$"):
        require_envelope(SEED)
    with pytest.raises(ContinuityError, match=r"^Continuity state must be ContinuityState$"):
        require_state(envelope)


def test_validation_time_is_a_moment() -> None:
    assert validation_time_ms(datetime.datetime(2026, 7, 21, 18, tzinfo=datetime.UTC)) == 1784656800000
    with pytest.raises(ContinuityError, match=r"^Continuity validation time must be a datetime$"):
        validation_time_ms("2026-07-21T18:00:00Z")
    with pytest.raises(ContinuityError, match=r"^Continuity validation time must include a timezone$"):
        validation_time_ms(datetime.datetime(2026, 7, 21, 18))


def test_file_is_read_or_refused_with_positions(tmp_path: Path) -> None:
    path = tmp_path / "envelope.yaml"
    path.write_text(json.dumps({"continuity_envelope": SEED}), encoding="utf-8")
    assert load_envelope(path) == ContinuityEnvelope.from_seed(SEED)
    for change, text, code in [
        ({"summary_sha256": "md5:x"}, "Continuity summary digest must use sha256", "schema_pattern"),
        ({"requires_reauthorization": False}, FLAG, "continuity_flag_off"),
        ({"approval_expires_at": "x"}, INVALID, "continuity_timestamp_invalid"),
    ]:
        path.write_text(json.dumps({"continuity_envelope": {**SEED, **change}}), encoding="utf-8")
        with pytest.raises(BundleError) as caught:
            load_envelope(path)
        (problem,) = caught.value.problems
        assert (problem.message, problem.code, problem.line) == (text, code, 1)
