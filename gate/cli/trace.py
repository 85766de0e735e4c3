"""`gate trace`: one trace from decision to rule, line, contract, approval, effect and release. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from gate.cli.options import PATH, StoreOptions, option, output_option
from gate.cli.rendering import cell, emit_json, note, timestamp
from gate.cli.sources import opened_store
from gate.compiler import compile_bundle
from gate.documents import visible
from gate.errors import EXIT_DENIED
from gate.release.following import Followed, Step, follow, signed_by
from gate.release.origins import Origin


@click.command()
@click.argument("trace_id", metavar="ID")
@option("--bundle", type=PATH, required=True, envvar="GATE_BUNDLE", help="Bundle that decided, with its ledger.")
@option("--trace", "trace_file", type=PATH, envvar="GATE_TRACE", help="The gate's trace, one JSON event a line.")
@option("--store", metavar="URL", envvar="GATE_STORE", help="The records: sqlite:////absolute/path.sqlite.")
@option("--tenant", envvar="GATE_TENANT", help="Tenant whose records these are.")
@output_option()
def trace(
    trace_id: str, bundle: Path, trace_file: Path | None, store: str | None, tenant: str | None, output: str
) -> None:
    """Follow trace ID through the trace, the records, the bundle and its releases.

    Exits 3 when nothing is known of it, or when what is known does not fit together.
    """
    if trace_file is None and store is None:
        raise click.UsageError("name what to look through: --trace, or --store with --tenant")
    if (store is None) != (tenant is None):
        raise click.UsageError("--store and --tenant go together")
    compiled = compile_bundle(bundle)
    with ExitStack() as stack:
        opened = None
        if store is not None and tenant is not None:
            options = StoreOptions(url=store, tenant=tenant, busy_timeout_ms=5000)
            opened = stack.enter_context(opened_store(options))
        found = follow(trace_id, compiled=compiled, trace=trace_file, store=opened, tenant_id=tenant)
    if output == "json":
        emit_json(_document(found))
    else:
        for line in _text(found):
            click.echo(line)
    for doubt in found.doubts:
        note(doubt)
    if not found.found or found.doubts:
        raise click.exceptions.Exit(EXIT_DENIED)


def _text(found: Followed) -> Iterator[str]:
    if not found.found:
        yield f"nothing is known of trace {cell(found.trace_id)}"
        return
    decided = None
    for step in found.steps:
        yield from _step(step)
        # Once, and again when another revision decides: an auditor looks for the change.
        if step.payload.get("revision") not in (None, "", decided):
            decided = step.payload["revision"]
            yield f"  decided, from here on, by {_revision(step)}"
    for run in found.runs:
        yield f"run {cell(run.run_id)}: {run.status} for {cell(run.principal_id)} by agent {cell(run.agent_id)}"
        for chain in found.chains:
            if chain.run_id == run.run_id:
                yield f"  {chain.events} events, {'their chain holds' if chain.sound else 'BROKEN'}"
    for approval in found.approvals:
        at = found.contracts.get(approval.contract_id)
        where = f" ({visible(at[0])}:{at[1]})" if at else " (not in this bundle)"
        yield f"approval {cell(approval.approval_id)}: {approval.status} for {cell(approval.capability)}"
        yield f"  asked for at {timestamp(approval.created_at_ms)} under contract {cell(approval.contract_id)}{where}"
        yield f"  action {cell(approval.action_digest)}"
        for vote in map(signed_by, approval.votes):
            yield f"  {cell(vote['decision'])}, signed by {cell(vote['reviewer'])} with key {cell(vote['key_id'])}"
        yield f"  version {cell(approval.bundle_version)}, release {cell(approval.release_identity)}"
    for effect in found.effects:
        yield f"effect {cell(effect.capability)}: {effect.status}, key {cell(effect.idempotency_key)}"
        yield f"  attempt {effect.attempt} in run {cell(effect.run_id)}, action {cell(effect.action_digest)}"
        for approval in found.approvals_of(effect):
            yield f"  under approval {cell(approval.approval_id)}"
        if effect.evidence_ref:
            yield f"  reconciled on evidence {cell(effect.evidence_ref)}"


def _step(step: Step) -> Iterator[str]:
    names = ("operation", "capability", "verdict", "status")
    said = [cell(str(step.payload[name])) for name in names if step.payload.get(name)]
    yield f"{timestamp(step.at_ms)}  {visible(step.event_type)}  {' '.join(said)}".rstrip()
    for code, rules in step.reasons:
        yield f"  {visible(code)}  {', '.join(map(_rule, rules)) or 'no rule of this bundle'}"


def _revision(step: Step) -> str:
    release = step.release
    known = f"version {release.version}, {release.release_identity}" if release else "not in the ledger"
    return f"{cell(str(step.payload['revision']))}: {visible(known)}"


def _rule(origin: Origin) -> str:
    return visible(f"{origin.rule} {origin.file}:{origin.line}")


def _document(found: Followed) -> dict[str, Any]:
    return {
        "trace_id": found.trace_id,
        "found": found.found,
        "doubts": list(found.doubts),
        "steps": [
            {
                "at_ms": step.at_ms,
                "event_type": step.event_type,
                "payload": dict(step.payload),
                "reasons": [
                    {
                        "code": code,
                        "rules": [
                            {"rule": r.rule, "verdict": r.verdict, "file": r.file, "line": r.line} for r in rules
                        ],
                    }
                    for code, rules in step.reasons
                ],
                "release": None
                if step.release is None
                else {"version": step.release.version, "release_identity": step.release.release_identity},
                "same_revision": step.same_revision,
            }
            for step in found.steps
        ],
        "runs": [
            {"run_id": r.run_id, "status": str(r.status), "agent_id": r.agent_id, "principal_id": r.principal_id}
            for r in found.runs
        ],
        "chains": [{"run_id": c.run_id, "events": c.events, "sound": c.sound} for c in found.chains],
        "approvals": [
            {
                "approval_id": a.approval_id,
                "status": str(a.status),
                "capability": a.capability,
                "contract_id": a.contract_id,
                "contract_at": None
                if a.contract_id not in found.contracts
                else {"file": found.contracts[a.contract_id][0], "line": found.contracts[a.contract_id][1]},
                "action_digest": a.action_digest,
                "bundle_version": a.bundle_version,
                "release_identity": a.release_identity,
                "votes": [signed_by(vote) for vote in a.votes],
            }
            for a in found.approvals
        ],
        "effects": [
            {
                "capability": e.capability,
                "status": str(e.status),
                "idempotency_key": e.idempotency_key,
                "action_digest": e.action_digest,
                "run_id": e.run_id,
                "attempt": e.attempt,
                "approvals": [a.approval_id for a in found.approvals_of(e)],
                "evidence_ref": e.evidence_ref,
            }
            for e in found.effects
        ],
    }
