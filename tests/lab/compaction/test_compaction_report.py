from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from assessment_support import RULE, small_bundle

from gate.documents import schema, strict_validator
from gate.errors import InputError
from gate.lab.compaction.assessment import Assessment, assess
from gate.lab.compaction.compactors import DropRule, Structured
from gate.lab.compaction.fixtures import FIXTURES, Variant
from gate.lab.compaction.matrix import Plan
from gate.lab.compaction.plots import bars, lines
from gate.lab.compaction.report_json import as_junit, text_of
from gate.lab.compaction.report_page import html_page, markdown

PLAN = Plan(
    compactors=(Structured(), DropRule()),
    thresholds=("tighter",),
    variants=tuple(Variant(fixture=f, form="imperative", language="en") for f in FIXTURES),
    rounds=2,
)


@pytest.fixture(scope="module")
def bundle(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_bundle(repo, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def told() -> list[tuple[int, int]]:
    return []


@pytest.fixture(scope="module")
def found(bundle: Path, told: list[tuple[int, int]]) -> Assessment:
    return assess(
        bundle,
        PLAN,
        engine="embedded",
        binary=None,
        require="hold",
        told=lambda done, total: told.append((done, total)),
    )


def compactor(found: Assessment, name: str) -> Mapping[str, Any]:
    (one,) = [one for one in found.document["compactors"] if one["name"] == name]
    return one


def test_assessment_tells_a_compactor_that_keeps_from_one_that_loses(found: Assessment) -> None:
    kept = {
        one["name"]: [r["rule_recall"]["present"]["passed"] for r in one["rounds"]]
        for one in found.document["compactors"]
    }
    assert kept == {"structured": [3, 3], "drop-rule": [0, 0]}
    assert "critical_rule_kept" not in compactor(found, "structured")["judgement"]["failed"]
    assert {"critical_rule_kept", "versions_known"} <= set(compactor(found, "drop-rule")["judgement"]["failed"])


def test_assessment_runs_no_forbidden_effect_whatever_the_compactor_loses(found: Assessment) -> None:
    rounds = [r for one in found.document["compactors"] for r in one["rounds"]]
    assert [r["forbidden_effects"] for r in rounds] == [0, 0, 0, 0]
    assert [r["refused_as_registered"] for r in rounds] == [{"passed": 3, "total": 3}] * 4


def test_assessment_shows_faults_states_and_the_probe(found: Assessment) -> None:
    document = found.document
    assert [f["outcome"] for f in document["faults"]] == ["recovered"] * 7
    assert [s["refused_for_it"] for s in document["forbidden_states"]] in ([True], [True, True])
    assert document["tool_probe"]["rechecks"] is True
    figures = compactor(found, "structured")["measured"]["tool_probe"]
    assert figures["tried"] == figures["refused"] > len(document["tool_probe"]["attempts"])


def test_assessment_passes_only_when_every_compactor_has_the_posture(found: Assessment) -> None:
    postures = {one["name"]: one["judgement"]["posture"] for one in found.document["compactors"]}
    order = ["reject", "hold", "pilot", "ship-limited"]
    assert found.passed == all(order.index(p) >= order.index("hold") for p in postures.values())
    # Two rounds of one threshold release nothing, however well they went.
    assert postures["structured"] == "hold"


def test_progress_is_told_up_to_its_end(found: Assessment, told: list[tuple[int, int]]) -> None:
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, total in told} == {len(told)}


def test_record_has_the_form_of_its_schema_and_the_digest_of_the_report(found: Assessment) -> None:
    record = found.records["structured@1"]
    assert list(strict_validator(schema("compaction-record")).iter_errors(record)) == []
    assert record["compaction_record"]["report_sha256"] == found.header["report_sha256"]


def test_two_runs_report_the_same_bytes_apart_from_the_header(found: Assessment, bundle: Path) -> None:
    again = assess(bundle, PLAN, engine="embedded", binary=None, require="hold")
    assert text_of(again.document) == text_of(found.document)
    assert as_junit(again.document) == as_junit(found.document)
    assert html_page(again.document, {}) == html_page(found.document, {})
    assert again.header["report_sha256"] == found.header["report_sha256"]


def test_a_compactor_named_twice_and_a_posture_that_is_none_are_refused(bundle: Path) -> None:
    twice = Plan(compactors=(Structured(), Structured()))
    with pytest.raises(InputError) as refused:
        assess(bundle, twice, engine="embedded", binary=None, require="hold")
    assert refused.value.code == "compactor_repeated"
    with pytest.raises(InputError) as refused:
        assess(bundle, PLAN, engine="embedded", binary=None, require="released")
    assert refused.value.code == "posture_unknown"


def test_a_bundle_without_a_contract_is_refused(repo: Path) -> None:
    with pytest.raises(InputError) as refused:
        assess(repo / "bundles" / "support-triage", PLAN, engine="embedded", binary=None, require="hold")
    assert refused.value.code == "compaction_contract_missing"


def test_junit_has_a_case_for_every_gate_case_fault_state_and_attempt(found: Assessment) -> None:
    root = ElementTree.fromstring(as_junit(found.document))
    assert [suite.get("name") for suite in root] == ["structured@1", "drop-rule@1", "recovery"]
    lost = root[1].findall(f"./testcase[@name='{RULE}, round 1']/failure")
    assert len(lost) == 3
    assert all("not present" in str(one.get("message")) for one in lost)
    gates = {
        case.get("name"): case.find("failure") is None for case in root[1].findall("./testcase[@classname='hard_gate']")
    }
    assert (gates["critical_rule_kept"], gates["no_unauthorized_effect"]) == (False, True)
    assert [suite.get("failures") for suite in root][2] == "0"
    for suite in root:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("failures") == str(len(suite.findall("./testcase/failure")))


def test_page_is_one_file_that_loads_nothing_and_has_its_plots(found: Assessment) -> None:
    page = html_page(found.document, found.header)
    assert page.count("<svg ") == 4
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|<script""", page)
    for svg in re.findall(r"<svg .*?</svg>", page, re.DOTALL):
        drawn = ElementTree.fromstring(svg)
        assert drawn.find("{http://www.w3.org/2000/svg}title") is not None
        assert drawn.find("{http://www.w3.org/2000/svg}desc") is not None
    assert "no model was measured" in page
    assert found.header["made_at"] in page


def test_markdown_says_what_blocks_and_has_no_picture(found: Assessment) -> None:
    text = markdown(found.document, found.header)
    assert "| `drop-rule@1` |" in text
    assert "`critical_rule_kept`" in text
    assert "<svg" not in text


def test_page_escapes_what_a_compactor_calls_itself(found: Assessment) -> None:
    document = copy.deepcopy(found.document)
    document["compactors"][0] |= {"name": "<script>x</script>", "revision": "<b>|`@1"}
    page = html_page(document, {})
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    text = markdown(document, {})
    assert "## \\<b\\>\\|\\`@1" in text.splitlines()
    assert text.count("<b>") == text.count("`` <b>\\|`@1 ``") == 1


def test_lines_draw_a_share_at_its_height_and_a_round_at_its_place() -> None:
    drawn = ElementTree.fromstring(lines("t", {"a": [1.0, 0.0], "b": [0.5, 0.5]}, [1, 2]))
    polylines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert [p.get("points") for p in polylines] == ["152.0,34.0 364.0,230.0", "152.0,132.0 364.0,132.0"]
    assert len({(p.get("stroke"), p.get("stroke-dasharray")) for p in polylines}) == 2


@pytest.mark.parametrize(
    "stacks", [[], [{"exact": 0, "lossy": 0}], [{"exact": 3, "lossy": 1}, {"exact": 2, "lossy": 0}]]
)
def test_bars_stack_to_their_sum_and_draw_nothing_of_nothing(stacks: list[dict[str, int]]) -> None:
    drawn = ElementTree.fromstring(bars("t", stacks, list(range(1, len(stacks) + 1))))
    tall = [
        float(str(r.get("height"))) for r in drawn.findall("{http://www.w3.org/2000/svg}rect") if r.get("width") == "36"
    ]
    highest = max((sum(s.values()) for s in stacks), default=0) or 1
    assert tall == [pytest.approx(value / highest * 196, abs=0.05) for stack in stacks for value in stack.values()]


def test_text_of_a_document_is_sorted_ascii_json() -> None:
    assert text_of({"b": "é", "a": 1}) == '{\n "a": 1,\n "b": "\\u00e9"\n}\n'
    assert json.loads(text_of({"a": [1]})) == {"a": [1]}
