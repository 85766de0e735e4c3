# "Capability catalog". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "Capability search_docs"
# custom:
#   source: "capabilities.yaml#/capabilities/search_docs"
catalog["search_docs"] := {
	"owner": "knowledge_platform",
	"mode": "read",
	"side_effect": "none",
	"transport": "mcp",
	"server": "docs-mcp",
	"tool_principal": "svc-knowledge-reader",
	"risk_tier": "low",
	"network_access": "restricted",
	"allowed_egress": ["docs.internal"],
	"timeout_seconds": 5,
	"approval": "none",
	"arguments": {"type": "object", "additionalProperties": false, "required": ["query"], "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 2000}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:35bcecfbcf7932437bb2ad84e2de49f70687f11e9cb04502ef2ab0bee4809489",
	"capability_version": "sha256:5124e59415d868a413f213c081a705c978724a83697c97a70ba8586532630686",
}

# METADATA
# title: "Capability export_tickets"
# custom:
#   source: "capabilities.yaml#/capabilities/export_tickets"
catalog["export_tickets"] := {
	"owner": "support_platform",
	"mode": "read",
	"side_effect": "none",
	"transport": "gateway",
	"tool_principal": "svc-ticket-exporter",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["tickets.internal"],
	"timeout_seconds": 60,
	"approval": "none",
	"arguments": {"type": "object", "additionalProperties": false, "required": ["queue"], "properties": {"queue": {"type": "string", "enum": ["support", "billing"]}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:fb504ea2f842540d1215053b72edb1fc8cc108bad8380f11c5bf200533091cbf",
	"capability_version": "sha256:47750bdae71ec4cd5cc73fad4ff9e9240d0a85730b2f091816fdebe468e735bc",
}

# METADATA
# title: "Capability create_ticket"
# custom:
#   source: "capabilities.yaml#/capabilities/create_ticket"
catalog["create_ticket"] := {
	"owner": "support_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-ticket-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["tickets.internal"],
	"timeout_seconds": 15,
	"approval": "manager",
	"idempotency_key_required": true,
	"identifying_arguments": ["/queue", "/requester_id", "/title"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["queue", "requester_id", "title"], "properties": {"queue": {"type": "string", "enum": ["support", "billing"]}, "requester_id": {"type": "string", "minLength": 1, "maxLength": 200}, "title": {"type": "string", "minLength": 1, "maxLength": 200}, "body": {"type": "string", "maxLength": 10000}}},
	"arguments_digest": "sha256:adce513d731026e2c4f4096ef137007b56f1626e87862467f241dc73e603e5ea",
	"capability_version": "sha256:9f2c303faf61f0d8018e83fb000a389b4fb0b65e9d5146728e1348e50374bccc",
}
