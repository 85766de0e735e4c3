from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from task_support import codes, committed

from gate import canonical
from gate.decision import ActionBlocked
from gate.lab.longtask import stage
from gate.lab.longtask.stage import Stage
from gate.longtask.events import EventRecord, LongTaskError
from gate.longtask.forks import MAX_TRUST, candidate_evidence, fork, migrate, reload_evidence
from gate.longtask.log import TaskLog
from gate.longtask.resolvers import FileResolver, locate
from gate.longtask.vocabulary import EventType, InstructionAuthority
from gate.records import LocatorResult


def test_fork_has_its_own_run_namespace_workspace_and_pair(task: Stage) -> None:
    done, run = committed(task)
    child = task.start(session=run.session_id)
    own = task.coordinator(namespace="fork-refactoring", workspace=lambda: "workspace-fork")
    made = fork(run, child, stage.request(child), coordinator=own, cursor=24)
    stored = task.store.task_artifact(task.tenant, made.artifact.artifact_id)
    assert stored is not None
    assert (stored.namespace, made.artifact.workspace_digest) == ("fork-refactoring", "workspace-fork")
    assert made.artifact.artifact_id != done.artifact.artifact_id
    pair = task.store.committed_pair(task.tenant, run.run_id)
    assert pair is not None
    assert pair.checkpoint.artifact_id == done.artifact.artifact_id
    task.live = "workspace-fork"
    back = task.rehydrator(namespace="fork-refactoring").rehydrate(child, made.envelope_id, stage.material())
    assert back.reason == "continuity_validated"


def test_forks_artifact_does_not_back_the_main_line(task: Stage) -> None:
    _, run = committed(task)
    child = task.start(session=run.session_id)
    own = task.coordinator(namespace="fork-1", workspace=lambda: "workspace-fork")
    made = fork(run, child, stage.request(child), coordinator=own, cursor=24)
    task.live = "workspace-fork"
    as_main = task.rehydrator().rehydrate(child, made.envelope_id, stage.material())
    other_run = task.rehydrator().rehydrate(run, made.envelope_id, stage.material())
    assert "fork_artifact_unverified" in as_main.decision.codes
    assert (as_main.built, other_run.built) == (None, None)


@pytest.mark.parametrize(
    ("namespace", "workspace", "code"),
    [("main", "workspace-fork", "fork_namespace_shared"), ("fork-1", "workspace-price-v1", "fork_workspace_shared")],
)
def test_fork_that_shares_namespace_or_workspace_is_refused(
    task: Stage, namespace: str, workspace: str, code: str
) -> None:
    run = task.start()
    task.append(run)
    child = task.start(session=run.session_id)
    own = task.coordinator(namespace=namespace, workspace=lambda: workspace)
    with pytest.raises(LongTaskError) as refused:
        fork(run, child, stage.request(child), coordinator=own, cursor=24)
    assert (refused.value.code, task.store.last_task_event(task.tenant, child.run_id)) == (code, None)


def test_fork_to_another_tenant_principal_or_session_copies_nothing(task: Stage) -> None:
    run = task.start()
    task.append(run)
    own = task.coordinator(namespace="fork-1", workspace=lambda: "workspace-fork")
    here = task.start(session=run.session_id)
    strangers = [replace(here.identity, tenant_id="other"), replace(here.identity, principal_id="other")]
    found = []
    for child in (*(replace(here, identity=one) for one in strangers), task.start()):
        with pytest.raises(LongTaskError) as refused:
            fork(run, child, stage.request(child), coordinator=own, cursor=24)
        found.append(refused.value.code)
        assert task.store.last_task_event(child.identity.tenant_id or "", child.run_id) is None
    assert found == ["fork_principal_mismatch", "fork_principal_mismatch", "fork_session_mismatch"]


def test_fork_into_the_workspace_that_the_main_line_moved_on_to_is_refused(task: Stage) -> None:
    run = task.start()
    task.append(run, last=30)
    child = task.start(session=run.session_id)
    own = task.coordinator(namespace="fork-1", workspace=lambda: "workspace-price-v2")
    with pytest.raises(LongTaskError, match="workspace of its own"):
        fork(run, child, stage.request(child), coordinator=own, cursor=24)


def test_what_a_subagent_hands_back_is_evidence_without_authority(task: Stage) -> None:
    done, run = committed(task)
    back = task.rehydrator().rehydrate(run, done.envelope_id, stage.material())
    assert back.run is not None
    found = candidate_evidence(done.artifact.items, event_id="evt-sub", prefix="subagent-1")
    assert {item.authority for item in found} == {InstructionAuthority.NONE}
    assert all(item.trust.rank <= MAX_TRUST.rank and not item.required for item in found)
    event = EventRecord(
        event_id="evt-sub",
        run_id=run.run_id,
        sequence=25,
        event_type=EventType.TOOL_RESULT,
        carry_items=found,
    )
    TaskLog(store=task.store).append(task.tenant, run.run_id, [event])
    again = task.coordinator().compact(back.run, stage.request(back.run))
    assert {item.key for item in again.artifact.items} == {item.key for item in done.artifact.items}


@dataclass(frozen=True)
class Older:
    """Reads schema 0.9, in which an artifact called its goal `aim`."""

    loses: tuple[str, ...] = ()
    input_schema: str = "0.9"
    name: str = "older-to-1.0"

    def migrate(self, data: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        made = {key: value for key, value in data.items() if key != "aim"}
        return {**made, "goal": data["aim"], "schema_version": "1.0"}, self.loses


def _as_older(task: Stage, artifact_id: str) -> None:
    with sqlite3.connect(str(task.store._database.location.path)) as other:
        (body,) = other.execute("SELECT body FROM task_artifacts").fetchone()
        data = json.loads(body)
        data = {**data, "aim": data.pop("goal"), "schema_version": "0.9"}
        text = canonical.canonical_bytes(data).decode()
        digest = canonical.digest_bytes(text.encode())
        other.execute("UPDATE task_artifacts SET body = ?, digest = ?, schema_version = '0.9'", (text, digest))
        other.execute("UPDATE task_checkpoints SET artifact_digest = ?", (digest,))


def test_migrated_artifact_has_its_own_id_and_is_committed_as_the_same_generation(task: Stage) -> None:
    done, run = committed(task)
    _as_older(task, done.artifact.artifact_id)
    boundary = task.gate.recover(run)
    refused = task.rehydrator().rehydrate(run, boundary.envelope_id, stage.material())
    assert refused.reason == "artifact_rejected_schema"
    made = migrate(task.store, run, done.artifact.artifact_id, Older(), required=["goal"], operator="drill")
    resumed = task.gate.resume(boundary.envelope_id, None, run)
    assert resumed.run is not None
    again = task.coordinator().compact(resumed.run, stage.request(resumed.run, migrated=made))
    row = task.store.task_artifact(task.tenant, again.artifact.artifact_id)
    old = task.store.task_artifact(task.tenant, done.artifact.artifact_id)
    assert row is not None
    assert old is not None
    assert (row.direct_source, row.generation, row.parent_artifact_id) == ("migration", 1, done.artifact.artifact_id)
    assert (row.parent_digest, old.schema_version) == (old.digest, "0.9")
    assert task.rehydrator().rehydrate(resumed.run, again.envelope_id, stage.material()).built is not None


def _answering(answer: object) -> Any:
    class Answering(Older):
        def migrate(self, data: Mapping[str, Any]) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return super().migrate(data)[0], answer

    return Answering()


@pytest.mark.parametrize("lost", [None, "constraints", [{}], ValueError("of a field")])
def test_migrator_that_fails_or_answers_in_another_form_stops_and_is_told(task: Stage, lost: object) -> None:
    done, run = committed(task)
    _as_older(task, done.artifact.artifact_id)
    with pytest.raises(LongTaskError) as stopped:
        migrate(
            task.store, run, done.artifact.artifact_id, _answering(lost), required=["constraints"], operator="drill"
        )
    told = [entry.outcome for entry in task.store.task_ledger(task.tenant) if entry.kind == "migration"]
    assert (stopped.value.code, told) == ("migrator_failed", ["migrator_failed"])


@pytest.mark.parametrize(
    ("migrator", "code"),
    [
        (Older(loses=("constraints",)), "migration_loses_required"),
        (replace(Older(), input_schema="0.8"), "migrator_schema_mismatch"),
    ],
)
def test_migration_that_loses_or_misreads_stops_and_is_told(task: Stage, migrator: Older, code: str) -> None:
    done, run = committed(task)
    _as_older(task, done.artifact.artifact_id)
    with pytest.raises(LongTaskError) as stopped:
        migrate(task.store, run, done.artifact.artifact_id, migrator, required=["constraints"], operator="drill")
    told = [entry.outcome for entry in task.store.task_ledger(task.tenant) if entry.kind == "migration"]
    assert (stopped.value.code, told) == (code, [code])


def test_migrated_artifact_that_says_something_else_is_not_committed(task: Stage) -> None:
    done, run = committed(task)
    _as_older(task, done.artifact.artifact_id)
    made = migrate(task.store, run, done.artifact.artifact_id, Older(), required=[], operator="drill")
    changed = replace(made, artifact=replace(made.artifact, open_issues=()))
    boundary = task.gate.recover(run)
    resumed = task.gate.resume(boundary.envelope_id, None, run)
    assert resumed.run is not None
    with pytest.raises(ActionBlocked) as blocked:
        task.coordinator().compact(resumed.run, stage.request(resumed.run, migrated=changed))
    assert "open_issue_closed_without_verification" in codes(blocked)


def test_reload_returns_content_only_while_it_is_what_was_seen(task: Stage, tmp_path: Path) -> None:
    _, run = committed(task)
    (tmp_path / "report.txt").write_text("1 failed")
    files = FileResolver(tmp_path)
    seen = locate("file", "report.txt", resolver=files, workspace_digest=task.live)
    first = reload_evidence(task.store, run, seen, files, operator="drill")
    (tmp_path / "report.txt").write_text("0 failed")
    second = reload_evidence(task.store, run, seen, files, operator="drill")
    assert (first, second) == ((LocatorResult.MATCH, b"1 failed"), (LocatorResult.STALE, None))
    told = [(one.outcome, one.bytes_after) for one in task.store.task_ledger(task.tenant) if one.kind == "reload"]
    assert told == [("match", 8), ("stale", 0)]


def test_required_evidence_that_changed_blocks_the_resume_and_optional_one_does_not(
    task: Stage, tmp_path: Path
) -> None:
    (tmp_path / "report.txt").write_text("1 failed")
    files = {"file": FileResolver(tmp_path)}
    run = task.start()
    task.append(run)
    seen = locate("file", "report.txt", resolver=files["file"], workspace_digest=task.live)
    done = task.coordinator(resolvers=files).compact(run, stage.request(run, evidence=(seen,)))
    (tmp_path / "report.txt").write_text("0 failed")
    found = task.rehydrator(files).rehydrate(run, done.envelope_id, stage.material())
    assert (found.reason, found.locators[seen.locator_id]) == ("locator_stale", LocatorResult.STALE)
    spared = stage.material(optional_locators=frozenset({seen.locator_id}))
    again = task.rehydrator(files).rehydrate(run, done.envelope_id, spared)
    assert again.reason == "continuity_validated"
    assert ("locator_stale", seen.locator_id) in [(one.reason, one.item_key) for one in again.lifecycle]
