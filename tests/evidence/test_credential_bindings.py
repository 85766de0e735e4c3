"""Credential bindings: asked anew at every call, with the verified caller and nothing of the model's."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from gate.evidence import Call, Evidence, Identity, Question, Run
from gate.evidence.credentials import Connection, CredentialBindings, Wanted
from gate.pdp import Facts

NOW = 1_800_000_000_000
DELEGATED = Identity(
    tenant_id="acme",
    principal_id="svc-portal",
    authorization_mode="user_delegated",
    delegated_principal_id="user-42",
    delegated_scope="tickets:create",
)
RUN = Run(agent_id="agent", session_id="session", run_id="run-1", trace_id="trace", identity=DELEGATED)
QUESTION = Question(
    run=RUN,
    checkpoint="tool_execution",
    operation="call_tool",
    now_ms=NOW,
    facts=Facts(revision="r"),
    call=Call(
        capability="create_ticket",
        arguments={"user_id": "user-43", "requester_principal_ref": "user-43", "effective_principal_ref": "root"},
    ),
)


class Provider:
    """A connection store: one connection a user, changed by the tests."""

    def __init__(self) -> None:
        self.asked: list[Wanted] = []
        self.status = "active"

    def binding(self, wanted: Wanted) -> Connection | None:
        self.asked.append(wanted)
        if wanted.capability == "search_docs":
            return None
        user = wanted.identity.delegated_principal_id
        return Connection(
            connection_ref="connection-1",
            credential_ref=f"credential-of-{user}",
            deployment_ref="deployment-1",
            tenant_ref=wanted.identity.tenant_id,
            effective_principal_ref=user,
            credential_owner="user",
            credential_type="oauth",
            status=self.status,
            policy_version="2026.04.07",
            authorization_checked_at_ms=wanted.now_ms,
            owner_principal_ref=user,
        )


def collected(provider: Any, question: Question = QUESTION) -> Any:
    return Evidence.of([CredentialBindings(provider)], environment="test").collect(question)["credential_binding"]


def test_binding_joins_the_provider_with_the_verified_requester() -> None:
    assert collected(Provider()) == {
        "connection_ref": "connection-1",
        "credential_ref": "credential-of-user-42",
        "deployment_ref": "deployment-1",
        "tenant_ref": "acme",
        "requester_principal_ref": "user-42",
        "effective_principal_ref": "user-42",
        "owner_principal_ref": "user-42",
        "credential_owner": "user",
        "credential_type": "oauth",
        "status": "active",
        "policy_version": "2026.04.07",
        "authorization_checked_at_ms": NOW,
        "checked_by": "svc-connections",
        "checked_at_ms": NOW,
        "check_age_ms": 0,
        "signed_by": None,
    }


def test_provider_sees_nothing_that_the_model_said() -> None:
    provider = Provider()
    collected(provider)
    assert [asdict(wanted) for wanted in provider.asked] == [
        {
            "identity": asdict(DELEGATED),
            "agent_id": "agent",
            "capability": "create_ticket",
            "run_id": "run-1",
            "now_ms": NOW,
        }
    ]


def test_requester_without_delegation_is_the_principal() -> None:
    run = replace(RUN, identity=Identity(tenant_id="acme", principal_id="user-7"))
    assert collected(Provider(), replace(QUESTION, run=run))["requester_principal_ref"] == "user-7"


def test_users_on_one_connection_get_their_own_credential() -> None:
    provider = Provider()
    other = replace(RUN, identity=replace(DELEGATED, delegated_principal_id="user-43"))
    refs = [collected(provider, replace(QUESTION, run=run))["credential_ref"] for run in (RUN, other, RUN)]
    assert refs == ["credential-of-user-42", "credential-of-user-43", "credential-of-user-42"]


def test_revocation_shows_at_the_next_call() -> None:
    provider = Provider()
    before = collected(provider)["status"]
    provider.status = "revoked"
    assert (before, collected(provider)["status"]) == ("active", "revoked")


@pytest.mark.parametrize(
    "question", [replace(QUESTION, call=None), replace(QUESTION, call=Call(capability="search_docs"))]
)
def test_nothing_is_said_where_no_credential_is_used(question: Question) -> None:
    assert collected(Provider(), question) is None


def test_provider_that_fails_makes_the_binding_unknown() -> None:
    class Broken:
        def binding(self, wanted: Wanted) -> Connection | None:
            raise LookupError("secret-in-an-error")

    assert collected(Broken()) == {}
