"""Grants against a real authorization server: what it said, and nothing that was merely asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests
from oauth_support import NOW, OAuthServer, running

from gate.errors import EvidenceError
from gate.evidence import Call, Evidence, Identity, Question, Run
from gate.evidence.oauth import Grant, Introspection, OAuthGrants, grant_of_response, scopes_of
from gate.pdp import Facts

RUN = Run(
    agent_id="agent",
    session_id="session",
    run_id="run-1",
    trace_id="trace",
    identity=Identity(tenant_id="acme", principal_id="user-42"),
)
BUNDLE = {"bundle_id": "b", "version": "2026.09.08", "release_identity": "r", "contract_version": None}
QUESTION = Question(
    run=RUN,
    checkpoint="tool_execution",
    operation="call_tool",
    now_ms=NOW * 1000,
    facts=Facts(revision="r", bundle=BUNDLE),
    call=Call(capability="create_ticket", arguments={"user_id": "user-43", "scope": "admin"}),
)
BOTH = ("tickets.read", "tickets.write")


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with running("tickets.read") as state:
        yield state


def granted(server: OAuthServer, *, password: str = "consent", scope: str = " ".join(BOTH)) -> Grant:
    answer = requests.post(
        f"{server.url}/token",
        data={"grant_type": "password", "username": "user-42", "password": password, "scope": scope},
        auth=("agent", "agent-secret"),
        timeout=5,
    )
    return grant_of_response(
        answer.content,
        status=answer.status_code,
        grant_ref="grant-42",
        requested_scopes=tuple(scope.split()),
        task_ref="run-1",
        resource=("https://tickets.internal/support",),
    )


def introspection(server: OAuthServer, **changes: Any) -> Introspection:
    fields = {
        "endpoint": f"{server.url}/introspect",
        "client_id": "gate",
        "client_secret": "gate-secret",
        "issuer": "https://authorization.internal",
    }
    return Introspection(**{**fields, **changes})


def collected(server: OAuthServer, grant: Grant | None, **changes: Any) -> Any:
    source = OAuthGrants(lambda _: grant, introspection(server, **changes))
    return Evidence.of([source], environment="test", timeout_ms=10_000).collect(QUESTION)["oauth_scope"]


FOUND = {
    "grant_ref": "grant-42",
    "subject_ref": "user-42",
    "status": "active",
    "requested_scopes": list(BOTH),
    "granted_scopes": ["tickets.read"],
    "audience": ["https://tickets.internal"],
    "resource": ["https://tickets.internal/support"],
    "task_ref": "run-1",
    "policy_version": "2026.09.08",
    "checked_by": "svc-authorization-server",
    "checked_at_ms": NOW * 1000,
    "check_age_ms": 0,
    "signed_by": None,
}


def test_grant_is_what_the_server_says_and_less_than_was_asked(server: OAuthServer) -> None:
    grant = granted(server)
    expires = {"expires_at_ms": (NOW + server.tokens[grant.token or ""].get_expires_in()) * 1000}
    assert collected(server, grant) == {**FOUND, **expires}


def test_grant_is_asked_for_once_and_never_again(server: OAuthServer) -> None:
    grant = granted(server)
    collected(server, grant)
    assert server.asked == ["/token", "/introspect"]


def test_right_taken_away_is_gone_at_the_next_question(server: OAuthServer) -> None:
    grant = granted(server)
    assert collected(server, grant)["granted_scopes"] == ["tickets.read"]
    server.tokens[grant.token or ""].fields["scope"] = "tickets.none"
    assert collected(server, grant)["granted_scopes"] == ["tickets.none"]
    server.tokens[grant.token or ""].revoked = True
    found = collected(server, grant)
    assert (found["status"], found["granted_scopes"]) == ("revoked", None)
    assert "subject_ref" not in found


def test_token_nobody_issued_is_inactive(server: OAuthServer) -> None:
    grant = replace(granted(server), token="tok-made-up")
    assert collected(server, grant)["status"] == "revoked"


def test_scope_the_server_does_not_state_is_not_the_requested_one(server: OAuthServer) -> None:
    grant = granted(server)
    server.tokens[grant.token or ""].fields["scope"] = ""
    found = collected(server, grant)
    assert (found["status"], found["granted_scopes"]) == ("active", None)


def test_consent_refused_is_a_grant_of_nothing(server: OAuthServer) -> None:
    refused = grant_of_response(
        json.dumps({"error": "access_denied"}).encode(),
        status=400,
        grant_ref="grant-42",
        requested_scopes=BOTH,
        task_ref="run-1",
    )
    found = collected(server, refused)
    assert (found["status"], found["granted_scopes"]) == ("refused", None)
    assert server.asked == []


def test_wrong_password_issues_nothing(server: OAuthServer) -> None:
    with pytest.raises(EvidenceError) as caught:
        granted(server, password="no")
    assert caught.value.code == "oauth_not_granted"


def test_no_grant_and_no_call_say_nothing(server: OAuthServer) -> None:
    assert collected(server, None) is None
    source = OAuthGrants(lambda _: granted(server), introspection(server))
    assert source.collect(replace(QUESTION, call=None)) is None


BAD_ANSWERS: dict[str, tuple[Any, int]] = {
    "no object": (["active"], 200),
    "not json": (b"active=true", 200),
    "no active": ({"scope": "tickets.write"}, 200),
    "active is a text": ({"active": "true", "scope": "tickets.write"}, 200),
    "active is a number": ({"active": 1, "scope": "tickets.write"}, 200),
    "another issuer": ({"active": True, "iss": "https://evil.internal"}, 200),
    "insufficient scope": ({"error": "insufficient_scope"}, 403),
    "server error": ({"active": True}, 500),
    "redirect": (b"", 302),
    "duplicate member": (b'{"active": false, "active": true}', 200),
    "too large": (b"[" + b" " * 70_000 + b"]", 200),
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_answer_that_says_nothing_makes_the_section_unknown_without_another_try(
    server: OAuthServer, answer: tuple[Any, int]
) -> None:
    grant = granted(server)
    server.answer = answer
    assert collected(server, grant) == {}
    assert server.asked.count("/introspect") == 1


def test_wrong_client_is_told_nothing(server: OAuthServer) -> None:
    assert collected(server, granted(server), client_secret="wrong") == {}


def test_server_that_is_down_makes_the_section_unknown(server: OAuthServer) -> None:
    assert collected(server, granted(server), endpoint="http://127.0.0.1:9/introspect") == {}


@pytest.mark.parametrize(
    ("extra", "field", "value"),
    [
        ({"aud": ["a", "b"]}, "audience", ["a", "b"]),
        ({"aud": [1]}, "audience", None),
        ({"aud": None}, "audience", None),
        ({"exp": "soon"}, "expires_at_ms", None),
        ({"exp": True}, "expires_at_ms", None),
        ({"sub": 42}, "subject_ref", None),
        ({"scope": ["tickets.write"]}, "granted_scopes", None),
    ],
)
def test_member_of_another_type_is_not_known(server: OAuthServer, extra: Any, field: str, value: Any) -> None:
    grant = granted(server)
    server.tokens[grant.token or ""].fields["scope"] = ""
    server.extra = extra
    assert collected(server, grant)[field] == value


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("a b", ["a", "b"]),
        ("a  b ", ["a", "b"]),
        ("a\tb", ["a\tb"]),
        ("A a", ["A", "a"]),
        ("", []),
        (None, None),
        (["a"], None),
    ],
)
def test_scopes_are_split_at_spaces_only(scope: Any, names: Any) -> None:
    assert scopes_of({"scope": scope}) == names


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"token",
        b'{"access_token": ""}',
        b'{"access_token": "t"}',
        b'{"access_token": "t", "token_type": "mac"}',
    ],
)
def test_token_response_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(EvidenceError) as caught:
        grant_of_response(body, status=200, grant_ref="g", requested_scopes=(), task_ref=None)
    assert caught.value.code == "oauth_response_invalid"


def test_neither_token_nor_secret_shows_in_a_representation(server: OAuthServer) -> None:
    grant = granted(server)
    assert grant.token is not None
    assert grant.token not in repr(grant)
    assert "gate-secret" not in repr(introspection(server))
