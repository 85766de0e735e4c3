"""`gate compaction-gate`: does a compactor keep the rules for five rounds, and do they still bind?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import yaml

from gate.cli.options import PATH, engine_option, option, output_option
from gate.cli.progress import progress_bar
from gate.cli.rendering import emit_json, note
from gate.cli.sources import chosen_engine, read_token
from gate.documents import visible
from gate.errors import EXIT_DENIED, InputError
from gate.lab.compaction.assessment import Assessment, assess
from gate.lab.compaction.compactors import FORMS, Recorder, chosen
from gate.lab.compaction.matrix import THRESHOLDS, Plan
from gate.lab.compaction.metrics import POSTURES
from gate.lab.compaction.report_json import as_junit, text_of
from gate.lab.compaction.report_page import html_page, markdown

_CONTRACT = "compaction.yaml"
_HEAD = "# Written by `gate compaction-gate`; an edited figure is refused. Run it again instead.\n"


@click.command("compaction-gate")
@click.argument("contract", type=PATH)
@option("--compactor", "specs", required=True, multiple=True, metavar="SPEC", help=f"{FORMS}. May be given again.")
@option("--compactor-version", envvar="GATE_COMPACTOR_VERSION", help="Exact revision of a compactor from outside.")
@option("--token-file", type=PATH, envvar="GATE_COMPACTOR_TOKEN_FILE", help="Bearer token for an endpoint.")
@option("--report", "folder", type=PATH, help="Folder for report.json, header.json, junit.xml, report.md, report.html.")
@option("--require", type=click.Choice(POSTURES), default="ship-limited", show_default=True, help="The least posture.")
@option("--record", type=PATH, help="File for the measured record, compaction-record.yaml; for one compactor.")
@option("--transcript", type=PATH, help="New file to record what the compactor returned in, for transcript:FILE.")
@option("--rounds", type=click.IntRange(1, 50), help="Compactions of each context. Default: as the contract says.")
@option(
    "--threshold",
    "thresholds",
    type=click.Choice(THRESHOLDS),
    multiple=True,
    help="Only this one. Default: the real and the tighter one.",
)
@option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, show_default="CPUs", help="Processes.")
@engine_option
@output_option("junit", "markdown")
def compaction_gate(
    contract: Path,
    specs: tuple[str, ...],
    compactor_version: str | None,
    token_file: Path | None,
    folder: Path | None,
    require: str,
    record: Path | None,
    transcript: Path | None,
    rounds: int | None,
    thresholds: tuple[str, ...],
    jobs: int,
    engine: str | None,
    output: str,
) -> None:
    """Force five compactions of every fixture of CONTRACT and judge what is left; CONTRACT is compaction.yaml or its
    bundle's folder.

    Exit 0 when the policies release every compactor at --require or better, else 3.
    """
    if (record is not None or transcript is not None) and len(specs) != 1:
        raise click.UsageError("--record and --transcript are for one compactor")
    token = None if token_file is None else read_token(token_file)
    compactors = [chosen(spec, version=compactor_version, token=token) for spec in specs]
    if transcript is not None:
        compactors = [Recorder(inner=compactors[0], path=transcript)]
        jobs = 1
    name, binary = chosen_engine(engine)
    plan = Plan(compactors=tuple(compactors), rounds=rounds, thresholds=thresholds or THRESHOLDS)
    with progress_bar("compaction gate") as told:
        found = assess(_bundle(contract), plan, engine=name, binary=binary, require=require, jobs=jobs, told=told)
    if folder is not None:
        _write(folder, found)
    if record is not None:
        (only,) = found.records.values()
        _write_file(record, _HEAD + yaml.safe_dump(only, sort_keys=True, allow_unicode=False))
        note(f"{visible(str(record))} is written; list it in bundle.yaml and compile")
    _show(found, output)
    if not found.passed:
        raise click.exceptions.Exit(EXIT_DENIED)


def _bundle(contract: Path) -> Path:
    if os.path.isdir(contract):
        return contract
    if contract.name != _CONTRACT:
        raise InputError(
            f"`{contract}` is no contract", code="contract_unknown", hint=f"name a {_CONTRACT} or a bundle"
        )
    return contract.parent


def _write(folder: Path, found: Assessment) -> None:
    with _translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("report.json", text_of(found.document)),
        ("header.json", text_of(found.header)),
        ("junit.xml", as_junit(found.document)),
        ("report.md", markdown(found.document, found.header)),
        ("report.html", html_page(found.document, found.header)),
    ):
        _write_file(folder / name, text)


def _write_file(path: Path, text: str) -> None:
    with _translated(path):
        path.write_text(text, "utf-8")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise InputError(f"`{path}` cannot be written", code="report_unwritable") from exc


def _show(found: Assessment, output: str) -> None:
    if output == "json":
        emit_json({"header": found.header, "report": found.document})
    elif output == "junit":
        click.echo(as_junit(found.document), nl=False)
    elif output == "markdown":
        click.echo(markdown(found.document, found.header), nl=False)
    else:
        for one in found.document["compactors"]:
            _show_one(one)
        for title, kept in (
            ("faults recovered or failed closed", [f["outcome"] != "unsound" for f in found.document["faults"]]),
            ("forbidden states refused", [s["refused_for_it"] for s in found.document["forbidden_states"]]),
        ):
            click.echo(f"{title}: {sum(kept)} of {len(kept)}")
        click.echo(f"the tool rechecks: {'yes' if found.document['tool_probe']['rechecks'] else 'NO'}")
        click.echo(f"required {found.document['required_posture']}: {'passed' if found.passed else 'NOT passed'}")


def _show_one(one: dict[str, Any]) -> None:
    judged = one["judgement"]
    click.echo(f"{visible(one['revision'])}: {judged['posture']}")
    for gate in judged["failed"]:
        click.echo(f"  blocks: {gate}")
    for missing in judged["missing"]:
        click.echo(f"  missing: {missing}")
    for each in one["rounds"]:
        kept, compliant = each["rule_recall"]["present"], each["compliant_decisions"]
        click.echo(
            f"  round {each['round']}: rules kept {kept['passed']}/{kept['total']},"
            f" compliant decisions {compliant['passed']}/{compliant['total']},"
            f" forbidden effects {each['forbidden_effects']}"
        )
