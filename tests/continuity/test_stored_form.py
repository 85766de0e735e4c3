from __future__ import annotations

from typing import Any

import pytest
from continuity_support import SEAL, SUMMARY, TENANT, World

from gate import canonical
from gate.continuity import ContinuityError, Sealer
from gate.continuity.stored import form_problem, read_stored
from gate.decision import Verdict
from gate.evidence import Run


def _stored(world: World, run: Run) -> tuple[str, dict[str, Any]]:
    """A sealed boundary over a run with an approved ticket, and the body of its envelope."""
    world.vote(world.ask(run))
    envelope_id = world.cut(run).envelope_id
    found = world.store.boundary(TENANT, envelope_id)
    assert found is not None
    return envelope_id, canonical.parse(found.body)


def _sealed_again(world: World, envelope_id: str, body: dict[str, Any]) -> None:
    """What whoever has the gate's own key could put into the row."""
    text = canonical.canonical_bytes(body).decode()
    seal = Sealer(key=SEAL).sign(text, now_ms=world.store.now_ms())
    world.sql("UPDATE boundaries SET body = ?, seal = ? WHERE envelope_id = ?", text, seal, envelope_id)


def test_envelope_that_the_gate_wrote_reads_back_as_the_typed_value(world: World) -> None:
    run = world.start()
    _, body = _stored(world, run)

    envelope = read_stored(body)

    assert form_problem(body) is None
    assert (envelope.tenant_id, envelope.reset_reason) == (TENANT, "context_compaction")
    (action,) = envelope.actions
    stored = body["actions"][0]
    assert action.approval_id == stored["approval_id"]
    assert action.side_effect_status == "not_started"
    assert (envelope.source_event_range.first, envelope.source_event_range.last) == (
        body["source_event_range"]["first_seq"],
        body["source_event_range"]["last_seq"],
    )


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"session_id": " "}, "continuity_field_missing"),
    ({"checkpoint_ref": 6}, "continuity_field_not_string"),
    ({"pending_obligations": ["a", ""]}, "continuity_field_missing"),
    ({"exact_constraint_refs": "all of them"}, "continuity_field_not_list"),
    ({"budget_remaining": 1.5}, "continuity_field_not_whole"),
    ({"budget_remaining": -1}, "continuity_field_not_whole"),
    ({"source_event_range": None}, "continuity_field_missing"),
    ({"authorization_mode": "root"}, "continuity_mode_unsupported"),
    ({"delegated_scope": None}, "continuity_field_missing"),
    ({"actions": {}}, "continuity_field_not_list"),
    ({"actions": ["create_ticket"]}, "continuity_field_not_list"),
    ({"summary_sha256": "md5:1"}, "continuity_digest_invalid"),
    ({"requires_reauthorization": "yes"}, "continuity_flag_not_boolean"),
]


@pytest.mark.parametrize(("change", "code"), BROKEN)
def test_sealed_envelope_whose_form_is_broken_is_refused_with_its_code(
    world: World, change: dict[str, Any], code: str
) -> None:
    run = world.start()
    envelope_id, body = _stored(world, run)
    _sealed_again(world, envelope_id, body | change)

    found = world.gate().resume(envelope_id, SUMMARY, run)

    assert found.status is Verdict.CONTINUITY_VALIDATION_FAILED
    assert "seal_invalid" not in found.decision.codes
    assert found.run is None
    assert found.problem == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"side_effect_status": "perhaps"}, "continuity_side_effect_unsupported"),
        ({"approval_expires_at_ms": None}, "continuity_field_missing"),
        ({"approval_expires_at_ms": "soon"}, "continuity_timestamp_invalid"),
        ({"approval_expires_at_ms": 2**53 - 1}, "continuity_timestamp_invalid"),
        ({"capability_name": None}, "continuity_field_not_string"),
    ],
)
def test_sealed_action_whose_form_is_broken_is_refused_with_its_code(
    world: World, change: dict[str, Any], code: str
) -> None:
    run = world.start()
    envelope_id, body = _stored(world, run)
    _sealed_again(world, envelope_id, body | {"actions": [body["actions"][0] | change]})

    found = world.gate().resume(envelope_id, SUMMARY, run)

    assert found.status is Verdict.CONTINUITY_VALIDATION_FAILED
    assert (found.run, found.problem) == (None, code)
    assert "envelope_malformed" in found.decision.codes


def test_stored_envelope_without_anything_is_named_by_its_first_mistake() -> None:
    assert form_problem({}) == "continuity_field_not_list"
    with pytest.raises(ContinuityError, match="Continuity field must be a string: schema_version"):
        read_stored({"actions": [], "source_event_range": {"first_seq": 1, "last_seq": 2, "head_hash": "h"}})
