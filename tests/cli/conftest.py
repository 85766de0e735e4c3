from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_support import World, agent_run, embedded_gate

from gate import Store
from gate.cli.sources import compiled_bundle, embedded_point
from gate.compiler import compile_bundle, write
from gate.documents import load_cases
from gate.records import ReviewerKey, generate_key, write_key_file
from gate.release import case_document

SAMPLE = Path(__file__).parents[2] / "bundles" / "support-triage"
KEPT = {"GATE_OPA_BIN", "GATE_TOOLS_DIR"}


@pytest.fixture(autouse=True)
def _no_settings_of_whoever_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("GATE_") and n not in KEPT]:
        monkeypatch.delenv(name)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the sample bundle that may be broken."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "support-triage"))


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The input document of each golden case, as a JSON file."""
    folder = tmp_path_factory.mktemp("inputs")
    compiled = compiled_bundle(SAMPLE)
    facts = embedded_point(compiled).facts(compiled.bundle.meta.agent_ids[0])
    known: dict[str, Any] = {
        "bundle": facts.bundle,
        "capabilities": facts.capabilities,
        "contracts": facts.contracts,
        "reviewers": facts.reviewers,
    }
    found = {}
    for case in load_cases(SAMPLE):
        found[case.id] = folder / f"{case.id}.json"
        found[case.id].write_text(json.dumps(case_document(case, known)), encoding="utf-8")
    return found


@pytest.fixture
def world(tmp_path: Path, bundle: Path) -> Iterator[World]:
    private_key, public_key = generate_key()
    reviewers = bundle / "reviewers.yaml"
    text = re.sub(r"public_key: .*", f"public_key: {public_key}", reviewers.read_text(encoding="utf-8"))
    reviewers.write_text(text, encoding="utf-8")
    write(compile_bundle(bundle))
    key_file = tmp_path / "mira.json"
    write_key_file(key_file, ReviewerKey(reviewer="mira-manager", key_id="mira-manager-2026", private_key=private_key))
    store_file = tmp_path / "records.sqlite"
    with Store.open(f"sqlite:///{store_file}") as store:
        gate = embedded_gate(bundle, store)
        yield World(bundle, store_file, key_file, gate, store, agent_run(gate))
