"""`gate mutate`: how good a bundle's golden cases are. Renders what `gate.release.mutate` found; changes no file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from gate import opa
from gate.cli.options import PATH, option, output_option
from gate.cli.progress import progress_bar
from gate.cli.rendering import emit_json, quoted
from gate.compiler import compile_bundle
from gate.compiler.link_cases import linked_cases
from gate.documents import visible
from gate.errors import EXIT_DENIED
from gate.release.diff import Witness
from gate.release.diff_documents import ABSENT
from gate.release.mutate import MISSED, NOTICED, REFUSED, SAME, UNDETERMINED, Mutation, Verdict, mutate

_STATES = (NOTICED, MISSED, UNDETERMINED, REFUSED, SAME)


@click.command("mutate")
@click.argument("bundle", type=PATH)
@option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    envvar="GATE_MIN_SCORE",
    help="Exit 3 when the cases notice a smaller share of the mutants that change a decision.",
)
@option(
    "--strict",
    is_flag=True,
    envvar="GATE_MUTATE_STRICT",
    help="Hold the score against --min-score that counts as missed what nothing shows a difference for.",
)
@option(
    "--search",
    type=click.IntRange(0, 100_000),
    default=3000,
    show_default=True,
    envvar="GATE_MUTATE_SEARCH",
    help="Inputs generated at most to find what a mutant changes that no case notices.",
)
@output_option("junit")
def mutate_command(bundle: Path, min_score: float, strict: bool, search: int, output: str) -> None:
    """Change BUNDLE's YAML in small ways and say which changes no golden case notices.

    A missed mutant comes with the smallest input found whose decision it changes: write it down as a case. Mutants that
    the compiler refuses, or that compile to the same Rego, are counted apart.
    """
    compiled = compile_bundle(bundle)
    cases = linked_cases(compiled.bundle)
    with progress_bar("mutants") as told:
        found = mutate(compiled, cases, binary=opa.find().path, search=search, told=told)
    if output == "json":
        emit_json(_document(found))
    elif output == "junit":
        click.echo(junit(bundle, found))
    else:
        for line in _text(bundle, found):
            click.echo(line)
    if (found.strict_score if strict else found.score) < min_score:
        raise click.exceptions.Exit(EXIT_DENIED)


def _document(found: Mutation) -> dict[str, Any]:
    return {
        "schema_version": "gate-mutate/v1",
        "bundle": found.bundle,
        "cases": found.cases,
        "total": len(found.verdicts),
        "counts": {state: found.count(state) for state in _STATES},
        "score": round(found.score, 4),
        "strict_score": round(found.strict_score, 4),
        "mutants": [
            {
                "file": one.mutant.file,
                "pointer": one.mutant.pointer,
                "line": one.line,
                "kind": one.mutant.kind,
                "what": one.mutant.what,
                "state": one.state,
                "case": one.case or None,
                "difference": None if one.change is None else _difference(one),
            }
            for one in found.verdicts
        ],
    }


def _difference(one: Verdict) -> dict[str, Any]:
    change = one.change
    assert change is not None  # noqa: S101 - asked for a missed mutant only
    return {
        "group": change.group,
        "direction": change.direction,
        "about": change.about,
        "old": change.witness.old.verdict,
        "new": change.witness.new.verdict,
        "base": change.witness.name,
        "patches": [
            {"path": path, "absent": True} if value is ABSENT else {"path": path, "value": value}
            for path, value in change.witness.patches
        ],
    }


def _text(bundle: Path, found: Mutation) -> Iterator[str]:
    for one in found.verdicts:
        if one.state in (MISSED, UNDETERMINED):
            yield f"{one.state:<12}  {_where(bundle, one)}  {visible(one.mutant.what)}"
            if one.change is not None:
                yield f"              {_shown(one.change.witness)}"
    counts = ", ".join(f"{found.count(state)} {state}" for state in _STATES)
    yield f"{len(found.verdicts)} mutants, {found.cases} cases: {counts}"
    yield f"score {found.score:.1%} ({found.strict_score:.1%} with the undetermined ones counted as missed)"


def _where(bundle: Path, one: Verdict) -> str:
    return f"{visible(str(bundle / one.mutant.file))}:{one.line}"


def _shown(witness: Witness) -> str:
    patches = ", ".join(
        f"{visible(path)} {'absent' if value is ABSENT else '= ' + quoted(value)}" for path, value in witness.patches
    )
    named = visible(witness.name) + (f" with {patches}" if patches else "")
    return f"{named}: {witness.old.verdict} -> {witness.new.verdict}"


def junit(bundle: Path, found: Mutation) -> str:
    """A test case a mutant; a missed one is a failure, what cannot be judged is skipped."""
    skipped = sum(found.count(state) for state in (UNDETERMINED, REFUSED, SAME))
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": visible(f"gate mutate {bundle}"),
            "tests": str(len(found.verdicts)),
            "failures": str(found.count(MISSED)),
            "errors": "0",
            "skipped": str(skipped),
        },
    )
    for one in found.verdicts:
        attributes = {"classname": visible(str(bundle / one.mutant.file)), "name": visible(one.mutant.id)}
        element = ElementTree.SubElement(suite, "testcase", attributes)
        if one.state == MISSED and one.change is not None:
            ElementTree.SubElement(element, "failure", {"message": _shown(one.change.witness)})
        elif one.state != NOTICED:
            ElementTree.SubElement(element, "skipped", {"message": one.state})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False)
