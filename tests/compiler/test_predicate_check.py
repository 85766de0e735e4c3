"""What a predicate may say: every refusal with its code and offset."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.compiler.predicate import PredicateError, Scope, check, parse_predicate
from gate.documents import load_bundle

BUNDLE = load_bundle(Path(__file__).parents[2] / "bundles" / "support-triage")
SCOPE = Scope([BUNDLE.capabilities["create_ticket"]])
EVERY = Scope([])

DEEP = "not " * 33 + "idempotency_key_required"
LONG = " or ".join(f"timeout_seconds == {n}" for n in range(51))

REFUSED = [
    ("", "predicate_invalid", 0),
    ("true", "predicate_constant", 0),
    ('"high"', "predicate_constant", 0),
    ("not false", "predicate_constant", 4),
    ("1 == 1", "predicate_constant", 2),
    ("risk_tier == risk_tier", "predicate_constant", 10),
    ("idempotency_key_required or not idempotency_key_required", "predicate_constant", 0),
    ("timeout_seconds > 5 and not timeout_seconds > 5", "predicate_constant", 0),
    ("timeout_seconds in []", "predicate_constant", 19),
    ('risk_tier == "hihg"', "predicate_value_undeclared", 13),
    ('risk_tier in ["low", "none"]', "predicate_value_undeclared", 13),
    ("risk_tier", "predicate_not_boolean", 0),
    ("risk_tier == 1", "predicate_type_mismatch", 10),
    ('risk_tier < "high"', "predicate_type_mismatch", 10),
    ("timeout_seconds in [1, true]", "predicate_type_mismatch", 19),
    ("allowed_egress == allowed_egress", "predicate_constant", 15),
    ('allowed_egress == "a"', "predicate_type_mismatch", 15),
    ("arguments.title in arguments.queue", "predicate_type_mismatch", 16),
    ('timeout_seconds matches "1"', "predicate_type_mismatch", 16),
    ('arguments.title matches "(?=a)"', "predicate_pattern_invalid", 24),
    ('arguments.title matches "(?i)a"', "predicate_pattern_invalid", 24),
    ('arguments.title matches "a{1,2000}"', "predicate_pattern_invalid", 24),
    ('arguments.title matches "("', "predicate_pattern_invalid", 24),
    ('risk == "high"', "predicate_name_unknown", 0),
    ("arguments.amount > 5", "predicate_name_unknown", 0),
    ('request.capability == "x"', "predicate_name_unknown", 0),
    ("evidence.arguments", "predicate_type_mismatch", 0),
    ('identity.tenantid == "x"', "predicate_name_unknown", 0),
    ("exists identity.tenant_id", "predicate_exists_trusted", 7),
    ("timeout_seconds > 9007199254740993", "predicate_invalid", 18),
    ("timeout_seconds > 1e5", "predicate_invalid", 18),
    ("timeout_seconds > 05", "predicate_invalid", 18),
    ("timeout_seconds >> 5", "predicate_invalid", 17),
    ("timeout_seconds = 5", "predicate_invalid", 16),
    ("timeout_seconds > 5 risk_tier", "predicate_invalid", 20),
    ("(timeout_seconds > 5", "predicate_invalid", 20),
    ("timeout_seconds > 5 and", "predicate_invalid", 23),
    ("(timeout_seconds > 5) == true", "predicate_invalid", 22),
    ("timeout_seconds > 5\nor true", "predicate_invalid", 19),
    ("tim\u0435out_seconds > 5", "predicate_invalid", 3),
    ('arguments.title == "\\ud800"', "predicate_invalid", 19),
    (DEEP, "predicate_too_deep", None),
    (LONG, "predicate_too_long", None),
]


@pytest.mark.parametrize(("text", "code", "offset"), REFUSED, ids=lambda v: str(v)[:40])
def test_predicate_is_refused_with_code_and_offset(text: str, code: str, offset: int | None) -> None:
    with pytest.raises(PredicateError) as caught:
        check(parse_predicate(text), SCOPE, restricting=True)
    assert caught.value.code == code
    if offset is not None:
        assert caught.value.offset == offset


@pytest.mark.parametrize(
    "text",
    [
        'risk_tier == "high" and side_effect == "external_write"',
        'not (arguments.queue in ["support"])',
        "exists arguments.body",
        'exists request.text and request.text matches "a|b"',
        '"docs.internal" in allowed_egress',
        "arguments.requester_id != identity.principal_id",
        "timeout_seconds >= -0.5 or idempotency_key_required == true",
        "state.run.version == 1",
    ],
)
def test_predicate_is_accepted(text: str) -> None:
    assert check(parse_predicate(text), SCOPE, restricting=True)


def test_exists_of_a_record_is_allowed_where_it_permits() -> None:
    assert check(parse_predicate("exists state.approval.status"), SCOPE, restricting=False)


def test_arguments_have_no_meaning_for_a_control_of_every_capability() -> None:
    with pytest.raises(PredicateError) as caught:
        check(parse_predicate('arguments.title == "x"'), EVERY, restricting=True)
    assert (caught.value.code, caught.value.offset) == ("predicate_name_unknown", 0)


def test_arguments_of_two_capabilities_must_have_one_type() -> None:
    search, ticket = BUNDLE.capabilities["search_docs"], BUNDLE.capabilities["create_ticket"]
    with pytest.raises(PredicateError) as caught:
        check(parse_predicate("exists arguments.query"), Scope([search, ticket]), restricting=True)
    assert caught.value.code == "predicate_name_unknown"
