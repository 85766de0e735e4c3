"""The report of an assessment as a readable page: Markdown, and one HTML file with its plots. Pure; judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.documents import visible
from gate.lab.compaction.plots import bars, lines
from gate.lab.compaction.report_json import RESULTS
from gate.release.page import Block, Cell, Code, Figure, Heading, Paragraph, Table, as_html, as_markdown

MAX_FAILURES_SHOWN = 40
"""How many failed cases of a compactor a page shows; the JSON report has them all."""


def markdown(document: Mapping[str, Any], header: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    return as_markdown(tuple(_page(document, header)), shown=visible)


def html_page(document: Mapping[str, Any], header: Mapping[str, Any]) -> str:
    """The page as one HTML file that loads nothing."""
    return as_html(tuple(_page(document, header)), shown=visible)


def share(score: Mapping[str, int]) -> float:
    """So many of so many, from 0 to 1; 0 of none."""
    return score["passed"] / score["total"] if score["total"] else 0.0


def _page(document: Mapping[str, Any], header: Mapping[str, Any]) -> Iterator[Block]:
    contract, found = document["contract"], document["compactors"]
    yield Heading(1, "Compaction release gate")
    verdict = "passed" if document["passed"] else "not passed"
    yield Paragraph((f"{verdict}: required is", Code(document["required_posture"]), "or better, of every compactor."))
    yield Paragraph(
        f"{contract['product_job']}. Owner: {contract['owner']}. This is a conformance result: scripted agents and"
        " fixed fixtures say what a compactor keeps and whether the gate holds; no model was measured."
    )
    yield Table(
        ("compactor", "posture", "hard gates that block", "evidence missing for the next posture"),
        tuple(
            (
                Code(one["revision"]),
                one["judgement"]["posture"],
                _codes(one["judgement"]["failed"]),
                _codes(one["judgement"]["missing"]),
            )
            for one in found
        ),
    )
    yield from _plots(found)
    for one in found:
        yield from _compactor(one)
    yield from _all(document)
    yield Heading(2, "This run")
    yield Paragraph("Only this part differs between two runs of the same.")
    yield Table(("", ""), tuple((name, _plain(value)) for name, value in header.items()))


def _plots(found: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    rounds = [each["round"] for each in found[0]["rounds"]]
    kept = {one["name"]: [share(r["rule_recall"]["present"]) for r in one["rounds"]] for one in found}
    compliant = {one["name"]: [share(r["compliant_decisions"]) for r in one["rounds"]] for one in found}
    yield Figure(lines("Rule recall by round", kept, rounds))
    yield Figure(lines("Compliant decisions by round", compliant, rounds))


def _compactor(one: Mapping[str, Any]) -> Iterator[Block]:
    rounds = one["rounds"]
    yield Heading(2, one["revision"])
    yield Table(
        ("hard gate", "passed"),
        tuple((Code(g["gate"]), "yes" if g["passed"] else "NO") for g in one["judgement"]["hard_gates"]),
    )
    yield Table(
        (
            *("round", "rules kept", "scope kept", "steps and gates", "stale values back", "compliant decisions"),
            *("forbidden attempts", "forbidden effects", "permitted", "failed closed", "falsely refused"),
            *("promoted", "compactions failed", "tokens read", "tokens written"),
        ),
        tuple(
            (
                str(r["round"]),
                _of(r["rule_recall"]["present"]),
                _of(r["rule_recall"]["scope"]),
                _of(r["steps_and_gates_kept"]),
                f"{r['stale_values']['resurfaced']}/{r['stale_values']['total']}",
                _of(r["compliant_decisions"]),
                str(r["forbidden_attempts"]),
                str(r["forbidden_effects"]),
                _of(r["permitted"]),
                str(r["failed_closed"]),
                str(r["false_refusals"]),
                f"{r['false_promotion']['promoted']}/{r['false_promotion']['total']}",
                f"{r['compactions']['failed']}/{r['compactions']['total']}",
                str(r["cost_tokens"]["read"]),
                str(r["cost_tokens"]["written"]),
            )
            for r in rounds
        ),
    )
    title = f"Tokens by lane, {one['name']}"
    yield Figure(bars(title, [r["tokens_by_lane"] for r in rounds], [r["round"] for r in rounds]))
    failed = [case for case in one["cases"] if not case["passed"]]
    if not failed:
        yield Paragraph(f"All {len(one['cases'])} cases passed in all four results.")
        return
    yield Paragraph(
        f"{len(failed)} of {len(one['cases'])} cases did not pass all four results"
        + (f"; the first {MAX_FAILURES_SHOWN}:" if len(failed) > MAX_FAILURES_SHOWN else ":")
    )
    yield Table(
        ("rule", "round", "fixture", "wording", "threshold", *(name.replace("_", " ") for name in RESULTS), "gate"),
        tuple(
            (
                Code(case["rule_id"]),
                str(case["round"]),
                case["fixture"],
                f"{case['form']}, {case['language']}",
                case["threshold"],
                *("yes" if case[name] else "NO" for name in RESULTS),
                Code(case["verdict"]),
            )
            for case in failed[:MAX_FAILURES_SHOWN]
        ),
    )


def _all(document: Mapping[str, Any]) -> Iterator[Block]:
    yield Heading(2, "Compactions asked for in a forbidden state")
    yield Table(
        ("state", "refused for it"),
        tuple((Code(s["state"]), "yes" if s["refused_for_it"] else "NO") for s in document["forbidden_states"]),
    )
    yield Heading(2, "Injected faults")
    yield Table(
        ("fault", "outcome", "effects", "what was answered"),
        tuple((Code(f["fault"]), f["outcome"], str(f["effects"]), "; ".join(f["seen"])) for f in document["faults"]),
    )
    yield Heading(2, "The tool, reached past the gate")
    probe = document["tool_probe"]
    answered = "It rechecks." if probe["rechecks"] else "It does NOT recheck."
    yield Paragraph(f"{answered} {probe['effects']} effect in the end.")
    yield Table(
        ("attempt", "answer", "sound"),
        tuple((a["name"], Code(a["answer"]), "yes" if a["sound"] else "NO") for a in probe["attempts"]),
    )


def _of(score: Mapping[str, int]) -> str:
    return f"{score['passed']}/{score['total']}"


def _codes(names: Sequence[str]) -> Cell:
    return tuple(Code(name) for name in names) or "none"


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return str(value)
