"""From a document that passed its schema to the typed model: one function a document.

Pure. Raises `BundleError` only for what a schema cannot say about one value: a timestamp that does not exist,
a key that is never good. Whether values agree with each other must not be checked here but by the linker.
"""

from __future__ import annotations

import base64
from typing import Any

from gate.documents import governance
from gate.documents import limits as limits_of
from gate.documents.document import Document, pointer_of
from gate.documents.models import (
    ApprovalContract,
    BundleMeta,
    Capability,
    CapabilityPolicy,
    EscalationTerms,
    EvidenceContract,
    PolicyDocument,
    Reviewer,
    ReviewerKey,
    StandingTerms,
)
from gate.documents.timestamps import parse_rfc3339_ms
from gate.documents.wording import quoted
from gate.errors import BundleError, InputError, Problem


def bundle_meta(document: Document) -> BundleMeta:
    """The envelope that `bundle.yaml` states."""
    bundle = document.value["bundle"]
    shown = bundle.get("redaction_policy", {}).get("show_arguments", {})
    return BundleMeta(
        bundle_id=bundle["bundle_id"],
        version=bundle["version"],
        owner_team=bundle["owner_team"],
        agent_ids=tuple(bundle["applies_to"]["agent_ids"]),
        artifacts=tuple(bundle["artifacts"]),
        contract_version=bundle["contract_version"],
        release_identity=bundle["release_identity"],
        show_arguments={name: tuple(pointers) for name, pointers in shown.items()},
        change_id=bundle.get("change_id"),
        lineage=governance.lineage(document),
        deprecated_rules=tuple(bundle.get("deprecated_rules", ())),
    )


def policy(document: Document) -> PolicyDocument:
    """The rules that `policy.yaml` states."""
    root = document.value["policy"]
    return PolicyDocument(
        require_tenant=root["run_precheck"]["require_tenant"],
        deny_if_principal_missing=root["run_precheck"]["deny_if_principal_missing"],
        operations=dict(root["operations"]),
        capabilities={
            name: CapabilityPolicy(
                name=name, decision=entry["decision"], approver=entry.get("approver"), when=entry.get("when")
            )
            for name, entry in root["capabilities"].items()
        },
        allow_kinds=tuple(root.get("memory_write", {}).get("allow_kinds", ())),
        allow_network_access=tuple(root["execution"]["allow_network_access"]),
        limits=limits_of.limits(root),
        run_budget=limits_of.run_budget(root),
        evidence={name: _evidence(name, entry) for name, entry in root.get("evidence", {}).items()},
    )


def _evidence(section: str, entry: dict[str, Any]) -> EvidenceContract:
    return EvidenceContract(
        section=section,
        max_age_seconds=entry["max_age_seconds"],
        checked_by=tuple(entry["checked_by"]) if "checked_by" in entry else None,
        signature_keys=dict(entry["signature_keys"]) if "signature_keys" in entry else None,
        required_for=tuple(entry.get("required_for", ())),
    )


def capabilities(document: Document) -> dict[str, Capability]:
    """The catalog that `capabilities.yaml` states, by name, in its order."""
    return {name: _capability(name, spec) for name, spec in document.value["capabilities"].items()}


def _capability(name: str, spec: dict[str, Any]) -> Capability:
    return Capability(
        name=name,
        owner=spec["owner"],
        mode=spec["mode"],
        side_effect=spec["side_effect"],
        transport=spec["transport"],
        server=spec.get("server"),
        tool_principal=spec["tool_principal"],
        risk_tier=spec["risk_tier"],
        network_access=spec["network_access"],
        allowed_egress=tuple(spec.get("allowed_egress", ())),
        timeout_seconds=spec["timeout_seconds"],
        approval=spec["approval"],
        # Left out means the stricter value.
        idempotency_key_required=spec.get("idempotency_key_required", spec["mode"] == "write"),
        identifying_arguments=tuple(spec.get("identifying_arguments", ())),
        arguments=spec["arguments"],
        spec=spec,
    )


def contracts(document: Document) -> tuple[ApprovalContract, ...]:
    """The contracts that `approvals.yaml` states, in its order, with what its `approvals` says for all of them.

    Raises `BundleError` when a contract leaves out what no default gives.
    """
    defaults = governance.approval_policy(document)
    entries = document.value["approval_contracts"]
    problems = [p for index, entry in enumerate(entries) for p in _undefaulted(document, index, entry, defaults)]
    if problems:
        raise BundleError(problems)
    return tuple(_contract(entry, defaults) for entry in entries)


def _undefaulted(
    document: Document, index: int, entry: dict[str, Any], defaults: governance.ApprovalPolicy | None
) -> list[Problem]:
    if defaults is not None:
        return []
    here: tuple[str | int, ...] = ("approval_contracts", index)
    wanted = (
        ("required_reviewers", entry, here, "default_reviewer"),
        ("max_wait_seconds", entry["runtime_controls"], (*here, "runtime_controls"), "escalation_sla_minutes"),
    )
    problems = [
        document.problem(
            pointer_of(*at),
            "missing_key",
            f"approvals.{default} is required",
            f"contract {quoted(entry['contract_id'])} states no `{name}` and no default gives one",
            key=True,
        )
        for name, stated, at, default in wanted
        # A standing approval says itself how long it lives.
        if name not in stated and not (name == "max_wait_seconds" and "standing" in entry)
    ]
    if entry["runtime_controls"].get("escalation", "none") != "none":
        problems.append(
            document.problem(
                pointer_of(*here, "runtime_controls", "escalation"),
                "missing_key",
                "approvals.default_reviewer is required",
                f"contract {quoted(entry['contract_id'])} escalates to nobody and at no time",
            )
        )
    return problems


def _contract(entry: dict[str, Any], defaults: governance.ApprovalPolicy | None) -> ApprovalContract:
    runtime = entry["runtime_controls"]
    role, wait = (None, None) if defaults is None else (defaults.default_reviewer, defaults.max_wait_seconds)
    roles, all_roles = tuple(entry.get("required_reviewers", (role,))), entry.get("all_roles", False)
    withdrawal, standing = entry.get("withdrawal", {}), _standing(entry.get("standing"))
    return ApprovalContract(
        contract_id=entry["contract_id"],
        capability=entry["capability"],
        risk_tier=entry["risk_tier"],
        bundle_version=entry["bundle_version"],
        release_identity=entry["release_identity"],
        required_reviewers=roles,
        quorum=entry.get("quorum", len(roles) if all_roles else 1),
        request_fields=tuple(entry["request_fields"]),
        allowed_decisions=tuple(entry["allowed_decisions"]),
        pause_allowed=runtime["pause_allowed"],
        max_wait_seconds=runtime.get("max_wait_seconds", wait) if standing is None else standing.valid_seconds,
        on_expiry=runtime["on_expiry"],
        on_reject=entry["on_reject"],
        audit_fields=tuple(entry.get("audit_fields", ())),
        all_roles=all_roles,
        delegation=entry.get("delegation", False),
        withdrawal_roles=tuple(withdrawal["roles"]) if "roles" in withdrawal else None,
        requester_may_cancel=withdrawal.get("requester_may_cancel", False),
        while_pending=runtime.get("while_pending", "keep_running"),
        escalation=_escalation(runtime.get("escalation", "none"), defaults),
        standing=standing,
    )


def _escalation(word: str, defaults: governance.ApprovalPolicy | None) -> EscalationTerms | None:
    if word == "none" or defaults is None:
        return None
    return EscalationTerms(role=defaults.default_reviewer, after_ms=defaults.max_wait_seconds * 1000)


def _standing(entry: dict[str, Any] | None) -> StandingTerms | None:
    if entry is None:
        return None
    return StandingTerms(
        max_uses=entry["max_uses"],
        valid_seconds=entry["valid_seconds"],
        scope=entry["scope"],
        free_arguments=tuple(entry.get("free_arguments", ())),
    )


def reviewers(document: Document) -> tuple[Reviewer, ...]:
    """The reviewers that `reviewers.yaml` states, in its order.

    Raises `BundleError` for a public key in other base64 than an encoder writes (one key must not have two
    spellings), a timestamp that does not exist, and a key that is never good.
    """
    entries = document.value["reviewers"]
    problems: list[Problem] = []
    people: list[Reviewer] = []
    for index, entry in enumerate(entries):
        keys: list[ReviewerKey] = []
        for number, key in enumerate(entry["keys"]):
            made = _key(document, key, ("reviewers", index, "keys", number), problems)
            if made is not None:
                keys.append(made)
        person = Reviewer(id=entry["id"], human=entry["human"], roles=tuple(entry["roles"]), keys=tuple(keys))
        people.append(person)
    if problems:
        raise BundleError(problems)
    return tuple(people)


def _key(
    document: Document, key: dict[str, Any], at: tuple[str | int, ...], problems: list[Problem]
) -> ReviewerKey | None:
    if base64.b64encode(base64.b64decode(key["public_key"])).decode("ascii") != key["public_key"]:
        message = f"{quoted(key['public_key'])} is not base64 as an encoder writes it"
        problems.append(document.problem(pointer_of(*at, "public_key"), "key_malformed", message))
    times: list[int] = []
    for name in ("not_before", "not_after"):
        try:
            times.append(parse_rfc3339_ms(key[name]))
        except InputError as exc:
            message = f"{quoted(name)} is {quoted(key[name])}: {exc.message}"
            problems.append(document.problem(pointer_of(*at, name), exc.code, message, exc.hint))
    if len(times) < 2:
        return None
    if times[0] >= times[1]:
        message = f"key {quoted(key['key_id'])} is never good: `not_after` is not after `not_before`"
        problems.append(document.problem(pointer_of(*at, "not_after"), "key_never_valid", message))
    return ReviewerKey(
        key_id=key["key_id"],
        public_key=key["public_key"],
        not_before=key["not_before"],
        not_after=key["not_after"],
        not_before_ms=times[0],
        not_after_ms=times[1],
    )
