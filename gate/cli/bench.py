"""`gate bench`: ratios against raw OPA, and growth with the number of capabilities."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from gate.lab.bench import BUDGETS, Growth, Timing, measure_calls, measure_growth


@click.command()
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    default=Path("bundles/support-triage"),
    show_default=True,
    envvar="GATE_BUNDLE",
    help="Bundle whose decisions are timed.",
)
@click.option("--rounds", default=1000, show_default=True, envvar="GATE_BENCH_ROUNDS", help="Calls of each kind.")
@click.option(
    "--sizes",
    default="10,100,1000",
    show_default=True,
    envvar="GATE_BENCH_SIZES",
    help="Numbers of capabilities, smallest first.",
)
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", envvar="GATE_OUTPUT", help="Output form."
)
def bench(bundle: Path, rounds: int, sizes: str, output: str) -> None:
    """Measure the client and the full check beside a raw OPA round trip, in one run."""
    try:
        numbers = tuple(int(part) for part in sizes.split(","))
    except ValueError as exc:
        raise click.BadParameter("give whole numbers, separated by commas", param_hint="--sizes") from exc
    timings = list(measure_calls(bundle, rounds=rounds))
    growth = list(measure_growth(numbers, rounds=rounds))
    if output == "json":
        document = {
            "timings": [dataclasses.asdict(t) for t in timings],
            "growth": [dataclasses.asdict(g) for g in growth],
            "budgets": dict(BUDGETS),
        }
        click.echo(json.dumps(document))
        return
    _render(timings, growth)


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
    sizes = Table(title="decision time by number of capabilities (OPA's own timer)", title_justify="left")
    for name in ("capabilities", "compile s", "eval p50 ms", "ratio"):
        sizes.add_column(name, justify="right")
    for g in growth:
        sizes.add_row(str(g.capabilities), f"{g.compile_s:.2f}", f"{g.eval_p50_ms:.3f}", f"{g.ratio:.2f}")
    console.print(sizes)
    click.echo("budgets: " + ", ".join(f"{name} <= {value:g}" for name, value in BUDGETS.items()))
