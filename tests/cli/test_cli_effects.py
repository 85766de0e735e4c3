from __future__ import annotations

from typing import Any

import pytest
from cli_support import NOTE, TENANT, World, document, run

from gate import Identity
from gate.records import EffectRecord, EffectStatus


@pytest.fixture
def unknown(world: World) -> EffectRecord:
    effect = world.break_write()
    assert effect.status is EffectStatus.UNKNOWN
    return effect


def _reconcile(world: World, key: str, *more: str) -> Any:
    return run("effects", "reconcile", key, *world.reviewing, "--by", "olga-operator", *more)


def test_list_piped_is_one_tab_separated_line_an_effect(world: World, unknown: EffectRecord) -> None:
    result = run("effects", "list", *world.records)
    head, row = (line.split("\t") for line in result.stdout.splitlines())
    assert (result.exit_code, result.stderr) == (0, "")
    assert head == ["idempotency key", "capability", "principal", "status", "lease until", "business key"]
    assert (row[:4], row[5]) == (
        ["intent-1", "send_message", "user-42", "side_effect_unknown"],
        unknown.business_key,
    )


def test_list_as_json_can_be_narrowed_to_a_status_and_a_tenant(world: World, unknown: EffectRecord) -> None:
    asked = ("effects", "list", "--store", world.url, "--output", "json", "--tenant")
    found = document(run(*asked, TENANT, "--status", "side_effect_unknown"))["effects"]
    assert [effect.pop("lease_expires_at")[-1] for effect in found] == ["Z"]
    assert found == [
        {
            "tenant_id": TENANT,
            "principal_id": "user-42",
            "capability": "send_message",
            "business_key": unknown.business_key,
            "idempotency_key": "intent-1",
            "action_digest": unknown.action_digest,
            "run_id": unknown.run_id,
            "evidence_ref": None,
            "status": "side_effect_unknown",
            "reads_as": "side_effect_unknown",
            "attempt": 1,
            "version": unknown.version,
        }
    ]
    assert document(run(*asked, TENANT, "--status", "in_flight")) == {"effects": []}
    assert document(run(*asked, "tenant-other")) == {"effects": []}


@pytest.mark.parametrize("by", ["idempotency key", "business key"])
@pytest.mark.parametrize(
    ("outcome", "more", "status"),
    [
        ("committed", (), "side_effect_committed"),
        ("partial", (), "partial_side_effect"),
        ("not_committed", ("--owner-fenced",), "failed_before_effect"),
    ],
)
def test_reconcile_unknown_effect_settles_it_with_evidence(
    world: World, unknown: EffectRecord, by: str, outcome: str, more: tuple[str, ...], status: str
) -> None:
    key = unknown.idempotency_key if by == "idempotency key" else unknown.business_key
    result = _reconcile(world, key, "--outcome", outcome, "--evidence", "case-7", *more)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"intent-1  {status}\n", NOTE)
    after = world.store.effects(TENANT)[0]
    assert (after.status, after.evidence_ref) == (status, "case-7")


def test_reconcile_as_json_is_the_effect_as_it_is_now(world: World, unknown: EffectRecord) -> None:
    more = ("--outcome", "committed", "--evidence", "case-7", "--output", "json")
    answer = document(_reconcile(world, "intent-1", *more))
    assert (answer["status"], answer["evidence_ref"]) == ("side_effect_committed", "case-7")


def test_reconcile_as_not_committed_while_the_worker_may_live_is_refused(world: World, unknown: EffectRecord) -> None:
    result = _reconcile(world, "intent-1", "--outcome", "not_committed", "--evidence", "case-7")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "error: action_blocked: " in result.stderr
    assert world.store.effects(TENANT) == [unknown]


@pytest.mark.parametrize("evidence", ["", "   "])
def test_reconcile_without_evidence_is_refused(world: World, unknown: EffectRecord, evidence: str) -> None:
    result = _reconcile(world, "intent-1", "--outcome", "committed", "--evidence", evidence)
    assert result.exit_code in (1, 3)
    assert result.stdout == ""
    assert world.store.effects(TENANT) == [unknown]


def test_reconcile_settled_effect_again_is_refused(world: World, unknown: EffectRecord) -> None:
    _reconcile(world, "intent-1", "--outcome", "committed", "--evidence", "case-7")
    before = world.store.effects(TENANT)
    result = _reconcile(world, "intent-1", "--outcome", "not_committed", "--evidence", "x", "--owner-fenced")
    assert (result.exit_code, result.stdout) == (3, "")
    assert world.store.effects(TENANT) == before


@pytest.mark.parametrize("tenant", [TENANT, "tenant-other"])
def test_reconcile_effect_that_this_tenant_does_not_have_is_an_error(
    world: World, unknown: EffectRecord, tenant: str
) -> None:
    key = "intent-0" if tenant == TENANT else "intent-1"
    result = run(
        *("effects", "reconcile", key, "--store", world.url, "--tenant", tenant, "--bundle", world.bundle),
        *("--outcome", "committed", "--evidence", "case-7"),
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: effect_unknown: no effect of this tenant has the key `{key}`\nhint: see `gate effects list`\n"
    )


def _second_principal(world: World) -> None:
    """The same idempotency key in the hands of another principal."""
    identity = Identity(tenant_id=TENANT, principal_id="user-43")
    world.agent_run = world.gate.start_run(
        agent_id="my-bot-agent", identity=identity, session_id="session-2", trace_id="trace-2"
    )
    world.break_write(subject="Other")


def test_reconcile_key_of_two_effects_lists_the_candidates_and_takes_the_chosen_one(
    world: World, unknown: EffectRecord
) -> None:
    _second_principal(world)
    asked = ("--outcome", "committed", "--evidence", "case-7")
    result = _reconcile(world, "intent-1", *asked)
    assert (result.exit_code, result.stdout) == (1, "")
    error, hint = result.stderr.splitlines()
    assert error == "error: effect_ambiguous: 2 effects have the key `intent-1`"
    assert "--capability send_message --principal user-42" in hint
    assert "--capability send_message --principal user-43" in hint
    chosen = _reconcile(world, "intent-1", *asked, "--principal", "user-43")
    assert (chosen.exit_code, chosen.stdout) == (0, "intent-1  side_effect_committed\n")
    assert {e.principal_id: e.status for e in world.store.effects(TENANT)} == {
        "user-42": EffectStatus.UNKNOWN,
        "user-43": EffectStatus.COMMITTED,
    }


@pytest.mark.parametrize("missing", ["--outcome", "--evidence"])
def test_reconcile_without_what_it_needs_is_a_usage_error(world: World, missing: str) -> None:
    options = {"--outcome": "committed", "--evidence": "e"}
    del options[missing]
    result = _reconcile(world, "k", *(word for pair in options.items() for word in pair))
    assert (result.exit_code, result.stdout) == (2, "")
