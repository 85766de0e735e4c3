package system.authz_test

import data.system.authz

_settings := {
	"token_sha256": crypto.sha256("token"),
	"revisions": ["b@2+aa"],
	"follow": false,
	"minimum": {"b": [2, 1]},
}

_served := {"gate": {"manifest": {"revision": "b@2+aa", "metadata": {"versions": {"b": [2, 1]}}}}}

_decision := {"method": "POST", "path": ["v1", "data", "gate", "decision"], "identity": "token"}

_allowed(request, settings, served) if {
	authz.allow with input as request with data.sidecar as settings with data.system.bundles as served
}

test_allow_decision_and_facts if {
	_allowed(_decision, _settings, _served)
	_allowed(object.union(_decision, {"path": ["v1", "data", "gate", "facts", "document"]}), _settings, _served)
}

test_allow_health_and_status_before_anything_is_served if {
	some path in [["health"], ["v1", "status"]]
	_allowed({"method": "GET", "path": path, "identity": "token"}, _settings, {})
}

test_deny_each_field_of_the_request_missing if {
	every field in object.keys(_decision) {
		not _allowed(object.remove(_decision, [field]), _settings, _served)
	}
	not _allowed({}, _settings, _served)
}

test_deny_other_token_method_and_path if {
	every wrong in [
		{"identity": "other"},
		{"identity": 1},
		{"method": "GET"},
		{"method": "PUT"},
		{"path": ["v1", "data"]},
		{"path": ["v1", "data", "gate"]},
		{"path": ["v1", "policies"]},
		{"path": ["v1", "config"]},
		{"path": "v1/data/gate/decision"},
	] {
		not _allowed(object.union(_decision, wrong), _settings, _served)
	}
}

test_deny_each_setting_missing if {
	every field in object.keys(object.remove(_settings, ["follow"])) {
		not _allowed(_decision, object.remove(_settings, [field]), _served)
	}
}

test_deny_settings_of_wrong_type if {
	every wrong in [{"token_sha256": 1}, {"revisions": "b@2+aa"}, {"minimum": 1}, {"minimum": {"b": 2}}, {"minimum": null}] {
		not _allowed(_decision, _merged(_settings, wrong), _served)
	}
}

test_probe_needs_no_token_only_where_diagnostics_are_on if {
	open := _merged(_settings, {"diagnostics": true})
	every path in [["health"], ["metrics"]] {
		_allowed({"method": "GET", "path": path}, open, {})
		not _allowed({"method": "GET", "path": path}, _settings, {})
		not _allowed({"method": "POST", "path": path}, open, {})
		not _allowed({"method": "GET", "path": path}, _merged(_settings, {"diagnostics": "true"}), {})
	}
	not _allowed({"method": "GET", "path": ["v1", "status"]}, open, {})
}

test_deny_other_revision_or_none if {
	not _allowed(_decision, _settings, {})
	not _allowed(_decision, _settings, _manifest({"revision": "b@3+bb"}))
	not _allowed(_decision, _settings, _manifest({"revision": null}))
}

test_follow_accepts_another_revision_of_no_lower_version if {
	following := _merged(_settings, {"follow": true, "revisions": []})
	_allowed(_decision, following, _manifest({"revision": "b@3+bb", "metadata": {"versions": {"b": [3, 1]}}}))
	not _allowed(_decision, following, _manifest({"revision": 3}))
	not _allowed(_decision, _merged(following, {"follow": "true"}), _served)
}

test_deny_below_minimum if {
	following := _merged(_settings, {"follow": true})
	every versions in [{"b": [1, 3, 9, 1]}, {"b": "3"}, {"b": null}, {}, {"other": [3, 1]}] {
		not _allowed(_decision, following, _manifest({"metadata": {"versions": versions}}))
	}
	not _allowed(_decision, following, _manifest({"metadata": {}}))
}

_manifest(change) := {"gate": {"manifest": _merged(_served.gate.manifest, change)}}

# Shallow: what is given replaces the whole value.
_merged(base, change) := object.union(object.remove(base, object.keys(change)), change)
