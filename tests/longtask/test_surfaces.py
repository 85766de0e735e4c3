from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from longtask_support import item

from gate.decision import ActionBlocked
from gate.lab.drills import Report
from gate.lab.longtask.stage import Stage
from gate.longtask.events import CarryItem, LongTaskError
from gate.longtask.surfaces import SURFACES, FolderWorkspace, remember
from gate.longtask.vocabulary import Sensitivity


@dataclass
class Notes:
    """A memory that is a list."""

    kept: list[tuple[str, str, CarryItem]] = field(default_factory=list)

    def write(self, tenant_id: str, kind: str, one: CarryItem) -> None:
        self.kept.append((tenant_id, kind, one))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / "src" / "a.py").write_text("a")
    (tmp_path / "work" / "b.py").write_text("b")
    return tmp_path / "work"


def test_report_of_the_drills_says_of_every_surface_who_writes_verifies_and_mends_it() -> None:
    text = Report(drills=(), signals={}, own_runs=()).as_markdown()
    assert [one.name for one in SURFACES] == [
        *("event log", "working set", "artifact", "run checkpoint", "evidence locators", "context packet"),
        *("workspace", "memory"),
    ]
    for one in SURFACES:
        assert f"| {one.name} | {one.holds} | {one.written_by} | {one.verified_by} | {one.when_invalid} |" in text


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "b.py").write_text("c"),
        lambda root: (root / "b.py").unlink(),
        lambda root: (root / "b.py").rename(root / "src" / "b.py"),
        lambda root: (root / "new.py").write_text(""),
        lambda root: (root / "empty").mkdir(),
        lambda root: (root / "link.py").symlink_to("b.py"),
        lambda root: ((root / "b.py").unlink(), (root / "b.py").symlink_to("src/a.py")),
        lambda root: os.mkfifo(root / "pipe"),
    ],
    ids=["edited", "removed", "moved", "added", "folder", "linked", "replaced-by-link", "pipe"],
)
def test_digest_of_a_folder_tells_every_change(folder: Path, change: Callable[[Path], object]) -> None:
    before = FolderWorkspace(folder)()
    change(folder)
    assert FolderWorkspace(folder)() != before


def test_digest_of_a_folder_is_of_names_and_contents_only(folder: Path, tmp_path: Path) -> None:
    before = FolderWorkspace(folder)()
    os.utime(folder / "b.py", (1, 1))
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("x")
    folder.rename(tmp_path / "elsewhere")
    assert FolderWorkspace(tmp_path / "elsewhere")() == before
    assert FolderWorkspace(tmp_path / "elsewhere", left_out=frozenset())() != before


def test_folder_that_is_gone_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(LongTaskError) as refused:
        FolderWorkspace(tmp_path / "gone")()
    assert refused.value.code == "workspace_unreadable"


def test_memory_is_written_only_with_what_the_policies_allow(task: Stage) -> None:
    notes, run, fact = Notes(), task.start(), item("learned")
    remember(task.gate, notes, run, fact, kind="validated_fact")
    with pytest.raises(ActionBlocked) as refused:
        remember(task.gate, notes, run, fact, kind="raw_transcript")
    secret = item("key", sensitivity=Sensitivity.SECRET)
    with pytest.raises(LongTaskError) as kept_back:
        remember(task.gate, notes, run, secret, kind="validated_fact")
    assert "memory_kind_denied" in refused.value.decision.codes
    assert (kept_back.value.code, notes.kept) == ("secret_memory_candidate", [(task.tenant, "validated_fact", fact)])
