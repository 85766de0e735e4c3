"""`gate approvals keygen` and `gate approvals keys`: reviewers' keys, and those that nobody may use any more.

A private key is made here and never shown. What a denied key's signature is worth is decided in Rego.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import click

from gate.cli.options import PATH, StoreOptions, default_person, option, output_option, store_options
from gate.cli.rendering import cell, emit_json, emit_table, note, quoted, timestamp
from gate.cli.sources import opened_store
from gate.records import DeniedKey, ReviewerKey, generate_key, write_key_file

_NAME = re.compile(r"\A[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
"""As in `schemas/reviewers.schema.json`."""
_YEAR_MS = 365 * 24 * 3600 * 1000


def _name(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _NAME.match(value):
        raise click.BadParameter("start with a letter and use letters, digits, _, . and -, at most 128 characters")
    return value


@click.command()
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


@click.group("keys")
def keys() -> None:
    """Deny a reviewer's key that was stolen or lost, and list those that are denied."""


@keys.command()
@click.argument("key_id", callback=_name)
@option("--reason", required=True, help="What happened to the key.")
@option("--public-key", help="The public key itself, so that it is refused under another id too.")
@option("--by", default=default_person, show_default="the user running this", help="Who denies it.")
@store_options
@output_option()
def deny(key_id: str, reason: str, public_key: str | None, by: str, records: StoreOptions, output: str) -> None:
    """Put KEY_ID on the denylist, for good: what it signed approves nothing, whatever reviewers.yaml says."""
    with opened_store(records) as store:
        denied = store.deny_key(records.tenant, key_id, reason=reason, denied_by=by, public_key=public_key)
    if output == "json":
        emit_json(_document(denied))
    else:
        click.echo(f"{cell(denied.key_id)}  denied {timestamp(denied.denied_at_ms)}")


@keys.command("list")
@store_options
@output_option()
def list_denied(records: StoreOptions, output: str) -> None:
    """List the tenant's denied keys."""
    with opened_store(records) as store:
        found = store.denied_keys(records.tenant)
    if output == "json":
        emit_json({"denied_keys": [_document(denied) for denied in found]})
        return
    emit_table(
        ("key", "denied", "by", "reason"),
        [
            (cell(denied.key_id), timestamp(denied.denied_at_ms), cell(denied.denied_by), quoted(denied.reason))
            for denied in found
        ],
    )


def _document(denied: DeniedKey) -> dict[str, str | None]:
    return {
        "key_id": denied.key_id,
        "public_key": denied.public_key,
        "reason": denied.reason,
        "denied_by": denied.denied_by,
        "denied_at": timestamp(denied.denied_at_ms),
    }
