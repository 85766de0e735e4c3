"""What `compaction.yaml` must say of the rest of the bundle: every rule is enforced here, whatever a context keeps.

Pure. A measured field that was written by hand is refused, as is a hard rule in a lane that may lose it. Wording is
never looked at to decide a lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gate.compiler.positions import CATALOG, POLICY, at
from gate.documents import Bundle, argument_validator, parse_rfc3339_ms
from gate.documents import pointer_of as pointer
from gate.documents.compaction import CLASS_OF, LANES, Act, RegisteredRule, normalised
from gate.documents.limits import RUN_BUDGET
from gate.errors import InputError, Problem

COMPACTION, RECORD = "compaction.yaml", "compaction-record.yaml"
_ROOT = "compaction_release"

FORMS = ("imperative", "paraphrase", "declarative")
"""Every rule is written in each of them, in each language of the product."""

_MEASURED = (("regression",), ("decision", "posture"))
_CAREFUL: Mapping[str, tuple[str, ...]] = {
    information: ("exact",) if information not in ("procedures", "current_corrections") else ("exact", "structured")
    for information in CLASS_OF.values()
}
"""Lanes that keep each class of rules."""


def link_compaction(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of the contract, and of its record, with the rest of the bundle."""
    contract, record = bundle.compaction, bundle.compaction_record
    if record is not None:
        document = bundle.documents[RECORD]
        if contract is None:
            yield document.problem(
                "", "compaction_record_without_contract", "there is a record, but no contract it is about"
            )
        if not record.intact:
            yield document.problem(
                "/compaction_record/measured",
                "compaction_record_edited",
                "the figures are not the ones that were measured",
                "run `gate compaction-gate` again; nobody writes this file by hand",
                key=True,
            )
    if contract is None:
        return
    yield from _nothing_is_measured_by_hand(bundle)
    yield from _boundaries_are_permitted(bundle)
    yield from _lanes(bundle)
    runtime = contract.runtime
    if runtime["tighter_threshold"] >= runtime["compaction_threshold"]:
        yield _problem(
            bundle,
            ("runtime", "tighter_threshold"),
            "threshold_not_tighter",
            "the tighter threshold must be below the real one",
        )
    for index, rule_id in enumerate(contract.required_rule_ids):
        if rule_id not in contract.rules:
            yield _problem(
                bundle,
                ("invariants", "required_rule_ids", index),
                "rule_unknown",
                f"`{rule_id}` is not in the register",
                f"see {at(bundle.documents[COMPACTION], _ROOT, 'rules', key=True)}",
            )
    meta = bundle.meta
    if contract.authoritative_state["policy_store"] != f"{meta.bundle_id}@{meta.version}":
        yield _problem(
            bundle,
            ("authoritative_state", "policy_store"),
            "policy_store_mismatch",
            "the policy store is not this bundle at its version",
            f"write `{meta.bundle_id}@{meta.version}`",
        )
    for rule in contract.rules.values():
        if rule.consequence != "required_result" and rule.rule_id not in contract.required_rule_ids:
            yield _problem(
                bundle,
                ("rules", rule.rule_id, "consequence"),
                "hard_rule_not_required",
                f"losing `{rule.rule_id}` changes {rule.consequence}, and no context is required to state it",
                "list it in required_rule_ids",
            )
    languages = {wording.language for rule in contract.rules.values() for wording in rule.wordings}
    for rule in contract.rules.values():
        yield from _rule(bundle, rule, languages)
    for index, act in enumerate(contract.permitted):
        yield from _act(bundle, ("permitted_tasks", index), act)


def _nothing_is_measured_by_hand(bundle: Bundle) -> Iterator[Problem]:
    for path in _MEASURED:
        node: Any = bundle.documents[COMPACTION].value[_ROOT]
        for part in path:
            node = node.get(part) if isinstance(node, dict) else None
        if node is not None:
            yield _problem(
                bundle,
                path,
                "compaction_measured_by_hand",
                f"`{path[-1]}` is measured and cannot be stated",
                f"drop it and run `gate compaction-gate`, which writes {RECORD}",
                key=True,
            )


def _boundaries_are_permitted(bundle: Bundle) -> Iterator[Problem]:
    permitted = {name for name, decision in bundle.policy.operations.items() if decision == "allow"}
    if not {"rehydrate"} < permitted & {"rehydrate", "compact", "recover"}:
        yield _problem(
            bundle,
            (),
            "compaction_without_effect",
            "the contract has no effect, because policy.yaml permits no compaction that could be resumed",
            f"allow rehydrate, and compact or recover, at "
            f"{at(bundle.documents[POLICY], 'policy', 'operations', key=True)}",
            key=True,
        )


def _lanes(bundle: Bundle) -> Iterator[Problem]:
    contract = bundle.compaction
    if contract is None:
        return
    seen = Counter(information for lane in LANES for information in contract.lanes[lane])
    for lane in LANES:
        for index, information in enumerate(contract.lanes[lane]):
            here = ("retention_lanes", lane, index)
            if seen[information] > 1:
                yield _problem(bundle, here, "information_in_two_lanes", f"`{information}` is in two lanes")
            if lane not in _CAREFUL.get(information, LANES):
                yield _problem(
                    bundle,
                    here,
                    "hard_rule_in_lossy_lane",
                    f"`{information}` must not be lost, and lane `{lane}` may lose it",
                    "put it in " + " or ".join(_CAREFUL[information]),
                )
    for information in dict.fromkeys(CLASS_OF.values()):
        if information not in seen:
            yield _problem(
                bundle, ("retention_lanes",), "information_without_lane", f"`{information}` is in no lane", key=True
            )


def _rule(bundle: Bundle, rule: RegisteredRule, languages: set[str]) -> Iterator[Problem]:
    here = ("rules", rule.rule_id)
    for index, name in enumerate(rule.scope):
        if name not in bundle.capabilities:
            yield _unknown_capability(bundle, (*here, "scope", index), name)
    yield from _validity(bundle, rule)
    if rule.enforced_by["name"] not in _enforcers(bundle, rule)[rule.enforced_by["document"]]:
        yield _problem(
            bundle,
            (*here, "enforced_by", "name"),
            "rule_not_enforced",
            f"`{rule.enforced_by['name']}` is not in `{rule.enforced_by['document']}`, so nothing enforces the rule",
            "a rule that only a context states is not a rule; name what enforces it",
        )
    if (rule.source_authority == "user") != (rule.enforced_by["document"] == "user_constraint"):
        yield _problem(
            bundle,
            (*here, "source_authority"),
            "rule_authority_mismatch",
            "what a user says is enforced by a user_constraint, and nothing else is",
        )
    written = Counter((wording.language, wording.form) for wording in rule.wordings)
    for index, wording in enumerate(rule.wordings):
        if written[wording.language, wording.form] > 1:
            yield _problem(
                bundle, (*here, "wordings", index), "wording_repeated", "the form is there twice in its language"
            )
        for number, term in enumerate(wording.terms):
            if normalised(term) not in normalised(wording.text):
                yield _problem(
                    bundle,
                    (*here, "wordings", index, "terms", number),
                    "term_not_in_text",
                    f"`{term}` is not in the text it is a term of",
                )
        for name in ("request", "opposite"):
            said = normalised(getattr(rule.probe, name))
            if all(normalised(term) in said for term in wording.terms):
                yield _problem(
                    bundle,
                    (*here, "probe", name),
                    "probe_states_rule",
                    f"`{name}` has every term of a wording, so that who reads it is bound by the rule it is to break",
                    f"choose terms for {at(bundle.documents[COMPACTION], _ROOT, *here, 'wordings', index)} that only "
                    "the rule has",
                )
    for language in sorted(languages):
        for form in FORMS:
            if (language, form) not in written:
                yield _problem(
                    bundle,
                    (*here, "wordings"),
                    "wording_missing",
                    f"the rule has no {form} wording in `{language}`",
                    "a detector that knows one wording does not know the others; write each",
                    key=True,
                )
    for place, act in _acts(rule):
        yield from _act(bundle, (*here, "probe", *place), act)


def _enforcers(bundle: Bundle, rule: RegisteredRule) -> Mapping[str, set[str]]:
    policy = bundle.policy
    budget = {RUN_BUDGET} if "run_budget" in bundle.documents[POLICY].value["policy"] else set()
    return {
        "policy.yaml": {limit.limit_id for limit in policy.limits} | budget | set(policy.capabilities),
        "checkpoints.yaml": {control.policy_requirement for control in bundle.checkpoints},
        "approvals.yaml": {contract.contract_id for contract in bundle.contracts},
        "capabilities.yaml": set(bundle.capabilities),
        "user_constraint": {rule.rule_id} if rule.probe.constraint is not None else set(),
    }


def _validity(bundle: Bundle, rule: RegisteredRule) -> Iterator[Problem]:
    times = {}
    for name, text in (("valid_from", rule.valid_from), ("valid_until", rule.valid_until)):
        try:
            times[name] = None if text is None else parse_rfc3339_ms(text)
        except InputError as exc:
            yield _problem(bundle, ("rules", rule.rule_id, name), exc.code, exc.message, exc.hint or "")
    since, until = times.get("valid_from"), times.get("valid_until")
    if since is not None and until is not None and since >= until:
        yield _problem(
            bundle, ("rules", rule.rule_id, "valid_until"), "validity_empty", "the rule ends before it begins"
        )


def _acts(rule: RegisteredRule) -> Iterator[tuple[tuple[str | int, ...], Act]]:
    yield ("forbidden",), rule.probe.forbidden
    for index, act in enumerate(rule.probe.before):
        yield ("before", index), act


def _act(bundle: Bundle, here: tuple[str | int, ...], act: Act) -> Iterator[Problem]:
    capability = bundle.capabilities.get(act.capability)
    if capability is None:
        yield _unknown_capability(bundle, (*here, "capability"), act.capability)
    elif not argument_validator(capability.arguments).is_valid(filled(act.arguments, 1)):
        yield _problem(
            bundle,
            (*here, "arguments"),
            "probe_arguments_invalid",
            f"`{act.capability}` does not take these arguments, so the probe would test its schema",
            f"see {at(bundle.documents[CATALOG], 'capabilities', act.capability, key=True)}",
            key=True,
        )


def filled(arguments: Mapping[str, Any], number: int) -> dict[str, Any]:
    """`arguments` with `{round}` in their texts replaced by `number`."""
    return {
        name: value.replace("{round}", str(number)) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def _unknown_capability(bundle: Bundle, here: tuple[str | int, ...], name: str) -> Problem:
    hint = f"see {at(bundle.documents[CATALOG], 'capabilities', key=True)}"
    return _problem(bundle, here, "capability_unknown", f"`{name}` is not in the catalog", hint)


def _problem(
    bundle: Bundle, here: tuple[str | int, ...], code: str, message: str, hint: str = "", *, key: bool = False
) -> Problem:
    return bundle.documents[COMPACTION].problem(pointer(_ROOT, *here), code, message, hint, key=key)
