"""The published trajectory, where this machine has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gate.lab.longtask.trajectory import Trajectory, load

FILE = "price-repair-events.jsonl"


def published(repo: Path) -> Trajectory:
    """The published thirty events; skips, by name, the test that asked when the file is absent."""
    named = os.environ.get("GATE_SEED_DATA")
    path = (Path(named) if named else repo.parent / "shared" / "data") / FILE
    if not path.is_file():
        pytest.skip(f"`{FILE}` is not in the folder that GATE_SEED_DATA names")
    return load(path)
