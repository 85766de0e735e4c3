from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gate.release.diff_base import sample
from gate.release.diff_batch import Outcome
from gate.release.diff_change import change_of
from gate.release.diff_documents import ABSENT, Candidate, Patch, fact, leaves
from gate.release.diff_voters import Voters
from gate.release.mutants import predicate_mutants
from gate.release.page import Code, Heading, Paragraph, Table, as_html, as_markdown
from gate.release.pattern_samples import samples
from gate.release.rego_text import RegoText

COUNTED = (
    '{"type": "claim_effect", "lease_seconds": 5, "counters": [{"name": "n", "limit": %d, "amount": %d, "read": 0}]}'
)
ENDS = ("approved", "rejected")
POLICY = """# "Policy". Compiled.

package gate.bundles.x

import data.gate.finding

# METADATA
# title: "deny big on pay"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("big", "deny", "control", "c.big", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "pay"
	not _big_false
}

_big_false if {
	_v_number_arguments_amount_typed
	_v_number_arguments_amount <= 100
}

default _v_number_arguments_amount := null

_v_number_arguments_amount := input.request.arguments["the amount"]

_v_number_arguments_amount_typed if is_number(_v_number_arguments_amount)
"""


def test_rego_text_reads_rules_sources_bindings_and_what_a_rule_reads() -> None:
    text = RegoText.read({"policy.rego": POLICY})
    rule = text.rules[0]
    assert (rule.name, rule.title, rule.source) == (
        "findings",
        "deny big on pay",
        "checkpoints.yaml#/control_checkpoints/0",
    )
    assert dict(rule.bound) == {"checkpoint": "tool_execution", "request.capability": "pay"}
    assert text.inputs(rule) == {("request", "arguments", "the amount")}
    assert text.origins()["_big_false"] == "checkpoints.yaml#/control_checkpoints/0"
    compared = [(c.op, c.operand, c.constant) for one in text.reached(rule) for c in one.comparisons]
    assert compared == [("<=", "v_number_arguments_amount", 100)]


@pytest.mark.parametrize(
    "pattern", ["a", "[pP]assword|[aA][pP][iI][_-]?[kK]ey|[bB]earer ", r"^(?:a|b{2,3})+x?\d$", r"[^a-y]+", r"\.\w\s"]
)
def test_samples_of_a_pattern_are_found_by_it(pattern: str) -> None:
    found = samples(pattern)
    assert found != ()
    assert [text for text in found if not re.search(pattern, text)] == []


@pytest.mark.parametrize("pattern", ["(", "[", "a{", "\\", "(?P<x>a)"])
def test_samples_of_what_is_no_pattern_do_not_raise(pattern: str) -> None:
    assert [text for text in samples(pattern) if not re.search(pattern, text)] == []


def test_candidate_fills_in_each_sides_word_and_leaves_its_base_alone() -> None:
    base = {"agent": {"agent_id": "a"}, "state": {"v": fact("bundle", "version"), "w": 1}}
    candidate = Candidate(origin="generated", name="x", base=base).with_patches(
        [Patch(("state", "w"), ABSENT), Patch(("request", "n"), None), Patch(("nowhere", "deep"), ABSENT)]
    )
    assert candidate.document({"a": {"bundle": {"version": "2"}}}) == {
        "agent": {"agent_id": "a"},
        "state": {"v": "2"},
        "request": {"n": None},
    }
    assert candidate.document({"a": {}})["state"] == {"v": None}
    assert base["state"] == {"v": fact("bundle", "version"), "w": 1}
    assert dict(leaves(base)) == {
        ("agent", "agent_id"): "a",
        ("state", "v"): fact("bundle", "version"),
        ("state", "w"): 1,
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("deny", "allow", ("newly_allowed", "loosens")),
        ("deny", "require_approval", ("newly_needing_approval", "loosens")),
        ("allow", "require_approval", ("newly_needing_approval", "tightens")),
        ("allow", "deny", ("newly_refused", "tightens")),
        ("allow", "undecided", ("newly_refused", "tightens")),
        ("require_approval", "blocked_on_reconciliation", ("newly_refused", "tightens")),
        ("deny", "blocked_on_reconciliation", ("other", "loosens")),
        ("deny", "undecided", ("other", "none")),
    ],
)
def test_change_of_verdicts(old: str, new: str, expected: tuple[str, str]) -> None:
    assert change_of(Outcome(old), Outcome(new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "direction"),
    [
        ('{"type": "redact", "pointers": ["/a"]}', "", "loosens"),
        ("", '{"type": "redact", "pointers": ["/a"]}', "tightens"),
        ('{"type": "redact", "pointers": ["/a"]}', '{"type": "redact", "pointers": ["/b"]}', "mixed"),
        ('{"type": "claim_effect", "lease_seconds": 5}', '{"type": "claim_effect", "lease_seconds": 6}', "loosens"),
        ('{"type": "consume_approval", "version": 1}', '{"type": "consume_approval", "version": 2}', "mixed"),
        (
            '{"type": "consume_approval", "version": 1}',
            '{"type": "consume_approval", "version": 1, "standing_digest": "d", "max_uses": 3}',
            "loosens",
        ),
        ('{"type": "move_approval", "to": "pending"}', '{"type": "move_approval", "to": "approved"}', "loosens"),
        ('{"type": "move_approval", "to": "approved"}', '{"type": "move_approval", "to": "pending"}', "tightens"),
        ("", '{"type": "resume_run", "approval_id": "a"}', "loosens"),
        ('{"type": "end_run", "status": "stopped"}', '{"type": "resume_run", "approval_id": "a"}', "loosens"),
        (COUNTED % (5, 1), COUNTED % (6, 1), "loosens"),
        (COUNTED % (5, 1), COUNTED % (4, 1), "tightens"),
        (COUNTED % (5, 1), COUNTED % (5, 2), "tightens"),
        (COUNTED % (5, 1), '{"type": "claim_effect", "lease_seconds": 5}', "loosens"),
    ],
)
def test_change_of_obligations(old: str, new: str, direction: str) -> None:
    one, two = (Outcome("allow", obligations=tuple(filter(None, [o]))) for o in (old, new))
    assert change_of(one, two) == ("other", direction)


@pytest.mark.parametrize(
    ("old", "new", "direction"),
    [
        (['{"type": "end_run", "status": "cancelled"}'], [], "loosens"),
        ([], ['{"type": "stop_plan", "plan_ref": "p", "to": "stopped"}'], "tightens"),
        ([], ['{"type": "return_receipt", "idempotency_key": "k"}'], "loosens"),
        (
            ['{"type": "reconcile", "idempotency_key": "a"}', '{"type": "reconcile", "idempotency_key": "b"}'],
            ['{"type": "reconcile", "idempotency_key": "b"}'],
            "loosens",
        ),
    ],
)
def test_change_of_refusal_goes_by_what_it_ends_and_blocks(old: list[str], new: list[str], direction: str) -> None:
    one, two = (Outcome("deny", obligations=tuple(duties)) for duties in (old, new))
    assert change_of(one, two) == ("other", direction)


def test_vote_that_ends_an_approval_goes_with_the_right_of_its_voter_to_give_one() -> None:
    def voted(transition: str) -> dict[str, Any]:
        return {
            "request": {"transition": transition},
            "state": {"approval": {"capability": "pay"}},
            "evidence": {"vote": {"reviewer": "mia"}},
        }

    given, ended = (Outcome("allow", obligations=(f'{{"type": "move_approval", "to": "{to}"}}',)) for to in ENDS)
    no = Outcome("deny")
    # Nobody can say no any more to what can still be approved.
    alone = Voters([(voted("reject"), (ended, no))])
    assert alone.change_of(voted("reject"), (ended, no)) == ("newly_refused", "loosens")
    assert alone.change_of(voted("reject"), (no, ended)) == ("newly_allowed", "tightens")
    # The reviewer left.
    left = Voters([(voted("approve"), (given, no)), (voted("reject"), (ended, no))])
    assert left.change_of(voted("reject"), (ended, no)) == ("newly_refused", "tightens")
    assert left.change_of(voted("approve"), (given, no)) == ("newly_refused", "tightens")


def test_predicate_mutants_change_one_thing_each() -> None:
    assert [text for _, text in predicate_mutants('not a.b > 10 and c == "x or y"')] == [
        'a.b > 10 and c == "x or y"',
        'not a.b >= 10 and c == "x or y"',
        'not a.b <= 10 and c == "x or y"',
        'not a.b > 11 and c == "x or y"',
        'not a.b > 9 and c == "x or y"',
        'not a.b > 10 or c == "x or y"',
        'not a.b > 10 and c != "x or y"',
        'not a.b > 10 and c == "x or yx"',
    ]


def test_sample_of_an_argument_schema_has_what_it_requires() -> None:
    declared = {
        "type": "object",
        "required": ["q", "n", "l"],
        "properties": {
            "q": {"type": "string", "minLength": 9},
            "n": {"type": "integer", "minimum": 3},
            "l": {"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}},
            "o": {"type": "boolean"},
        },
    }
    assert sample(declared) == {"q": "samplexxx", "n": 3, "l": ["a"]}


def test_page_escapes_what_would_be_markup() -> None:
    blocks = [
        Heading(1, "a <b> & *c*"),
        Paragraph(("see", Code("x`|y<z>"), ", done")),
        Table(("k",), (("<script>alert(1)</script> | x",),)),
    ]
    text, page = as_markdown(blocks, shown=str), as_html(blocks, shown=str)
    assert text == (
        "# a \\<b\\> & \\*c\\*\n\nsee `` x`\\|y<z> ``, done\n\n"
        "| k |\n| --- |\n| \\<script\\>alert(1)\\</script\\> \\| x |\n"
    )
    assert "<script>" not in page
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt; | x</td>" in page
    assert re.search(r"""(?:src|href)=|url\(|@import""", page) is None


def test_rego_text_knows_the_input_behind_every_operand_of_the_shipped_bundles(repo: Path) -> None:
    unread: dict[str, list[str]] = {}
    for folder in sorted((repo / "bundles").iterdir()):
        files = {file.name: file.read_text("utf-8") for file in folder.glob("rego/*.rego")}
        text = RegoText.read(files)
        operands = {match[1]: match[2] for match in re.finditer(r"^_(v_\w+) := (\w+)", "\n".join(files.values()), re.M)}
        # What the catalog says is no part of an input.
        missing = [name for name, root in operands.items() if root != "catalog" and name not in text.paths]
        unread |= {folder.name: missing} if missing else {}
    assert unread == {}
