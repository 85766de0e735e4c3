"""A user's own compactor in the six steps: what it may propose, and what the policies refuse to commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from task_support import codes

from gate.decision import ActionBlocked
from gate.lab.longtask import stage
from gate.lab.longtask.stage import Stage
from gate.longtask.compactor import CallableCompactor
from gate.longtask.events import LongTaskError

Reply = dict[str, Any]
GROUPS = {
    "acceptance_criteria": "acceptance_keys",
    "constraints": "constraint_keys",
    "decisions": "decision_keys",
    "rejected_hypotheses": "rejected_hypothesis_keys",
    "open_issues": "open_issue_keys",
    "verification_state": "verification_keys",
}


def honest(request: Mapping[str, Any]) -> Reply:
    latest = {item["key"]: item for event in request["events"] for item in event["carry_items"]}
    reply = {name: [latest[key] for key in request["seed"][field]] for name, field in GROUPS.items()}
    return {
        "protocol": request["protocol"],
        "goal": latest["repair-price"],
        "next_intent": latest["next-intent"],
        **reply,
    }


def own(change: Callable[[Reply], object]) -> CallableCompactor:
    def function(request: Mapping[str, Any]) -> Reply:
        reply = honest(request)
        change(reply)
        return reply

    return CallableCompactor(name="own", version="7", function=function)


def compacted(task: Stage, change: Callable[[Reply], object]) -> Any:
    run = task.start()
    task.append(run)
    return task.coordinator(strategy=own(change)).compact(run, stage.request(run)), run


def test_honest_compactor_is_committed_under_its_own_name(task: Stage) -> None:
    done, run = compacted(task, lambda _: None)
    pair = task.store.committed_pair(task.tenant, run.run_id)
    assert pair is not None
    assert pair.artifact is not None
    assert (pair.artifact.artifact_id, pair.artifact.generator) == (done.artifact.artifact_id, "own")
    assert pair.artifact.generator_version == "7"


def _move(reply: Reply, key: str, source: str, target: str) -> None:
    (found,) = (item for item in reply[source] if item["key"] == key)
    reply[source].remove(found)
    reply[target].append(found)


def _change(reply: Reply, group: str, **changes: Any) -> None:
    reply[group][0].update(changes)


REFUSED: list[tuple[str, Callable[[Reply], object], str]] = [
    ("constraint reworded", lambda r: _change(r, "constraints", content="Anything goes."), "item_rewritten"),
    ("goal reworded", lambda r: r["goal"].update(content="Make it work."), "item_rewritten"),
    ("authority raised", lambda r: _change(r, "constraints", authority="system"), "authority_raised"),
    ("trust lowered", lambda r: _change(r, "constraints", trust="hostile"), "artifact_drifted"),
    ("priority lowered", lambda r: _change(r, "constraints", retention_priority="low"), "artifact_drifted"),
    ("requirement dropped", lambda r: _change(r, "acceptance_criteria", required_for=[]), "artifact_drifted"),
    (
        "constraint among decisions",
        lambda r: _move(r, "public-signature", "constraints", "decisions"),
        "artifact_drifted",
    ),
    (
        "guess among decisions",
        lambda r: _move(r, "rounding-only-rejected", "rejected_hypotheses", "decisions"),
        "artifact_drifted",
    ),
    ("open issue gone", lambda r: r["open_issues"].clear(), "open_issue_closed_without_verification"),
    ("constraint gone", lambda r: r["constraints"].clear(), "missing_required_carry_items"),
    ("other sources", lambda r: _change(r, "constraints", source_event_ids=["evt-003"]), "artifact_drifted"),
    (
        "invented source",
        lambda r: _change(r, "constraints", source_event_ids=["evt-999"]),
        "artifact_provenance_missing",
    ),
]


@pytest.mark.parametrize(("change", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_compactor_that_departs_from_the_log_is_not_committed(
    task: Stage, change: Callable[[Reply], object], code: str
) -> None:
    with pytest.raises(ActionBlocked) as blocked:
        compacted(task, change)
    assert code in codes(blocked)


def test_compactor_that_fails_commits_nothing_and_another_may_take_its_place(task: Stage) -> None:
    run = task.start()
    task.append(run)
    with pytest.raises(LongTaskError) as caught:
        task.coordinator(strategy=own(lambda reply: reply.pop("open_issues"))).compact(run, stage.request(run))
    assert caught.value.code == "compactor_reply_invalid"
    assert task.store.committed_pair(task.tenant, run.run_id) is None
    done = task.coordinator().compact(run, stage.request(run))
    assert done.artifact.open_issues[0].key == "legacy-config-open"
