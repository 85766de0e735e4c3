"""`gate hook`: answers a framework's hook on stdin in that framework's own form and blocking code."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gate.cli.options import (
    PATH,
    PointOptions,
    StoreOptions,
    environment_option,
    option,
    point_options,
    store_options,
)
from gate.cli.sources import decision_point, opened_store
from gate.compiler import compile_bundle
from gate.documents import visible
from gate.enforcement import Gate
from gate.errors import GateError, InputError
from gate.evidence import Identity, Run
from gate.integrations.exact_lane import ExactLane
from gate.records import GateKey, Store, read_key_file

_BLOCK = 2
"""Claude Code's blocking code: whatever keeps the gate from answering blocks as well."""


@click.group()
def hook() -> None:
    """Answer hooks of agent frameworks; each exits with its framework's own codes, not with those of the gate."""


@hook.command("claude-compaction")
@option("--run", "run_id", required=True, envvar="GATE_RUN", help="The run that the Claude session belongs to.")
@option("--seal-key", type=PATH, required=True, envvar="GATE_SEAL_KEY", help="The gate's key that seals envelopes.")
@option("--lane", type=PATH, envvar="GATE_LANE", help="Bundle whose required rules are put back after a compaction.")
@option("--language", default="en", show_default=True, help="Language of those rules.")
@environment_option
@point_options
@store_options
def claude_compaction(
    run_id: str,
    seal_key: Path,
    lane: Path | None,
    language: str,
    environment: str,
    point: PointOptions,
    records: StoreOptions,
) -> None:
    """Answer PreCompact, PostCompact, SessionStart and UserPromptSubmit of Claude Code, from the JSON on stdin.

    Exit 2 blocks the compaction, with the reasons and what to do instead on stderr; so does anything that fails.
    """
    try:
        # Not at the top: the framework is an extra.
        from gate.integrations.claude_compaction import MAX_EVENT_BYTES, CompactionHooks
    except ImportError:
        click.echo("the gate: install the extra `claude`", err=True)
        raise click.exceptions.Exit(_BLOCK) from None
    data = sys.stdin.buffer.read(MAX_EVENT_BYTES + 1)
    try:
        with opened_store(records) as store, decision_point(point) as asked:
            read = read_key_file(seal_key)
            key = GateKey(key_id=read.key_id, private_key=read.private_key)
            run = _run(store, records.tenant, run_id)
            hooks = CompactionHooks(
                gate=Gate(asked, store, environment=environment, seal_key=key),
                store=store,
                run=lambda session: run,
                lane=None if lane is None else _lane(lane, language),
            )
            answer = hooks.answer(data)
    except GateError as exc:
        click.echo(visible(f"the gate: {exc.code}: {exc.message}"), err=True)
        raise click.exceptions.Exit(_BLOCK) from exc
    if answer.stdout:
        click.echo(answer.stdout)
    for line in answer.stderr.splitlines():
        click.echo(visible(line), err=True)
    raise click.exceptions.Exit(answer.exit_code)


def _run(store: Store, tenant: str, run_id: str) -> Run:
    record = store.run(tenant, run_id)
    if record is None:
        raise InputError(f"run `{run_id}` is not known", code="run_unknown")
    identity = Identity(
        tenant_id=tenant,
        principal_id=record.principal_id,
        authorization_mode=record.authorization_mode,
        delegated_principal_id=record.delegated_principal_id,
        delegated_scope=record.delegated_scope,
    )
    return Run(
        agent_id=record.agent_id,
        session_id=record.session_id,
        run_id=record.run_id,
        trace_id=record.trace_id,
        identity=identity,
        epoch=record.epoch,
    )


def _lane(bundle: Path, language: str) -> ExactLane:
    contract = compile_bundle(bundle).bundle.compaction
    if contract is None:
        raise InputError(f"`{bundle}` has no compaction.yaml", code="compaction_contract_missing")
    return ExactLane.of(contract, language=language)
