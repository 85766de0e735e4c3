"""`gate status`: what a sidecar serves, since when, and what it refused; or how well runs recover. Changes nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from gate.cli.options import PATH, StoreOptions, option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json, timestamp
from gate.cli.sources import opened_store, read_token
from gate.errors import EXIT_UNDECIDED, PdpError
from gate.longtask.signals import collect
from gate.pdp import SidecarDecisionPoint, manifest_revision

_TIMEOUT_MS = 3000


@click.command()
@option(
    "--opa",
    "opa_url",
    metavar="URL",
    envvar="GATE_OPA_URL",
    help="OPA sidecar: http://127.0.0.1:PORT, https://127.0.0.1:PORT or unix:///PATH.",
)
@option(
    "--token-file",
    type=PATH,
    envvar="GATE_TOKEN_FILE",
    help="File with OPA's bearer token, readable by its owner only.",
)
@option(
    "--revision",
    "revisions",
    multiple=True,
    envvar="GATE_REVISION",
    help="A revision OPA may be serving; twice during a roll-over.",
)
@option("--tarball", type=PATH, help="Built bundle to read the expected revision from, in place of --revision.")
@option("--tls-ca", type=PATH, help="CA file of a sidecar that speaks TLS.")
@option("--continuity", is_flag=True, help="The signals of continuity out of --store, in place of a sidecar.")
@option("--store", "store_url", metavar="URL", envvar="GATE_STORE", help="The records, for --continuity.")
@option("--tenant", envvar="GATE_TENANT", help="Whose records, for --continuity.")
@output_option()
def status(
    opa_url: str | None,
    token_file: Path | None,
    revisions: tuple[str, ...],
    tarball: Path | None,
    tls_ca: Path | None,
    continuity: bool,
    store_url: str | None,
    tenant: str | None,
    output: str,
) -> None:
    """Ask the OPA sidecar what it serves, since when and what it refused; exit 1 unless an expected revision answers.

    Ready means that an expected revision answers, not that OPA runs. With --continuity: how well runs can be recovered.
    """
    if continuity:
        _show_signals(store_url, tenant, output)
        return
    if opa_url is None or token_file is None:
        raise click.UsageError("name the sidecar with --opa and --token-file, or ask for --continuity")
    if (not revisions) == (tarball is None):
        raise click.UsageError("say which revision to expect: either --revision or --tarball")
    expected = revisions if tarball is None else (manifest_revision(tarball),)
    client = SidecarDecisionPoint(
        url=opa_url, token=read_token(token_file), expected_revisions=expected, timeout_ms=_TIMEOUT_MS, ca_file=tls_ca
    )
    report: dict[str, Any] = {"ready": False, "expected": list(expected), "revision": None}
    report |= {"activated_at": None, "age_seconds": None, "last_error": None, "code": None, "hint": ""}
    try:
        found = client.status()
        report |= {"revision": found.revision, "last_error": found.error}
        if found.activated_at_ms is not None:
            age_ms = time.time_ns() // 1_000_000 - found.activated_at_ms
            report |= {"activated_at": timestamp(found.activated_at_ms), "age_seconds": max(0, age_ms // 1000)}
        client.revision()
        report["ready"] = client.ready()
        if not report["ready"]:
            report |= {"code": "pdp_not_ready", "hint": "its bundles are not active yet"}
    except PdpError as exc:
        report |= {"code": exc.code, "hint": exc.hint or exc.message}
    finally:
        client.close()
    if output == "json":
        emit_json(report)
    else:
        emit_fields(_fields(report))
    if not report["ready"]:
        raise click.exceptions.Exit(EXIT_UNDECIDED)


def _show_signals(store_url: str | None, tenant: str | None, output: str) -> None:
    if store_url is None or tenant is None:
        raise click.UsageError("--continuity needs --store and --tenant")
    with opened_store(StoreOptions(url=store_url, tenant=tenant, busy_timeout_ms=_TIMEOUT_MS)) as store:
        found = collect(store, tenant).as_dict()
    if output == "json":
        emit_json(found)
        return
    rejected = found.pop("rejections")
    emit_fields([(name.replace("_", " "), "not measured" if v is None else str(v)) for name, v in found.items()])
    if isinstance(rejected, dict):
        emit_fields([(f"rejected: {code}", str(count)) for code, count in rejected.items()])


def _fields(report: dict[str, Any]) -> list[tuple[str, str]]:
    fields = [
        ("ready", "yes" if report["ready"] else "no"),
        ("expected", ", ".join(cell(one) for one in report["expected"])),
        ("revision", cell(report["revision"])),
    ]
    if report["activated_at"] is not None:
        fields.append(("active", f"since {report['activated_at']} ({report['age_seconds']} s)"))
    if report["last_error"] is not None:
        fields.append(("refused", report["last_error"]))
    if report["code"] is not None:
        fields += [("code", report["code"]), ("hint", cell(report["hint"]))]
    return fields
