"""A figure of the report: canonical bytes and retention by strategy, as PNG and SVG.

Needs matplotlib (extra `lab`). The same report and the same matplotlib give the same bytes: no date, no random id. It
shows single observations of one trajectory and joins no two of them by a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gate.errors import InputError, ToolchainError
from gate.lab.longtask.cases import ExperimentCase
from gate.lab.longtask.failures import FAILURES
from gate.lab.longtask.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "context-continuity-figure"

_RETENTIONS = (
    ("acceptance", "acceptance_retention"),
    ("constraint", "constraint_retention"),
    ("negative constraint", "negative_constraint_retention"),
    ("open issue", "open_issue_retention"),
    ("rejected hypothesis", "rejected_hypothesis_retention"),
)
_NOTE = "Single observations of one trajectory (sample_count=1); canonical UTF-8 bytes, not provider tokens."


def draw(report: Report, folder: Path) -> tuple[Path, Path]:
    """Writes the figure into `folder`; its paths, PNG first.

    Raises `ToolchainError` (`matplotlib_missing`), `InputError` (`report_unwritable`).
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as exc:
        raise ToolchainError(
            "matplotlib is not installed", code="matplotlib_missing", hint="install the extra `lab`"
        ) from exc
    cases = [case for case in report.cases if case.experiment != FAILURES]
    png, svg = folder / f"{NAME}.png", folder / f"{NAME}.svg"
    # Whatever style the user's own settings file asks for would change the bytes.
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = NAME
        mpl.rcParams["svg.fonttype"] = "path"
        mpl.rcParams["font.family"] = ["DejaVu Sans"]
        mpl.rcParams["font.size"] = 8.0
        figure = Figure(figsize=(11.0, 5.0), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2, sharey=True)
        _bytes(left, cases)
        _retention(right, cases)
        figure.suptitle("Context continuity by strategy")
        figure.supxlabel(_NOTE, fontsize=7)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(png, format="png", metadata={"Software": None})
            figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        except OSError as exc:
            raise InputError("the figure cannot be written", code="report_unwritable") from exc
    return png, svg


def _bytes(axes: Axes, cases: Sequence[ExperimentCase]) -> None:
    rows = range(len(cases))
    axes.barh([row - 0.2 for row in rows], [case.serialized_bytes_before for case in cases], 0.36, color="#c8ccd4")
    bars = axes.barh(
        [row + 0.2 for row in rows], [case.serialized_bytes_after for case in cases], 0.36, color="#3465a4"
    )
    axes.bar_label(bars, padding=2, fontsize=7)
    axes.set_yticks(list(rows), [case.variant for case in cases])
    axes.invert_yaxis()
    axes.set_xlabel("bytes before (grey) and after (blue)")
    axes.margins(x=0.12)


def _retention(axes: Axes, cases: Sequence[ExperimentCase]) -> None:
    """Each dimension for itself; there is no overall score to draw."""
    for column, (_, field) in enumerate(_RETENTIONS):
        for row, case in enumerate(cases):
            share = float(getattr(case.grade, field))
            axes.scatter(column, row, s=150, marker="s", color=_shade(share), edgecolors="#555753", linewidths=0.5)
            axes.annotate(f"{share:.2f}", (column, row), ha="center", va="center", fontsize=5.5)
    axes.set_xticks(range(len(_RETENTIONS)), [name for name, _ in _RETENTIONS], rotation=20, ha="right")
    axes.set_xlim(-0.6, len(_RETENTIONS) - 0.4)
    axes.set_xlabel("retention of declared keys")


def _shade(share: float) -> str:
    """Darker green the more is kept; red for nothing."""
    if share == 0.0:
        return "#ef9a9a"
    return "#a5d6a7" if share == 1.0 else "#fff59d"
