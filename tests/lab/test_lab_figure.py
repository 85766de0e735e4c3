from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gate.errors import InputError, ToolchainError
from gate.lab.longtask.figure import draw
from gate.lab.longtask.report import Report
from gate.lab.longtask.run import run
from gate.lab.longtask.trajectory import load


@pytest.fixture(scope="module")
def report() -> Report:
    return run(load())


def test_figure_is_the_same_bytes_whatever_style_the_user_has(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpl = pytest.importorskip("matplotlib")
    first = [path.read_bytes() for path in draw(report, tmp_path / "one")]
    monkeypatch.setitem(mpl.rcParams, "font.size", 20.0)
    monkeypatch.setitem(mpl.rcParams, "axes.facecolor", "black")
    second = [path.read_bytes() for path in draw(report, tmp_path / "two")]
    assert first == second
    assert mpl.rcParams["font.size"] == 20.0


def test_figure_is_a_png_and_an_svg_without_date(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    png, svg = draw(report, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG\r\n")
    text = svg.read_text("utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<dc:date>" not in text
    assert "summary-only-v1" in text


def test_figure_of_other_figures_is_another(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    fewer = Report(report.cases[:-1], report.trace, report.passed)
    assert draw(report, tmp_path / "one")[0].read_bytes() != draw(fewer, tmp_path / "two")[0].read_bytes()


def test_figure_without_matplotlib_names_the_extra(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ToolchainError) as caught:
        draw(report, tmp_path)
    assert (caught.value.code, caught.value.hint) == ("matplotlib_missing", "install the extra `lab`")
    assert list(tmp_path.iterdir()) == []


def test_figure_that_cannot_be_written_says_so(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        draw(report, tmp_path / "file")
    assert caught.value.code == "report_unwritable"
