"""`gate approvals`: reviewers' keys, and what they are asked to sign, sign or reject.

Shows a reviewer exactly what the records hold, with nothing hidden in it. Who may approve is decided in Rego, and a
private key is read here and nowhere else.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from gate import canonical
from gate.cli.options import (
    PATH,
    PointOptions,
    StoreOptions,
    environment_option,
    option,
    output_option,
    point_options,
    store_options,
)
from gate.cli.rendering import cell, emit_fields, emit_json, emit_table, note, quoted, timestamp, visible
from gate.cli.sources import decision_point, opened_store
from gate.enforcement import Gate
from gate.errors import GateError, InputError
from gate.records import (
    ApprovalRecord,
    ApprovalStatus,
    ReviewerKey,
    Store,
    StoredVote,
    VoteDecision,
    generate_key,
    read_key_file,
    write_key_file,
)

_NAME = re.compile(r"\A[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
"""As in `schemas/reviewers.schema.json`."""
_YEAR_MS = 365 * 24 * 3600 * 1000
_OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)
_CLAIMED = ("reviewer", "key_id", "decision")


@click.group()
def approvals() -> None:
    """Review what agents ask for: list, show, approve, reject; make reviewers' keys."""


def _name(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _NAME.match(value):
        raise click.BadParameter("start with a letter and use letters, digits, _, . and -, at most 128 characters")
    return value


@approvals.command()
@option("--reviewer", required=True, callback=_name, help="Reviewer id, as in reviewers.yaml.")
@option("--key-id", required=True, callback=_name, help="Name of the new key, unique in reviewers.yaml.")
@option("--out", required=True, type=PATH, help="File for the private key: new, mode 0600, never shared.")
@output_option()
def keygen(reviewer: str, key_id: str, out: Path, output: str) -> None:
    """Make a reviewer's key pair; print the lines that go under the reviewer's `keys:` in reviewers.yaml."""
    private_key, public_key = generate_key()
    write_key_file(out, ReviewerKey(reviewer=reviewer, key_id=key_id, private_key=private_key))
    now_ms = time.time_ns() // 1_000_000
    entry = {
        "key_id": key_id,
        "public_key": public_key,
        "not_before": timestamp(now_ms),
        "not_after": timestamp(now_ms + _YEAR_MS),
    }
    if output == "json":
        emit_json({"reviewer": reviewer, "key_file": str(out), **entry})
        return
    note(f"the private key is in `{out}`; keep it away from the agent and the gate")
    for number, (name, value) in enumerate(entry.items()):
        click.echo(f'      {"- " if number == 0 else "  "}{name}: "{value}"')


@approvals.command("list")
@option("--status", type=click.Choice([str(status) for status in ApprovalStatus]), help="Only these.")
@store_options
@output_option()
def list_approvals(status: str | None, records: StoreOptions, output: str) -> None:
    """List the tenant's approvals, newest first."""
    with opened_store(records) as store:
        wanted = None if status is None else ApprovalStatus(status)
        found, now_ms = store.approvals(records.tenant, status=wanted), store.now_ms()
    if output == "json":
        emit_json({"approvals": [_document(approval, now_ms) for approval in found]})
        return
    emit_table(
        ("approval", "status", "capability", "requested by", "expires"),
        [
            (
                cell(approval.approval_id),
                _status(approval, now_ms),
                cell(approval.capability),
                cell(approval.requested_by),
                timestamp(approval.expires_at_ms),
            )
            for approval in found
        ],
    )


@approvals.command()
@click.argument("approval_id", metavar="ID")
@store_options
@output_option()
def show(approval_id: str, records: StoreOptions, output: str) -> None:
    """Show what approval ID is for: the arguments a reviewer may see, digests of the rest, and who asked why."""
    with opened_store(records) as store:
        approval, now_ms = _approval(store, records.tenant, approval_id), store.now_ms()
    if output == "json":
        emit_json(_document(approval, now_ms))
    else:
        _render(approval, now_ms)


def _vote_command(name: str, decision: VoteDecision, text: str) -> None:
    @approvals.command(name, help=text)
    @click.argument("approval_id", metavar="ID")
    @option(
        "--key",
        required=True,
        type=PATH,
        envvar="GATE_REVIEWER_KEY",
        help="The reviewer's private key file, from `gate approvals keygen`.",
    )
    @environment_option
    @point_options
    @store_options
    @output_option()
    def command(
        approval_id: str, key: Path, environment: str, point: PointOptions, records: StoreOptions, output: str
    ) -> None:
        _vote(decision, approval_id, read_key_file(key), environment, point, records, output)


_vote_command(
    "approve", VoteDecision.APPROVED, "Sign approval ID; exit 3 with the reasons when the policies refuse it."
)
_vote_command(
    "reject", VoteDecision.REJECTED, "Reject ID, signed; exit 3 with the reasons when the policies refuse it."
)


def _vote(
    decision: VoteDecision,
    approval_id: str,
    key: ReviewerKey,
    environment: str,
    options: PointOptions,
    records: StoreOptions,
    output: str,
) -> None:
    with opened_store(records) as store:
        approval = _approval(store, records.tenant, approval_id)
        with decision_point(options) as point:
            reviews = Gate(point, store, environment=environment).reviews
            vote = reviews.sign(approval, decision=decision, key=key)
            note(f"{key.reviewer} signs {decision} for {approval.capability}, action {approval.action_digest}")
            moved = reviews.vote(records.tenant, approval_id, vote, decision=decision, reviewer=key.reviewer)
    if output == "json":
        emit_json({"approval_id": moved.approval_id, "status": str(moved.status), "votes": len(moved.votes)})
    else:
        click.echo(f"{cell(moved.approval_id)}  {moved.status}")


def _approval(store: Store, tenant: str, approval_id: str) -> ApprovalRecord:
    found = store.approval(tenant, approval_id)
    if found is None:
        raise InputError(
            f"approval `{approval_id}` is not known to this tenant",
            code="approval_unknown",
            hint="see `gate approvals list`",
        )
    return found


def _expired(approval: ApprovalRecord, now_ms: int) -> bool:
    return approval.status in _OPEN and now_ms >= approval.expires_at_ms


def _status(approval: ApprovalRecord, now_ms: int) -> str:
    return f"{approval.status} (its time is over)" if _expired(approval, now_ms) else str(approval.status)


def _document(approval: ApprovalRecord, now_ms: int) -> dict[str, Any]:
    names = (
        *("approval_id", "tenant_id", "run_id", "status", "status_reason", "capability", "contract_id"),
        *("requested_by", "reason", "principal_id", "agent_id", "session_id", "trace_id"),
        *("action_digest", "intent_digest", "contract_digest", "bundle_version", "release_identity"),
    )
    return {
        **{name: str(getattr(approval, name)) for name in names},
        "arguments": dict(approval.view),
        "created_at": timestamp(approval.created_at_ms),
        "expires_at": timestamp(approval.expires_at_ms),
        "expired": _expired(approval, now_ms),
        "version": approval.version,
        "votes": [_claims(vote) for vote in approval.votes],
    }


def _render(approval: ApprovalRecord, now_ms: int) -> None:
    emit_fields(
        [
            ("approval", cell(approval.approval_id)),
            ("status", _status(approval, now_ms)),
            ("capability", cell(approval.capability)),
            ("reason", quoted(approval.reason)),
            ("requested by", cell(approval.requested_by)),
            ("principal", cell(approval.principal_id)),
            ("agent", cell(approval.agent_id)),
            ("session", cell(approval.session_id)),
            ("run", cell(approval.run_id)),
            ("trace", cell(approval.trace_id)),
            ("contract", cell(approval.contract_id)),
            ("bundle version", cell(approval.bundle_version)),
            ("release", cell(approval.release_identity)),
            ("action digest", cell(approval.action_digest)),
            ("intent digest", cell(approval.intent_digest)),
            ("contract digest", cell(approval.contract_digest)),
            ("created", timestamp(approval.created_at_ms)),
            ("expires", timestamp(approval.expires_at_ms)),
            *([("ended because", quoted(approval.status_reason))] if approval.status_reason else []),
        ]
    )
    click.echo("arguments" if approval.view else "arguments  none")
    emit_fields([(cell(pointer), _leaf(leaf)) for pointer, leaf in approval.view.items()], indent="  ")
    # Only the decision point, with the served bundle's public keys, can say whether a signature holds.
    click.echo("votes, unverified" if approval.votes else "votes  none")
    for vote in approval.votes:
        claims = _claims(vote)
        click.echo("  " + "  ".join(f"{name} {cell(claims[name])}" for name in _CLAIMED))


def _leaf(leaf: Any) -> str:
    """A value is JSON and so in quotes when it is text; a digest never is."""
    if isinstance(leaf, dict) and set(leaf) == {"value"}:
        return quoted(leaf["value"])
    if isinstance(leaf, dict) and set(leaf) == {"digest"} and canonical.is_digest(leaf["digest"]):
        return f"not shown, {leaf['digest']}"
    return visible("not readable")


def _claims(vote: StoredVote) -> dict[str, str | None]:
    """What the vote's bytes say of themselves."""
    try:
        payload = canonical.parse(vote.payload)
    except GateError:
        payload = None
    fields = payload if isinstance(payload, dict) else {}
    return {name: fields[name] if isinstance(fields.get(name), str) else None for name in _CLAIMED}
