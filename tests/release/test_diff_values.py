"""What the data of two bundles disagree on is found whatever list it is in, and its loosening with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.release.diff import decision_diff
from gate.release.diff_documents import Candidate, Patch
from gate.release.diff_values import Edit, data_of, edits, numbers, placed, readers, shape, texts
from gate.release.rego_text import RegoText, Rule

OLD = """package gate.bundles.x

bundle := {
	"version": "1",
	"memory_kinds": ["fact"],
	"limit": 5,
}

mcp_controls["sharing"] := "private"

_helper if input.checkpoint == "llm"
"""
NEW = OLD.replace('"version": "1"', '"version": "2"').replace('["fact"]', '["fact", "note"]').replace("5", "6")


def rules(text: str) -> tuple[Rule, ...]:
    return RegoText.read({"x.rego": text}).rules


def test_edits_of_two_sides_name_what_only_one_of_them_says_and_not_what_follows_from_the_version() -> None:
    found = edits([*rules(OLD)[:1], *rules(NEW)[:1]])
    assert found == [Edit("bundle", "limit", (5, 6)), Edit("bundle", "memory_kinds", ("note",))]
    assert (texts(found), numbers(found)) == (["note"], [5, 6])


def test_edits_of_a_rule_on_one_side_alone_are_all_it_says() -> None:
    (edit,) = edits(rules(OLD)[1:2])
    assert (edit, edit.key) == (Edit('mcp_controls["sharing"]', "", ("private",)), "sharing")


def test_data_of_a_rule_that_computes_is_none() -> None:
    assert [data_of(rule) is None for rule in rules(OLD)] == [False, False, True]


def test_readers_are_what_the_core_policies_read_that_name_the_place() -> None:
    modules = {
        "gate/operation/operation.rego": "_ok if input.request.memory_kind in router.bundle.memory_kinds",
        "gate/run/run.rego": "_ok if input.state.run.status == 1",
        "gate/bundles/x/bundle.rego": 'bundle := {"memory_kinds": input.request.text}',
    }
    assert readers(modules, [Edit("bundle", "memory_kinds", ("note",))]) == {("request", "memory_kind")}
    assert readers(modules, []) == frozenset()


def test_placed_word_stands_in_every_field_that_could_hold_it_once() -> None:
    base = Candidate(origin="golden", name="x", base={"now_ms": 10_000, "request": {"text": "a"}})
    found = list(placed(base, ["note"], [], within=frozenset({("request",)})))
    assert {one.patches for one in found} == {
        (Patch(("request", name), "note"),)
        for name in (
            *("text", "capability", "idempotency_key", "resource", "reason", "memory_kind", "transition", "outcome"),
        )
    }


def test_placed_number_stands_as_an_age_and_as_a_time_in_seconds_too() -> None:
    base = Candidate(origin="golden", name="x", base={"now_ms": 10_000, "evidence": {"mcp": {"checked_at_ms": 1}}})
    found = placed(base, [], [3], within=frozenset({("evidence", "mcp", "checked_at_ms")}))
    assert [one.patches[0].value for one in found] == [
        3,
        4,
        2,
        *(9996, 10_002, 2999, 6999, 12_999),
        *(9997, 10_003, 3000, 7000, 13_000),
        *(9998, 10_004, 3001, 7001, 13_001),
    ]


def test_placed_word_joins_a_list_and_takes_a_field_of_its_entries() -> None:
    document = {
        "now_ms": 1,
        "state": {"approval": {"denied_keys": ["k"], "votes": [{"reviewer": "r", "verified": True}]}},
    }
    base = Candidate(origin="golden", name="x", base=document)
    at = frozenset({("state", "approval", "denied_keys"), ("state", "approval", "votes")})
    assert [one.patches[0].value for one in placed(base, ["w"], [], within=at)] == [
        ["w"],
        ["k", "w"],
        [{"reviewer": "w", "verified": True}],
    ]


def test_shape_of_two_documents_is_one_when_the_fields_in_question_are() -> None:
    one = Candidate(origin="golden", name="x", base={"operation": "emit", "request": {"text": "a"}})
    two = Candidate(origin="golden", name="y", base={"operation": "emit", "request": {"text": "b"}, "trace": {}})
    assert shape(one) != shape(two)
    assert shape(one, frozenset({("request",)})) == shape(two, frozenset({("request",)}))


WIDENED = [
    ("policy.yaml", "[validated_fact, session_summary]", "[validated_fact, session_summary, note]", "memory_write"),
    (
        "capabilities.yaml",
        "allowed_egress: [docs.internal]",
        "allowed_egress: [docs.internal, b.internal]",
        "search_docs",
    ),
    (
        "capabilities.yaml",
        "allowed_egress: [tickets.internal]\n    timeout_seconds: 15",
        "allowed_egress: [tickets.internal, b.internal]\n    timeout_seconds: 15",
        "create_ticket",
    ),
    ("runtime-controls.yaml", "[prompt_chaining,", "[evaluator_optimizer, prompt_chaining,", "create_ticket"),
    ("approvals.yaml", "required_reviewers: [manager]", "required_reviewers: [manager, clerk]", "create_ticket"),
]


@pytest.mark.parametrize(("file", "before", "after", "about"), WIDENED)
def test_diff_of_a_list_that_grew_by_a_word_loosens_also_without_a_case_about_it(
    repo: Path, tmp_path: Path, file: str, before: str, after: str, about: str
) -> None:
    sides = []
    for name in ("old", "new"):
        folder = Path(shutil.copytree(repo / "bundles" / "support-triage", tmp_path / name / "support-triage"))
        for case in (folder / "cases").glob("rc_*.yaml"):
            if not case.name.startswith("rc_verifier"):
                case.unlink()
        reviewers = (folder / "reviewers.yaml").read_text("utf-8")
        (folder / "reviewers.yaml").write_text(reviewers + _CLERK, "utf-8")
        sides.append(folder)
    text = (sides[1] / file).read_text("utf-8")
    assert before in text
    (sides[1] / file).write_text(text.replace(before, after), "utf-8")
    diff = decision_diff(*sides, limit=1200)
    assert diff.label == "loosens"
    assert about in {change.about for change in diff.changes if change.direction == "loosens"}


_CLERK = """  - id: cleo-clerk
    human: Cleo Brandt
    roles: [clerk]
    keys:
      - key_id: cleo-clerk-2026
        public_key: 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
        not_before: "2026-01-01T00:00:00Z"
        not_after: "2028-01-01T00:00:00Z"
"""
