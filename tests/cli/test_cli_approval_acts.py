"""`gate approvals` beyond approve and reject: taking back, handing on, denying keys, sweeping, watching."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_support import MESSAGE, NOTE, TENANT, World, document, run

from gate.enforcement import EffectNotStarted
from gate.records import read_key_file
from gate.records.votes import public_key_of

LISTED = """\
  - id: user-42
    human: Uma Ferreira
    roles: [requester]
    keys:
      - key_id: user-42-key
        public_key: {public_key}
        not_before: "2020-01-01T00:00:00Z"
        not_after: "2098-01-01T00:00:00Z"
"""


def acting(world: World, act: str, approval: str, *more: str) -> tuple[int, str, str]:
    result = run("approvals", act, approval, "--key", world.key_file, *world.reviewing, *more)
    return result.exit_code, result.stdout, result.stderr


def test_rejection_keeps_the_reviewers_reason(world: World) -> None:
    approval = world.ask()
    code, out, _ = acting(world, "reject", approval, "--reason", "wrong customer")
    assert (code, out) == (0, f"{approval}  rejected\n")
    shown = document(run("approvals", "show", approval, *world.records, "--output", "json"))
    assert shown["status_reason"] == "rejected by first-reviewer: wrong customer"
    text = run("approvals", "show", approval, *world.records).stdout
    assert 'last word        "rejected by first-reviewer: wrong customer"' in text
    # Under the signature: the vote itself says it.
    assert shown["votes"] == [
        {
            "reviewer": "first-reviewer",
            "key_id": "first-reviewer-key-1",
            "decision": "rejected",
            "reason": "wrong customer",
        }
    ]
    assert text.splitlines()[-1].endswith('decision rejected  reason "wrong customer"')


@pytest.mark.parametrize("reason", [" ", "two\nlines", "hidden\u202e", "x" * 1025])
def test_reason_that_cannot_be_shown_as_it_is_signed_is_refused(world: World, reason: str) -> None:
    approval = world.ask()
    code, out, err = acting(world, "reject", approval, "--reason", reason)
    assert (code, out) == (1, "")
    assert "vote_malformed" in err
    assert str(world.store.approval(TENANT, approval).status) == "pending"  # type: ignore[union-attr]


def test_approval_is_revoked_and_cannot_be_revoked_twice(world: World) -> None:
    approval = world.ask()
    assert acting(world, "approve", approval)[0] == 0
    assert acting(world, "revoke", approval)[:2] == (0, f"{approval}  revoked\n")
    code, out, err = acting(world, "revoke", approval)
    assert (code, out) == (3, "")
    assert "transition_not_allowed (deny)" in err


def test_consumed_approval_is_revoked_while_its_call_runs_and_not_afterwards(world: World) -> None:
    def call(key: str) -> Any:
        return world.gate.tool_call(world.agent_run, "send_message", MESSAGE, idempotency_key=key, reason="R.")

    approval = world.ask(reason="R.")
    assert acting(world, "approve", approval)[0] == 0
    with contextlib.suppress(EffectNotStarted), call("intent-1"):
        assert acting(world, "revoke", approval, "--reason", "too late?")[:2] == (0, f"{approval}  revoked\n")
        raise EffectNotStarted("the tool refused")
    again = world.ask(reason="R.")
    assert again != approval
    assert acting(world, "approve", again)[0] == 0
    with call("intent-1") as running:
        running.complete({})
    code, out, err = acting(world, "revoke", again)
    assert (code, out) == (3, "")
    assert "approval_call_started (deny)" in err


def test_who_asked_cancels_with_his_own_listed_key_where_the_contract_lets_him(world: World, tmp_path: Path) -> None:
    key_file = tmp_path / "requester.json"
    made = run("approvals", "keygen", "--reviewer", "user-42", "--key-id", "user-42-key", "--out", key_file)
    assert made.exit_code == 0, made.stderr
    reviewers = world.bundle / "reviewers.yaml"
    public_key = public_key_of(read_key_file(key_file).private_key)
    reviewers.write_text(reviewers.read_text("utf-8") + LISTED.format(public_key=public_key), "utf-8")

    def cancel(approval: str) -> tuple[int, str, str]:
        assert run("compile", world.bundle).exit_code == 0
        done = run("approvals", "cancel", approval, "--key", key_file, "--reason", "Found it.", *world.reviewing)
        return done.exit_code, done.stdout, done.stderr

    approval = world.ask()
    code, out, err = cancel(approval)
    assert (code, out, "approval_reviewer_invalid" in err) == (3, "", True)
    contracts = world.bundle / "approvals.yaml"
    text = contracts.read_text("utf-8")
    assert "    on_reject: " in text
    contracts.write_text(
        text.replace("    on_reject: ", "    withdrawal: {requester_may_cancel: true}\n    on_reject: ", 1), "utf-8"
    )
    code, out, err = cancel(approval)
    assert (code, out) == (0, f"{approval}  cancelled\n"), err
    shown = document(run("approvals", "show", approval, *world.records, "--output", "json"))
    assert shown["status_reason"] == "cancelled by user-42: Found it."


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
