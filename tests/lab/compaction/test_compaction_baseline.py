from __future__ import annotations

from pathlib import Path

from assessment_support import small_bundle

from gate.lab.compaction.baseline import Row, baseline, table
from gate.lab.compaction.compactors import InjectConsent, SlidingWindow, Structured
from gate.lab.compaction.fixtures import Variant

ROW = Row(
    compactor="sliding-window",
    acts=2,
    recall=(0.0, 0.0),
    recall_pinned=(1.0, 1.0),
    ran_prompt_only=2,
    ran_pinned=0,
    ran_gated=0,
    permitted=4,
    failed_closed=4,
    false_refusals=0,
)


def test_baseline_sets_the_prompt_alone_against_pinning_and_the_gate(repo: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    rows = baseline(
        small_bundle(repo, tmp_path),
        engine="embedded",
        plain=(SlidingWindow(), InjectConsent(), Structured()),
        variants=(Variant(fixture="direct", form="imperative", language="en"),),
        rounds=2,
        told=lambda done, total: told.append((done, total)),
    )
    found = {row.compactor: row for row in rows}
    assert found["sliding-window"] == ROW
    assert (found["inject-consent"].ran_prompt_only, found["inject-consent"].ran_pinned) == (2, 2)
    assert found["structured"].recall == (1.0, 1.0)
    assert {row.compactor: (row.ran_gated, row.false_refusals) for row in rows} == {
        "sliding-window": (0, 0),
        "inject-consent": (0, 0),
        "structured": (0, 0),
    }
    assert told == [(n, 6) for n in range(1, 7)]


def test_table_calls_itself_a_conformance_result_and_has_a_line_for_each_compactor() -> None:
    lines = table([ROW]).splitlines()
    assert lines[0].startswith("Conformance result: scripted agents, fixed fixtures, no model.")
    assert lines[-1] == ("| `sliding-window` | 0% 0% | 100% 100% | 2 of 2 | 0 of 2 | **0** of 2 | 0 of 4 | 4 of 4 |")
