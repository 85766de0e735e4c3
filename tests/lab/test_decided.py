"""The hand-overs of the experiments, through the gate: the same report on both engines, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import cli
from gate.lab.longtask.decided import FILE, decided
from gate.lab.longtask.trajectory import load


@pytest.mark.opa
def test_policies_decide_the_published_hand_overs_alike_on_both_engines(tmp_path: Path, opa_binary: Path) -> None:
    embedded = decided(load(), "embedded")

    arguments = ["lab", "context-continuity", "--no-figure", "--engine", "opa", "--report", str(tmp_path)]
    found = CliRunner().invoke(cli, [*arguments, "--output", "json"], env={"GATE_OPA_BIN": str(opa_binary)})

    written = json.loads((tmp_path / f"{FILE}.json").read_text("utf-8"))
    assert [(row["variant"], row["reason"]) for row in written["sections"][0]["rows"]] == [
        ("rehydrated-context-v1", "continuity_validated"),
        ("workspace-digest-mismatch", "stale_workspace_digest"),
        ("unsupported-artifact-schema", "artifact_rejected_schema"),
        ("corrupt-artifact-source-digest", "artifact_source_digest_mismatch"),
        ("constraint-dropped", "missing_required_carry_items"),
        ("open-issue-closed", "missing_required_carry_items, open_issue_closed_without_verification"),
        ("goal-rewritten", "item_rewritten"),
        ("authority-raised", "artifact_drifted, authority_raised"),
    ]
    assert (embedded.unmet, found.exit_code, json.loads(found.stdout)["unmet_expectations"]) == ((), 0, [])
    assert (tmp_path / f"{FILE}.json").read_text("utf-8") == embedded.as_json()
    assert (tmp_path / f"{FILE}.md").read_text("utf-8") == embedded.as_markdown()
