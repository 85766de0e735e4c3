"""`gate lab continuity-kill`: SIGKILL at random points of the boundary protocol, on throw-away records."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gate.cli.options import engine_option, option, output_option
from gate.cli.rendering import emit_json
from gate.cli.sources import local_point
from gate.compiler import Compiled
from gate.errors import EXIT_DENIED
from gate.lab.continuity_kill import rounds
from gate.pdp import DecisionPoint


@click.command("continuity-kill")
@option("--rounds", "count", type=click.IntRange(min=1), default=200, show_default=True, help="How many processes.")
@option("--seed", type=int, default=lambda: secrets.randbelow(2**31), show_default="random", help="Where they die.")
@engine_option
@output_option()
def continuity_kill(count: int, seed: int, engine: str | None, output: str) -> None:
    """Kill processes while they compact, resume and recover; exit 3 when anything is lost or runs twice."""

    @contextmanager
    def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
        with local_point(compiled, engine) as (_, point):
            yield point

    found = list(rounds(count, opened, seed=seed))
    outcomes = Counter(each.outcome for each in found)
    killed_after = Counter(each.acknowledged or "nothing" for each in found)
    stopped = Counter(each.stopped for each in found if each.stopped)
    faults = [f"round {each.number}: {fault}" for each in found for fault in each.faults]
    if output == "json":
        emit_json(
            {
                "seed": seed,
                "rounds": len(found),
                "faults": faults,
                "outcomes": dict(sorted(outcomes.items())),
                "stopped_by_themselves": dict(sorted(stopped.items())),
                "killed_after": dict(sorted(killed_after.items())),
            }
        )
    else:
        for title, counted in (("killed after", killed_after), ("stopped with", stopped), ("went on as", outcomes)):
            for name, number in sorted(counted.items()):
                click.echo(f"{title}  {number:5}  {name}")
        for fault in faults:
            click.echo(f"FAULT  {fault}")
        click.echo(f"{len(found)} rounds, {len(faults)} faults (seed {seed})")
    if faults:
        raise click.exceptions.Exit(EXIT_DENIED)
