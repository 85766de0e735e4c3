package gate.constraint_test

import data.gate.constraint
import data.gate.fixture_test as fixture
import data.gate.verdict

_queue := {"base": "input", "path": ["request", "arguments", "queue"], "kind": "string"}

# "Nothing goes to the billing queue."
_constraint := {
	"constraint_id": "constraint-17",
	"tenant_id": "tenant-acme",
	"principal_id": "user-42",
	"source_event": "event-3",
	"applies_to": ["create_ticket"],
	"action": "deny",
	"valid_until_ms": null,
	"predicate": {
		"text": "arguments.queue == \"billing\"",
		"dnf": [[object.union(_queue, {"op": "==", "value": "billing"})]],
	},
	"digest": "sha256:constraint",
	"intact": true,
}

_with(constraints) := fixture.put(fixture.ticket, "/state/constraints", constraints)

_call := _with([_constraint])

_forbidden := fixture.put(_call, "/request/arguments/queue", "billing")

test_none_sound if _codes(_call) == set()

test_none_without_constraints if _codes(fixture.ticket) == set()

test_deny_what_the_user_forbade if _codes(_forbidden) == {"user_constraint_violated"}

test_deny_on_resumption_of_a_tool if {
	_codes(fixture.put(_forbidden, "/operation", "resume_tool")) == {"user_constraint_violated"}
}

test_none_at_another_operation if _codes(fixture.put(_forbidden, "/operation", "list_tools")) == set()

# A value that is absent or of another type is not provably another queue.
test_deny_unless_provably_false if _misses_of_unknown == set()

_misses_of_unknown := {[what, got] |
	some what, doc in fixture.broken(_call, "/request/arguments/queue", fixture.no_string)
	got := _codes(doc)
	got != {"user_constraint_violated"}
}

test_deny_constraints_unreadable if _misses_of_whole == set()

_misses_of_whole := {[what, got] |
	some what, doc in fixture.broken(_call, "/state/constraints", [null, true, 17, "garbage", {}, [null], ["garbage"], [{}]])
	got := _codes(doc)
	got != {"constraint_unreadable"}
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, values in _owed
	some what, doc in fixture.broken(_call, concat("", ["/state/constraints/0", path]), values)
	got := _codes(doc)
	got != {"constraint_unreadable"}
}

_owed := {
	"/constraint_id": fixture.no_text,
	"/tenant_id": array.concat(fixture.garbage, ["Tenant-Acme"]),
	"/principal_id": fixture.garbage,
	"/source_event": fixture.no_text,
	"/applies_to": [null, true, 17, "create_ticket", {}, [], [""], [17], [null]],
	"/action": array.concat(fixture.garbage, ["warn", "allow"]),
	"/valid_until_ms": [true, "60000", [60000], {}],
	"/digest": fixture.no_text,
	"/intact": fixture.no_true,
	"/predicate": fixture.no_section,
	"/predicate/dnf": [null, true, 17, "garbage", {}, [], [[]], [null], ["garbage"], [{}]],
	"/predicate/dnf/0/0/base": array.concat(fixture.garbage, ["data"]),
	"/predicate/dnf/0/0/path": [null, true, 17, "garbage", {}, [], [17], [""]],
	"/predicate/dnf/0/0/kind": array.concat(fixture.garbage, ["number"]),
	"/predicate/dnf/0/0/op": array.concat(fixture.garbage, ["=", "matches all"]),
	"/predicate/dnf/0/0/value": [null, true, 17, ["billing"], {}],
}

test_deny_caller_unknown if _misses_of_caller == set()

_misses_of_caller := {[path, what, got] |
	some path in ["/identity", "/identity/tenant_id", "/identity/principal_id"]
	some what, doc in fixture.broken(_call, path, fixture.no_section)
	got := _codes(doc)
	got != {"constraint_unreadable"}
}

test_deny_more_than_can_be_held if {
	_codes(_with([_constraint | some _ in numbers.range(1, 64)])) == set()
	_codes(_with([_constraint | some _ in numbers.range(1, 65)])) == {"constraint_unreadable"}
	[alternative] := _constraint.predicate.dnf
	_codes(_predicate([alternative | some _ in numbers.range(1, 64)])) == set()
	_codes(_predicate([alternative | some _ in numbers.range(1, 65)])) == {"constraint_unreadable"}
	[literal] := alternative
	_codes(_predicate([[literal | some _ in numbers.range(1, 32)]])) == set()
	_codes(_predicate([[literal | some _ in numbers.range(1, 33)]])) == {"constraint_unreadable"}
}

_predicate(dnf) := fixture.put(_call, "/state/constraints/0/predicate/dnf", dnf)

test_end_at_the_bound if {end: _codes(fixture.put(_forbidden, "/state/constraints/0/valid_until_ms", end)) |
	some end in [49999, 50000, 50001]
} == {
	49999: set(),
	50000: set(),
	50001: {"user_constraint_violated"},
}

test_deny_end_without_a_clock if _misses_of_clock == set()

_misses_of_clock := {[what, got] |
	some what, doc in fixture.broken(
		fixture.put(_call, "/state/constraints/0/valid_until_ms", 50001),
		"/now_ms", fixture.no_number,
	)
	got := _codes(doc)
	got != {"constraint_unreadable"}
}

test_addressed if {
	_codes(_to(["search_docs"])) == set()
	_codes(_to(["search_docs", "create_ticket"])) == {"user_constraint_violated"}
	_codes(_to(["*"])) == {"user_constraint_violated"}
	_codes(fixture.put(_to(["search_docs"]), "/request/capability", null)) == {"user_constraint_violated"}
}

_to(names) := fixture.put(_forbidden, "/state/constraints/0/applies_to", names)

test_deny_any_of_several if {
	other := object.union(_constraint, {"constraint_id": "constraint-18", "applies_to": ["search_docs"]})
	_codes(fixture.put(_forbidden, "/state/constraints", [other, _constraint])) == {"user_constraint_violated"}
	_codes(fixture.put(_forbidden, "/state/constraints", [other, other])) == set()
}

# Each operator where it holds, where it does not, and where a side is of another type.
test_each_operator if _misses_of_operators == set()

_misses_of_operators := {[literal, value, got, wanted] |
	some [literal, values] in _operators
	some [value, wanted] in values
	doc := fixture.put(_predicate([[object.union({"base": "input", "path": ["request", "arguments", "x"]}, literal)]]), "/request/arguments/x", value)
	got := _holds(doc)
	got != wanted
}

_holds(doc) if _codes(doc) == {"user_constraint_violated"}

_holds(doc) := false if _codes(doc) == set()

_operators := [
	[{"kind": "number", "op": "==", "value": 5}, [[5, true], [6, false], ["5", true], [null, true]]],
	[{"kind": "number", "op": "!=", "value": 5}, [[5, false], [6, true], ["5", true], [null, true]]],
	[{"kind": "number", "op": "<", "value": 5}, [[4, true], [5, false], [null, true], [true, true], ["9", true]]],
	[{"kind": "number", "op": "<=", "value": 5}, [[5, true], [6, false], [null, true], ["9", true]]],
	[{"kind": "number", "op": ">", "value": 5}, [[6, true], [5, false], [null, true], ["1", true]]],
	[{"kind": "number", "op": ">=", "value": 5}, [[5, true], [4, false], [null, true], ["1", true]]],
	[{"kind": "string", "op": "in", "value": ["a", "b"]}, [["a", true], ["c", false], [7, true], [null, true]]],
	[{"kind": "string", "op": "not_in", "value": ["a", "b"]}, [["a", false], ["c", true], [7, true], [null, true]]],
	[{"kind": "string", "op": "matches", "value": "^a"}, [["ab", true], ["b", false], [7, true], [null, true]]],
	[{"kind": "string", "op": "not_matches", "value": "^a"}, [["ab", false], ["b", true], [7, true], [null, true]]],
	[{"kind": "list", "op": "contains", "value": "a"}, [[["a", "b"], true], [["b"], false], [[7], true], [null, true]]],
	[{"kind": "list", "op": "not_contains", "value": "a"}, [[["a"], false], [["b"], true], ["a", true], [null, true]]],
	[{"kind": "boolean", "op": "==", "value": true}, [[true, true], [false, false], ["true", true], [null, true]]],
	[{"kind": "string", "op": "exists"}, [["a", true], [7, true], [null, false]]],
	[{"kind": "string", "op": "absent"}, [["a", false], [7, false], [null, true]]],
	[
		{"kind": "string", "op": "==", "other": {"base": "input", "path": ["identity", "principal_id"], "kind": "string"}},
		[["user-42", true], ["user-7", false], [7, true]],
	],
	[
		{"kind": "string", "op": "==", "other": {"base": "input", "path": ["identity", "nobody"], "kind": "string"}},
		[["user-42", true], ["user-7", true]],
	],
	[
		{"kind": "string", "op": "in", "other": {"base": "catalog", "path": ["allowed_egress"], "kind": "list"}},
		[["tickets.internal", true], ["elsewhere", false], [7, true]],
	],
	[
		{"kind": "list", "op": "==", "other": {"base": "catalog", "path": ["allowed_egress"], "kind": "list"}},
		[[["tickets.internal"], true], [["elsewhere"], false], [[7], true]],
	],
]

test_catalog if {
	literal := {"base": "catalog", "path": ["risk_tier"], "kind": "string", "op": "==", "value": "high"}
	_codes(_predicate([[literal]])) == {"user_constraint_violated"}
	_codes(_predicate([[object.union(literal, {"value": "low"})]])) == set()
}

# Evidence counts for the user's constraint as it counts for a control: stale, it is not provably of another owner.
test_evidence_that_does_not_count if {
	side := {"base": "input", "path": ["evidence", "ownership", "owner"], "kind": "string"}
	owned := {"owner": "mira", "checked_by": "svc-incident-registry", "checked_at_ms": 45000}
	doc := fixture.put(_predicate([[object.union(side, {"op": "==", "value": "noor"})]]), "/evidence/ownership", owned)
	contract := {"ownership": {"max_age_ms": 10000, "checked_by": null, "signature_keys": null, "required_for": []}}
	bundles := fixture.put(fixture.bundles, "/triage/evidence_controls", contract)
	[_codes_in(doc, bundles), _codes_in(fixture.put(doc, "/now_ms", 55001), bundles)] == [
		set(),
		{"user_constraint_violated"},
	]
}

_codes_in(doc, bundles) := {f.code |
	some f in constraint.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

# Kleene: false as soon as one literal of every alternative is.
test_alternatives if {
	no := object.union(_queue, {"op": "==", "value": "billing"})
	yes := object.union(_queue, {"op": "==", "value": "support"})
	unknown := {"base": "input", "path": ["request", "arguments", "y"], "kind": "string", "op": "==", "value": "a"}
	_codes(_predicate([[no, yes], [unknown, no]])) == set()
	_codes(_predicate([[no], [unknown]])) == {"user_constraint_violated"}
	_codes(_predicate([[no], [yes, unknown]])) == {"user_constraint_violated"}
	_codes(_predicate([[no], [yes]])) == {"user_constraint_violated"}
}

_demanding := fixture.put(_forbidden, "/state/constraints/0/action", "require_approval")

test_demand_is_no_denial if {
	_codes(_demanding) == set()
	not _free(_demanding)
	_free(_call)
	_free(fixture.put(_call, "/state/constraints/0/action", "require_approval"))
	not _free(fixture.put(_call, "/state/constraints/0/intact", false))
	not _free({})
}

_free(doc) if {
	constraint.approval_not_demanded with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

# A call that needs no approval otherwise is asked for one, and without a contract nobody can give it.
test_demand_on_a_call_that_nobody_approves_otherwise if {
	demanding := object.union(_constraint, {
		"applies_to": ["*"],
		"action": "require_approval",
		"predicate": {"dnf": [[{"base": "catalog", "path": ["mode"], "kind": "string", "op": "==", "value": "read"}]]},
	})
	got := {f.code | some f in verdict.shown with input as fixture.put(fixture.reading, "/state/constraints", [demanding])
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles}
	"approval_contract_missing" in got
}

test_holding_are_kept_for_the_audit if {
	got := constraint.holding with input as _forbidden
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
	got == {{
		"checkpoint": "tool_execution",
		"policy_requirement": "user_constraint:constraint-17",
		"predicate_result": "not_false",
		"action": "deny",
		"control_version": "sha256:constraint",
		"eval_case_id": "",
	}}
	none := constraint.holding with input as _call
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
	none == set()
}

test_deny_empty_call if _codes({"operation": "call_tool"}) == {"constraint_unreadable"}

test_none_empty_document if _codes({}) == set()

_codes(doc) := {f.code | some f in constraint.raised with input as doc
	with data.gate.agents.bundle_of as fixture.bundle_of
	with data.gate.bundles as fixture.bundles}

# The short way passes such a call by; its rules say the same of it.
test_none_found_without_constraints if _found_without_constraints == set()

_found_without_constraints := found if {
	found := constraint.findings with input as fixture.put(fixture.ticket, "/state/constraints", [])
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}
