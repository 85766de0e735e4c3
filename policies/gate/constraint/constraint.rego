# METADATA
# title: What the user forbade
# description: >-
#   a user's constraint is a record with a compiled predicate, held against every call whatever the context still says.
#   It lets a call pass only when it provably does not concern it, has run out, or is provably false of it
package gate.constraint

import data.gate.evidence.known
import data.gate.finding
import data.gate.router

# METADATA
# title: What the user forbade of the call
# description: most calls are under no constraint, and pay for one rule
raised := set() if _unconstrained

else := findings

findings contains finding.new("constraint_unreadable", "deny", "gate.constraint", "", "") if {
	_calling
	not _readable
}

findings contains finding.new("user_constraint_violated", "deny", "gate.constraint", "", "") if {
	_calling
	_readable
	not _nothing_denied
}

# METADATA
# title: No constraint of the user asks for an approval of this call
# description: constraints that cannot be read ask for one, besides refusing the call
approval_not_demanded if {
	_readable
	_nothing_demanded
}

# METADATA
# title: The constraints that do not let the call pass
# description: as the audit keeps controls; their ids and what they ask for, never their text
holding contains {
	"checkpoint": "tool_execution",
	"policy_requirement": concat("", ["user_constraint:", c.constraint_id]),
	"predicate_result": "not_false",
	"action": c.action,
	"control_version": c.digest,
	"eval_case_id": "",
} if {
	_calling
	_readable
	some c in input.state.constraints
	count([1 | _released(c)]) == 0
}

# Bounds on what one call costs, and on what a record can hold; `gate.compiler.constraint` writes none beyond them.
_most_constraints := 64

_most_alternatives := 64

_most_literals := 32

_calling if input.operation in {"call_tool", "resume_tool"}

# The list is still stated, and empty.
_unconstrained if input.state.constraints == []

_readable if _unconstrained

_readable if {
	is_array(input.state.constraints)
	count(input.state.constraints) <= _most_constraints
	count([c | some c in input.state.constraints; _sound(c)]) == count(input.state.constraints)
}

_sound(c) if {
	_stated(c.constraint_id)
	_stated(c.source_event)
	_stated(c.digest)
	c.intact == true
	c.action in {"deny", "require_approval"}
	_of_the_caller(c)
	_dated(c.valid_until_ms)
	_addressed(c.applies_to)
	_predicate_sound(c.predicate.dnf)
}

_of_the_caller(c) if {
	_stated(c.tenant_id)
	_stated(c.principal_id)
	c.tenant_id == input.identity.tenant_id
	c.principal_id == input.identity.principal_id
}

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}

_dated(value) if is_null(value)

_dated(value) if {
	is_number(value)
	is_number(input.now_ms)
}

_addressed(names) if {
	is_array(names)
	count(names) > 0
	count([n | some n in names; _stated(n)]) == count(names)
}

_predicate_sound(dnf) if {
	is_array(dnf)
	count(dnf) > 0
	count(dnf) <= _most_alternatives
	count([a | some a in dnf; _alternative_sound(a)]) == count(dnf)
}

_alternative_sound(literals) if {
	is_array(literals)
	count(literals) > 0
	count(literals) <= _most_literals
	count([l | some l in literals; _literal_sound(l)]) == count(literals)
}

_literal_sound(l) if {
	_side_sound(l)
	l.op in {"==", "!=", "<", "<=", ">", ">=", "in", "not_in", "contains", "not_contains", "matches", "not_matches", "exists", "absent"}
	_right_sound(l)
}

_side_sound(side) if {
	side.base in {"input", "catalog"}
	side.kind in {"string", "number", "boolean", "list"}
	_addressed(side.path)
}

_right_sound(l) if l.op in {"exists", "absent"}

_right_sound(l) if _side_sound(l.other)

_right_sound(l) if {
	l.op in {"matches", "not_matches"}
	is_string(l.value)
}

_right_sound(l) if {
	l.op in {"in", "not_in"}
	is_array(l.value)
	count(l.value) > 0
}

_right_sound(l) if {
	l.op in {"contains", "not_contains"}
	l.kind == "list"
	is_string(l.value)
}

_right_sound(l) if {
	l.op in {"==", "!="}
	_typed(l.value, l.kind)
}

_right_sound(l) if {
	l.op in {"<", "<=", ">", ">="}
	l.kind == "number"
	is_number(l.value)
}

_nothing_denied if _unconstrained

_nothing_denied if {
	count([c | some c in input.state.constraints; _denies_not(c)]) == count(input.state.constraints)
}

_denies_not(c) if c.action == "require_approval"

_denies_not(c) if _released(c)

_nothing_demanded if _unconstrained

_nothing_demanded if {
	count([c | some c in input.state.constraints; _demands_not(c)]) == count(input.state.constraints)
}

_demands_not(c) if c.action == "deny"

_demands_not(c) if _released(c)

_released(c) if input.now_ms >= _end(c)

_released(c) if {
	is_string(router.capability_name)
	count([n | some n in c.applies_to; n in {"*", router.capability_name}]) == 0
}

# Provably false: in every alternative something is.
_released(c) if {
	count([a | some a in c.predicate.dnf; _refuted(a)]) == count(c.predicate.dnf)
}

_end(c) := c.valid_until_ms if is_number(c.valid_until_ms)

_refuted(literals) if {
	some l in literals
	_false(l)
}

_false(l) if {
	l.op == "exists"
	is_null(_value(l))
}

_false(l) if {
	l.op == "absent"
	count([v | some v in [_value(l)]; is_null(v)]) == 0
}

_false(l) if {
	_compared(l)
	_complement(l.op, _value(l), _right(l))
}

_compared(l) if {
	l.op in {"==", "!=", "<", "<=", ">", ">=", "in", "not_in", "contains", "not_contains", "matches", "not_matches"}
	_typed(_value(l), l.kind)
	_right_typed(l)
}

_right_typed(l) if count(object.keys(l) & {"other"}) == 0

_right_typed(l) if _typed(_value(l.other), l.other.kind)

_right(l) := l.value if count(object.keys(l) & {"other"}) == 0

_right(l) := _value(l.other) if count(object.keys(l) & {"other"}) == 1

_value(side) := object.get(input, side.path, null) if {
	side.base == "input"
	side.path[0] != "evidence"
}

# Evidence that does not count is unknown, to a user's constraint as to any control.
_value(side) := object.get({"evidence": known.section}, side.path, null) if {
	side.base == "input"
	side.path[0] == "evidence"
}

_value(side) := object.get(router.capability, side.path, null) if side.base == "catalog"

_typed(value, "string") if is_string(value)

_typed(value, "number") if is_number(value)

_typed(value, "boolean") if is_boolean(value)

_typed(value, "list") if {
	is_array(value)
	count([v | some v in value; is_string(v)]) == count(value)
}

# When `left op right` is false, both being of the types the operator takes.
_complement("==", left, right) if left != right

_complement("!=", left, right) if left == right

_complement("<", left, right) if left >= right

_complement("<=", left, right) if left > right

_complement(">", left, right) if left <= right

_complement(">=", left, right) if left < right

_complement("in", left, right) if count([r | some r in right; r == left]) == 0

_complement("not_in", left, right) if left in right

_complement("contains", left, right) if count([x | some x in left; x == right]) == 0

_complement("not_contains", left, right) if right in left

_complement("matches", left, right) if regex.match(right, left) == false

_complement("not_matches", left, right) if regex.match(right, left)
