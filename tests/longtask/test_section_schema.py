from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.documents.resources import schema
from gate.documents.strict_schema import strict_validator
from gate.lab.longtask import stage
from gate.pdp import DecisionPoint, Facts, Reply


@dataclass
class Listening:
    """A decision point that keeps what it was asked."""

    point: DecisionPoint
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def decide(self, document: Mapping[str, Any]) -> Reply:
        self.asked.append(document)
        return self.point.decide(document)

    def facts(self, agent_id: str) -> Facts:
        return self.point.facts(agent_id)

    def revision(self) -> str:
        return self.point.revision()

    def ready(self) -> bool:
        return self.point.ready()

    def close(self) -> None:
        """The point is shared and goes on."""


def test_documents_of_a_commit_and_a_rehydration_are_in_the_form_of_their_schema(
    task_point: DecisionPoint, tmp_path: Path
) -> None:
    listening = Listening(task_point)
    with stage.opened(listening, f"sqlite:///{tmp_path}/records.sqlite") as task:
        run = task.start()
        task.append(run)
        done = task.coordinator().compact(run, stage.request(run))
        back = task.rehydrator().rehydrate(run, done.envelope_id, stage.material())
        assert back.run is not None
        task.append(back.run, first=25, last=26)
        task.coordinator().compact(back.run, stage.request(back.run, from_log=False))
    about = [document for document in listening.asked if document["state"].get("longtask") is not None]
    wrong = [error.message for document in about for error in strict_validator(schema("input")).iter_errors(document)]
    assert wrong == []
    assert [document["state"]["longtask"]["phase"] for document in about] == ["commit", "rehydrate", "commit"]


def test_no_content_of_the_task_enters_a_document(task_point: DecisionPoint, tmp_path: Path) -> None:
    listening = Listening(task_point)
    with stage.opened(listening, f"sqlite:///{tmp_path}/records.sqlite") as task:
        run = task.start()
        events = task.append(run)
        done = task.coordinator().compact(run, stage.request(run))
        task.rehydrator().rehydrate(run, done.envelope_id, stage.material())
    said = repr(listening.asked)
    assert [item.key for event in events for item in event.carry_items if item.content in said] == []
