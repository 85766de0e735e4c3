from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from continuity_support import World, served

from gate.lab.continuity_bundle import Reviewer
from gate.pdp import DecisionPoint


@pytest.fixture(scope="session")
def reviewer() -> Reviewer:
    return Reviewer.new()


@pytest.fixture(scope="session")
def bundle_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundle")


@pytest.fixture(scope="session")
def point(bundle_folder: Path, reviewer: Reviewer) -> Iterator[DecisionPoint]:
    found = served(bundle_folder, reviewer)
    yield found
    found.close()


@pytest.fixture(scope="session")
def next_point(tmp_path_factory: pytest.TempPathFactory, reviewer: Reviewer) -> Iterator[DecisionPoint]:
    """The same bundle at its next version."""
    found = served(tmp_path_factory.mktemp("next"), reviewer, version="1.1.0")
    yield found
    found.close()


@pytest.fixture
def world(point: DecisionPoint, reviewer: Reviewer, tmp_path: Path, bundle_folder: Path) -> Iterator[World]:
    found = World.new(point, reviewer, tmp_path, bundle_folder)
    yield found
    found.store.close()
