from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from output_schemas import schema_of
from task_support import committed

from gate.cli import cli
from gate.errors import ConflictError, InputError, StoreError
from gate.evidence import Run
from gate.lab import drills
from gate.lab.longtask import stage
from gate.lab.longtask.stage import Stage
from gate.longtask.commit import Committed
from gate.longtask.log import TaskLog
from gate.longtask.runbook import RUNBOOK
from gate.longtask.signals import _repeated, collect
from gate.pdp import DecisionPoint
from gate.records import LedgerEntry


def run_cli(task: Stage, *arguments: str) -> Result:
    records = ["--store", f"sqlite:///{task.store._database.location.path}", "--tenant", task.tenant]
    return CliRunner().invoke(cli, [*arguments, *records], catch_exceptions=False)


def test_forgotten_session_loses_its_content_and_its_chain_still_verifies(task: Stage) -> None:
    done, run = committed(task)
    events = task.store.verify_run(task.tenant, run.run_id)
    words = done.artifact.goal.content.encode()
    files = sorted(Path(str(task.store._database.location.path)).parent.glob("records.sqlite*"))
    assert any(words in file.read_bytes() for file in files)
    found = run_cli(task, "forget", run.session_id, "--by", "privacy@example", "--output", "json")
    receipt = json.loads(found.output)
    assert found.exit_code == 0
    assert receipt["counts"] == {
        "artifacts": 1,
        "checkpoints": 1,
        "events": 24,
        "locators": len(done.artifact.evidence_locators),
        "packets": 0,
        "progress": 1,
    }
    assert task.store.verify_run(task.tenant, run.run_id) > events
    stored = task.store.task_artifact(task.tenant, done.artifact.artifact_id)
    assert stored is not None
    assert (stored.body, str(stored.status), stored.digest) == (None, "erased", done.artifact_digest)
    with pytest.raises(StoreError) as erased:
        TaskLog(store=task.store).read(task.tenant, run.run_id, first=1, last=24)
    assert erased.value.code == "task_log_erased"
    assert [file.name for file in files if words in file.read_bytes()] == []
    last = task.store.events(task.tenant, run.run_id)
    assert receipt["digest"] in [event.payload.get("digest") for event in last]


def test_forgotten_session_derives_nothing_more_and_nothing_twice(task: Stage) -> None:
    done, run = committed(task)
    task.store.freeze_session(task.tenant, run.session_id, requested_by="p", reason="")
    with pytest.raises(ConflictError) as frozen:
        task.append(run, first=25, last=25)
    first = task.store.erase_session(task.tenant, run.session_id)
    assert frozen.value.code == "session_forgotten"
    assert task.store.erase_session(task.tenant, run.session_id) == first
    again = task.rehydrator().rehydrate(run, done.envelope_id, stage.material())
    assert again.built is None


def test_session_of_nobody_is_not_forgotten(task: Stage) -> None:
    found = run_cli(task, "forget", "session-of-nobody")
    assert (found.exit_code, "session_unknown" in found.output) == (1, True)
    with pytest.raises(ConflictError) as other:
        task.store.erase_session(task.tenant, "session-of-nobody")
    assert other.value.code == "session_not_frozen"


def test_forgetting_one_session_leaves_the_others(task: Stage) -> None:
    _, run = committed(task)
    kept, other = committed(task)
    task.store.freeze_session(task.tenant, run.session_id, requested_by="p", reason="")
    task.store.erase_session(task.tenant, run.session_id)
    assert task.rehydrator().rehydrate(other, kept.envelope_id, stage.material()).reason == "continuity_validated"


def test_tainted_artifact_stops_its_runs_and_lists_what_it_touched(task: Stage) -> None:
    first, run = committed(task)
    back = task.rehydrator().rehydrate(run, first.envelope_id, stage.material())
    assert back.run is not None
    assert back.built is not None
    task.append(back.run, first=25, last=26)
    second = task.coordinator().compact(back.run, stage.request(back.run, from_log=False))
    found = run_cli(task, "taint", first.artifact.artifact_id, "--reason", "secret found", "--output", "json")
    assert json.loads(found.output) == {
        "artifacts": [first.artifact.artifact_id, second.artifact.artifact_id],
        "runs": [run.run_id],
        "packets": [back.built.packet.semantic_packet_digest],
        "effects": [],
    }
    record = task.store.run(task.tenant, run.run_id)
    assert record is not None
    assert str(record.status) == "stopped"
    again = task.rehydrator().rehydrate(back.run, second.envelope_id, stage.material())
    assert again.built is None
    assert "artifact_tainted" in again.decision.codes


def _forked(task: Stage) -> tuple[Committed, Run, Run]:
    first, run = committed(task)
    back = task.rehydrator().rehydrate(run, first.envelope_id, stage.material())
    assert back.run is not None
    boundary = task.gate.prepare_boundary(back.run, "fork")
    task.gate.seal_summary(boundary, "one more line")
    child = task.gate.resume(boundary.envelope_id, "one more line", back.run).child
    assert child is not None
    return first, run, child


def test_fork_of_a_run_that_read_a_tainted_artifact_is_stopped(task: Stage) -> None:
    first, run, child = _forked(task)
    _, other, bystander = _forked(task)
    found = json.loads(run_cli(task, "taint", first.artifact.artifact_id, "--reason", "x", "--output", "json").output)
    assert found["runs"] == sorted([run.run_id, child.run_id])
    states = [
        str(record.status) for one in (child, other, bystander) if (record := task.store.run(task.tenant, one.run_id))
    ]
    assert states == ["stopped", "running", "running"]


def test_forgetting_a_session_reaches_its_fork_in_another_one(task: Stage) -> None:
    _, run, child = _forked(task)
    assert child.session_id != run.session_id
    found = json.loads(run_cli(task, "forget", run.session_id, "--output", "json").output)
    record = task.store.run(task.tenant, child.run_id)
    assert record is not None
    assert (str(record.status), found["counts"]["progress"]) == ("stopped", 2)
    assert task.store.progress(task.tenant, child.run_id).objective == ""
    assert run_cli(task, "store", "verify").exit_code == 0


def test_unknown_artifact_is_not_tainted(task: Stage) -> None:
    found = run_cli(task, "taint", "art-404", "--reason", "x")
    assert (found.exit_code, "artifact_unknown" in found.output) == (1, True)


def test_events_that_a_checkpoint_stands_on_are_kept(task: Stage) -> None:
    first, run = committed(task)
    assert task.store.retire_task_events(task.tenant, run.run_id, older_than_ms=0) == 0
    assert task.rehydrator().rehydrate(run, first.envelope_id, stage.material()).reason == "continuity_validated"


def test_old_events_are_counted_then_retired_and_those_of_a_held_artifact_are_not(task: Stage) -> None:
    def said(*arguments: str) -> dict[str, Any]:
        found = run_cli(task, "store", *arguments, "--output", "json")
        document: dict[str, Any] = json.loads(found.output)
        jsonschema.validate(document, schema_of(f"store-{arguments[0]}"))
        return document

    def left(*arguments: str) -> dict[str, Any]:
        return said("retire-events", "--older-than-hours", "0", *arguments)

    first, run = committed(task)
    back = task.rehydrator().rehydrate(run, first.envelope_id, stage.material())
    assert back.run is not None
    task.append(back.run, first=25, last=26)
    second = task.coordinator().compact(back.run, stage.request(back.run, from_log=False))
    name, mine = first.artifact.artifact_id, {"artifact_id": first.artifact.artifact_id, "run_id": run.run_id}
    assert said("hold", name, "--reason", "an audit") == {**mine, "status": "held", "reason": "an audit"}
    assert left("--retire") == {"retired": True, "runs": [{"run_id": run.run_id, "events": 0}]}
    assert said("hold", name, "--release") == {**mine, "status": "stored", "reason": ""}
    young = said("retire-events", "--older-than-hours", "1")
    assert young == {"retired": False, "runs": [{"run_id": run.run_id, "events": 0}]}
    assert left("--run", run.run_id) == {"retired": False, "runs": [{"run_id": run.run_id, "events": 24}]}
    assert left("--retire") == {"retired": True, "runs": [{"run_id": run.run_id, "events": 24}]}
    assert left() == {"retired": False, "runs": [{"run_id": run.run_id, "events": 0}]}
    task.store.verify_run(task.tenant, run.run_id)
    told = [event.event_type for event in task.store.events(task.tenant, run.run_id)]
    assert [told.count(kind) for kind in ("artifact_held", "artifact_released", "task_events_retired")] == [1, 1, 1]
    # The newest pair is resumed from as before; of the whole log nothing is made again.
    again = task.rehydrator().rehydrate(back.run, second.envelope_id, stage.material())
    assert (again.reason, again.built is not None) == ("continuity_validated", True)
    assert again.run is not None
    with pytest.raises(StoreError, match="was erased") as erased:
        task.coordinator().compact(again.run, stage.request(again.run))
    assert erased.value.code == "task_log_erased"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("hold", "art-404", "--reason", "x"), 1),
        (("hold", "art-404", "--release"), 1),
        (("hold", "art-404"), 2),
        (("hold", "art-404", "--release", "--reason", "x"), 2),
        (("retire-events",), 2),
        (("retire-events", "--older-than-hours", "-1"), 2),
        (("retire-events", "--older-than-hours", "0", "--run", "nobody"), 1),
        (("retire-events", "--older-than-hours", "0", "--run", "nobody", "--retire"), 1),
    ],
)
def test_retention_command_that_cannot_be_done_says_so(task: Stage, arguments: tuple[str, ...], code: int) -> None:
    assert run_cli(task, "store", *arguments).exit_code == code


def test_orphan_within_its_grace_or_held_is_not_cleaned(task: Stage) -> None:
    assert drills.crash_before_checkpoint(task, Path()).passed


def test_drill_command_plays_on_a_copy_and_changes_nothing_of_the_store(
    task_point: DecisionPoint, task_url: str, tmp_path: Path
) -> None:
    tenant = f"tenant-{secrets.token_hex(4)}"
    with stage.opened(task_point, task_url, tenant=tenant) as task:
        done, run = committed(task)
        before = task.store.events(tenant, run.run_id)
        engine = "opa" if task_url.startswith("postgresql") else "embedded"
        where = ["--store", task_url, "--tenant", tenant, "--engine", engine]
        found = CliRunner().invoke(
            cli, ["drill", *where, "--report", str(tmp_path / "out"), "--output", "json"], catch_exceptions=False
        )
        assert (task.store.events(tenant, run.run_id), task.store.task_runs(tenant)) == (before, (run.run_id,))
    report = json.loads((tmp_path / "out" / "drills.json").read_text())
    assert (found.exit_code, report["passed"], json.loads(found.stdout)) == (0, True, report)
    assert [(one["name"], one["observed"]) for one in report["drills"]] == [
        ("crash after artifact, before checkpoint", ["continuity_validated"]),
        ("committed artifact deleted", ["checkpoint_artifact_mismatch"]),
        ("workspace changed", ["stale_workspace_digest"]),
        ("artifact schema upgraded", ["artifact_rejected_schema"]),
    ]
    own = {"run_id": run.run_id, "checkpoint_id": done.checkpoint.checkpoint_id, "recoverable": True}
    assert report["own_runs"] == [own]
    text = (tmp_path / "out" / "drills.md").read_text()
    assert {code for code in RUNBOOK if f"| {code} |" not in text} == set()


def test_signals_say_what_was_measured_and_none_for_what_was_not(task: Stage) -> None:
    assert (collect(task.store, task.tenant).recoverable_share, collect(task.store, task.tenant).runs) == (None, 0)
    done, run = committed(task)
    task.live = "workspace-changed"
    task.rehydrator().rehydrate(run, done.envelope_id, stage.material())
    found = collect(task.store, task.tenant)
    assert (found.runs, found.checkpoints, found.recoverable_share, found.replay_share) == (1, 1, 1.0, 1.0)
    assert (found.compactions, found.compaction_failures, found.fallback_share) == (1, 0, None)
    assert (found.rehydrations, found.rejections) == (1, (("stale_workspace_digest", 1),))
    assert found.released_bytes == done.bytes_before - done.bytes_after


def test_repeated_evidence_after_a_resume_is_counted(task: Stage) -> None:
    _, run = committed(task)
    for _ in range(3):
        task.store.log_task(
            LedgerEntry(
                tenant_id=task.tenant,
                run_id=run.run_id,
                kind="reload",
                outcome="match",
                operator="drill",
                audit='{"locator_id":"loc-1"}',
                bytes_after=10,
            )
        )
    found = collect(task.store, task.tenant)
    assert (found.reloads, found.reloaded_bytes, found.repeated_evidence) == (3, 30, 2)


def test_forgotten_run_is_no_failure_among_the_signals(task: Stage) -> None:
    committed(task)
    _, run = committed(task)
    task.store.freeze_session(task.tenant, run.session_id, requested_by="p", reason="")
    task.store.erase_session(task.tenant, run.session_id)
    found = collect(task.store, task.tenant)
    assert (found.runs, found.recoverable_share, found.replay_share) == (1, 1.0, 1.0)


def test_evidence_is_repeated_only_since_the_last_resume() -> None:
    def ledger(*kinds: str) -> list[LedgerEntry]:
        return [
            LedgerEntry(tenant_id="t", run_id="r", kind=kind, outcome=outcome, operator="o", audit="loc-1")
            for kind, _, outcome in (each.partition(":") for each in kinds)
        ]

    once = ledger("reload:match", "rehydration:ok", "reload:match")
    assert _repeated(once) == 0
    assert _repeated([*once, *ledger("rehydration:locator_stale", "reload:match")]) == 1


def test_status_command_shows_the_signals_without_a_sidecar(task: Stage) -> None:
    committed(task)
    found = run_cli(task, "status", "--continuity", "--output", "json")
    text = run_cli(task, "status", "--continuity")
    assert (found.exit_code, json.loads(found.output)["recoverable_share"]) == (0, 1.0)
    assert "fallback share" in text.output
    assert "not measured" in text.output


@pytest.mark.parametrize("arguments", [("status",), ("status", "--continuity")])
def test_status_command_without_its_source_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(cli, list(arguments)).exit_code == 2


def test_orphans_command_lists_and_cleans_only_after_the_grace(task: Stage) -> None:
    first, run = committed(task)
    back = task.rehydrator().rehydrate(run, first.envelope_id, stage.material())
    assert back.run is not None
    stored = task.store.task_artifact(task.tenant, first.artifact.artifact_id)
    assert stored is not None
    lost = dataclasses.replace(stored, artifact_id="art-lost")
    task.store.persist_artifact(lost, (), envelope_id=None)
    young = json.loads(run_cli(task, "store", "orphans", "--clean", "--output", "json").output)
    seen = json.loads(run_cli(task, "store", "orphans", "--grace-hours", "0", "--output", "json").output)
    gone = json.loads(run_cli(task, "store", "orphans", "--grace-hours", "0", "--clean", "--output", "json").output)
    assert young == {"cleaned": True, "orphans": []}
    assert [one["artifact_id"] for one in seen["orphans"]] == ["art-lost"]
    assert gone == {**seen, "cleaned": True}
    assert run_cli(task, "store", "orphans", "--grace-hours", "0").output.splitlines()[1:] == []


@pytest.mark.parametrize(
    "command", [("forget", "s"), ("taint", "a", "--reason", "r"), ("drill",), ("status", "--continuity")]
)
def test_commands_make_no_store_where_there_is_none(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "none.sqlite"
    found = CliRunner().invoke(cli, [*command, "--store", f"sqlite:///{path}", "--tenant", "t"])
    assert (found.exit_code, path.exists()) == (1, False)


@pytest.mark.parametrize(
    "command",
    [
        ("forget", "s"),
        ("taint", "a", "--reason", "r"),
        ("status", "--continuity"),
        ("approvals", "list"),
        ("store", "verify"),
    ],
)
def test_commands_leave_the_schema_of_an_older_store_to_its_migration(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "older.sqlite"
    with closing(sqlite3.connect(path)) as older:
        older.execute("CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at_ms BIGINT)")
        older.execute("INSERT INTO schema_version VALUES (7, 0)")
        older.commit()
    found = CliRunner().invoke(cli, [*command, "--store", f"sqlite:///{path}", "--tenant", "t"])
    assert (found.exit_code, "gate store migrate" in found.output + found.stderr) == (1, True)
    with closing(sqlite3.connect(path)) as after:
        assert after.execute("SELECT max(version) FROM schema_version").fetchone() == (7,)


def test_old_events_are_counted_and_retired_as_text(task: Stage) -> None:
    committed(task)
    found = run_cli(task, "store", "retire-events", "--older-than-hours", "0")
    assert (found.exit_code, found.output.splitlines()[0].split()) == (0, ["run", "can", "be", "retired"])


def test_drill_report_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(InputError) as refused:
        drills.Report(drills=(), signals={}, own_runs=()).write(tmp_path / "taken")
    assert refused.value.code == "report_unwritable"
