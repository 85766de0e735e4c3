"""`gate lab`: experiments and evals. One file a command; here is only the group."""

from __future__ import annotations

import click

from gate.cli.lab_continuity_evals import continuity_evals
from gate.cli.lab_continuity_kill import continuity_kill


@click.group()
def lab() -> None:
    """Run experiments and evals: what measures, and is not on a call's way."""


lab.add_command(continuity_evals)
lab.add_command(continuity_kill)
