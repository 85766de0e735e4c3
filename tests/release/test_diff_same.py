"""A document is left undecided only where both sides must decide it alike, and the diff says the same as without."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.release import diff as comparing
from gate.release.diff import decision_diff
from gate.release.diff_batch import UNDECIDED, Batch, encoded
from gate.release.diff_rego import rego_diff
from gate.release.diff_same import PATH, alike, review_of
from gate.release.diff_side import Side, load_side

CHECKPOINTS = "gate/bundles/support_triage/checkpoints.rego"
POLICY = "gate/bundles/support_triage/policy.rego"


@pytest.fixture(scope="module")
def old(repo: Path) -> Side:
    side = load_side(repo / "bundles" / "support-triage")
    return dataclasses.replace(side, cases=side.cases[::16])


def edited(side: Side, path: str, change: Callable[[str], str]) -> Side:
    text = change(side.modules[path])
    assert text != side.modules[path]
    return dataclasses.replace(side, modules={**side.modules, path: text})


def provable(one: Side, two: Side) -> bool:
    return review_of(one, two, rego_diff(one, two)) is not None


def test_rules_of_a_bundle_that_differ_leave_a_proof_and_nothing_else_does(old: Side) -> None:
    threshold = edited(old, CHECKPOINTS, lambda text: text.replace("limit > 20", "limit > 21"))
    assert provable(old, threshold)
    for path, before, after in (
        ("gate/bundles/support_triage/bundle.rego", '"version": "', '"version": "x'),
        ("gate/bundles/support_triage/catalog.rego", '"risk_tier": "high"', '"risk_tier": "low"'),
        ("gate/verdict/verdict.rego", "count(_sound)", "count( _sound)"),
        ("gate/agents/agents.rego", "support_triage", "support_other"),
        (CHECKPOINTS, "\n\nfindings contains", "\n\n findings contains"),
        (CHECKPOINTS, "\n}\n", "\n}\nfindings contains 1\n"),
    ):
        text = threshold.modules[path]
        other = dataclasses.replace(threshold, modules={**threshold.modules, path: text.replace(before, after)})
        if text.replace(before, after) != text:
            assert not provable(old, other), (path, after)


@pytest.mark.parametrize(
    "rule",
    [
        "other := data.gate.bundles",
        "other if data.gate.bundles[_name]._hidden",
        'other if data.gate["bundles"]',
        "other if data.gate.verdict.stranger with input as {}",
        'other if data["gate"]',
    ],
)
def test_core_policy_that_looks_at_bundles_in_another_way_leaves_no_proof(old: Side, rule: str) -> None:
    path = "gate/router/router.rego"
    sides = [edited(side, path, lambda text: f"{text}\n{rule}\n") for side in (old, old)]
    changed = edited(sides[1], CHECKPOINTS, lambda text: text.replace("limit > 20", "limit > 21"))
    assert not provable(sides[0], changed)


@pytest.mark.opa
def test_diff_with_proofs_finds_what_it_finds_by_deciding_everything(
    old: Side, opa_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = edited(old, CHECKPOINTS, lambda text: text.replace("limit > 20", "limit > 21").replace("<= 20", "<= 21"))
    new = edited(new, POLICY, lambda text: text.replace('"allow", "op.list_tools"', '"deny", "op.list_tools"'))
    quick = decision_diff(old, new, limit=150, binary=opa_binary)
    monkeypatch.setattr(comparing, "review_of", lambda *_: None)
    assert quick == decision_diff(old, new, limit=150, binary=opa_binary)
    assert {change.about for change in quick.changes} == {"list_tools", "search_docs"}


BREAKABLE = """

findings contains {"n": n} if {
	input.operation == "emit"
	n := to_number(input.request.text)
}
"""


@pytest.mark.opa
def test_document_that_a_changed_rule_is_about_is_not_alike(old: Side, opa_binary: Path) -> None:
    new = edited(old, CHECKPOINTS, lambda text: text + BREAKABLE)
    said = review_of(old, new, rego_diff(old, new))
    assert said is not None
    documents = [encoded({"operation": "emit", "request": {"text": text}}) for text in ("7", "seven", None)]
    documents.append(encoded({"operation": "notify", "request": {"text": "seven"}}))
    with (
        Batch({**old.modules, PATH: said}, binary=opa_binary) as one,
        Batch({**new.modules, PATH: said}, binary=opa_binary) as two,
    ):
        told = [alike(one, two, [(document, document)]) != frozenset() for document in documents]
    assert told == [False, False, False, True]


@pytest.mark.opa
def test_document_that_breaks_a_builtin_has_no_decision_and_its_neighbours_have_theirs(opa_binary: Path) -> None:
    plain = '"reasons": [], "obligations": [], "advice": []'
    rule = f'decision := {{"verdict": "deny", "n": to_number(input.text), {plain}}}'
    with Batch({"x.rego": f"package gate\n\n{rule}\n"}, binary=opa_binary) as batch:
        decided = [outcome.verdict for outcome in batch.decide([{"text": text} for text in ("1", "x", "2")])]
    assert decided == ["deny", UNDECIDED, "deny"]


@pytest.mark.opa
def test_rego_that_does_not_compile_decides_nothing(opa_binary: Path) -> None:
    with Batch({"x.rego": "package gate\n\ndecision := nowhere\n"}, binary=opa_binary) as batch:
        assert [outcome.verdict for outcome in batch.decide([{}, {}])] == [UNDECIDED, UNDECIDED]


@pytest.mark.opa
def test_socket_of_an_engine_is_short_enough_whatever_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opa_binary: Path
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with Batch({"x.rego": "package gate\n\ndecision := {}\n"}, binary=opa_binary) as batch:
        assert batch.value("gate/decision", []) == {}
    assert list(deep.iterdir()) == []
    shutil.rmtree(deep)
