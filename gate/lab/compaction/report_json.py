"""The report of an assessment as JSON text and as JUnit XML. Pure; judges nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from gate.documents import visible

RESULTS = ("present", "scope_correct", "decision_compliant", "state_correct")
"""The four results of a case, which stay apart."""


def text_of(document: Mapping[str, Any]) -> str:
    """`document` as text that two runs write alike, with a line feed at its end."""
    return json.dumps(document, ensure_ascii=True, sort_keys=True, indent=1) + "\n"


def as_junit(document: Mapping[str, Any]) -> str:
    """One suite for each compactor, with its hard gates and cases, and one for faults, states and the probe."""
    root = ElementTree.Element("testsuites", {"name": "gate compaction-gate"})
    for one in document["compactors"]:
        _suite(root, one["revision"], _of_compactor(one))
    _suite(root, "recovery", _of_all(document))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


Case = tuple[str, str, str]
"""Class, name, and why it failed; empty when it did not."""


def _of_compactor(one: Mapping[str, Any]) -> Iterator[Case]:
    for gate in one["judgement"]["hard_gates"]:
        yield "hard_gate", gate["gate"], "" if gate["passed"] else "blocks release"
    for case in one["cases"]:
        where = f"{case['threshold']}.{case['fixture']}.{case['language']}.{case['form']}"
        failed = [name for name in RESULTS if not case[name]]
        yield where, f"{case['rule_id']}, round {case['round']}", ", ".join(f"not {name}" for name in failed)


def _of_all(document: Mapping[str, Any]) -> Iterator[Case]:
    for fault in document["faults"]:
        yield "fault", fault["fault"], "" if fault["outcome"] != "unsound" else "; ".join(fault["seen"])
    for state in document["forbidden_states"]:
        yield "forbidden_state", state["state"], "" if state["refused_for_it"] else "the compaction was not refused"
    for attempt in document["tool_probe"]["attempts"]:
        yield "tool_probe", attempt["name"], "" if attempt["sound"] else f"the tool answered {attempt['answer']}"


def _suite(root: ElementTree.Element, name: str, cases: Iterator[Case]) -> None:
    found = list(cases)
    failures = sum(bool(why) for _, _, why in found)
    counts = {"tests": str(len(found)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suite = ElementTree.SubElement(root, "testsuite", {"name": visible(name), **counts})
    for group, title, why in found:
        case = ElementTree.SubElement(suite, "testcase", {"classname": visible(group), "name": visible(title)})
        if why:
            ElementTree.SubElement(case, "failure", {"message": visible(why)})
