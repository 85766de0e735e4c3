# METADATA
# title: Completion of a run
# description: >-
#   an answer leaves as a part of the work unless the records say that nothing of it failed, waits or is unknown
package gate.completion

# METADATA
# title: An answer that must be marked as a part of the work
partial if {
	input.checkpoint == "output"
	input.operation == "emit"
	not _whole
}

_whole if {
	is_number(input.state.completion.finished)
	input.state.completion.failed == 0
	input.state.completion.unknown == 0
	input.state.completion.partial == 0
	input.state.completion.in_flight == 0
	input.state.completion.waiting == 0
	input.state.completion.refused == 0
	input.state.completion.narrowed == 0
}
