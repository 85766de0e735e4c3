from __future__ import annotations

from pathlib import Path

from gate.lab.drills import Report
from gate.longtask.checklists import AT_RECOVERY, BEFORE_COMPACTION, LISTS, THREATS


def test_every_item_of_the_lists_has_a_rule_and_a_test_of_its_code(repo: Path) -> None:
    rego, python = sorted((repo / "policies").rglob("*.rego")), sorted((repo / "gate").rglob("*.py"))
    rules = [p for p in rego if not p.name.endswith("_test.rego") and p.name != "remedy.rego"]
    rules += [p for p in python if p.name not in ("checklists.py", "runbook.py")]
    tests = [p for p in rego if p.name.endswith("_test.rego")]
    tests += [p for p in (repo / "tests").rglob("*.py") if p != Path(__file__).resolve()]
    ruled, tested = ("\n".join(path.read_text("utf-8") for path in paths) for paths in (rules, tests))
    codes = sorted({code for _, checks in LISTS for check in checks for code in check.codes})
    assert [code for code in codes if f'"{code}"' not in ruled] == []
    assert [code for code in codes if f'"{code}"' not in tested] == []


def test_report_of_the_drills_holds_every_item_of_the_lists() -> None:
    text = Report(drills=(), signals={}, own_runs=()).as_markdown()
    assert (len(BEFORE_COMPACTION), len(AT_RECOVERY), len(THREATS)) == (10, 9, 5)
    for title, checks in LISTS:
        assert f"## {title}\n" in text
        for check in checks:
            assert f"| {check.statement} | {', '.join(check.codes)} |" in text
