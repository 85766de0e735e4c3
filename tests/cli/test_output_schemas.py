"""Every command with JSON output has a closed schema; `tests/conftest.py` holds all that is printed against it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import World, document, run
from output_schemas import AT_THE_TOP, commands, faults, schema_of

from gate.documents import schemas_dir, strict_validator


def test_every_command_with_json_output_has_a_schema_and_the_other_way_round() -> None:
    files = {path.name.removesuffix(".schema.json") for path in (schemas_dir() / "output").iterdir()}
    assert files | AT_THE_TOP == set(commands())


@pytest.mark.parametrize("command", sorted(commands()))
def test_schema_of_a_command_takes_no_empty_and_no_larger_document(command: str) -> None:
    validator = strict_validator(schema_of(command))
    assert not validator.is_valid({})
    assert not validator.is_valid({"surprise": 1})
    assert not validator.is_valid(None)


def test_breach_of_a_schema_is_named_with_its_command_and_place() -> None:
    broken = '{"from": 0, "to": "7"}'
    assert faults(["store", "migrate", "--output", "json"], {}, broken) == [
        "gate store-migrate: /to: '7' is not of type 'integer'"
    ]
    assert faults(["store", "migrate"], {"GATE_OUTPUT": "json"}, broken) != []
    assert faults(["store", "migrate"], {}, "schema version 7") == []


def test_commands_about_a_bundle_and_its_records_print_what_their_schemas_say(world: World, tmp_path: Path) -> None:
    """Those whose JSON no other test looks at; the check itself is where commands are run."""
    as_json = ("--output", "json")
    approval, signed = world.ask(), ("--key", world.key_file, *world.reviewing, *as_json)
    assert document(run("approvals", "approve", approval, *signed))["status"] == "approved"
    assert document(run("approvals", "revoke", approval, *signed))["status"] == "revoked"
    second = world.ask(key="intent-2", subject="Other hours")
    assert document(run("approvals", "reject", second, *signed))["status"] == "rejected"
    denied = run("approvals", "keys", "deny", "lost-1", "--reason", "lost", "--by", "ops", *world.records, *as_json)
    assert document(denied)["key_id"] == "lost-1"
    heads = run("store", "sign-heads", "--key", world.key_file, "--store", world.url, *as_json)
    assert [head["run_id"] for head in document(heads)] == [world.agent_run.run_id]
    copy = tmp_path / "copy.sqlite"
    assert document(run("store", "backup", "--to", copy, "--store", world.url, *as_json)) == {"backup": str(copy)}
    traced = document(run("trace", "trace-1", "--bundle", world.bundle, *world.records, *as_json))
    assert [one["status"] for one in traced["approvals"]] == ["revoked", "rejected"]
    pages = document(run("docs", world.bundle, "-o", tmp_path / "pages", *as_json))
    assert len(pages["checklist"]) == 7
    assert document(run("releases", world.bundle, "--at", "2020-01-01T00:00:00Z", *as_json))["release"] is None
