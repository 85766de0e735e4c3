"""`gate approvals` beyond approve and reject: taking back, handing on, denying keys, sweeping, watching."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_support import NOTE, TENANT, World, document, run


def acting(world: World, act: str, approval: str, *more: str) -> tuple[int, str, str]:
    result = run("approvals", act, approval, "--key", world.key_file, *world.reviewing, *more)
    return result.exit_code, result.stdout, result.stderr


def test_rejection_keeps_the_reviewers_reason(world: World) -> None:
    approval = world.ask()
    code, out, _ = acting(world, "reject", approval, "--reason", "wrong customer")
    assert (code, out) == (0, f"{approval}  rejected\n")
    shown = document(run("approvals", "show", approval, *world.records, "--output", "json"))
    assert shown["status_reason"] == "rejected by first-reviewer: wrong customer"
    assert 'last word        "rejected by first-reviewer: wrong customer"' in (
        run("approvals", "show", approval, *world.records).stdout
    )


def test_approval_is_revoked_and_cannot_be_revoked_twice(world: World) -> None:
    approval = world.ask()
    assert acting(world, "approve", approval)[0] == 0
    assert acting(world, "revoke", approval)[:2] == (0, f"{approval}  revoked\n")
    code, out, err = acting(world, "revoke", approval)
    assert (code, out) == (3, "")
    assert "transition_not_allowed (deny)" in err


def test_pending_request_is_cancelled_and_an_approved_one_is_not(world: World) -> None:
    approval = world.ask()
    assert acting(world, "cancel", approval)[:2] == (0, f"{approval}  cancelled\n")
    second = world.ask(key="intent-2")
    assert acting(world, "approve", second)[0] == 0
    assert acting(world, "cancel", second)[0] == 3


def test_vote_is_not_handed_on_where_the_contract_does_not_say_so(world: World) -> None:
    code, out, err = acting(world, "delegate", world.ask(), "--to", "somebody")
    assert (code, out) == (3, "")
    assert "approval_delegate_not_allowed (deny)" in err


def test_denied_key_signs_nothing_and_is_listed(world: World) -> None:
    approval = world.ask()
    key_id = document(run("approvals", "keys", "list", *world.records, "--output", "json"))
    assert key_id == {"denied_keys": []}
    denied = document(
        run(
            *("approvals", "keys", "deny", "first-reviewer-key-1", "--reason", "stolen", "--by", "ops"),
            *(*world.records, "--output", "json"),
        )
    )
    at = denied.pop("denied_at")
    assert denied == {"key_id": "first-reviewer-key-1", "public_key": None, "reason": "stolen", "denied_by": "ops"}
    listed = run("approvals", "keys", "list", *world.records).stdout.splitlines()
    assert listed == ["key\tdenied\tby\treason", f'first-reviewer-key-1\t{at}\tops\t"stolen"']
    assert world.store.approval(TENANT, approval) is not None


@pytest.mark.parametrize("reason", ["", " "])
def test_key_is_not_denied_without_a_reason(world: World, reason: str) -> None:
    result = run("approvals", "keys", "deny", "k", "--reason", reason, "--by", "ops", *world.records)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: record_field_invalid: ")


def test_sweep_moves_nothing_that_is_not_due(world: World) -> None:
    world.ask()
    result = run("approvals", "sweep", *world.reviewing, "--output", "json")
    assert (result.exit_code, document(result), result.stderr) == (0, {"moved": []}, NOTE)


def test_show_escapes_what_passes_for_something_else(world: World) -> None:
    approval = world.ask(to="p\u0430ypal.com", subject="50\u221500")
    text = run("approvals", "show", approval, *world.records).stdout
    assert '/to       "p\\u0430ypal.com"' in text
    assert '"50\\u221500"' in text


def watch(world: World, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gate.cli", *command, *world.records, "--watch", "--interval", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


@pytest.mark.parametrize("command", [("approvals", "list"), ("effects", "list")])
def test_watching_shows_what_changed_and_ends_well_when_interrupted(world: World, command: tuple[str, str]) -> None:
    process = watch(world, *command)
    assert process.stdout is not None
    head = process.stdout.readline()
    world.break_write()
    assert process.stdout.readline() == head
    row = process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "send_message" in row


def test_effect_is_shown_with_digests_of_its_receipts(world: World) -> None:
    effect = world.break_write()
    shown = document(run("effects", "show", "intent-1", *world.records, "--output", "json"))
    assert (shown["status"], shown["receipt"], shown["fencing"]) == ("side_effect_unknown", None, effect.fencing)
    text = run("effects", "show", effect.business_key, *world.records).stdout
    assert 'status            "side_effect_unknown"' in text
    unknown = run("effects", "show", "no-such-key", *world.records)
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert unknown.stderr.startswith("error: effect_unknown: ")
