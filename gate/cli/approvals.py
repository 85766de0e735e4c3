"""`gate approvals`: the group, what the records hold of an approval, and what a reviewer is asked to sign.

Shows a reviewer exactly what the records hold, with nothing hidden in it. Who may approve is decided in Rego.
"""

from __future__ import annotations

import re
from typing import Any

import click

from gate import canonical
from gate.cli.approval_acts import ACTS, found_approval
from gate.cli.approval_keys import keygen, keys
from gate.cli.options import (
    StoreOptions,
    option,
    output_option,
    store_options,
)
from gate.cli.rendering import cell, emit_fields, emit_json, emit_table, quoted, timestamp
from gate.cli.sources import opened_store
from gate.cli.watching import shown, watch_options
from gate.documents import visible
from gate.errors import GateError
from gate.records import (
    ApprovalRecord,
    ApprovalStatus,
    StoredVote,
)

_NAME = re.compile(r"\A[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
"""As in `schemas/reviewers.schema.json`."""
_YEAR_MS = 365 * 24 * 3600 * 1000
_OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)
_CLAIMED = ("reviewer", "key_id", "decision")


@click.group()
def approvals() -> None:
    """Review what agents ask for: list, show, approve, reject, take back; make and deny reviewers' keys."""


@approvals.command("list")
@option("--status", type=click.Choice([str(status) for status in ApprovalStatus]), help="Only these.")
@watch_options
@store_options
@output_option()
def list_approvals(status: str | None, watch: bool, interval: float, records: StoreOptions, output: str) -> None:
    """List the tenant's approvals, newest first."""
    wanted = None if status is None else ApprovalStatus(status)
    with opened_store(records) as store:

        def read() -> list[tuple[ApprovalRecord, bool]]:
            now_ms = store.now_ms()
            return [(a, _expired(a, now_ms)) for a in store.approvals(records.tenant, status=wanted)]

        shown(read, lambda found: _list(found, output), watch=watch, interval=interval)


def _list(found: list[tuple[ApprovalRecord, bool]], output: str) -> None:
    if output == "json":
        emit_json({"approvals": [_document(approval, expired) for approval, expired in found]})
        return
    emit_table(
        ("approval", "status", "capability", "requested by", "expires"),
        [
            (
                cell(approval.approval_id),
                _status(approval, expired),
                cell(approval.capability),
                cell(approval.requested_by),
                timestamp(approval.expires_at_ms),
            )
            for approval, expired in found
        ],
    )


@approvals.command()
@click.argument("approval_id", metavar="ID")
@store_options
@output_option()
def show(approval_id: str, records: StoreOptions, output: str) -> None:
    """Show what approval ID is for: the arguments a reviewer may see, digests of the rest, and who asked why."""
    with opened_store(records) as store:
        approval = found_approval(store, records.tenant, approval_id)
        expired = _expired(approval, store.now_ms())
    if output == "json":
        emit_json(_document(approval, expired))
    else:
        _render(approval, expired)


def _expired(approval: ApprovalRecord, now_ms: int) -> bool:
    return approval.status in _OPEN and now_ms >= approval.expires_at_ms


def _status(approval: ApprovalRecord, expired: bool) -> str:
    if expired:
        return f"{approval.status} (its time is over)"
    escalated = approval.escalated_at_ms is not None and approval.status is ApprovalStatus.PENDING
    return f"{approval.status} (escalated)" if escalated else str(approval.status)


def _document(approval: ApprovalRecord, expired: bool) -> dict[str, Any]:
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
        "expired": expired,
        "escalated_at": None if approval.escalated_at_ms is None else timestamp(approval.escalated_at_ms),
        "standing": _standing(approval),
        "version": approval.version,
        "votes": [_claims(vote) for vote in approval.votes],
    }


def _standing(approval: ApprovalRecord) -> dict[str, Any] | None:
    """What a standing approval is for besides the action it was asked for; None for one execution."""
    if approval.standing_terms is None:
        return None
    return {**approval.standing_terms, "digest": approval.standing_digest, "uses": approval.uses}


def _standing_fields(approval: ApprovalRecord) -> list[tuple[str, str]]:
    terms = approval.standing_terms
    if terms is None:
        return []
    free = terms.get("free_arguments") or []
    return [
        ("stands for", f"{terms.get('max_uses')} executions, of which {approval.uses} happened"),
        (
            "stands in",
            cell(f"every session of {approval.principal_id}" if terms.get("scope") == "principal" else "this session"),
        ),
        ("with any", ", ".join(cell(pointer) for pointer in free) or "no other arguments"),
        ("standing digest", cell(approval.standing_digest)),
    ]


def _render(approval: ApprovalRecord, expired: bool) -> None:
    emit_fields(
        [
            ("approval", cell(approval.approval_id)),
            ("status", _status(approval, expired)),
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
            *_standing_fields(approval),
            *([("last word", quoted(approval.status_reason))] if approval.status_reason else []),
        ]
    )
    click.echo("arguments" if approval.view else "arguments  none")
    emit_fields([(cell(pointer), _leaf(leaf)) for pointer, leaf in approval.view.items()], indent="  ")
    # Only the decision point, with the served bundle's public keys, can say whether a signature holds.
    click.echo("votes, unverified" if approval.votes else "votes  none")
    for vote in approval.votes:
        claims = _claims(vote)
        said = [] if claims["reason"] is None else [f"reason {quoted(claims['reason'])}"]
        click.echo("  " + "  ".join([*(f"{name} {cell(claims[name])}" for name in _CLAIMED), *said]))


def _leaf(leaf: Any) -> str:
    """A value is JSON and so in quotes when it is text; a digest never is."""
    if isinstance(leaf, dict) and set(leaf) - {"shown"} == {"value"}:
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
    return {name: fields[name] if isinstance(fields.get(name), str) else None for name in (*_CLAIMED, "reason")}


for _command in (*ACTS, keygen, keys):
    approvals.add_command(_command)
