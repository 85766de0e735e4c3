"""`gate store hold` and `gate store retire-events`: what is kept of long tasks, and what no longer has to be.

Decides nothing: what a checkpoint needs is what the records say.
"""

from __future__ import annotations

from typing import Any

import click

from gate.cli.options import StoreOptions, option, output_option, store_options
from gate.cli.rendering import cell, emit_fields, emit_json, emit_table
from gate.cli.sources import opened_store

_HOUR_MS = 3_600_000


@click.command()
@click.argument("artifact")
@option("--reason", help="Why it must be kept; no secret and no content.")
@option("--release", is_flag=True, help="End the hold instead.")
@store_options
@output_option()
def hold(artifact: str, reason: str | None, release: bool, records: StoreOptions, output: str) -> None:
    """Keep ARTIFACT of a long task from being cleaned up, or with --release let it go again.

    A held artifact can be resumed from like any other. Only a stored one can be held and only a held one released;
    forgetting its session or tainting it does what it does to any artifact.
    """
    if release == (reason is not None):
        raise click.UsageError("give --reason to hold, or --release")
    with opened_store(records) as store:
        if reason is None:
            found = store.release_artifact(records.tenant, artifact)
        else:
            found = store.hold_artifact(records.tenant, artifact, reason=reason)
    said = {"artifact_id": found.artifact_id, "run_id": found.run_id, "status": str(found.status)}
    if output == "json":
        emit_json({**said, "reason": found.status_reason})
    else:
        emit_fields([(name.removesuffix("_id"), cell(value)) for name, value in said.items()])


@click.command("retire-events")
@option("--run", "run_id", help="Only this run. Default: every run of the tenant that has a checkpoint.")
@option(
    "--older-than-hours",
    type=click.IntRange(0, 876_000),
    required=True,
    help="Only events that were recorded before that many hours.",
)
@option("--retire", is_flag=True, help="Erase their content; without it they are only counted.")
@store_options
@output_option()
def retire_events(run_id: str | None, older_than_hours: int, retire: bool, records: StoreOptions, output: str) -> None:
    """Count the old events of long tasks that nothing which is kept was made of; with --retire erase what they hold.

    Kept is the newest committed pair of each run, every pair as young as that, what somebody holds, and everything
    after the newest checkpoint. Older pairs can then no longer be resumed from, and nothing is made of the whole log
    again: the chain of the run says so, and still verifies. There is no way back.
    """
    rows: list[dict[str, Any]] = []
    with opened_store(records) as store:
        one = store.retire_task_events if retire else store.retirable_task_events
        for name in store.task_runs(records.tenant) if run_id is None else (run_id,):
            number = one(records.tenant, name, older_than_ms=older_than_hours * _HOUR_MS)
            rows.append({"run_id": name, "events": number})
    if output == "json":
        emit_json({"retired": retire, "runs": rows})
    else:
        emit_table(
            ("run", "retired" if retire else "can be retired"), [(cell(r["run_id"]), str(r["events"])) for r in rows]
        )
