package gate.completion_test

import data.gate.completion
import data.gate.fixture_test as fixture

test_whole_work_is_not_marked if not _marked(_emitting)

test_each_part_that_is_not_done_is_marked if {
	every name in _parts {
		_marked(fixture.put(_emitting, sprintf("/state/completion/%s", [name]), 1))
	}
}

test_each_missing_or_wrong_part_is_marked if {
	every name in _parts | {"finished"} {
		path := sprintf("/state/completion/%s", [name])
		_marked(fixture.without(_emitting, path))
		_marked(fixture.put(_emitting, path, null))
		_marked(fixture.put(_emitting, path, "0"))
	}
}

test_completion_that_nobody_looked_up_is_marked if {
	_marked(fixture.without(_emitting, "/state/completion"))
	_marked(fixture.put(_emitting, "/state/completion", null))
	_marked({"checkpoint": "output", "operation": "emit"})
}

test_nothing_but_an_answer_is_marked if {
	not _marked({})
	not _marked(object.union(_emitting, {"operation": "notify", "state": {}}))
	not _marked(object.union(_emitting, {"checkpoint": "input", "state": {}}))
}

_parts := {"failed", "unknown", "partial", "in_flight", "waiting", "refused", "narrowed"}

_emitting := {
	"checkpoint": "output",
	"operation": "emit",
	"state": {"completion": object.union({"finished": 2}, {name: 0 | some name in _parts})},
}

_marked(doc) if completion.partial with input as doc
