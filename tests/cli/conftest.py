from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_support import World, agent_run, gate_on
from new_store import new_store

from gate import Store
from gate.cli.sources import embedded_point
from gate.compiler import compile_bundle
from gate.documents import load_cases
from gate.release import case_document
from gate.release.scaffold import scaffold

KEPT = {"GATE_OPA_BIN", "GATE_TOOLS_DIR"}


@pytest.fixture(autouse=True)
def _no_settings_of_whoever_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("GATE_") and n not in KEPT]:
        monkeypatch.delenv(name)


@dataclass(frozen=True)
class Made:
    bundle: Path
    key_file: Path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A new bundle, not to be changed, and its reviewer's key."""
    folder = tmp_path_factory.mktemp("made")
    scaffold(folder / "my-bot", key_file=folder / "key.json", now_ms=time.time_ns() // 1_000_000)
    return Made(folder / "my-bot", folder / "key.json")


@pytest.fixture
def bundle(made: Made, tmp_path: Path) -> Path:
    """A copy of the new bundle that may be broken."""
    return Path(shutil.copytree(made.bundle, tmp_path / "my-bot"))


@pytest.fixture(scope="session")
def inputs(made: Made, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The input document of each golden case, as a JSON file."""
    folder = tmp_path_factory.mktemp("inputs")
    compiled = compile_bundle(made.bundle)
    facts = embedded_point(compiled).facts(compiled.bundle.meta.agent_ids[0])
    known: dict[str, Any] = {
        "bundle": facts.bundle,
        "capabilities": facts.capabilities,
        "contracts": facts.contracts,
        "reviewers": facts.reviewers,
    }
    found = {}
    for case in load_cases(made.bundle):
        found[case.id] = folder / f"{case.id}.json"
        found[case.id].write_text(json.dumps(case_document(case, known)), encoding="utf-8")
    return found


@pytest.fixture
def world(tmp_path: Path, bundle: Path, made: Made) -> Iterator[World]:
    store_file = tmp_path / "records.sqlite"
    with Store.open(new_store(store_file)) as store:
        gate = gate_on(bundle, store)
        yield World(bundle, store_file, made.key_file, gate, store, agent_run(gate))
