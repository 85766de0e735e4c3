"""`compaction.yaml` and its record to constants that the guards of compaction look up.

Pure. Decides nothing: digests of what a record must match are computed here, and compared in Rego.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gate.canonical import digest
from gate.compiler.link_compaction import COMPACTION, FORMS, RECORD
from gate.compiler.model import Constant, Module
from gate.documents import Bundle, parse_rfc3339_ms
from gate.documents import pointer_of as pointer
from gate.documents.compaction import CompactionContract, RegisteredRule, rule_digest

COMPONENTS = ("model", "harness", "compactor", "rules", "tools")
"""What a record is about, each by its digest."""

_RULE_DOCUMENTS = ("policy.yaml", "checkpoints.yaml", "approvals.yaml")
# Not reviewers.yaml: a rotated key changes no rule.


def compaction_modules(bundle: Bundle) -> Iterator[Module]:
    """One module when the bundle has a contract, none otherwise."""
    if bundle.compaction is not None:
        yield Module("compaction.rego", "What a compaction must keep", tuple(_constants(bundle, bundle.compaction)))


def component_digests(bundle: Bundle, contract: CompactionContract) -> dict[str, str]:
    """Digest of each of `COMPONENTS` as the bundle states it now."""
    runtime, documents = contract.runtime, bundle.documents
    release = documents[COMPACTION].value["compaction_release"]
    rules: dict[str, Any] = {name: documents[name].value for name in _RULE_DOCUMENTS if name in documents}
    return {
        "model": _named("model", runtime["model"]),
        "harness": _named("harness", runtime["harness"]),
        "compactor": _named(
            "compactor",
            {
                name: runtime[name]
                for name in ("compactor", "compactor_version", "compaction_threshold", "tighter_threshold")
            },
        ),
        "rules": _named(
            "rules", {name: release[name] for name in ("rules", "retention_lanes", "invariants")} | {"enforced": rules}
        ),
        "tools": _named("tools", documents["capabilities.yaml"].value),
    }


def _named(component: str, value: Any) -> str:
    return digest({"domain": "gate-compaction-component/v1", "component": component, "value": value})


def _constants(bundle: Bundle, contract: CompactionContract) -> Iterator[Constant]:
    record = bundle.compaction_record
    rules = contract.rules
    values: Mapping[str, tuple[tuple[str, ...], str, Any]] = {
        "contracted": ((), "A compaction contract binds the agent", True),
        "runtime": (("runtime",), "The runtime it is about", dict(contract.runtime)),
        "digests": (
            ("runtime",),
            "Digests a record must match: model, harness, compactor, rules, tools",
            component_digests(bundle, contract),
        ),
        "raw_session_retained": (
            ("authoritative_state", "raw_session_retained"),
            "The session can be read again",
            contract.authoritative_state["raw_session_retained"],
        ),
        "authorities": (
            ("authoritative_state",),
            "Where the truth is, outside every context",
            {name: contract.authoritative_state[name] for name in ("policy_store", "approval_store", "action_ledger")},
        ),
        "lanes": (
            ("retention_lanes",),
            "The lane of each rule, by its kind and never by its wording",
            {rule_id: rule.lane for rule_id, rule in rules.items()},
        ),
        "required": (
            ("invariants", "required_rule_ids"),
            "Rules that a context must state after a boundary, in one of their wordings",
            [_required(rules[rule_id]) for rule_id in contract.required_rule_ids],
        ),
        "forbidden_states": (
            ("invariants", "forbidden_mid_compaction_states"),
            "States in which the test must have been refused a compaction",
            list(contract.forbidden_states),
        ),
        "fail_closed": (
            ("invariants", "fail_closed_on_missing_rule"),
            "No call runs after a boundary while a required rule is missing",
            contract.fail_closed,
        ),
        "tool_rechecks": (
            ("invariants", "external_tool_rechecks_policy"),
            "Tools are said to verify their calls",
            contract.tool_rechecks,
        ),
        "languages": (
            ("rules",),
            "Languages that the rules are written in",
            sorted({wording.language for rule in rules.values() for wording in rule.wordings}),
        ),
        "forms": (("rules",), "Forms that the rules are written in", sorted(FORMS)),
        "owner": (("decision", "owner"), "Who answers for it", contract.owner),
        # A truth for each word: Rego then tests no absence from a list.
        "expires": (
            ("decision", "expires_on_change"),
            "What makes the record stale when it changes",
            {name: name in contract.expires_on_change for name in COMPONENTS},
        ),
    }
    for key, (field, title, value) in values.items():
        source = f"{COMPACTION}#{pointer('compaction_release', *field)}"
        yield Constant(name="compaction", key=key, value=value, title=title, source=source)
    yield Constant(
        name="compaction",
        key="record",
        value=None if record is None else dict(record.value),
        title="What was measured" if record is not None else "Nothing was measured yet",
        source=f"{COMPACTION}#/compaction_release" if record is None else f"{RECORD}#/compaction_record",
    )


def _required(rule: RegisteredRule) -> dict[str, Any]:
    return {
        "rule_id": rule.rule_id,
        "scope": list(rule.scope),
        "digests": sorted({rule_digest(wording.text) for wording in rule.wordings}),
        "valid_from_ms": None if rule.valid_from is None else parse_rfc3339_ms(rule.valid_from),
        "valid_until_ms": None if rule.valid_until is None else parse_rfc3339_ms(rule.valid_until),
    }
