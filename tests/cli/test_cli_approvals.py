from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import ENVIRONMENT, MESSAGE, NOTE, TENANT, World, document, run

from gate import opa
from gate.canonical import digest
from gate.compiler import compile_bundle
from gate.documents import parse_rfc3339_ms
from gate.pdp import Sidecar
from gate.records import ReviewerKey, generate_key, public_key_of, read_key_file, write_key_file
from gate.release import build

# Keys


def test_keygen_prints_lines_that_reviewers_yaml_takes(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.json"
    made = run("approvals", "keygen", "--reviewer", "first-reviewer", "--key-id", "another-key", "--out", out)
    key = read_key_file(out)
    assert (made.exit_code, out.stat().st_mode & 0o777) == (0, 0o600)
    assert key.private_key not in made.output
    reviewers = bundle / "reviewers.yaml"
    reviewers.write_text(reviewers.read_text("utf-8").rstrip("\n") + "\n" + made.stdout, encoding="utf-8")
    found = compile_bundle(bundle).bundle.reviewers[0].keys[1]
    assert (found.key_id, found.public_key) == ("another-key", public_key_of(key.private_key))
    assert found.not_after_ms - found.not_before_ms == 365 * 24 * 3600 * 1000


def test_keygen_as_json_holds_no_private_key(tmp_path: Path) -> None:
    out = tmp_path / "new.json"
    made = run("approvals", "keygen", "--reviewer", "r", "--key-id", "k", "--out", out, "--output", "json")
    answer = document(made)
    assert parse_rfc3339_ms(answer.pop("not_before")) < parse_rfc3339_ms(answer.pop("not_after"))
    assert answer == {
        "reviewer": "r",
        "key_file": str(out),
        "key_id": "k",
        "public_key": public_key_of(read_key_file(out).private_key),
    }


def test_keygen_never_overwrites(tmp_path: Path) -> None:
    out = tmp_path / "taken"
    out.write_text("mine", encoding="ascii")
    result = run("approvals", "keygen", "--reviewer", "r", "--key-id", "k", "--out", out)
    assert (result.exit_code, result.stdout, out.read_text("ascii")) == (1, "", "mine")
    assert result.stderr.startswith(f"error: key_file_exists: `{out}` exists already\nhint: ")


@pytest.mark.parametrize("name", ["", "1x", "a b", 'a"', "a\nb", "é", "x" * 129])
@pytest.mark.parametrize("option", ["--reviewer", "--key-id"])
def test_keygen_name_that_reviewers_yaml_does_not_take_is_a_usage_error(tmp_path: Path, option: str, name: str) -> None:
    names = {"--reviewer": "r", "--key-id": "k", option: name}
    result = run("approvals", "keygen", *(w for pair in names.items() for w in pair), "--out", tmp_path / "k")
    assert (result.exit_code, result.stdout, list(tmp_path.iterdir())) == (2, "", [])


# Lists and views


def test_list_piped_is_one_tab_separated_line_an_approval_newest_first(world: World) -> None:
    first, second = world.ask(key="a"), world.ask(key="b", subject="Other")
    result = run("approvals", "list", *world.records)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows[0] == ["approval", "status", "capability", "requested by", "expires"]
    assert [row[:4] for row in rows[1:]] == [
        [second, "pending", "send_message", "user-42"],
        [first, "pending", "send_message", "user-42"],
    ]


def test_list_on_a_terminal_is_a_table_that_nothing_escapes_from(world: World) -> None:
    approval = world.ask()
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "gate.cli", "approvals", "list", *world.records]
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "120"}, check=False
    )
    os.close(writer)
    shown = b""
    with contextlib.suppress(OSError):  # Linux reports the closed other end so
        while chunk := os.read(reader, 65536):
            shown += chunk
    os.close(reader)
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"│ {approval} │ pending │ send_message │ user-42 " in shown.decode()


def test_list_as_json_can_be_narrowed_to_a_status_and_a_tenant(world: World) -> None:
    waiting = world.ask()
    everything = document(run("approvals", "list", *world.records, "--output", "json"))
    assert [a["approval_id"] for a in everything["approvals"]] == [waiting]
    asked = ("approvals", "list", "--store", world.url, "--output", "json")
    assert document(run(*asked, "--tenant", TENANT, "--status", "approved")) == {"approvals": []}
    assert document(run(*asked, "--tenant", "tenant-other")) == {"approvals": []}


def test_show_as_json_has_everything_a_reviewer_signs_for(world: World) -> None:
    approval = world.ask()
    record = world.store.approval(TENANT, approval)
    assert record is not None
    shown = document(run("approvals", "show", approval, *world.records, "--output", "json"))
    times = {name: shown.pop(name) for name in ("created_at", "expires_at")}
    assert parse_rfc3339_ms(times["expires_at"]) - parse_rfc3339_ms(times["created_at"]) == 1800 * 1000
    assert shown == {
        "approval_id": approval,
        "tenant_id": TENANT,
        "run_id": world.agent_run.run_id,
        "status": "pending",
        "status_reason": "",
        "capability": "send_message",
        "contract_id": "send-message-owner",
        "requested_by": "user-42",
        "reason": "The customer asked.",
        "principal_id": "user-42",
        "agent_id": "my-bot-agent",
        "session_id": "session-1",
        "trace_id": "trace-1",
        "action_digest": record.action_digest,
        "intent_digest": record.intent_digest,
        "contract_digest": record.contract_digest,
        "bundle_version": "0.1.0",
        "release_identity": "release-my-bot-0.1.0",
        "arguments": {
            "/to": {"value": "customer-1"},
            "/body": {"digest": digest(MESSAGE["body"])},
            "/subject": {"value": "Opening hours"},
        },
        "expired": False,
        "escalated_at": None,
        "standing": None,
        "version": 1,
        "votes": [],
    }


def test_show_hides_nothing_that_the_agent_put_into_a_value(world: World) -> None:
    title = 'ok"\u202e\u200b\x1b[2J\nstatus  approved   \u2066x'
    approval = world.ask(subject=title, reason="fine\r\napproval  apr-0\u00ad", key="k\u2069")
    text = run("approvals", "show", approval, *world.records).stdout
    assert all(line.isprintable() for line in text.splitlines())
    lines = text.splitlines()
    assert lines[1] == "status           pending"
    assert lines[3] == 'reason           "fine\\r\\napproval  apr-0\\u00ad"'
    assert '  /subject  "ok\\"\\u202e\\u200b\\u001b[2J\\nstatus  approved\\u0020\\u0020\\u0020\\u2066x"' in lines
    answer = run("approvals", "show", approval, *world.records, "--output", "json")
    assert answer.stdout.isascii()
    shown = 'ok"\\u202e\\u200b\\u001b[2J\\u000astatus  approved   \\u2066x'
    assert document(answer)["arguments"]["/subject"] == {"value": title, "shown": shown}


def test_show_value_that_looks_like_a_digest_is_told_from_one(world: World) -> None:
    approval = world.ask(subject="not shown, " + digest("x"))
    lines = run("approvals", "show", approval, *world.records).stdout.splitlines()
    assert f'  /subject  "not shown, {digest("x")}"' in lines
    assert f"  /body     not shown, {digest(MESSAGE['body'])}" in lines


def test_show_voted_approval_says_that_the_votes_are_unverified(world: World) -> None:
    approval = world.ask()
    run("approvals", "approve", approval, "--key", world.key_file, *world.reviewing)
    lines = run("approvals", "show", approval, *world.records).stdout.splitlines()
    assert lines[-2:] == [
        "votes, unverified",
        "  reviewer first-reviewer  key_id first-reviewer-key-1  decision approved",
    ]


# Votes


def _vote(world: World, word: str, approval: str, key: Path, *more: str, environment: str = ENVIRONMENT) -> Any:
    asked = [a if a != ENVIRONMENT else environment for a in world.reviewing]
    return run("approvals", word, approval, "--key", key, *asked, *more)


@pytest.mark.parametrize(("word", "status"), [("approve", "approved"), ("reject", "rejected")])
def test_vote_of_the_reviewer_is_applied_and_printed(world: World, word: str, status: str) -> None:
    approval = world.ask()
    record = world.store.approval(TENANT, approval)
    assert record is not None
    result = _vote(world, word, approval, world.key_file)
    assert (result.exit_code, result.stdout) == (0, f"{approval}  {status}\n")
    assert result.stderr == (
        f"{NOTE}note: first-reviewer signs {status} for send_message, action {record.action_digest}\n"
    )
    after = world.store.approval(TENANT, approval)
    assert after is not None
    assert (after.status, len(after.votes)) == (status, 1)


def test_vote_as_json_is_one_document(world: World) -> None:
    approval = world.ask()
    result = _vote(world, "approve", approval, world.key_file, "--output", "json")
    assert document(result) == {"approval_id": approval, "status": "approved", "votes": 1}


def test_approved_call_runs_exactly_once(world: World) -> None:
    effect = world.break_write()
    assert (effect.status, effect.attempt) == ("side_effect_unknown", 1)


@pytest.mark.opa
def test_vote_through_a_sidecar_is_applied(world: World, tmp_path: Path, opa_binary: Path) -> None:
    approval = world.ask()
    token = tmp_path / "token"
    built = build([compile_bundle(world.bundle)], tmp_path / "dist", binary=opa.find().path, trial=True)
    with Sidecar.start(tarball=built.path, opa=opa_binary, listen="tcp", work_dir=tmp_path / "w") as sidecar:
        token.write_text(sidecar.token, encoding="ascii")
        token.chmod(0o600)
        asked = (*world.records, "--environment", ENVIRONMENT, "--opa", sidecar.url, "--token-file", str(token))
        vote = ("approvals", "approve", approval, "--key", str(world.key_file), *asked)
        other = run(*vote, "--revision", "other@1")
        assert (other.exit_code, other.stdout) == (1, "")
        assert "pdp_revision_unexpected" in other.stderr
        result = run(*vote, "--revision", sidecar.revision)
    assert (result.exit_code, result.stdout) == (0, f"{approval}  approved\n")


def _foreign_key(folder: Path, reviewer: str, key_id: str) -> Path:
    path = folder / "foreign.json"
    write_key_file(path, ReviewerKey(reviewer=reviewer, key_id=key_id, private_key=generate_key()[0]))
    return path


@pytest.mark.parametrize(
    ("reviewer", "key_id"),
    [("first-reviewer", "first-reviewer-key-1"), ("first-reviewer", "other-key"), ("somebody-else", "somebody-key")],
)
def test_vote_with_a_key_the_bundle_does_not_name_is_refused_with_its_reasons(
    world: World, tmp_path: Path, reviewer: str, key_id: str
) -> None:
    approval = world.ask()
    result = _vote(world, "approve", approval, _foreign_key(tmp_path, reviewer, key_id))
    assert (result.exit_code, result.stdout) == (3, "")
    assert "error: action_blocked: deny: " in result.stderr
    assert re.search(r"^  approval_signature_invalid \(deny\): \w", result.stderr, re.MULTILINE)
    after = world.store.approval(TENANT, approval)
    assert after is not None
    assert (after.status, after.votes) == ("pending", ())


def test_vote_of_the_right_key_under_the_name_of_another_reviewer_is_refused(world: World, tmp_path: Path) -> None:
    approval = world.ask()
    key = read_key_file(world.key_file)
    path = tmp_path / "renamed.json"
    write_key_file(path, ReviewerKey(reviewer="zoe", key_id=key.key_id, private_key=key.private_key))
    result = _vote(world, "approve", approval, path)
    assert (result.exit_code, result.stdout) == (3, "")
    after = world.store.approval(TENANT, approval)
    assert after is not None
    assert (after.status, after.votes) == ("pending", ())


def test_vote_signed_for_another_environment_does_not_let_the_call_run_here(world: World) -> None:
    approval = world.ask()
    _vote(world, "approve", approval, world.key_file, environment="elsewhere")
    world.ask()
    assert world.store.effects(TENANT) == []


@pytest.mark.parametrize("word", ["approve", "reject", "show"])
@pytest.mark.parametrize("tenant", [TENANT, "tenant-other"])
def test_approval_that_this_tenant_does_not_have_is_an_error(world: World, word: str, tenant: str) -> None:
    approval = "apr-nowhere" if tenant == TENANT else world.ask()
    where = ("--store", world.url, "--tenant", tenant)
    more = () if word == "show" else ("--key", world.key_file, "--bundle", world.bundle)
    result = run("approvals", word, approval, *where, *more)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: approval_unknown: approval `{approval}` is not known to this tenant\nhint: see `gate approvals list`\n"
    )


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (None, 0o600, "key_file_unreadable"),
        (b"", 0o600, "key_file_malformed"),
        (b"{}", 0o600, "key_file_malformed"),
        (b'{"reviewer": "r", "key_id": "k", "private_key": "c2VjcmV0"}', 0o600, "key_file_malformed"),
        (b'{"reviewer": "r", "key_id": "k", "private_key": "c2VjcmV0"}', 0o644, "key_file_exposed"),
    ],
)
def test_key_file_that_holds_no_private_key_is_refused(
    world: World, tmp_path: Path, content: bytes | None, mode: int, code: str
) -> None:
    approval = world.ask()
    path = tmp_path / "bad-key"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    result = _vote(world, "approve", approval, path)
    assert (result.exit_code, result.stdout) == (1, "")
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"error: {code}: `{path}` ")
    assert hint.startswith("hint: ")
    assert "c2VjcmV0" not in result.stderr


@pytest.mark.parametrize(
    "point",
    [
        (),
        ("--opa", "http://127.0.0.1:1"),
        ("--opa", "http://127.0.0.1:1", "--revision", "r"),
        ("--opa", "http://127.0.0.1:1", "--token-file", "t"),
        ("--opa", "http://127.0.0.1:1", "--token-file", "t", "--revision", "r", "--bundle", "b"),
    ],
)
def test_vote_without_exactly_one_decision_point_is_a_usage_error(world: World, point: tuple[str, ...]) -> None:
    result = run("approvals", "approve", "a", "--key", world.key_file, *world.records, *point)
    assert (result.exit_code, result.stdout) == (2, "")


def test_vote_with_the_decision_point_down_changes_nothing(world: World, tmp_path: Path) -> None:
    approval = world.ask()
    token = tmp_path / "token"
    token.write_text("t", encoding="ascii")
    token.chmod(0o600)
    point = ("--opa", "http://127.0.0.1:1", "--token-file", token, "--revision", "r")
    result = run("approvals", "approve", approval, "--key", world.key_file, *world.records, *point)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: action_blocked: deny: pdp_unreachable\n" in result.stderr
    after = world.store.approval(TENANT, approval)
    assert after is not None
    assert (after.status, after.votes) == ("pending", ())


def test_options_come_from_the_environment(world: World) -> None:
    approval = world.ask()
    result = run(
        "approvals",
        "approve",
        approval,
        env={
            "GATE_STORE": world.url,
            "GATE_TENANT": TENANT,
            "GATE_ENVIRONMENT": ENVIRONMENT,
            "GATE_BUNDLE": str(world.bundle),
            "GATE_REVIEWER_KEY": str(world.key_file),
            "GATE_OUTPUT": "json",
        },
    )
    assert json.loads(result.stdout)["status"] == "approved"
