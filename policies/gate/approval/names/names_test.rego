package gate.approval.names_test

import data.gate.approval.names
import data.gate.fixture_test as fixture

# B15: a second spelling, or one that looks alike, is the same person.
test_folded_spellings_of_one_name_are_one if _spellings == {"allce@example.com"}

_spellings := {names.folded(name) |
	some name in [
		"Alice@example.com", "alice@example.com", " ALICE@EXAMPLE.COM\n", "A1ice@example.com", "aIice@example.com",
		"al|ce@example.com", "alice @ example.com",
	]
}

test_folded_letters_that_look_like_two if {
	names.folded("Martin Vogel") == names.folded("rnartin vogel")
	names.folded("Owen") == names.folded("0vven")
}

test_folded_keeps_different_names_apart if names.folded("Mira Okafor") != names.folded("Mora Okafor")

test_parties_plain_of_a_sound_document if _plain(fixture.ticket)

# A Cyrillic letter looks like a Latin one; a quote or backslash could stand for any letter in an escape.
test_parties_not_plain_with_letters_beyond_ascii if _misses == set()

_misses := {[path, name] |
	some path in [
		"/state/approval/requested_by", "/state/approval/principal_id", "/state/approval/agent_id",
		"/state/run/delegated_principal_id", "/identity/delegated_principal_id",
	]
	some name in ["\u0430lice@example.com", "al\u0456ce", "alice\u200b", "a\"b", "a\\u0430", "caf\u00e9"]
	_plain(fixture.put(fixture.ticket, path, name))
}

test_parties_plain_of_nobody if _plain({})

test_parties_stated_of_a_sound_document if _stated(fixture.ticket)

test_parties_unstated_of_an_empty_document if not _stated({})

test_parties_unstated_when_one_is_broken if _misses_of_stated == set()

_misses_of_stated := {[path, what] |
	some path in [
		"/state/approval/requested_by", "/state/approval/principal_id", "/state/approval/agent_id",
		"/state/run/delegated_principal_id", "/state/run/authorization_mode",
	]
	some what, doc in fixture.broken(fixture.ticket, path, fixture.no_text)
	_stated(doc)
}

test_parties_are_folded if _parties(fixture.ticket) == {names.folded("user-42"), names.folded("triage-agent")}

_plain(doc) if names.parties_plain with input as doc

_stated(doc) if names.parties_stated with input as doc

_parties(doc) := set_of if set_of := names.parties with input as doc
