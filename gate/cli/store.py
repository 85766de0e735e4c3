"""`gate store`: bring the records' schema up, prove that nobody changed them, sign their heads, copy them.

Changes no record but of what long tasks no longer need. Copying and restoring: see `gate store backup --help`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from gate import canonical
from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_json, emit_table
from gate.cli.sources import existing_store
from gate.cli.store_tasks import hold, retire_events
from gate.documents import visible
from gate.errors import EXIT_UNDECIDED, InputError, StoreError
from gate.records import ChainState, GateKey, PublicKey, SignedHead, Store, read_key_file

_MAX_HEADS_BYTES = 256 * 1_048_576

_store_option = option(
    "--store",
    "url",
    required=True,
    metavar="URL",
    envvar="GATE_STORE",
    help="sqlite:////absolute/path.sqlite or postgresql://user@host/database.",
)
_tenant_option = option("--tenant", envvar="GATE_TENANT", help="Only this tenant. Default: all.")


@click.group()
def store() -> None:
    """Migrate, verify, sign and copy the records."""


@store.command()
@_store_option
@output_option()
def migrate(url: str, output: str) -> None:
    """Bring the schema of the store to this gate's version; there is no way back, so make a copy first.

    Safe when several processes do it at once, and harmless when there is nothing to do. A SQLite file that is not
    there is made.
    """
    with Store.open(url) as opened:
        before, after = opened.migrated
    if output == "json":
        emit_json({"from": before, "to": after})
    else:
        click.echo(f"schema version {after}" + (f", was {before}" if before != after else ", nothing to do"))


@store.command()
@option("--run", "run_id", help="Only this run; needs --tenant.")
@option("--heads", type=PATH, help="Signed heads, one JSON object a line, as `gate store sign-heads` writes them.")
@option(
    "--public-key",
    "public_keys",
    multiple=True,
    metavar="KEY_ID=KEY[@RETIRED_AT_MS]",
    help="Key the heads were signed with, base64 of 32 bytes; retired keys hold for what they signed before. "
    "May be given again.",
)
@_tenant_option
@_store_option
@output_option()
def verify(
    url: str,
    tenant: str | None,
    run_id: str | None,
    heads: Path | None,
    public_keys: tuple[str, ...],
    output: str,
) -> None:
    """Walk the event chain of every run and name the first broken row; exit 0 when all hold, else 1.

    Also compares effects, approvals and limit counters with what the log says of them. A chain that was recomputed, or
    whose tail was cut off, is only seen with --heads: sign heads often and keep them where the store is not.
    """
    if run_id is not None and tenant is None:
        raise click.UsageError("--run needs --tenant")
    if (heads is None) != (not public_keys):
        raise click.UsageError("--heads and --public-key go together")
    keys = _keys(public_keys)
    with existing_store(url) as opened:
        chains = list(opened.inspect_chains(tenant, run_id))
        counters = opened.wrong_counters(tenant) if run_id is None else []
        faults = [] if heads is None else _head_faults(opened, _read_heads(heads), keys, tenant, run_id)
    sound = all(chain.sound for chain in chains) and not counters and not faults
    if output == "json":
        emit_json(_report(chains, counters, faults, sound=sound))
    else:
        _print_report(chains, counters, faults)
    if not sound:
        raise click.exceptions.Exit(EXIT_UNDECIDED)


@store.command("sign-heads")
@option("--key", "key_file", type=PATH, required=True, help="The gate's key, made with `gate approvals keygen`.")
@_tenant_option
@_store_option
@output_option()
def sign_heads(url: str, tenant: str | None, key_file: Path, output: str) -> None:
    """Walk every chain and print its signed head; keep them where the store is not.

    As text, one JSON object a line, which is what `gate store verify --heads` reads; as json, one list.
    """
    read = read_key_file(key_file)
    key = GateKey(key_id=read.key_id, private_key=read.private_key)
    with existing_store(url) as opened:
        chains = opened.inspect_chains(tenant)
        heads = [opened.sign_head(c.tenant_id, c.run_id, key).to_json() for c in chains]
    if output == "json":
        emit_json(heads)
        return
    for head in heads:
        click.echo(json.dumps(head, ensure_ascii=True))


@store.command()
@option("--to", "target", type=PATH, required=True, metavar="FILE", help="The copy; must not be there yet.")
@_store_option
@output_option()
def backup(url: str, target: Path, output: str) -> None:
    """Copy a SQLite store while it is in use.

    To restore: stop every gate; move the store's file and its -wal and -shm companions away, all three; copy the
    backup to the file's place; run `gate store verify --heads` with the heads signed last. Effects claimed after the
    backup are not in it and may have happened: reconcile the runs it names as cut, and cancel them, before any gate
    starts again.

    PostgreSQL: `pg_dump --format=custom`, and `pg_restore` into an empty database; then verify in the same way.
    """
    with existing_store(url) as opened:
        opened.backup(target)
    if output == "json":
        emit_json({"backup": str(target)})
    else:
        click.echo(visible(str(target)))


@store.command()
@option("--tenant", required=True, envvar="GATE_TENANT", help="Whose artifacts.")
@option(
    "--grace-hours",
    type=click.IntRange(0, 87_600),
    default=72,
    show_default=True,
    help="Younger ones may be on their way to a checkpoint and are left alone.",
)
@option("--clean", is_flag=True, help="Remove their content; their ids stay taken.")
@_store_option
@output_option()
def orphans(url: str, tenant: str, grace_hours: int, clean: bool, output: str) -> None:
    """List the artifacts of long tasks that no checkpoint names, and with --clean remove what they hold.

    What a checkpoint, another artifact or an open boundary needs, or somebody holds, is no orphan.
    """
    grace_ms = grace_hours * 3_600_000
    with existing_store(url) as opened:
        found = (opened.clean_orphans if clean else opened.orphans)(tenant, grace_ms=grace_ms)
    rows = [
        {
            "artifact_id": one.artifact_id,
            "run_id": one.run_id,
            "first_sequence": one.first_sequence,
            "last_sequence": one.last_sequence,
            "created_at_ms": one.created_at_ms,
            "digest": one.digest,
        }
        for one in found
    ]
    if output == "json":
        emit_json({"cleaned": clean, "orphans": rows})
    else:
        emit_table(("artifact", "run", "digest"), [(cell(o.artifact_id), cell(o.run_id), o.digest) for o in found])


store.add_command(hold)
store.add_command(retire_events)


def _keys(texts: tuple[str, ...]) -> dict[str, PublicKey]:
    keys = {}
    for text in texts:
        key_id, _, rest = text.partition("=")
        public, _, retired = rest.partition("@")
        if not key_id or not public or (retired and not retired.isdecimal()):
            raise click.UsageError("--public-key is KEY_ID=KEY or KEY_ID=KEY@RETIRED_AT_MS")
        keys[key_id] = PublicKey(public_key=public, retired_at_ms=int(retired) if retired else None)
    return keys


def _read_heads(path: Path) -> list[SignedHead]:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_HEADS_BYTES + 1)
    except OSError as exc:
        raise InputError(f"`{path}` cannot be read", code="heads_unreadable") from exc
    if len(data) > _MAX_HEADS_BYTES:
        raise InputError(f"`{path}` is too large", code="heads_unreadable")
    heads = [SignedHead.from_json(canonical.parse(line)) for line in data.splitlines() if line.strip()]
    if not heads:
        raise InputError(f"`{path}` holds no head", code="heads_empty", hint="see `gate store sign-heads`")
    return heads


def _head_faults(
    opened: Store, heads: list[SignedHead], keys: dict[str, PublicKey], tenant: str | None, run_id: str | None
) -> list[tuple[SignedHead, StoreError]]:
    faults = []
    for head in heads:
        if tenant not in (None, head.tenant_id) or run_id not in (None, head.run_id):
            continue
        try:
            opened.verify_head(head, keys)
        except StoreError as exc:
            faults.append((head, exc))
    return faults


def _report(
    chains: list[ChainState],
    counters: list[tuple[str, str]],
    faults: list[tuple[SignedHead, StoreError]],
    *,
    sound: bool,
) -> dict[str, Any]:
    return {
        "sound": sound,
        "runs": len(chains),
        "events": sum(chain.events for chain in chains),
        "broken": [
            {"tenant_id": c.tenant_id, "run_id": c.run_id, "event": c.broken_at, "differs": list(c.differs)}
            for c in chains
            if not c.sound
        ],
        "counters": [{"tenant_id": tenant, "name": name} for tenant, name in counters],
        "heads": [
            {"tenant_id": h.tenant_id, "run_id": h.run_id, "seq": h.seq, "code": e.code, "message": e.message}
            for h, e in faults
        ],
    }


def _print_report(
    chains: list[ChainState], counters: list[tuple[str, str]], faults: list[tuple[SignedHead, StoreError]]
) -> None:
    rows = []
    for chain in chains:
        where = (cell(chain.tenant_id), cell(chain.run_id))
        if chain.broken_at is not None:
            rows.append((*where, f"event {chain.broken_at}", "event_chain_broken"))
        rows += [(*where, cell(record), "differs_from_log") for record in chain.differs]
    rows += [(cell(tenant), "-", cell(f"counter {name}"), "differs_from_uses") for tenant, name in counters]
    rows += [(cell(h.tenant_id), cell(h.run_id), f"head at event {h.seq}", e.code) for h, e in faults]
    if rows:
        emit_table(("tenant", "run", "row", "fault"), rows)
    events = sum(chain.events for chain in chains)
    click.echo(f"{len(chains)} runs, {events} events: " + (f"{len(rows)} faults" if rows else "all hold"))
