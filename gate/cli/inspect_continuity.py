"""`gate inspect-continuity`: the reference exercise, decided by the same Rego as everything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gate.cli.options import engine_option, option
from gate.cli.rendering import emit_fields
from gate.cli.sources import local_point
from gate.compiler import Compiled
from gate.decision import Verdict
from gate.errors import EXIT_DENIED
from gate.lab.continuity_exercise import Exercise, play
from gate.pdp import DecisionPoint
from gate.records import ApprovalStatus, EffectStatus

_EFFECTS = {
    "not_started": EffectStatus.NOT_STARTED,
    "not_executed": EffectStatus.NOT_STARTED,
    "side_effect_committed": EffectStatus.COMMITTED,
    "applied": EffectStatus.COMMITTED,
    "side_effect_unknown": EffectStatus.UNKNOWN,
    "partial_side_effect": EffectStatus.PARTIAL,
}
_APPROVALS = ("approved", "pending", "rejected", "revoked", "expired")


@click.command("inspect-continuity")
@option(
    "--summary",
    default="Continue the ticket workflow without creating a duplicate.",
    show_default=True,
    help="What the context is cut to.",
)
@option("--trace-id", default="trace-continuity-001", show_default=True, help="Trace before the boundary.")
@option("--session-id", default="session-continuity-001", show_default=True, help="Session of the run.")
@option("--policy-version", default="policy-v4", show_default=True, help="Bundle version before the boundary.")
@option(
    "--current-policy-version", default="policy-v4", show_default=True, help="Bundle version that is served afterwards."
)
@option(
    "--approval-status",
    type=click.Choice(_APPROVALS),
    default="approved",
    show_default=True,
    help="What became of the approval.",
)
@option(
    "--side-effect-status",
    type=click.Choice(list(_EFFECTS)),
    default="not_started",
    show_default=True,
    help="How far the ticket's write got; not_executed and applied are other words for the first and the second.",
)
@option("--tamper-summary", is_flag=True, help="Present another summary than the one that was recorded.")
@option("--exit-zero", is_flag=True, help="Exit 0 whatever the result.")
@engine_option
@option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="json",
    show_default=True,
    envvar="GATE_OUTPUT",
    help="Form of the result on stdout.",
)
def inspect_continuity(
    summary: str,
    trace_id: str,
    session_id: str,
    policy_version: str,
    current_policy_version: str,
    approval_status: str,
    side_effect_status: str,
    tamper_summary: bool,
    exit_zero: bool,
    engine: str | None,
    output: str,
) -> None:
    """Play a compaction that nobody asked for and show whether the run may go on; it is never thereby authorized.

    Exit 0 when continuity is validated, 3 otherwise.
    """
    texts = {
        "summary": summary,
        "trace_id": trace_id,
        "session_id": session_id,
        "policy_version": policy_version,
        "current_policy_version": current_policy_version,
    }
    for name, value in texts.items():
        if not value.strip():
            raise click.UsageError(f"CLI field is required: {name}")
    exercise = Exercise(
        summary=summary,
        trace_id=trace_id,
        session_id=session_id,
        policy_version=policy_version,
        current_policy_version=current_policy_version,
        approval_status=ApprovalStatus(approval_status),
        side_effect_status=_EFFECTS[side_effect_status],
        tamper_summary=tamper_summary,
    )

    @contextmanager
    def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
        with local_point(compiled, engine) as (_, point):
            yield point

    report = play(exercise, opened)
    if output == "json":
        click.echo(json.dumps(report))
    else:
        names = ("envelope_id", "status", "reason", "authorized", "requires_reauthorization", "side_effect_status")
        emit_fields([*((name, str(report[name])) for name in names), ("events", ", ".join(report["event_types"]))])
    if report["status"] != Verdict.REAUTHORIZATION_REQUIRED and not exit_zero:
        raise click.exceptions.Exit(EXIT_DENIED)
