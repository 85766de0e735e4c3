from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import cli
from gate.cli.bench import _render_logs
from gate.lab import bench_longtask
from gate.lab.bench_longtask import BUDGETS, growth, ratios


@pytest.mark.opa
def test_growth_measures_each_length_and_its_figures_are_those_of_the_budgets(
    opa_binary: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_longtask, "MANY", 30)

    figures = list(growth((40, 250), engine="opa"))

    assert [one.events for one in figures] == [40, 250]
    for one in figures:
        for cost in (one.append, one.fill, one.boundary, one.long_boundary, one.resume):
            assert cost.cpu_ms > 0
            assert cost.wall_ms > 0
    assert ratios(figures).keys() == BUDGETS.keys()
    _render_logs(figures)
    shown = capsys.readouterr().out
    assert [name for name in BUDGETS if name not in shown] == []


@pytest.mark.parametrize("lengths", ["many", "0", "-1", "1000,1000", "2000,1000", "1e6"])
def test_lengths_that_do_not_grow_are_a_usage_error(lengths: str) -> None:
    found = CliRunner().invoke(cli, ["bench", "--events", lengths])
    assert (found.exit_code, "give growing whole numbers" in found.stderr) == (2, True)
