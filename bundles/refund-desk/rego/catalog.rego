# "Capability catalog". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

# METADATA
# title: "Capability lookup_charge"
# custom:
#   source: "capabilities.yaml#/capabilities/lookup_charge"
catalog["lookup_charge"] := {
	"owner": "payments",
	"mode": "read",
	"side_effect": "none",
	"transport": "gateway",
	"tool_principal": "svc-charge-reader",
	"risk_tier": "low",
	"network_access": "restricted",
	"allowed_egress": ["billing.internal"],
	"timeout_seconds": 5,
	"approval": "none",
	"arguments": {"type": "object", "additionalProperties": false, "required": ["charge_id"], "properties": {"charge_id": {"type": "string", "minLength": 1, "maxLength": 100}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:9c61d72cb8047de3ea398929059d77f29f252de1e50bb44dbc014a162204f5e1",
	"capability_version": "sha256:8ed392914c3ffa4acbebf0a1d5b8aa456ae7d7272e72a8f16423e88ca463e11b",
}

# METADATA
# title: "Capability issue_refund"
# custom:
#   source: "capabilities.yaml#/capabilities/issue_refund"
catalog["issue_refund"] := {
	"owner": "payments",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-refund-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["billing.internal"],
	"timeout_seconds": 10,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/charge_id"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["charge_id", "amount_minor", "currency"], "properties": {"charge_id": {"type": "string", "minLength": 1, "maxLength": 100}, "amount_minor": {"type": "integer", "minimum": 1, "maximum": 1000000}, "currency": {"type": "string", "enum": ["USD"]}, "note": {"type": "string", "maxLength": 500}}},
	"arguments_digest": "sha256:3872518effe023ad7bbca5d1fdc4580b2072b52be5126b7053302fba8067494e",
	"capability_version": "sha256:84b307814a39b9017c91954c6b504f8b80445811a3509d6eb84b9d6af2346951",
	"counted_by": [{"limit_id": "one_refund_per_charge", "per": "/charge_id", "window": "none", "max": 1}, {"limit_id": "refunded_per_principal_a_day", "per": "principal", "window": "day", "max": 50000}, {"limit_id": "run_budget", "per": "run", "window": "none", "max": 5}],
}

# METADATA
# title: "Capability issue_manager_refund"
# custom:
#   source: "capabilities.yaml#/capabilities/issue_manager_refund"
catalog["issue_manager_refund"] := {
	"owner": "payments",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-refund-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["billing.internal"],
	"timeout_seconds": 10,
	"approval": "manager",
	"idempotency_key_required": true,
	"identifying_arguments": ["/charge_id"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["charge_id", "amount_minor", "currency"], "properties": {"charge_id": {"type": "string", "minLength": 1, "maxLength": 100}, "amount_minor": {"type": "integer", "minimum": 1, "maximum": 1000000}, "currency": {"type": "string", "enum": ["USD"]}, "note": {"type": "string", "maxLength": 500}}},
	"arguments_digest": "sha256:3872518effe023ad7bbca5d1fdc4580b2072b52be5126b7053302fba8067494e",
	"capability_version": "sha256:67d9e84e5f3a672a00cea8877bb008207ac54011a2800d451485ae9bd0bc6280",
	"counted_by": [{"limit_id": "one_refund_per_charge", "per": "/charge_id", "window": "none", "max": 1}, {"limit_id": "refunded_per_principal_a_day", "per": "principal", "window": "day", "max": 50000}, {"limit_id": "run_budget", "per": "run", "window": "none", "max": 5}],
}
