from __future__ import annotations

import os
from pathlib import Path

import pytest
from seeded_support import seeded_changes

pytestmark = pytest.mark.opa
COUNT = int(os.environ.get("GATE_TEST_SEEDED_CHANGES", "4"))


def test_diff_finds_each_seeded_change_of_a_decision_with_a_witness_that_differs_elsewhere(repo: Path) -> None:
    seen = list(seeded_changes(repo / "bundles", COUNT, seed=7))
    assert len(seen) == COUNT
    assert [one.name for one in seen if one.noticed and not one.differs] == []
    # Whatever the diff reports differs, also where nobody else saw it.
    assert [one.name for one in seen if one.change is not None and not one.differs] == []
