from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.canonical import canonical_bytes, digest, digest_bytes, is_digest
from gate.evidence import ABSENT, Action, Call, Identity, Run, redacted_view
from gate.evidence.action import MISSING, freeze, resolve

BUNDLE: dict[str, Any] = {"version": "1", "release_identity": "release-1"}
CAPABILITY: dict[str, Any] = {
    "capability_version": digest("version"),
    "server": "tickets",
    "identifying_arguments": ["/queue", "/who/id"],
    "arguments": {
        "type": "object",
        "additionalProperties": False,
        "required": ["queue"],
        "properties": {
            "queue": {"type": "string"},
            "who": {"type": "object", "additionalProperties": False, "properties": {"id": {"type": "string"}}},
            "amount": {"type": "number"},
        },
    },
}
RUN = Run(
    agent_id="agent",
    session_id="session",
    run_id="run",
    trace_id="trace",
    identity=Identity(
        tenant_id="tenant",
        principal_id="principal",
        authorization_mode="user_delegated",
        delegated_principal_id="delegated",
        delegated_scope="scope",
    ),
)
ARGUMENTS: dict[str, Any] = {"queue": "q", "who": {"id": "w"}}
CALL = Call(capability="create", arguments=ARGUMENTS, idempotency_key="key", reason="reason", resource="resource")


def frozen(run: Run = RUN, call: Call = CALL, bundle: Any = BUNDLE, capability: Any = CAPABILITY) -> Action:
    return freeze(run, call, bundle=bundle, capability=capability)


def identity(**changes: Any) -> dict[str, Any]:
    return {"run": replace(RUN, identity=replace(RUN.identity, **changes))}


# What enters the action digest (DESIGN 5.3), each with another value, and whether the intent keeps it.
INGREDIENTS: dict[str, tuple[dict[str, Any], bool]] = {
    "tenant": (identity(tenant_id="other"), True),
    "principal": (identity(principal_id="other"), True),
    "authorization mode": (identity(authorization_mode="human_approved"), True),
    "delegated principal": (identity(delegated_principal_id="other"), True),
    "no delegated principal": (identity(delegated_principal_id=None), True),
    "delegated scope": (identity(delegated_scope="other"), True),
    "agent": ({"run": replace(RUN, agent_id="other")}, True),
    "session": ({"run": replace(RUN, session_id="other")}, True),
    "server": ({"capability": {**CAPABILITY, "server": "other"}}, True),
    "no server": ({"capability": {k: v for k, v in CAPABILITY.items() if k != "server"}}, True),
    "capability": ({"call": replace(CALL, capability="other")}, True),
    "capability version": ({"capability": {**CAPABILITY, "capability_version": digest("other")}}, True),
    "arguments": ({"call": replace(CALL, arguments={**ARGUMENTS, "queue": "other"})}, True),
    "resource": ({"call": replace(CALL, resource="other")}, True),
    "no resource": ({"call": replace(CALL, resource=None)}, True),
    "release identity": ({"bundle": {**BUNDLE, "release_identity": "other"}}, True),
    "idempotency key": ({"call": replace(CALL, idempotency_key="other")}, False),
    "no idempotency key": ({"call": replace(CALL, idempotency_key=None)}, False),
    "bundle version": ({"bundle": {**BUNDLE, "version": "2"}}, False),
}
# What an approval is not bound to: the same call may be made again from elsewhere.
OUTSIDE: dict[str, dict[str, Any]] = {
    "trace": {"run": replace(RUN, trace_id="other")},
    "run": {"run": replace(RUN, run_id="other")},
    "reason": {"call": replace(CALL, reason="other")},
    "approval id": {"call": replace(CALL, approval_id="apr-1")},
    "key order": {"call": replace(CALL, arguments={"who": {"id": "w"}, "queue": "q"})},
}


@pytest.mark.parametrize("name", INGREDIENTS)
def test_action_digest_differs_when_an_ingredient_does(name: str) -> None:
    changes, _ = INGREDIENTS[name]

    assert frozen(**changes).action_digest != frozen().action_digest


@pytest.mark.parametrize("name", INGREDIENTS)
def test_intent_digest_leaves_out_idempotency_key_and_bundle_version_only(name: str) -> None:
    changes, kept = INGREDIENTS[name]

    assert (frozen(**changes).intent_digest != frozen().intent_digest) is kept


def test_action_digests_of_all_ingredients_are_distinct() -> None:
    digests = [frozen(**changes).action_digest for changes, _ in INGREDIENTS.values()]

    assert len({*digests, frozen().action_digest}) == len(INGREDIENTS) + 1


@pytest.mark.parametrize("name", OUTSIDE)
def test_action_is_the_same_whatever_is_not_an_ingredient(name: str) -> None:
    assert frozen(**OUTSIDE[name]) == frozen()


def test_server_and_capability_are_a_pair_not_a_joined_name() -> None:
    one = frozen(call=replace(CALL, capability="b.c"), capability={**CAPABILITY, "server": "a"})
    other = frozen(call=replace(CALL, capability="c"), capability={**CAPABILITY, "server": "a.b"})

    assert one.action_digest != other.action_digest


def test_intent_digest_is_not_an_action_digest() -> None:
    assert frozen().intent_digest != frozen().action_digest


@pytest.mark.parametrize(
    ("one", "other"),
    [(ABSENT, None), (ABSENT, {}), (None, {}), (None, "null"), ({}, []), ({"a": None}, {}), ({"value": 1}, 1)],
)
def test_absent_null_and_empty_arguments_are_different_actions(one: Any, other: Any) -> None:
    actions = [frozen(call=replace(CALL, arguments=arguments)) for arguments in (one, other)]

    assert actions[0].action_digest != actions[1].action_digest
    assert actions[0].intent_digest != actions[1].intent_digest
    assert actions[0].arguments_digest != actions[1].arguments_digest


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (1e2, 100)])
def test_a_float_and_the_integer_it_equals_are_one_action(one: Any, other: Any) -> None:
    actions = [frozen(call=replace(CALL, arguments={**ARGUMENTS, "amount": n})) for n in (one, other)]

    assert actions[0] == actions[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (9007199254740991, 9007199254740990),
        (0.1 + 0.2, 0.3),
        (1, True),
        (1, "1"),
        ("a", "a "),
        ("Å", "A\u030a"),
        ("evil.com", "ev\u200bil.com"),
    ],
)
def test_values_that_look_alike_are_different_actions(one: Any, other: Any) -> None:
    actions = [frozen(call=replace(CALL, arguments={**ARGUMENTS, "amount": n})) for n in (one, other)]

    assert actions[0].action_digest != actions[1].action_digest


def test_arguments_changed_by_the_caller_afterwards_change_nothing() -> None:
    arguments = copy.deepcopy(ARGUMENTS)
    action = frozen(call=replace(CALL, arguments=arguments))

    arguments["who"]["id"] = "somebody else"

    assert action.fresh_arguments() == ARGUMENTS
    assert action == frozen()


def test_fresh_arguments_changed_by_the_tool_change_nothing() -> None:
    action = frozen()

    action.fresh_arguments()["who"]["id"] = "somebody else"

    assert action.fresh_arguments() == ARGUMENTS


def test_an_uncatalogued_capability_has_no_action_to_approve() -> None:
    action = frozen(capability=None)

    assert (action.action_digest, action.intent_digest, action.business_key) == (None, None, None)
    assert (action.arguments_valid, action.identified) == (False, False)


def test_an_ungoverned_agent_has_no_action_to_approve() -> None:
    assert frozen(bundle=None).action_digest is None


@pytest.mark.parametrize(
    ("arguments", "valid"),
    [
        (ARGUMENTS, True),
        ({"queue": "q", "extra": 1}, False),
        ({"queue": 1}, False),
        ({}, False),
        ([], False),
        (None, False),
        (ABSENT, False),
    ],
)
def test_arguments_are_valid_only_when_they_match_the_catalogs_schema(arguments: Any, valid: bool) -> None:
    assert frozen(call=replace(CALL, arguments=arguments)).arguments_valid is valid


def test_business_key_stays_the_same_when_other_arguments_differ() -> None:
    action = frozen(call=replace(CALL, arguments={**ARGUMENTS, "amount": 5}, idempotency_key="other"))

    assert action.business_key == frozen().business_key
    assert is_digest(action.business_key)


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": {**ARGUMENTS, "queue": "other"}},
        {"arguments": {**ARGUMENTS, "who": {"id": "other"}}},
        {"capability": "other"},
    ],
)
def test_business_key_differs_when_what_identifies_the_effect_does(changes: dict[str, Any]) -> None:
    assert frozen(call=replace(CALL, **changes)).business_key != frozen().business_key


@pytest.mark.parametrize(
    "arguments", [{"queue": "q"}, {"queue": "q", "who": {}}, {"queue": "q", "who": {"id": None}}, None, ABSENT, []]
)
def test_an_effect_without_all_its_identifying_arguments_has_no_business_key(arguments: Any) -> None:
    action = frozen(call=replace(CALL, arguments=arguments))

    assert (action.business_key, action.identified) == (None, False)


@pytest.mark.parametrize("pointers", [None, [], "queue"])
def test_a_capability_without_identifying_arguments_has_no_business_key(pointers: Any) -> None:
    assert frozen(capability={**CAPABILITY, "identifying_arguments": pointers}).business_key is None


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", {"a/b": [1, {"~": 2}], "": 3}),
        ("/a~1b/0", 1),
        ("/a~1b/1/~0", 2),
        ("/", 3),
        ("/a~1b/2", MISSING),
        ("/a~1b/-1", MISSING),
        ("/a~1b/0/x", MISSING),
        ("/none", MISSING),
    ],
)
def test_resolve_follows_a_json_pointer(pointer: str, value: Any) -> None:
    assert resolve({"a/b": [1, {"~": 2}], "": 3}, pointer) == value


def test_redacted_view_shows_only_what_the_policy_lists() -> None:
    action = frozen(call=replace(CALL, arguments={"queue": "q", "who": {"id": "w", "a/b": [1, {}]}, "amount": 2}))

    assert redacted_view(action, ["/queue", "/who/a~1b/0", "/nothing"]) == {
        "/queue": {"value": "q"},
        "/who/id": {"digest": digest_bytes(canonical_bytes("w"))},
        "/who/a~1b/0": {"value": 1},
        "/who/a~1b/1": {"digest": digest_bytes(b"{}")},
        "/amount": {"digest": digest_bytes(b"2")},
    }


@pytest.mark.parametrize(("arguments", "view"), [(ABSENT, {}), (None, {"": {"digest": digest_bytes(b"null")}})])
def test_redacted_view_of_no_arguments_is_not_the_view_of_null(arguments: Any, view: dict[str, Any]) -> None:
    assert redacted_view(frozen(call=replace(CALL, arguments=arguments)), []) == view


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e6, 1e6) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(alphabet=st.characters(blacklist_categories=("Cc", "Cs")), max_size=5), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_two_arguments_share_a_digest_only_when_they_share_their_canonical_bytes(one: Any, other: Any) -> None:
    actions = [frozen(call=replace(CALL, arguments=arguments)) for arguments in (one, other)]

    same = canonical_bytes(one) == canonical_bytes(other)
    assert (actions[0].action_digest == actions[1].action_digest) is same
    assert canonical_bytes(actions[0].fresh_arguments()) == canonical_bytes(one)
