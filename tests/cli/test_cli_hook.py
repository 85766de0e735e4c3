from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_support import run
from opa_point import OpaPoint

from gate.compiler import Compiled, assemble
from gate.lab.compaction.stage import TENANT, Stage, theatre
from gate.pdp import DecisionPoint

SUMMARY = "The ticket is under way."


@contextmanager
def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
    assembly = assemble([compiled])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    yield point
    point.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    with theatre(opened) as place, place.stage("hook") as found:
        yield found


def hook(stage: Stage, event: str, **fields: Any) -> subprocess.CompletedProcess[str]:
    """The hook as Claude Code runs it: a process of its own, the event on its stdin."""
    key = stage.folder / "seal.json"
    if not key.exists():
        assert run("approvals", "keygen", "--reviewer", "gate", "--key-id", "seal", "--out", key).exit_code == 0
    (bundle,) = (stage.folder.parent / "bundle").iterdir()
    command = [
        *(sys.executable, "-m", "gate.cli", "hook", "claude-compaction", "--run", stage.run.run_id),
        *("--seal-key", str(key), "--bundle", str(bundle), "--store", f"sqlite:///{stage.folder}/records.sqlite"),
        *("--tenant", TENANT, "--environment", "compaction-faults"),
    ]
    said = {"session_id": "s", "transcript_path": "t", "cwd": ".", "hook_event_name": event, **fields}
    return subprocess.run(
        command, input=json.dumps(said), capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ)
    )


def test_hook_of_a_permitted_compaction_exits_zero_and_the_run_is_in_its_next_epoch_afterwards(stage: Stage) -> None:
    before = hook(stage, "PreCompact", trigger="auto", custom_instructions=None)
    assert (before.returncode, before.stdout) == (0, ""), before.stderr
    assert "boundary_open" in stage.call("the ticket")
    after = hook(stage, "PostCompact", trigger="auto", compact_summary=SUMMARY)
    assert (after.returncode, after.stdout) == (0, ""), after.stderr
    record = stage.store.run(TENANT, stage.run.run_id)
    assert record is not None
    assert record.epoch == 2


def test_hook_of_a_compaction_in_a_forbidden_state_exits_two_and_says_what_to_do_instead(stage: Stage) -> None:
    stage.call("the ticket")
    before = hook(stage, "PreCompact", trigger="manual", custom_instructions=None)
    assert (before.returncode, before.stdout) == (2, "")
    assert before.stderr.splitlines()[-4:] == [
        "the gate: deny: approval_pending, operation_allowed",
        "instead: drop tool noise",
        "instead: ask for budget",
        "instead: stop before next action",
    ]


@pytest.mark.parametrize(
    ("changed", "value", "code"),
    [
        ("--run", "run-nobody", "run_unknown"),
        ("--seal-key", "/nowhere/key.json", ""),
        ("--store", "sqlite:////nowhere/records.sqlite", "store_unavailable"),
        ("--bundle", "/nowhere/bundle", ""),
    ],
)
def test_hook_that_cannot_ask_exits_two(stage: Stage, tmp_path: Path, changed: str, value: str, code: str) -> None:
    key = tmp_path / "seal.json"
    assert run("approvals", "keygen", "--reviewer", "gate", "--key-id", "seal", "--out", key).exit_code == 0
    (bundle,) = (stage.folder.parent / "bundle").iterdir()
    options = {
        "--run": stage.run.run_id,
        "--seal-key": str(key),
        "--bundle": str(bundle),
        "--store": f"sqlite:///{stage.folder}/records.sqlite",
        "--tenant": TENANT,
        changed: value,
    }
    event = {"session_id": "s", "hook_event_name": "PreCompact", "trigger": "auto"}
    done = run("hook", "claude-compaction", *(w for o in options.items() for w in o), input=json.dumps(event))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the gate: " in done.stderr
    assert code in done.stderr
