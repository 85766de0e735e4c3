# "Capability catalog". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "Capability register_release"
# custom:
#   source: "capabilities.yaml#/capabilities/register_release"
catalog["register_release"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 30,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/release"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["release"], "properties": {"release": {"type": "string", "minLength": 1, "maxLength": 200}, "environment": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"arguments_digest": "sha256:3cdb62b9a852f92b1d94f9ba214fd51d1336d581251867a89a0ad18b8f62f5f2",
	"capability_version": "sha256:7f9bc96770f9b42a558f60083784a2157d0febd6c1ba8e0e68ebfca69c345c10",
}

# METADATA
# title: "Capability run_smoke_test"
# custom:
#   source: "capabilities.yaml#/capabilities/run_smoke_test"
catalog["run_smoke_test"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 30,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/release", "/attempt"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["release", "attempt"], "properties": {"release": {"type": "string", "minLength": 1, "maxLength": 200}, "attempt": {"type": "integer", "minimum": 1}}},
	"arguments_digest": "sha256:18d0f14a798d79701587195c3a6f08d5b3a4c808b6175fa8e50d7e90952f6a0a",
	"capability_version": "sha256:f29b660b421f709801be3076899a81c6a76fa1c0c201e3f90982e3ead861c95c",
}

# METADATA
# title: "Capability shift_traffic"
# custom:
#   source: "capabilities.yaml#/capabilities/shift_traffic"
catalog["shift_traffic"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 30,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/release", "/step"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["release", "step", "percent"], "properties": {"release": {"type": "string", "minLength": 1, "maxLength": 200}, "step": {"type": "integer", "minimum": 1}, "percent": {"type": "string", "pattern": "^(0|[1-9][0-9]?|100)([.][0-9]{1,6})?$"}}},
	"arguments_digest": "sha256:97576729265ff852364a80251bae58620f0f5c4dd28cd8fc9cf4dfb4b559f6ab",
	"capability_version": "sha256:f81129c244f6cd14f9975fa6102840f14d14c8e2a1ac67df38ebe88822d29922",
}

# METADATA
# title: "Capability roll_out"
# custom:
#   source: "capabilities.yaml#/capabilities/roll_out"
catalog["roll_out"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 30,
	"approval": "release_manager",
	"idempotency_key_required": true,
	"identifying_arguments": ["/release"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["release"], "properties": {"release": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"arguments_digest": "sha256:451983ebfc5e211454c60d2bc3198c81e8c404bcd92582cb8e2fb6725822d7ff",
	"capability_version": "sha256:97a1f91fa23e35ab9824ea9be6fc767840d16be6ea3b27bc3364252cb1d46c36",
}

# METADATA
# title: "Capability run_change_plan"
# custom:
#   source: "capabilities.yaml#/capabilities/run_change_plan"
catalog["run_change_plan"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 600,
	"approval": "release_manager",
	"idempotency_key_required": true,
	"identifying_arguments": ["/plan_ref"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["plan_ref", "plan_digest", "task_ref", "steps", "requirements"], "properties": {"plan_ref": {"type": "string", "minLength": 1, "maxLength": 200}, "plan_digest": {"type": "string", "minLength": 1, "maxLength": 200}, "task_ref": {"type": "string", "minLength": 1, "maxLength": 200}, "steps": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "object", "additionalProperties": false, "required": ["capability", "arguments", "resource"], "properties": {"capability": {"type": "string"}, "arguments": {"type": "string"}, "resource": {"type": "string"}}}}, "requirements": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "object", "additionalProperties": false, "required": ["step", "action", "resource_ref", "required_access"], "properties": {"step": {"type": "integer"}, "action": {"type": "string"}, "resource_ref": {"type": "string"}, "required_access": {"type": "string"}}}}}},
	"arguments_digest": "sha256:1f392c27eb3bd00ca6fd44806b8ba563733c6c1fe78aa17f0f7af5dc6b1155f5",
	"capability_version": "sha256:ea3adaf5a6774e71b3da99632e10f7116642385b9895935fcf0db36bfe837e2a",
}

# METADATA
# title: "Capability update_worker"
# custom:
#   source: "capabilities.yaml#/capabilities/update_worker"
catalog["update_worker"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 30,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/account", "/worker", "/version"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["account", "worker", "version"], "properties": {"account": {"type": "string", "minLength": 1, "maxLength": 200}, "worker": {"type": "string", "minLength": 1, "maxLength": 200}, "version": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"arguments_digest": "sha256:80e9973dbb3fd77db316f7c6addfe29c3dfd0ba8f3ae8a34218fac87fd33368c",
	"capability_version": "sha256:a1c4f689962c2d027052a10f6f9575446eb2f67b9fa27e80f0cdfa5bb763f28f",
}

# METADATA
# title: "Capability write_route"
# custom:
#   source: "capabilities.yaml#/capabilities/write_route"
catalog["write_route"] := {
	"owner": "edge_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-edge-writer",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["edge.internal"],
	"timeout_seconds": 30,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/account", "/route", "/zone"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["account", "route", "zone"], "properties": {"account": {"type": "string", "minLength": 1, "maxLength": 200}, "route": {"type": "string", "minLength": 1, "maxLength": 200}, "zone": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"arguments_digest": "sha256:8835e228d6b05d2e1c80f3fc895e04109511bee8657d3cdc1826bc1b195eec77",
	"capability_version": "sha256:d166679eb2ce1ea940fe358e8162b42f1d04f19220b948ff8485bdbffbfcd66c",
}
