from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.cli import cli
from gate.cli.store import store as store_command
from gate.records import ReviewerKey, RunRecord, Store, generate_key, write_key_file
from gate.records.migrations import LATEST

PRIVATE, PUBLIC = generate_key()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two runs of two tenants."""
    found = tmp_path / "records.sqlite"
    with Store.open(f"sqlite:///{found}") as store:
        for tenant in ("acme", "globex"):
            store.create_run(_run(tenant))
        store.append_event("acme", "run-1", "x", {})
    return found


def _run(tenant: str) -> RunRecord:
    fields = ("agent_id", "principal_id", "session_id", "trace_id", "authorization_mode")
    return RunRecord(tenant_id=tenant, run_id="run-1", **dict.fromkeys(fields, "x"))


def _gate(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["store", *(str(a) for a in arguments)], catch_exceptions=False)


def _url(path: Path) -> str:
    return f"sqlite:///{path}"


def _raw(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


def _report(result: Result) -> Any:
    return json.loads(result.stdout)


def _heads(path: Path, tmp_path: Path) -> Path:
    key, heads = tmp_path / "gate.key", tmp_path / "heads.jsonl"
    write_key_file(key, ReviewerKey(reviewer="gate", key_id="gate-1", private_key=PRIVATE))
    signed = _gate("sign-heads", "--store", _url(path), "--key", key)
    assert signed.exit_code == 0
    heads.write_text(signed.stdout)
    return heads


def test_every_subcommand_has_help() -> None:
    assert sorted(store_command.commands) == [
        *("backup", "hold", "migrate", "orphans", "retire-events", "sign-heads", "verify")
    ]
    assert all(command.help for command in store_command.commands.values())
    assert "To restore" in _gate("backup", "--help").stdout
    assert "pg_dump" in _gate("backup", "--help").stdout


def test_migrate_makes_the_schema_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    address = _url(tmp_path / "new.sqlite")
    assert _report(_gate("migrate", "--store", address, "--output", "json")) == {"from": 0, "to": LATEST}
    assert _report(_gate("migrate", "--store", address, "--output", "json")) == {"from": LATEST, "to": LATEST}
    assert _gate("migrate", "--store", address).stdout == f"schema version {LATEST}, nothing to do\n"


def test_verify_of_a_sound_store_exits_0(path: Path) -> None:
    result = _gate("verify", "--store", _url(path), "--output", "json")
    empty: list[Any] = []
    expected = {"sound": True, "runs": 2, "events": 3, "broken": empty, "counters": empty, "heads": empty}
    assert (result.exit_code, _report(result)) == (0, expected)
    assert _gate("verify", "--store", _url(path)).stdout == "2 runs, 3 events: all hold\n"


def test_verify_of_an_edited_store_names_the_first_broken_row_and_exits_1(path: Path) -> None:
    _raw(path, "UPDATE events SET at_ms = 1 WHERE seq = 2")
    result = _gate("verify", "--store", _url(path), "--output", "json")
    broken = [{"tenant_id": "acme", "run_id": "run-1", "event": 2, "differs": []}]
    assert (result.exit_code, _report(result)["sound"], _report(result)["broken"]) == (1, False, broken)
    text = _gate("verify", "--store", _url(path))
    assert text.exit_code == 1
    assert "acme\trun-1\tevent 2\tevent_chain_broken" in text.stdout
    assert text.stdout.endswith("2 runs, 2 events: 1 faults\n")


def test_verify_looks_only_at_the_tenant_and_run_asked_for(path: Path) -> None:
    _raw(path, "UPDATE events SET at_ms = 1 WHERE seq = 2")
    other = ("--store", _url(path), "--tenant", "globex", "--output", "json")
    assert [_gate("verify", *other, *more).exit_code for more in ([], ["--run", "run-1"])] == [0, 0]
    assert _gate("verify", "--store", _url(path), "--tenant", "acme", "--run", "run-1").exit_code == 1
    unknown = _gate("verify", *other, "--run", "run-9")
    assert (unknown.exit_code, "run_unknown" in unknown.stderr) == (1, True)
    assert _gate("verify", "--store", _url(path), "--run", "run-1").exit_code == 2


def test_verify_with_heads_sees_a_tail_that_was_cut_and_covered_up(path: Path, tmp_path: Path) -> None:
    heads = _heads(path, tmp_path)
    check = ("verify", "--store", _url(path), "--heads", heads, "--public-key", f"gate-1={PUBLIC}", "--output", "json")
    assert _gate(*check).exit_code == 0
    _raw(path, "DELETE FROM events WHERE seq = 2")
    _raw(path, "UPDATE runs SET head_seq = 1, head_hash = (SELECT hash FROM events WHERE events.tenant_id = 'acme')")
    _raw(path, "UPDATE runs SET head_hash = (SELECT hash FROM events WHERE events.tenant_id = runs.tenant_id)")
    assert _gate("verify", "--store", _url(path)).exit_code == 0
    result = _gate(*check)
    faults = [(fault["tenant_id"], fault["seq"], fault["code"]) for fault in _report(result)["heads"]]
    assert (result.exit_code, faults) == (1, [("acme", 2, "event_chain_cut")])


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (f"gate-2={PUBLIC}", "head_key_unknown"),
        (f"gate-1={generate_key()[1]}", "head_signature_invalid"),
        (f"gate-1={PUBLIC}@1", "head_key_retired"),
    ],
)
def test_verify_with_a_key_that_does_not_fit_exits_1(path: Path, tmp_path: Path, key: str, code: str) -> None:
    heads = _heads(path, tmp_path)
    result = _gate("verify", "--store", _url(path), "--heads", heads, "--public-key", key, "--output", "json")
    assert (result.exit_code, {fault["code"] for fault in _report(result)["heads"]}) == (1, {code})


@pytest.mark.parametrize("key", ["gate-1", "=x", "gate-1=", "gate-1=x@soon"])
def test_public_key_that_cannot_be_read_is_a_usage_error(path: Path, tmp_path: Path, key: str) -> None:
    result = _gate("verify", "--store", _url(path), "--heads", tmp_path / "heads", "--public-key", key)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "heads_empty"), (b"{}\n", "head_malformed"), (b"junk\n", "json_malformed"), (None, "heads_unreadable")],
)
def test_heads_that_cannot_be_read_exit_1(path: Path, tmp_path: Path, content: bytes | None, code: str) -> None:
    heads = tmp_path / "heads"
    if content is not None:
        heads.write_bytes(content)
    result = _gate("verify", "--store", _url(path), "--heads", heads, "--public-key", f"gate-1={PUBLIC}")
    assert (result.exit_code, f"error: {code}:" in result.stderr) == (1, True)


def test_heads_and_their_key_go_together(path: Path, tmp_path: Path) -> None:
    for more in (("--heads", tmp_path / "heads"), ("--public-key", f"gate-1={PUBLIC}")):
        assert _gate("verify", "--store", _url(path), *more).exit_code == 2


def test_backup_makes_a_store_that_verifies_and_overwrites_nothing(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    made = _gate("backup", "--store", _url(path), "--to", copy)
    assert (made.exit_code, made.stdout) == (0, f"{copy}\n")
    assert _gate("verify", "--store", _url(copy)).stdout == "2 runs, 3 events: all hold\n"
    again = _gate("backup", "--store", _url(path), "--to", copy)
    assert (again.exit_code, "error: backup_exists:" in again.stderr) == (1, True)


@pytest.mark.parametrize("command", ["verify", "backup"])
def test_store_that_is_not_there_is_refused_and_not_made(tmp_path: Path, command: str) -> None:
    missing = tmp_path / "missing.sqlite"
    more = ["--to", tmp_path / "copy"] if command == "backup" else []
    result = _gate(command, "--store", _url(missing), *more)
    assert (result.exit_code, "error: store_unavailable:" in result.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
