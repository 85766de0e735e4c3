"""`gate bench`: ratios against raw OPA, and growth with the number of capabilities."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from gate.cli.options import option, output_option
from gate.cli.progress import progress_bar
from gate.lab import bench_longtask
from gate.lab.bench import BUDGETS, Growth, Timing, measure_calls, measure_growth
from gate.lab.bench_diff import DIFF_BUDGET_S, Comparing, measure_diff
from gate.release.diff import LIMIT


@click.command()
@option(
    "--bundle",
    type=click.Path(path_type=Path),
    default=Path("bundles/support-triage"),
    show_default=True,
    envvar="GATE_BUNDLE",
    help="Bundle whose decisions are timed.",
)
@option("--rounds", default=1000, show_default=True, envvar="GATE_BENCH_ROUNDS", help="Calls of each kind.")
@option(
    "--sizes",
    default="10:0:0,100:0:0,200:50:0,1000:0:0,2000:500:0,10:0:50",
    show_default=True,
    envvar="GATE_BENCH_SIZES",
    help="Synthetic bundles, each capabilities:bound controls:unbound controls; ratios are over the first.",
)
@option(
    "--events",
    default="1000,100000",
    show_default=True,
    envvar="GATE_BENCH_EVENTS",
    help="Lengths of a long task's log, shortest first; 1000,1000000 takes half an hour, and an empty one none.",
)
@option(
    "--diff-inputs",
    type=click.IntRange(0, 1_000_000),
    default=LIMIT,
    show_default=True,
    envvar="GATE_BENCH_DIFF_INPUTS",
    help="Inputs that two synthetic bundles with 200 rules are compared on; 0 compares none.",
)
@output_option()
def bench(bundle: Path, rounds: int, sizes: str, events: str, diff_inputs: int, output: str) -> None:
    """Measure the client and the full check beside a raw OPA round trip, in one run."""
    try:
        bundles = [_counts(part) for part in sizes.split(",")]
    except ValueError as exc:
        raise click.BadParameter("give three whole numbers a bundle, as in 10:0:0", param_hint="--sizes") from exc
    lengths = _lengths(events)
    timings = list(measure_calls(bundle, rounds=rounds))
    growth = list(measure_growth(bundles, rounds=rounds))
    logs = list(bench_longtask.growth(lengths, engine="opa")) if lengths else []
    comparisons = _comparisons(diff_inputs)
    if output == "json":
        document = {
            "timings": [dataclasses.asdict(t) for t in timings],
            "growth": [dataclasses.asdict(g) for g in growth],
            "logs": [dataclasses.asdict(one) for one in logs],
            "diffs": [dataclasses.asdict(c) for c in comparisons],
            "budgets": {**BUDGETS, **bench_longtask.BUDGETS, "diff s": DIFF_BUDGET_S},
        }
        click.echo(json.dumps(document))
        return
    _render(timings, growth)
    if logs:
        _render_logs(logs)
    _render_diffs(comparisons)


def _lengths(text: str) -> tuple[int, ...]:
    try:
        lengths = tuple(int(part) for part in text.split(",") if part)
    except ValueError:
        lengths = (0,)
    if any(length < 1 for length in lengths) or list(lengths) != sorted(set(lengths)):
        raise click.BadParameter("give growing whole numbers, as in 1000,100000", param_hint="--events")
    return lengths


def _render_logs(logs: list[bench_longtask.LogGrowth]) -> None:
    table = Table(title="long-task log by its length: wall ms (cpu ms of this process)", title_justify="left")
    few, many = bench_longtask.FEW, bench_longtask.MANY
    columns = ("append", "fill, per event", f"boundary / {few}", f"boundary / {many}", "resume")
    for name in ("events", *columns, "peak MiB"):
        table.add_column(name, justify="right")
    for one in logs:
        costs = (one.append, one.fill, one.boundary, one.long_boundary, one.resume)
        cells = (f"{cost.wall_ms:.2f} ({cost.cpu_ms:.2f})" for cost in costs)
        table.add_row(f"{one.events:,}", *cells, f"{one.memory_mib:.0f}")
    Console(width=None if Console().is_terminal else 140).print(table)
    found = bench_longtask.ratios(logs)
    click.echo(
        "; ".join(f"{name} {found[name]:.2f}, budget {budget:g}" for name, budget in bench_longtask.BUDGETS.items())
    )


def _comparisons(inputs: int) -> list[Comparing]:
    if not inputs:
        return []
    with progress_bar("decision diff") as told:
        return list(measure_diff(inputs=inputs, told=told))


def _render_diffs(comparisons: list[Comparing]) -> None:
    table = Table(title="decision diff of two bundles; CPU is Python's and that of both OPA", title_justify="left")
    for name in ("differ in", "rules", "inputs", "changes", "wall s", "cpu s", "budget s"):
        table.add_column(name, justify="left" if name == "differ in" else "right")
    for c in comparisons:
        counts = (str(c.rules), str(c.inputs), str(c.changes))
        table.add_row(c.what, *counts, f"{c.wall_s:.1f}", f"{c.cpu_s:.1f}", f"{DIFF_BUDGET_S:g}")
    if comparisons:
        Console(width=None if Console().is_terminal else 110).print(table)


def _counts(text: str) -> tuple[int, int, int]:
    capabilities, bound, unbound = (int(number) for number in text.split(":"))
    return capabilities, bound, unbound


def _render(timings: list[Timing], growth: list[Growth]) -> None:
    console = Console(width=None if Console().is_terminal else 110)
    calls = Table(title="round trips in ms; ratio is p50 over raw", title_justify="left")
    for name in ("transport", "threads", "what", "p50", "p95", "p99", "ratio", "budget"):
        calls.add_column(name, justify="left" if name in {"transport", "what"} else "right")
    for t in timings:
        budget = BUDGETS.get(f"{t.what} / raw")
        times = (f"{value:.3f}" for value in (t.p50, t.p95, t.p99))
        calls.add_row(
            t.transport, str(t.threads), t.what, *times, f"{t.ratio:.2f}", "" if budget is None else f"{budget:.2f}"
        )
    console.print(calls)
    sizes = Table(title="compile and decision time by size of the bundle (OPA's own timer)", title_justify="left")
    for name in ("capabilities", "bound", "unbound", "compile s", "eval p50 ms", "ratio"):
        sizes.add_column(name, justify="right")
    for g in growth:
        counts = (str(g.capabilities), str(g.bound), str(g.unbound))
        sizes.add_row(*counts, f"{g.compile_s:.2f}", f"{g.eval_p50_ms:.3f}", f"{g.ratio:.2f}")
    console.print(sizes)
    click.echo("budgets: " + ", ".join(f"{name} <= {value:g}" for name, value in BUDGETS.items()))
