# METADATA
# title: What may stand in the place of an artifact's item
# description: >-
#   a live item with at least the authority of what it replaces; and in the place of a constraint or of an open issue
#   only what the user's own event, or the verification, says
package gate.longtask.live

import data.gate.finding
import data.gate.longtask.items
import data.gate.longtask.pair

findings contains finding.new("live_item_lowers_authority", "deny", "gate.longtask.live", "", "") if {
	pair.current
	not _authority_held
}

findings contains finding.new("live_item_replaces_constraint", "deny", "gate.longtask.live", "", "") if {
	pair.current
	not _constraints_held
}

findings contains finding.new("live_item_replaces_open_issue", "deny", "gate.longtask.live", "", "") if {
	pair.current
	not _issues_held
}

findings contains finding.new("live_item_origin_unknown", "deny", "gate.longtask.live", "", "") if {
	pair.current
	not _origins_known
}

_lt := input.state.longtask

# Every live item with the artifact's item of its key.
_pairs := [{"live": l, "kept": k} |
	some l in _lt.live
	some k in _lt.artifact.items
	l.key == k.key
]

_identical(pair) if {
	pair.live.kind == pair.kept.kind
	pair.live.authority_rank == pair.kept.authority_rank
	pair.live.trust_rank == pair.kept.trust_rank
	pair.live.content_digest == pair.kept.content_digest
}

_authority_held if {
	is_array(_lt.live)
	is_array(_lt.artifact.items)
	count([p | some p in _pairs; _high_enough(p)]) == count(_pairs)
}

_high_enough(pair) if {
	is_number(pair.live.authority_rank)
	is_number(pair.kept.authority_rank)
	pair.live.authority_rank >= pair.kept.authority_rank
}

_constraints_held if {
	is_array(_lt.live)
	count([p | some p in _pairs; _constraint_held(p)]) == count(_pairs)
}

_constraint_held(pair) if _identical(pair)

_constraint_held(pair) if {
	is_string(pair.kept.group)
	pair.kept.group != "constraints"
}

_constraint_held(pair) if {
	pair.live.origin in {"current_user", "task_contract"}
	pair.live.key in items.updated
}

_issues_held if {
	is_array(_lt.live)
	count([p | some p in _pairs; _issue_held(p)]) == count(_pairs)
}

_issue_held(pair) if _identical(pair)

_issue_held(pair) if {
	is_string(pair.kept.group)
	pair.kept.group != "open_issues"
}

_issue_held(pair) if pair.live.key in items.closed

_origins_known if {
	is_array(_lt.live)
	count([l | some l in _lt.live; l.origin in {"task_contract", "working_set", "current_user"}]) == count(_lt.live)
}
