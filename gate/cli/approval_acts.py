"""`gate approvals approve|reject|delegate|cancel|revoke|sweep`: a reviewer's signed word, and the time that passes.

A private key is read here and nowhere else. Who may say what is decided in Rego.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

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
from gate.cli.rendering import cell, emit_json, emit_table, note
from gate.cli.sources import decision_point, opened_store
from gate.enforcement import Gate
from gate.errors import InputError
from gate.records import ApprovalRecord, Store, VoteDecision, read_key_file


def _signing(name: str, text: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command about one approval that signs with a reviewer's key."""

    def decorate(body: Callable[..., None]) -> click.Command:
        for one in (
            output_option(),
            store_options,
            point_options,
            environment_option,
            option("--reason", default="", help="Why, on one line, in the reviewer's words; signed with the vote."),
            option(
                "--key",
                required=True,
                type=PATH,
                envvar="GATE_REVIEWER_KEY",
                help="The reviewer's private key file, from `gate approvals keygen`.",
            ),
            click.argument("approval_id", metavar="ID"),
        ):
            body = one(body)
        return click.command(name, help=f"{text}; exit 3 with the reasons when the policies refuse it.")(body)

    return decorate


def _simple(name: str, decision: VoteDecision, text: str) -> click.Command:
    @_signing(name, text)
    def command(
        approval_id: str,
        key: Path,
        reason: str,
        environment: str,
        point: PointOptions,
        records: StoreOptions,
        output: str,
    ) -> None:
        _say(decision, approval_id, key, reason, environment, point, records, output)

    return command


@_signing("delegate", "Hand your own vote on ID to another reviewer, signed")
@option("--to", required=True, metavar="REVIEWER", help="Reviewer id of the delegate, as in reviewers.yaml.")
def delegate(
    approval_id: str,
    key: Path,
    reason: str,
    to: str,
    environment: str,
    point: PointOptions,
    records: StoreOptions,
    output: str,
) -> None:
    """Hands a vote on."""
    _say(VoteDecision.DELEGATED, approval_id, key, reason, environment, point, records, output, delegate_to=to)


@click.command()
@environment_option
@point_options
@store_options
@output_option()
def sweep(environment: str, point: PointOptions, records: StoreOptions, output: str) -> None:
    """Expire approvals whose time is over and escalate requests nobody decided in time, as the policies say."""
    with opened_store(records) as store, decision_point(point) as asked:
        moved = Gate(asked, store, environment=environment).reviews.sweep(records.tenant)
    if output == "json":
        emit_json({"moved": [_outcome(approval) for approval in moved]})
        return
    emit_table(("approval", "status"), [(cell(a.approval_id), _words(a)) for a in moved])


def found_approval(store: Store, tenant: str, approval_id: str) -> ApprovalRecord:
    """The tenant's approval; raises `InputError` (`approval_unknown`) when there is none of that id."""
    found = store.approval(tenant, approval_id)
    if found is None:
        raise InputError(
            f"approval `{approval_id}` is not known to this tenant",
            code="approval_unknown",
            hint="see `gate approvals list`",
        )
    return found


def _say(
    decision: VoteDecision,
    approval_id: str,
    key_file: Path,
    reason: str,
    environment: str,
    options: PointOptions,
    records: StoreOptions,
    output: str,
    *,
    delegate_to: str | None = None,
) -> None:
    key = read_key_file(key_file)
    with opened_store(records) as store:
        approval = found_approval(store, records.tenant, approval_id)
        with decision_point(options) as point:
            reviews = Gate(point, store, environment=environment).reviews
            vote = reviews.sign(approval, decision=decision, key=key, delegate_to=delegate_to, reason=reason)
            note(f"{key.reviewer} signs {decision} for {approval.capability}, action {approval.action_digest}")
            if approval.standing_digest is not None:
                note(f"the approval stands for more than this action: see `gate approvals show {approval_id}`")
            moved = reviews.vote(records.tenant, approval_id, vote, decision=decision, reviewer=key.reviewer)
    if output == "json":
        emit_json({"approval_id": moved.approval_id, "status": str(moved.status), "votes": len(moved.votes)})
    else:
        click.echo(f"{cell(moved.approval_id)}  {moved.status}")


ACTS: tuple[click.Command, ...] = (
    _simple("approve", VoteDecision.APPROVED, "Sign approval ID"),
    _simple("reject", VoteDecision.REJECTED, "Reject ID, signed"),
    delegate,
    _simple(
        "cancel", VoteDecision.CANCELLED, "Take the pending request ID back, signed by a reviewer, or by who asked"
    ),
    _simple(
        "revoke", VoteDecision.REVOKED, "Take the approval ID back that was given, signed, until its call has started"
    ),
    sweep,
)
"""The commands that move an approval, in the order a reviewer meets them."""


def _outcome(approval: ApprovalRecord) -> dict[str, object]:
    escalated = approval.escalated_at_ms is not None
    return {"approval_id": approval.approval_id, "status": str(approval.status), "escalated": escalated}


def _words(approval: ApprovalRecord) -> str:
    return f"{approval.status}, escalated" if approval.escalated_at_ms is not None else str(approval.status)
