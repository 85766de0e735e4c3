"""`gate test`: the golden cases of a bundle on a real decision point. Repairs nothing and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from gate.cli.options import PATH, engine_option, output_option
from gate.cli.rendering import cell, emit_json
from gate.cli.sources import local_point
from gate.compiler import compile_bundle
from gate.compiler.link_cases import linked_cases
from gate.documents import visible
from gate.errors import EXIT_DENIED
from gate.release import CaseResult, require_checked_in, run_cases


@click.command()
@click.argument("bundle", type=PATH)
@engine_option
@output_option("junit")
def test(bundle: Path, engine: str | None, output: str) -> None:
    """Run BUNDLE's golden cases; exit 3 when one fails, 5 when the checked-in Rego is stale."""
    compiled = compile_bundle(bundle)
    cases = linked_cases(compiled.bundle)
    require_checked_in([compiled])
    with local_point(compiled, engine) as (name, point):
        revision = point.revision()
        results = list(run_cases(cases, point, agent_id=compiled.bundle.meta.agent_ids[0]))
    report = _report(name, revision, results)
    if output == "json":
        emit_json(report)
    elif output == "junit":
        click.echo(_junit(bundle, report))
    else:
        _render(report)
    if report["failed"]:
        raise click.exceptions.Exit(EXIT_DENIED)


def _report(engine: str, revision: str, results: list[CaseResult]) -> dict[str, Any]:
    passed = sum(result.passed for result in results)
    return {
        "engine": engine,
        "revision": revision,
        "total": len(results),
        "passed": passed,
        "failed": len(results) - passed,
        "cases": [
            {
                "id": result.id,
                "title": result.title,
                "file": result.file,
                "passed": result.passed,
                "expected": list(result.expected),
                "got": list(result.got),
            }
            for result in results
        ],
    }


def _render(report: dict[str, Any]) -> None:
    for case in report["cases"]:
        click.echo(f"{'ok  ' if case['passed'] else 'FAIL'}  {case['id']}  {visible(case['title'])}")
        if not case["passed"]:
            click.echo(f"      file      {cell(case['file'])}")
            click.echo(f"      expected  {visible(', '.join(case['expected']))}")
            click.echo(f"      got       {visible(', '.join(case['got']))}")
    click.echo(f"{report['passed']} passed, {report['failed']} failed ({report['engine']}, {report['revision']})")


def _junit(bundle: Path, report: dict[str, Any]) -> str:
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": visible(f"gate test {bundle}"),
            "tests": str(report["total"]),
            "failures": str(report["failed"]),
            "errors": "0",
            "skipped": "0",
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("engine", "revision"):
        ElementTree.SubElement(properties, "property", {"name": name, "value": report[name]})
    for case in report["cases"]:
        attributes = {"classname": visible(case["file"]), "name": case["id"]}
        element = ElementTree.SubElement(suite, "testcase", attributes)
        if not case["passed"]:
            message = f"expected {', '.join(case['expected'])}; got {', '.join(case['got'])}"
            ElementTree.SubElement(element, "failure", {"message": visible(message)})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False)
