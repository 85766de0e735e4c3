# "Capability catalog". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "Capability read_runbook"
# custom:
#   source: "capabilities.yaml#/capabilities/read_runbook"
catalog["read_runbook"] := {
	"owner": "reliability_platform",
	"mode": "read",
	"side_effect": "none",
	"transport": "mcp",
	"server": "runbook-mcp",
	"tool_principal": "svc-runbook-reader",
	"risk_tier": "low",
	"network_access": "restricted",
	"allowed_egress": ["runbooks.internal"],
	"timeout_seconds": 5,
	"approval": "none",
	"arguments": {"type": "object", "additionalProperties": false, "required": ["runbook_id"], "properties": {"runbook_id": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"idempotency_key_required": false,
	"arguments_digest": "sha256:e73442f341b97cdc46519ddedd2f23bfd8087046fff8890a40f2db80bf00fe44",
	"capability_version": "sha256:850ff8c2ba7b4126ba3ce9246c37e4c298ce532f00ad05d5142d071aabf61e8a",
}

# METADATA
# title: "Capability silence_alerts"
# custom:
#   source: "capabilities.yaml#/capabilities/silence_alerts"
catalog["silence_alerts"] := {
	"owner": "reliability_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-alert-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["alerts.internal"],
	"timeout_seconds": 10,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/service"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["service"], "properties": {"service": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"arguments_digest": "sha256:eadac77a42857cf1d24fd93038fdfb1e97e4b0055dbb471b6ce35edc84ef0103",
	"capability_version": "sha256:da39af3d7241652d87fd94a71c81cc5a8c4a1d8a673f8d4f741299ee7989117e",
}

# METADATA
# title: "Capability notify_responders"
# custom:
#   source: "capabilities.yaml#/capabilities/notify_responders"
catalog["notify_responders"] := {
	"owner": "reliability_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-pager",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["pager.internal"],
	"timeout_seconds": 10,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/incident_id", "/audience", "/milestone"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["incident_id", "audience", "milestone", "severity", "message"], "properties": {"incident_id": {"type": "string", "minLength": 1, "maxLength": 100}, "audience": {"type": "string", "enum": ["responders", "service_team", "executives"]}, "milestone": {"type": "string", "enum": ["declared", "escalated", "mitigated", "resolved"]}, "severity": {"type": "string", "enum": ["sev1", "sev2", "sev3", "sev4"]}, "message": {"type": "string", "minLength": 1, "maxLength": 2000}}},
	"arguments_digest": "sha256:54b03783bf57a9138a38e1814ffad3b5c7d1fed9a6c2ff6ec678f5f0e3f5b5f8",
	"capability_version": "sha256:5903ef0d9f3a9503bf41a28a38eaccca77007c1b9c1669818d77668430b648b4",
}

# METADATA
# title: "Capability notify_customers"
# custom:
#   source: "capabilities.yaml#/capabilities/notify_customers"
catalog["notify_customers"] := {
	"owner": "customer_communications",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-status-page",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["status.gateway"],
	"timeout_seconds": 15,
	"approval": "communications-lead",
	"idempotency_key_required": true,
	"identifying_arguments": ["/incident_id", "/milestone"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["incident_id", "milestone", "severity", "message"], "properties": {"incident_id": {"type": "string", "minLength": 1, "maxLength": 100}, "milestone": {"type": "string", "enum": ["declared", "escalated", "mitigated", "resolved"]}, "severity": {"type": "string", "enum": ["sev1", "sev2", "sev3", "sev4"]}, "message": {"type": "string", "minLength": 1, "maxLength": 2000}}},
	"arguments_digest": "sha256:19b34b8895289b85ff9373357970a27edee9a08bf176f5a8f0501c11b39b9b53",
	"capability_version": "sha256:4bca38855b9a4e0c0955de2f8c0aec42617eb474f1b9516320a514fb0cfd6e9c",
}

# METADATA
# title: "Capability escalate_incident"
# custom:
#   source: "capabilities.yaml#/capabilities/escalate_incident"
catalog["escalate_incident"] := {
	"owner": "reliability_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-incident-writer",
	"risk_tier": "medium",
	"network_access": "brokered",
	"allowed_egress": ["incidents.internal"],
	"timeout_seconds": 10,
	"approval": "none",
	"idempotency_key_required": true,
	"identifying_arguments": ["/incident_id", "/to_level"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["incident_id", "to_level"], "properties": {"incident_id": {"type": "string", "minLength": 1, "maxLength": 100}, "to_level": {"type": "integer", "minimum": 1, "maximum": 5}}},
	"arguments_digest": "sha256:cd0315ef55ff118e56140e1cc921bbb76bd425698a6d17efb313219cc01aee70",
	"capability_version": "sha256:3c206603e83aa9a760b595f65d5cc954cdb0f264cdf46a37873c4d22d9e4bc81",
}

# METADATA
# title: "Capability hand_over_incident"
# custom:
#   source: "capabilities.yaml#/capabilities/hand_over_incident"
catalog["hand_over_incident"] := {
	"owner": "reliability_platform",
	"mode": "write",
	"side_effect": "internal_write",
	"transport": "gateway",
	"tool_principal": "svc-incident-writer",
	"risk_tier": "high",
	"network_access": "brokered",
	"allowed_egress": ["incidents.internal"],
	"timeout_seconds": 10,
	"approval": "incident-commander",
	"idempotency_key_required": true,
	"identifying_arguments": ["/incident_id", "/new_owner"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["incident_id", "new_owner"], "properties": {"incident_id": {"type": "string", "minLength": 1, "maxLength": 100}, "new_owner": {"type": "string", "minLength": 1, "maxLength": 200}}},
	"arguments_digest": "sha256:ffbd51e1d17f162d27ff298cfb01eef7992db8254957ea9d187ec388eb8cd39f",
	"capability_version": "sha256:73abaa41354b6dc4d43221d18c741bdabd13cd67aeaf69916929dff801d8b172",
}

# METADATA
# title: "Capability run_remediation"
# custom:
#   source: "capabilities.yaml#/capabilities/run_remediation"
catalog["run_remediation"] := {
	"owner": "reliability_platform",
	"mode": "write",
	"side_effect": "external_write",
	"transport": "gateway",
	"tool_principal": "svc-remediation",
	"risk_tier": "critical",
	"network_access": "brokered",
	"allowed_egress": ["deploy.internal"],
	"timeout_seconds": 120,
	"approval": "incident-commander",
	"idempotency_key_required": true,
	"identifying_arguments": ["/incident_id", "/runbook_id", "/service"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["incident_id", "runbook_id", "service", "blast_radius"], "properties": {"incident_id": {"type": "string", "minLength": 1, "maxLength": 100}, "runbook_id": {"type": "string", "minLength": 1, "maxLength": 200}, "service": {"type": "string", "minLength": 1, "maxLength": 200}, "blast_radius": {"type": "string", "enum": ["single_host", "service", "region"]}}},
	"arguments_digest": "sha256:405b3a09d62b56c65c531111c4e008bbb7e29278162c5846a213d4a5b5446d1c",
	"capability_version": "sha256:997ecadbbaa6ce2bed64a8be28c3f0106f142a70b0930c2af2c62665846ef0e7",
}

# METADATA
# title: "Capability remember_lesson"
# custom:
#   source: "capabilities.yaml#/capabilities/remember_lesson"
catalog["remember_lesson"] := {
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
	"identifying_arguments": ["/incident_id", "/subject"],
	"arguments": {"type": "object", "additionalProperties": false, "required": ["incident_id", "subject", "lesson"], "properties": {"incident_id": {"type": "string", "minLength": 1, "maxLength": 100}, "subject": {"type": "string", "minLength": 1, "maxLength": 200}, "lesson": {"type": "string", "minLength": 1, "maxLength": 5000}}},
	"allowed_egress": [],
	"arguments_digest": "sha256:7b55c8d45f55d19be1e7bb5906923b12f7c916a9b988d95818b8687830723b9d",
	"capability_version": "sha256:b7ce049df1c682e56651805e53424bb8a565cf49904805ec1a943dfbae374ea2",
}
