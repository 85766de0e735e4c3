"""Documents against schemas: every breach, its code, its place, its words."""

from __future__ import annotations

from typing import Any

import pytest

from gate.documents.resources import schema
from gate.documents.schema_check import schema_problems
from gate.documents.strict_schema import compiled_pattern
from gate.documents.yaml_source import load


def report(text: str, rules: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(line:column, code, message, hint) of each problem."""
    found = schema_problems(load(text, file="f.yaml"), rules)
    return [(f"{p.line}:{p.column}", p.code, p.message, p.hint) for p in found]


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def test_sound_document_has_no_problems() -> None:
    assert report("a: text\nb: [1]\n", closed(a={"type": "string"}, b={"type": "array", "minItems": 1})) == []


def test_unknown_key_is_reported_at_the_key_with_the_nearest_known_one() -> None:
    assert report("p:\n  aprovals: 2\n", closed(p=closed(approvals={}, approver={}))) == [
        ("2:3", "unknown_key", "key `aprovals` is not known in `p`", "did you mean `approvals`?")
    ]


def test_unknown_key_unlike_any_other_lists_the_known_ones() -> None:
    assert report("zzz: 2\n", closed(b={}, a={})) == [
        ("1:1", "unknown_key", "key `zzz` is not known in the document", "known keys: `a`, `b`")
    ]


def test_key_of_a_wrong_form_is_reported_at_the_key() -> None:
    rules = {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}
    expected = [("2:1", "unknown_key", r"key `9x` in the document does not have the form `^[a-z]+$`", "")]
    assert report("ok: 1\n'9x': 2\n", rules) == expected


def test_missing_key_is_reported_at_the_key_of_the_mapping_that_lacks_it() -> None:
    rules = closed(p={"type": "object", "required": ["a", "b", "c"]})
    assert report("q:\np:\n  b: 1\n".replace("q:\n", "\n"), rules) == [
        ("2:1", "missing_key", "key `a` is missing in `p`", ""),
        ("2:1", "missing_key", "key `c` is missing in `p`", ""),
    ]


@pytest.mark.parametrize(
    ("written", "found"),
    [("1.10", "the number `1.1`"), ("3", "the number `3`"), ("true", "`true`"), ("null", "`null`")],
)
def test_g2_scalar_where_a_string_is_wanted_says_quote_it(written: str, found: str) -> None:
    assert report(f"version: {written}", closed(version={"type": "string", "pattern": "^x$", "minLength": 1})) == [
        ("1:10", "schema_type", f"`version` is {found}, wanted a string", "quote it")
    ]


@pytest.mark.parametrize(
    ("kind", "written", "message"),
    [
        ("integer", "1.0", "`a` is the number `1.0`, wanted an integer"),
        ("integer", "true", "`a` is `true`, wanted an integer"),
        ("integer", "'1'", "`a` is `1`, wanted an integer"),
        ("number", "true", "`a` is `true`, wanted a number"),
        ("boolean", "1", "`a` is the number `1`, wanted `true` or `false`"),
        ("array", "{}", "`a` is a mapping, wanted a list"),
        ("object", "[]", "`a` is a list, wanted a mapping"),
        (["integer", "null"], "x", "`a` is `x`, wanted an integer or `null`"),
    ],
)
def test_wrong_type_says_what_was_found_and_wanted(kind: Any, written: str, message: str) -> None:
    assert report(f"a: {written}", closed(a={"type": kind})) == [("1:4", "schema_type", message, "")]


def test_value_outside_an_enum_lists_what_is_allowed() -> None:
    assert report("a: alow", closed(a={"enum": ["allow", "deny"]})) == [
        ("1:4", "schema_enum", "`a` is `alow`, wanted one of `allow`, `deny`", "did you mean `allow`?")
    ]


def test_item_of_a_list_is_named_by_its_number() -> None:
    assert report("a: [x, y1]", closed(a={"items": {"pattern": "^[a-z]$"}})) == [
        ("1:8", "schema_pattern", "item 2 of `a` is `y1`, wanted the form `^[a-z]$`", "")
    ]


@pytest.mark.parametrize("text", ['a: "x\\n"', "a: |\n  x\n"])
def test_pattern_does_not_match_before_a_last_line_feed(text: str) -> None:
    rules = closed(a={"type": "string", "pattern": "^x$"})
    assert report(text, rules) == [("1:4", "schema_pattern", r"`a` is `x\n`, wanted the form `^x$`", "")]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^a\$$", "a$", True),
        (r"^a\$$", "a$\n", False),
        ("^[$]$", "$", True),
        ("^[$]$", "$\n", False),
        ("^(a|b$)", "b\n", False),
        (r"^[\]$]+$", "]$", True),
    ],
)
def test_compiled_pattern_ends_where_the_text_ends(pattern: str, text: str, matches: bool) -> None:
    assert (compiled_pattern(pattern).search(text) is not None) is matches


@pytest.mark.parametrize(
    ("rule", "written", "message"),
    [
        (
            {"type": "array", "minItems": 1, "contains": {"const": "x"}},
            "[]",
            "`a` is empty, wanted at least 1 item",
        ),
        ({"type": "array", "minItems": 2}, "[1]", "`a` is only 1 long, wanted at least 2 items"),
        (
            {"type": "string", "minLength": 1, "pattern": "^x$"},
            "''",
            "`a` is empty, wanted at least 1 character",
        ),
        ({"type": "object", "minProperties": 1}, "{}", "`a` is empty, wanted at least 1 key"),
    ],
)
def test_empty_value_is_reported_once_for_being_empty(rule: dict[str, Any], written: str, message: str) -> None:
    assert report(f"a: {written}", closed(a=rule)) == [("1:4", "schema_empty", message, "")]


@pytest.mark.parametrize(
    ("rule", "written", "message"),
    [
        ({"minimum": 1}, "0", "`a` is the number `0`, wanted at least `1`"),
        ({"maximum": 9}, "10", "`a` is the number `10`, wanted at most `9`"),
        ({"exclusiveMinimum": 0}, "0", "`a` is the number `0`, wanted more than `0`"),
        ({"exclusiveMaximum": 0}, "0", "`a` is the number `0`, wanted less than `0`"),
    ],
)
def test_number_out_of_range_says_the_bound(rule: dict[str, Any], written: str, message: str) -> None:
    assert report(f"a: {written}", closed(a=rule)) == [("1:4", "schema_range", message, "")]


def test_repeated_item_is_reported_at_the_second_with_the_line_of_the_first() -> None:
    assert report("a:\n  - x\n  - z\n  - x\n", closed(a={"uniqueItems": True})) == [
        ("4:5", "schema_duplicate", "item 3 of `a` is `x`, which is already on line 2", "")
    ]


def test_items_that_only_look_alike_are_no_repetition() -> None:
    assert report("a: [1, '1', true, 'true', null, 'null', 0, false]", closed(a={"uniqueItems": True})) == []


def test_other_rules_are_reported_as_schema_value() -> None:
    rules = closed(a={"contains": {"const": "w"}}, b={"maxLength": 1}, c={"const": False})
    assert report("a: [x]\nb: xx\nc: true", rules) == [
        ("1:4", "schema_value", "`a` does not list `w`", ""),
        ("2:4", "schema_value", "`b` breaks the schema rule `maxLength`", ""),
        ("3:4", "schema_value", "`c` is `true`, wanted `false`", ""),
    ]


def test_control_characters_of_the_user_are_escaped_in_messages() -> None:
    (found,) = report('a: "x\\ty\u200b"', closed(a={"enum": ["z"]}))
    assert found[2] == r"`a` is `x\ty\u200b`, wanted one of `z`"


def test_every_problem_of_a_document_is_reported_in_its_order() -> None:
    text = "b: {x: 1}\na: 7\nc: []\n"
    rules = closed(a={"type": "string"}, b=closed(), c={"minItems": 1}) | {"required": ["d"]}
    assert [(place, code) for place, code, _, _ in report(text, rules)] == [
        ("1:1", "missing_key"),
        ("1:5", "unknown_key"),
        ("2:4", "schema_type"),
        ("3:4", "schema_empty"),
    ]


# B7, the document side: a typo or an empty list in approvals.yaml must never mean "no approval needed".
APPROVALS = """
approval_contracts:
  - contract_id: c
    capability: create_ticket
    risk_tier: high
    bundle_version: "1"
    release_identity: r
    required_reviewers: [manager]
    quorum: 1
    request_fields: [reason]
    allowed_decisions: [approved, rejected]
    runtime_controls: {pause_allowed: true, max_wait_seconds: 60, on_expiry: cancel_run}
    on_reject: stop_run
"""


@pytest.mark.parametrize(
    ("sound", "broken", "expected"),
    [
        ("quorum: 1", "aprovals: 2", ["9:5 unknown_key"]),
        ("quorum: 1", "quorum: 0", ["9:13 schema_range"]),
        ("quorum: 1", "quorum: -1", ["9:13 schema_range"]),
        ("quorum: 1", "quorum: 1.0", ["9:13 schema_type"]),
        ("quorum: 1", "quorum: true", ["9:13 schema_type"]),
        ("quorum: 1", 'quorum: "1"', ["9:13 schema_type"]),
        ("quorum: 1", "quorum: null", ["9:13 schema_type"]),
        ("[manager]", "[]", ["8:25 schema_empty"]),
        ("[manager]", "null", ["8:25 schema_type"]),
        ("[manager]", "manager", ["8:25 schema_type"]),
        ("[manager]", "['']", ["8:26 schema_empty"]),
        ("required_reviewers:", "approvers:", ["8:5 unknown_key"]),
        ("[approved, rejected]", "[]", ["11:24 schema_empty"]),
        ("[approved, rejected]", "[aproved]", ["11:24 schema_value", "11:25 schema_enum"]),
        ("[approved, rejected]", "[rejected]", ["11:24 schema_value"]),
        ("[approved, rejected]", "[approved, approved]", ["11:35 schema_duplicate"]),
        ("  - contract_id: c", "  []", ["3:3 schema_empty"]),
    ],
)
def test_b7_misspelt_or_empty_approval_is_refused(sound: str, broken: str, expected: list[str]) -> None:
    assert report(APPROVALS, schema("approvals")) == []
    text = APPROVALS.replace(sound, broken, 1)
    if broken.strip() == "[]" and sound.startswith("  -"):
        text = "\napproval_contracts:\n  []\n"
    found = schema_problems(load(text, file="f"), schema("approvals"))
    assert [f"{p.line}:{p.column} {p.code}" for p in found] == expected


def test_g3_unknown_key_requre_approval_is_refused_with_a_hint() -> None:
    text = "capabilities:\n  t:\n    requre_approval: manager\n"
    rules = {"properties": {"capabilities": {"additionalProperties": closed(require_approval={}, owner={})}}}
    assert report(text, rules) == [
        (
            "3:5",
            "unknown_key",
            "key `requre_approval` is not known in `t`",
            "did you mean `require_approval`?",
        )
    ]
