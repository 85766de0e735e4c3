"""`gate lab`: experiments and evals. One file a command; here is only the group."""

from __future__ import annotations

import click

from gate.cli.lab_compaction_baseline import compaction_baseline
from gate.cli.lab_context_continuity import context_continuity
from gate.cli.lab_continuity_evals import continuity_evals
from gate.cli.lab_continuity_kill import continuity_kill
from gate.cli.lab_refund_story import refund_story
from gate.cli.lab_soak import soak


@click.group()
def lab() -> None:
    """Run experiments and evals on throw-away copies: what measures, and is not on a call's way."""


for command in (refund_story, soak, context_continuity, continuity_evals, continuity_kill, compaction_baseline):
    lab.add_command(command)
