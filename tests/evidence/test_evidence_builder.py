from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gate.canonical import digest
from gate.documents.resources import schema
from gate.errors import InputError
from gate.evidence import ABSENT, Call, EvidenceBuilder, Identity, Prepared, Run
from gate.pdp import Facts
from gate.records import ApprovalRequest, Claim, RunRecord, Store

TENANT, PRINCIPAL = "acme", "user-1"
RUN = Run(
    agent_id="agent",
    session_id="session",
    run_id="run-1",
    trace_id="trace",
    identity=Identity(tenant_id=TENANT, principal_id=PRINCIPAL),
)
CALL = Call(capability="create", arguments={"order": "o1"}, idempotency_key="key-1", reason="because")
FACTS = Facts(
    revision="sample@1+aa",
    bundle={"bundle_id": "sample", "version": "1", "release_identity": "release-1", "contract_version": None},
    capabilities={
        "create": {
            "capability_version": digest("version"),
            "arguments_digest": digest("schema"),
            "identifying_arguments": ["/order"],
            "arguments": {
                "type": "object",
                "additionalProperties": False,
                "required": ["order"],
                "properties": {"order": {"type": "string"}},
            },
        }
    },
    contracts={"create": {"contract_digest": digest("contract")}},
)
NOW = 1_800_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/records.sqlite") as opened:
        opened.create_run(
            RunRecord(
                tenant_id=TENANT,
                run_id="run-1",
                agent_id="agent",
                principal_id=PRINCIPAL,
                session_id="session",
                trace_id="trace",
                authorization_mode="platform_owned",
            )
        )
        yield opened


@pytest.fixture
def builder(store: Store) -> EvidenceBuilder:
    return EvidenceBuilder(store=store, environment="test")


def prepared(builder: EvidenceBuilder, run: Run = RUN, call: Call = CALL, facts: Facts = FACTS) -> Prepared:
    found = builder.tool_call(run, call, now_ms=NOW, facts=facts)
    jsonschema.validate(dict(found.document), schema("input"))
    return found


def ask(store: Store, found: Prepared) -> str:
    """Records an approval request for the prepared action; its id."""
    action = found.action
    assert action is not None
    assert action.action_digest is not None
    assert action.intent_digest is not None
    request = ApprovalRequest(
        tenant_id=TENANT,
        run_id="run-1",
        capability="create",
        contract_id="contract",
        contract_digest=digest("contract"),
        action_digest=action.action_digest,
        intent_digest=action.intent_digest,
        principal_id=PRINCIPAL,
        agent_id="agent",
        session_id="session",
        trace_id="trace",
        requested_by=PRINCIPAL,
        reason="because",
        bundle_version="1",
        release_identity="release-1",
        view={},
    )
    return store.request_approval(request, max_wait_ms=60_000).approval_id


def test_document_of_a_call_says_what_the_records_say(builder: EvidenceBuilder) -> None:
    found = prepared(builder)
    action = found.action
    assert action is not None

    document = dict(found.document)
    assert document.pop("request_id") == found.request_id
    assert document == {
        "schema_version": "gate-input/v1",
        "checkpoint": "tool_execution",
        "operation": "call_tool",
        "now_ms": NOW,
        "trace": {"trace_id": "trace", "session_id": "session", "run_id": "run-1", "epoch": None},
        "agent": {"agent_id": "agent", "environment": "test"},
        "identity": {
            "tenant_id": TENANT,
            "principal_id": PRINCIPAL,
            "authorization_mode": "platform_owned",
            "delegated_principal_id": None,
            "delegated_scope": None,
        },
        "request": {
            "capability": "create",
            "arguments": {"order": "o1"},
            "idempotency_key": "key-1",
            "resource": None,
            "reason": "because",
        },
        "state": {
            "run": document["state"]["run"],
            "versions": {
                "bundle_version": "1",
                "release_identity": "release-1",
                "capability_version": digest("version"),
                "contract_digest": digest("contract"),
            },
            "approval": None,
            "rejection": {"approval_id": None, "intent_digest": None},
            "side_effect": {"status": "not_started", "business_key": action.business_key},
            "idempotency": {"idempotency_key": None, "action_digest": None},
            "counters": [],
            "constraints": [],
        },
        "evidence": {"arguments": {"valid": True, "schema_digest": digest("schema"), "identified": True}},
        "digests": {
            "action_digest": action.action_digest,
            "intent_digest": action.intent_digest,
            "arguments": action.arguments_digest,
            "standing_digest": None,
            "tool_definition": None,
        },
    }
    assert document["state"]["run"]["status"] == "running"
    assert (document["state"]["run"]["epoch"], document["state"]["run"]["boundary"]) == (1, None)
    assert (found.run, found.approval, found.effect) == (builder.store.run(TENANT, "run-1"), None, None)


def test_every_document_has_a_request_id_of_its_own(builder: EvidenceBuilder) -> None:
    assert len({prepared(builder).request_id for _ in range(20)}) == 20


def test_what_the_model_asked_is_in_the_request_and_nowhere_else(builder: EvidenceBuilder) -> None:
    claims = {
        "action_digest": digest("mine"),
        "approval": {"status": "approved"},
        "identity": {"tenant_id": "globex"},
        "order": "o1",
    }
    document = dict(prepared(builder, call=replace(CALL, arguments=claims)).document)

    assert document.pop("request")["arguments"] == claims
    assert digest("mine") not in str(document)
    assert "globex" not in str(document)
    assert "because" not in str(document)


def test_absent_arguments_are_absent_and_null_is_null(builder: EvidenceBuilder) -> None:
    absent, null = (prepared(builder, call=replace(CALL, arguments=a)).document["request"] for a in (ABSENT, None))

    assert ("arguments" in absent, null["arguments"]) == (False, None)


def test_approval_is_found_by_digest_or_by_its_id_whatever_it_is_for(builder: EvidenceBuilder, store: Store) -> None:
    approval_id = ask(store, prepared(builder))
    other = replace(CALL, arguments={"order": "o2"})

    found = prepared(builder).approval
    assert found is not None
    assert found.approval_id == approval_id
    assert prepared(builder, call=other).approval is None
    by_id = prepared(builder, call=replace(other, approval_id=approval_id)).approval
    assert by_id == found


def test_effect_is_found_by_its_business_key(builder: EvidenceBuilder, store: Store) -> None:
    action = prepared(builder).action
    assert action is not None
    assert action.action_digest is not None
    assert action.business_key is not None
    claimed = store.claim(
        Claim(
            tenant_id=TENANT,
            run_id="run-1",
            run_version=1,
            principal_id=PRINCIPAL,
            capability="create",
            business_key=action.business_key,
            idempotency_key="key-1",
            action_digest=action.action_digest,
            owner="worker",
            lease_ms=60_000,
        )
    )

    again = prepared(builder, call=replace(CALL, idempotency_key="key-2"))
    assert again.effect == claimed.effect
    assert again.document["state"]["side_effect"] == {
        "status": "in_flight",
        "capability": "create",
        "business_key": action.business_key,
        "idempotency_key": "key-1",
        "action_digest": action.action_digest,
        "lease_expires_at_ms": claimed.effect.lease_expires_at_ms,
        "attempt": 1,
        "run_id": "run-1",
        "version": 1,
    }
    assert prepared(builder).document["state"]["idempotency"] == {
        "idempotency_key": "key-1",
        "action_digest": action.action_digest,
    }


def test_records_of_another_tenant_or_principal_are_not_read(builder: EvidenceBuilder, store: Store) -> None:
    approval_id = ask(store, prepared(builder))
    stranger = RUN.as_identity(Identity(tenant_id="globex", principal_id=PRINCIPAL))

    state = prepared(builder, stranger, replace(CALL, approval_id=approval_id)).document["state"]

    assert (state["run"], state["approval"]) == (None, None)


@pytest.mark.parametrize("tenant", [None, ""])
def test_nothing_is_read_without_a_tenant(builder: EvidenceBuilder, tenant: str | None) -> None:
    nobody = RUN.as_identity(Identity(tenant_id=tenant, principal_id=PRINCIPAL))

    state = prepared(builder, nobody, replace(CALL, approval_id="apr-1")).document["state"]

    assert (state["run"], state["approval"], state["rejection"], state["idempotency"]) == (None, None, None, None)


def test_nothing_is_looked_up_for_a_name_the_bundle_does_not_have(builder: EvidenceBuilder) -> None:
    document = prepared(builder, call=replace(CALL, capability="delete_user\n")).document

    assert document["digests"]["action_digest"] is None
    assert document["evidence"]["arguments"] == {"valid": False, "schema_digest": None, "identified": False}
    assert (document["state"]["side_effect"], document["state"]["idempotency"]) == (None, None)


def test_an_ungoverned_agent_has_no_versions(builder: EvidenceBuilder) -> None:
    versions = prepared(builder, facts=Facts(revision="sample@1+aa")).document["state"]["versions"]

    assert set(versions.values()) == {None}


def operation(builder: EvidenceBuilder, request: Any) -> Prepared:
    return builder.operation(RUN, checkpoint="output", operation="emit", now_ms=NOW, facts=FACTS, request=request)


def test_document_of_an_operation_holds_a_copy_of_the_request(builder: EvidenceBuilder) -> None:
    request: dict[str, Any] = {"text": "hello"}

    found = operation(builder, request)
    request["text"] = "changed"

    jsonschema.validate(dict(found.document), schema("input"))
    assert (found.document["request"], found.document["checkpoint"]) == ({"text": "hello"}, "output")
    assert (found.action, found.approval, found.effect) == (None, None, None)


@pytest.mark.parametrize("request_", [{"text": float("inf")}, {"text": {1}}, [1], "text", 5])
def test_request_that_is_no_json_object_is_refused(builder: EvidenceBuilder, request_: Any) -> None:
    with pytest.raises(InputError):
        operation(builder, request_)
