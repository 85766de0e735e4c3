# METADATA
# title: Names of people
# description: >-
#   two spellings that look alike are one person, so that nobody approves his own call under a second spelling and
#   nobody counts twice. A party named in letters beyond ASCII cannot be told from a look-alike here and is refused;
#   reviewers' names are checked when the bundle is compiled
package gate.approval.names

# METADATA
# title: A name without case, spaces and the letters that look alike
# description: "0 and o, 1, i, | and l, rn and m, vv and w; gate.compiler.names folds in the same way"
folded(name) := replace(replace(_letters(replace(lower(trim_space(name)), " ", "")), "rn", "m"), "vv", "w")

_letters(name) := replace(replace(replace(replace(name, "0", "o"), "1", "l"), "i", "l"), "|", "l")

# METADATA
# title: Everybody for whom, by whom and in whose name the action is asked for is stated
parties_stated if {
	_named(input.state.approval.requested_by)
	_named(input.state.approval.principal_id)
	_named(input.state.approval.agent_id)
	_delegate_stated
}

# METADATA
# title: The parties, folded
parties contains folded(party) if some party in _stated

# METADATA
# title: No party's name has characters in which a look-alike could hide
# description: printable ASCII but the two that an escape needs, since an engine may hold other letters escaped
parties_plain if count(_stated) == count([party | some party in _stated; _plain(party)])

_plain(party) if regex.match(`^[ !#-\[\]-~]*$`, trim_space(party))

_stated contains input.state.approval.requested_by if is_string(input.state.approval.requested_by)

_stated contains input.state.approval.principal_id if is_string(input.state.approval.principal_id)

_stated contains input.state.approval.agent_id if is_string(input.state.approval.agent_id)

_stated contains input.state.run.delegated_principal_id if is_string(input.state.run.delegated_principal_id)

_stated contains input.identity.delegated_principal_id if is_string(input.identity.delegated_principal_id)

_delegate_stated if input.state.run.authorization_mode in {"platform_owned", "human_approved"}

_delegate_stated if {
	input.state.run.authorization_mode == "user_delegated"
	_named(input.state.run.delegated_principal_id)
}

_named(party) if {
	is_string(party)
	trim_space(party) != ""
}
