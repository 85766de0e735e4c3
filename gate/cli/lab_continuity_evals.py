"""`gate lab continuity-evals`: the eight evals of continuity on a bundle of one's own. Changes nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from gate.cli.options import PATH, engine_option, output_option
from gate.cli.rendering import cell, emit_json
from gate.cli.sources import local_point
from gate.compiler import Compiled
from gate.documents import visible
from gate.errors import EXIT_DENIED
from gate.lab.continuity_evals import evaluate, report
from gate.pdp import DecisionPoint


@click.command("continuity-evals")
@click.argument("bundle", type=PATH)
@engine_option
@output_option("junit", "markdown")
def continuity_evals(bundle: Path, engine: str | None, output: str) -> None:
    """Play every continuity eval on a copy of BUNDLE, with its whole history and across each kind of boundary.

    A decision must be the same or stricter after a boundary. Exit 3 when one is not, with the witness.
    """
    served: list[tuple[str, str]] = []

    @contextmanager
    def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
        with local_point(compiled, engine) as (name, point):
            served.append((name, point.revision()))
            yield point

    findings = evaluate(bundle, opened)
    name, revision = served[0]
    document = report(findings, engine=name, revision=revision)
    if output == "json":
        emit_json(document)
    elif output == "junit":
        click.echo(_junit(bundle, document))
    elif output == "markdown":
        click.echo(_markdown(document))
    else:
        _render(document)
    if document["failed"]:
        raise click.exceptions.Exit(EXIT_DENIED)


def _render(document: dict[str, Any]) -> None:
    for each in document["evals"]:
        note = "" if each["boundary_permitted"] else "  (the bundle permits no such boundary)"
        click.echo(f"{'ok  ' if each['passed'] else 'FAIL'}  {each['id']}  {each['boundary']}{note}")
        if not each["passed"]:
            click.echo(f"      witness  {visible(each['witness'])}")
    click.echo(f"{document['passed']} passed, {document['failed']} failed ({document['engine']})")


def _markdown(document: dict[str, Any]) -> str:
    lines = [
        f"{document['passed']} of {document['total']} continuity evals passed on `{document['revision']}`.",
        "",
        "| eval | boundary | result | witness |",
        "|---|---|---|---|",
    ]
    for each in document["evals"]:
        passed = "passed" if each["boundary_permitted"] else "passed (no such boundary is permitted)"
        result, witness = passed if each["passed"] else "**failed**", visible(each["witness"]).replace("|", "\\|")
        lines.append(f"| {each['title']} | {each['boundary']} | {result} | {witness} |")
    return "\n".join(lines)


def _junit(bundle: Path, document: dict[str, Any]) -> str:
    counts = {"tests": str(document["total"]), "failures": str(document["failed"]), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": visible(f"gate lab continuity-evals {bundle}"), **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("engine", "revision"):
        ElementTree.SubElement(properties, "property", {"name": name, "value": cell(document[name])})
    for each in document["evals"]:
        case = ElementTree.SubElement(suite, "testcase", {"classname": each["id"], "name": each["boundary"]})
        if not each["passed"]:
            ElementTree.SubElement(case, "failure", {"message": visible(each["witness"])})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False)
