from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_support import run

from gate.compiler import compile_bundle, write

RULE = "approval-required-25-to-100"


@pytest.fixture(scope="module")
def bundle(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The refund desk with a contract of one rule in one language."""
    copy = tmp_path_factory.mktemp("small") / "refund-desk"
    shutil.copytree(repo / "bundles" / "refund-desk", copy)
    file = copy / "compaction.yaml"
    document: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    contract = document["compaction_release"]
    rule = contract["rules"][RULE]
    rule["wordings"] = [wording for wording in rule["wordings"] if wording["language"] == "en"]
    contract["rules"] = {RULE: rule}
    contract["invariants"]["required_rule_ids"] = [RULE]
    contract["runtime"] |= {"compaction_threshold": 300, "tighter_threshold": 200}
    file.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), "utf-8")
    write(compile_bundle(copy))
    return copy


def test_gate_reports_records_and_exits_three_below_the_required_posture(bundle: Path, tmp_path: Path) -> None:
    folder, record = tmp_path / "out" / "report", tmp_path / "compaction-record.yaml"
    done = run(
        *("compaction-gate", str(bundle / "compaction.yaml"), "--compactor", "drop-rule", "--engine", "embedded"),
        *("--rounds", "1", "--threshold", "tighter", "--jobs", "1", "--report", str(folder)),
        *("--record", str(record), "--output", "json"),
    )
    assert done.exit_code == 3, done.output
    shown = json.loads(done.stdout)
    assert shown["report"]["passed"] is False
    assert shown["report"]["required_posture"] == "ship-limited"
    assert sorted(f.name for f in folder.iterdir()) == [
        *("header.json", "junit.xml", "report.html", "report.json", "report.md"),
    ]
    assert json.loads((folder / "report.json").read_text()) == shown["report"]
    written = yaml.safe_load(record.read_text())["compaction_record"]
    assert written["posture"] == shown["report"]["compactors"][0]["judgement"]["posture"]
    assert "compaction-record.yaml is written; list it in bundle.yaml" in done.stderr


def test_gate_exits_zero_for_the_posture_that_is_required(bundle: Path) -> None:
    done = run(
        *("compaction-gate", str(bundle), "--compactor", "structured", "--engine", "embedded"),
        *("--rounds", "1", "--threshold", "tighter", "--jobs", "1", "--require", "hold"),
    )
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "structured@1: hold"
    assert "  round 1: rules kept 9/9, compliant decisions 9/9, forbidden effects 0" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "required hold: passed"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--compactor", "nobody"], 1, "compactor_unknown"),
        ([], 2, "--compactor"),
        (["--compactor", "none", "--compactor", "truncate", "--record", "x"], 2, "for one compactor"),
        (["--compactor", "none", "--compactor", "none"], 1, "compactor_repeated"),
        (["--compactor", "none", "--require", "released"], 2, "--require"),
        (["--compactor", "none", "--rounds", "0"], 2, "--rounds"),
        (["--compactor", "transcript:/nowhere/t.jsonl"], 1, "transcript_unreadable"),
        (["--compactor", "https://host/x", "--token-file", "/nowhere/token"], 1, "token_file_unreadable"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_is_played(
    bundle: Path, arguments: list[str], code: int, said: str
) -> None:
    done = run("compaction-gate", str(bundle), "--engine", "embedded", *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("contract", "said"),
    [("bundle.yaml", "contract_unknown"), ("nothing.yaml", "contract_unknown")],
)
def test_a_file_that_is_no_contract_is_refused(bundle: Path, contract: str, said: str) -> None:
    done = run("compaction-gate", str(bundle / contract), "--compactor", "none", "--engine", "embedded")
    assert done.exit_code == 1
    assert said in done.stderr
