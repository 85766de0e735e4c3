from __future__ import annotations

from pathlib import Path

import pytest

from gate import opa
from gate.compiler import compile_bundle
from gate.lab.soak_sidecar import soak

pytestmark = pytest.mark.opa


def test_sidecar_killed_paused_swapped_and_rolled_over_gives_no_wrong_decision_and_recovers(repo: Path) -> None:
    bundle, other = (compile_bundle(repo / "bundles" / name) for name in ("support-triage", "knowledge-assistant"))
    report = soak(bundle, other, binary=opa.find().path, seconds=1.0)
    phases = {phase["name"]: phase for phase in report}
    assert list(phases) == ["steady", "killed", "paused", "swapped", "rolled over"]
    assert [(p["wrong"], p["unexplained"]) for p in report] == [(0, 0)] * 5
    assert all(p["decisions"] > 0 for p in report)
    assert [name for name, p in phases.items() if p["refusals"]] == ["killed", "paused", "swapped"]
    assert [name for name, p in phases.items() if p["recovery_ms"] is not None] == ["killed", "paused", "swapped"]
    assert "pdp_revision_unexpected" in phases["swapped"]["refusals"]
    assert "pdp_timeout" in phases["paused"]["refusals"]
    assert "pdp_unreachable" in phases["killed"]["refusals"]
