package gate.approval.audit_test

import data.gate.approval.audit
import data.gate.fixture_test as fixture

_every_field := {
	"approval_id": "apr-1",
	"contract_id": "create-ticket-manager",
	"contract_digest": "sha256:contract",
	"action_digest": "sha256:action",
	"status": "approved",
	"requested_by": "user-42",
	"reviewers": ["mira-manager"],
	"expires_at_ms": 60000,
	"delegated_principal_id": "user-42",
	"delegated_scope": "tickets:create",
	"tool_principal": "svc-ticket-writer",
}

test_every_field_is_kept if _kept(fixture.ticket, _keeping(object.keys(_every_field))) == _every_field

test_listed_fields_alone_are_kept if {
	_kept(fixture.ticket, _keeping({"approval_id", "reviewers"})) == {
		"approval_id": "apr-1",
		"reviewers": ["mira-manager"],
	}
}

test_vote_is_kept_too if {
	_kept(fixture.voting, _keeping({"approval_id", "status"})) == {"approval_id": "apr-1", "status": "pending"}
}

# A listed field is there even when the record does not say.
test_unknown_is_null if {
	doc := fixture.put(fixture.ticket, "/state/approval", null)
	_kept(doc, _keeping({"approval_id", "contract_id"})) == {
		"approval_id": null,
		"contract_id": "create-ticket-manager",
	}
}

test_signature_that_does_not_count_is_no_reviewer if {
	doc := fixture.put(fixture.ticket, "/state/approval/votes/0/verified", false)
	_kept(doc, _keeping({"reviewers"})) == {"reviewers": []}
}

test_null_where_nothing_is_to_be_kept if {
	_kept(fixture.ticket, fixture.bundles) == null
	_kept(fixture.ticket, _keeping(set())) == null
	_kept(fixture.reading, _keeping({"approval_id"})) == null
	_kept({}, _keeping({"approval_id"})) == null
}

test_stranger_learns_nothing if {
	doc := fixture.put(fixture.ticket, "/state/run/tenant_id", "another")
	_kept(doc, _keeping({"approval_id"})) == null
}

_keeping(fields) := fixture.put(
	fixture.put(fixture.bundles, "/triage/contracts/create_ticket/audit_fields", [f | some f in fields]),
	"/triage/catalog/create_ticket/tool_principal", "svc-ticket-writer",
)

_kept(doc, bundles) := kept if {
	kept := audit.kept with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
