# "Capability catalog". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "Capability search_knowledge"
# custom:
#   source: "capabilities.yaml#/capabilities/search_knowledge"
catalog["search_knowledge"] := {
	"owner": "knowledge_platform",
	"mode": "read",
	"side_effect": "none",
	"transport": "mcp",
	"server": "knowledge-mcp",
	"tool_principal": "svc-knowledge-reader",
	"risk_tier": "low",
	"network_access": "restricted",
	"allowed_egress": ["knowledge.internal"],
	"timeout_seconds": 5,
	"approval": "none",
	"credential": {"owners": ["user"], "types": ["oauth"]},
	"oauth": {"required_scopes": ["knowledge.read"], "audience": "https://knowledge.internal"},
	"arguments": {"type": "object", "additionalProperties": false, "required": ["query"], "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 2000}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:35bcecfbcf7932437bb2ad84e2de49f70687f11e9cb04502ef2ab0bee4809489",
	"capability_version": "sha256:a5fe96f34625f014bb0cc9571480e229b92556e12ccc3d6e40bb881a880baebf",
}

# METADATA
# title: "Capability read_document"
# custom:
#   source: "capabilities.yaml#/capabilities/read_document"
catalog["read_document"] := {
	"owner": "knowledge_platform",
	"mode": "read",
	"side_effect": "none",
	"transport": "mcp",
	"server": "knowledge-mcp",
	"tool_principal": "svc-knowledge-reader",
	"risk_tier": "medium",
	"network_access": "restricted",
	"allowed_egress": ["knowledge.internal"],
	"timeout_seconds": 10,
	"approval": "none",
	"credential": {"owners": ["user"], "types": ["oauth"]},
	"oauth": {"required_scopes": ["knowledge.read"], "audience": "https://knowledge.internal"},
	"tool_definition": "sha256:4444444444444444444444444444444444444444444444444444444444444444",
	"arguments": {"type": "object", "additionalProperties": false, "required": ["document_id"], "properties": {"document_id": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:8eb6070f8b88317ca6367726df6b8e384a9237307da8430fc03079dd0d730f30",
	"capability_version": "sha256:e58f584f14dcd3cbd035ebc0f6a6df45f575277775217efd542f41c16e18061d",
}

# METADATA
# title: "Capability export_collection"
# custom:
#   source: "capabilities.yaml#/capabilities/export_collection"
catalog["export_collection"] := {
	"owner": "knowledge_platform",
	"mode": "read",
	"side_effect": "none",
	"transport": "gateway",
	"tool_principal": "svc-knowledge-exporter",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["knowledge.internal"],
	"timeout_seconds": 60,
	"approval": "none",
	"arguments": {"type": "object", "additionalProperties": false, "required": ["collection"], "properties": {"collection": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:440d59754fbab8281f0bf3177ddcd3e945f561c5fc0bbe57fc719cd95a3f5220",
	"capability_version": "sha256:cd0686c19cc022865ee47602f94dc15c922c645b6086aa3df7fdd4a335aa1f31",
}

# METADATA
# title: "Capability remember_fact"
# custom:
#   source: "capabilities.yaml#/capabilities/remember_fact"
catalog["remember_fact"] := {
	"owner": "memory_platform",
	"mode": "write",
	"side_effect": "internal_write",
	"transport": "local",
	"tool_principal": "svc-memory-writer",
	"risk_tier": "medium",
	"network_access": "none",
	"timeout_seconds": 5,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/document_id", "/subject"],
	"credential": {"owners": ["agent", "user"], "types": ["secret", "oauth"]},
	"arguments": {"type": "object", "additionalProperties": false, "required": ["document_id", "subject", "statement"], "properties": {"document_id": {"type": "string", "minLength": 1, "maxLength": 200}, "subject": {"type": "string", "minLength": 1, "maxLength": 200}, "statement": {"type": "string", "minLength": 1, "maxLength": 2000}}},
	"allowed_egress": [],
	"arguments_digest": "sha256:c5d964e96a751222ea77fb4de9c269c92a7cf79a8ccb9ad0dfd0c3adde101dfd",
	"capability_version": "sha256:0e0d6dd4357e814951ff88fb104d627b6c82997cc4befd220781f9d278e94556",
}

# METADATA
# title: "Capability share_answer_externally"
# custom:
#   source: "capabilities.yaml#/capabilities/share_answer_externally"
catalog["share_answer_externally"] := {
	"owner": "knowledge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-answer-sender",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["mail.gateway"],
	"timeout_seconds": 15,
	"approval": "knowledge-owner",
	"idempotency_key_required": true,
	"identifying_arguments": ["/document_id", "/recipient", "/answer"],
	"credential": {"owners": ["agent", "user"], "types": ["secret", "oauth"]},
	"oauth": {"required_scopes": ["answers.share"], "audience": "https://mail.gateway", "resource": "https://mail.gateway/customers"},
	"arguments": {"type": "object", "additionalProperties": false, "required": ["document_id", "recipient", "answer"], "properties": {"document_id": {"type": "string", "minLength": 1, "maxLength": 200}, "recipient": {"type": "string", "minLength": 3, "maxLength": 200}, "answer": {"type": "string", "minLength": 1, "maxLength": 10000}, "note": {"type": "string", "maxLength": 2000}}},
	"arguments_digest": "sha256:87cb75a9bf4b76e743105506ed8f982f66e700e1afeddf440d4568136b25cdda",
	"capability_version": "sha256:73ccfa518954b491717d2db1e462aabdd35d03ad86224dbf6d8dca0c95461b09",
}
