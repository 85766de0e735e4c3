# METADATA
# title: Whether an artifact says what its sources say
# description: >-
#   nothing required is left out, nothing is said with more authority or trust than it had, no constraint and no open
#   issue goes without the event that justifies it, and no secret is carried on
package gate.longtask.items

import data.gate.finding
import data.gate.longtask.section

findings contains finding.new("missing_required_carry_items", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _required_kept
}

findings contains finding.new("constraint_dropped", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _constraints_kept
}

findings contains finding.new("open_issue_closed_without_verification", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _issues_kept
}

findings contains finding.new("authority_raised", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _authority_kept
}

findings contains finding.new("item_rewritten", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _words_kept
}

findings contains finding.new("constraint_overridden", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _constraints_ruled
}

findings contains finding.new("artifact_drifted", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _undrifted
}

findings contains finding.new("artifact_provenance_missing", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _sourced
}

findings contains finding.new("secret_in_artifact", "deny", "gate.longtask.items", "", "") if {
	section.committing
	not _no_secret
}

# METADATA
# title: Open issues that a verification closed
# description: it names its command and its workspace, ended with success, and ran in the workspace of now
closed contains v.key if {
	some v in _lt.verifications
	is_string(v.key)
	is_string(v.event_id)
	is_string(v.command)
	trim_space(v.command) != ""
	v.result == "passed"
	v.exit_status == 0
	is_string(v.workspace_digest)
	v.workspace_digest == _lt.workspace_digest
}

# METADATA
# title: Keys that the user's own words changed
# scope: document
updated contains key if {
	some key in _lt.user_updates
	is_string(key)
}

_lt := input.state.longtask

_items := _lt.artifact.items

_required_kept if {
	is_array(_lt.seed.required_keys)
	count([k | some k in _lt.seed.required_keys; k in (_keys | closed)]) == count(_lt.seed.required_keys)
	_parents_required_kept
}

_parents_required_kept if is_null(_lt.parent)

_parents_required_kept if {
	is_array(_lt.parent.items)
	owed := [i | some i in _lt.parent.items; i.required == true]
	count([i | some i in owed; i.key in ((_keys | closed) | updated)]) == count(owed)
}

_constraints_kept if is_null(_lt.parent)

_constraints_kept if {
	is_array(_lt.parent.items)
	owed := [i | some i in _lt.parent.items; i.group == "constraints"]
	count([i | some i in owed; i.key in (_grouped.constraints | updated)]) == count(owed)
}

# The latest word on a constraint is that of whoever may give it: not a later text under the same key.
_constraints_ruled if {
	is_array(_lt.said)
	count([i | some i in _lt.said; _ruled(i)]) == count(_lt.said)
}

_ruled(item) if item.group != "constraints"

_ruled(item) if {
	is_number(item.authority_rank)
	item.authority_rank == item.highest_authority_rank
}

_ruled(item) if item.key in updated

# What was left out or worded otherwise has rules of its own.
_undrifted if {
	is_array(_lt.drifts)
	count([d | some d in _lt.drifts; d.kind in {"deletion", "rewriting"}]) == count(_lt.drifts)
}

# Every issue that the parent or the log left open is open still, or was closed by what may close it.
_issues_kept if {
	is_array(_lt.said)
	is_array(_lt.verifications)
	_parents_issues_kept
	owed := [i | some i in _lt.said; i.group == "open_issues"]
	count([i | some i in owed; i.key in (_grouped.open_issues | closed)]) == count(owed)
}

_parents_issues_kept if is_null(_lt.parent)

_parents_issues_kept if {
	is_array(_lt.parent.items)
	owed := [i | some i in _lt.parent.items; i.group == "open_issues"]
	count([i | some i in owed; i.key in (_grouped.open_issues | closed)]) == count(owed)
}

_authority_kept if {
	is_array(_items)
	count([i | some i in _items; _no_more_than_said(i)]) == count(_items)
}

_no_more_than_said(item) if {
	source := _said[item.key]
	is_number(item.authority_rank)
	is_number(item.trust_rank)
	is_number(source.authority_rank)
	is_number(source.trust_rank)
	item.authority_rank <= source.authority_rank
	item.trust_rank <= source.trust_rank
	item.kind == source.kind
}

# What comes next is the compactor's own word, without any authority.
_no_more_than_said(item) if {
	item.group == "next_intent"
	item.authority_rank == 0
	item.kind == "task"
}

_words_kept if {
	is_array(_items)
	count([i | some i in _items; _same_words(i)]) == count(_items)
}

_same_words(item) if {
	is_string(item.content_digest)
	item.content_digest == _said[item.key].content_digest
}

# How a decision or the next step is worded binds nobody, unless something rests on it.
_same_words(item) if {
	item.group in {"next_intent", "decisions"}
	item.required == false
	is_string(item.content_digest)
}

_sourced if {
	is_array(_items)
	count([i | some i in _items; i.sourced == true]) == count(_items)
}

_no_secret if {
	is_array(_items)
	count([i | some i in _items; i.secret == false]) == count(_items)
}

_keys contains item.key if some item in _items

_grouped := {group: {i.key | some i in _items; i.group == group} |
	some group in ["constraints", "open_issues"]
}

# The log's word counts over the parent's, which may be older.
_said[key] := item if {
	some item in _lt.said
	key := item.key
}
