package gate

# A decision point small enough to read at a glance: what these tests are about is the way to it and back.
decision := object.union(_verdict, {
	"obligations": [],
	"advice": [],
	"audit": {
		"request_id": _or_null("request_id"),
		"checkpoint": _or_null("checkpoint"),
		"operation": _or_null("operation"),
		"trace_id": null,
		"bundle_id": "sample",
		"bundle_version": "1",
		"release_identity": "sample-release",
		"contract_version": null,
		"capability": _capability,
		"controls": [],
	},
}) if {
	not _asks_for_nothing
}

_asks_for_nothing if _capability == "undefined"

_capability := object.get(object.get(input, "request", {}), "capability", null)

_or_null(name) := object.get(input, name, null)

_verdict := {"verdict": "allow", "reasons": [_reason("configured_allow", "allow")]} if _permitted

_verdict := {"verdict": "deny", "reasons": [_reason("no_rule_permits", "deny")]} if not _permitted

# The last one shows that a name reaches the rules as the caller wrote it.
_permitted if _capability in {"search_docs", "say \"hi\"\n\u00e9\\", "strict_failure"}

_reason(code, verdict) := {
	"code": code,
	"verdict": verdict,
	"rule": "sample",
	"requirement": _requirement,
	"source": "",
	"remedy": "",
}

_requirement := "" if _capability != "strict_failure"

_requirement := sprintf("%d", [1 / 0]) if _capability == "strict_failure"
