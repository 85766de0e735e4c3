"""Third pass: a linked bundle to modules. Every YAML value that binds becomes a rule or a constant, in YAML's order.

Pure. Decides nothing: what the documents leave out is left to the core policies, whose answer is the stricter one.
Digests of catalog entries, argument schemas and contracts are computed here: Rego and the gate compare the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.canonical import digest
from gate.compiler.literal import package_name
from gate.compiler.lower_compaction import compaction_modules
from gate.compiler.lower_continuity import continuity_modules
from gate.compiler.lower_contracts import contract_entry
from gate.compiler.lower_controls import LoweredPredicates, lower_predicates
from gate.compiler.lower_governance import envelope_extras, governance_modules
from gate.compiler.lower_limits import counted_by, lower_limits
from gate.compiler.lower_runtime_controls import lower_runtime_controls
from gate.compiler.lower_trajectory import history_modules
from gate.compiler.model import (
    CHECKPOINTS,
    CompiledBundle,
    Constant,
    Equals,
    FindingRule,
    Holds,
    Item,
    Module,
    NotHolds,
    StatedRule,
)
from gate.compiler.positions import APPROVALS, BUNDLE, CATALOG, POLICY, REVIEWERS
from gate.documents import Bundle, Capability, Reviewer
from gate.documents import pointer_of as pointer

MAX_RULES_PER_FILE = 250
"""`opa check` is quadratic in the annotations of one file."""

_CHECKPOINT_OF = {operation: checkpoint for checkpoint, operations in CHECKPOINTS.items() for operation in operations}

# decision in policy.yaml -> code, verdict, rule id. The ids are those of the reference runtime; `approval_required`
# permits, and the approval guard adds the requirement.
_DECISIONS = {
    "allow": ("configured_allow", "allow", "cap_110"),
    "approval_required": ("configured_with_approval", "allow", "cap_210"),
    "deny": ("configured_deny", "deny", "cap_410"),
}


def lower(bundle: Bundle) -> CompiledBundle:
    """The modules of `bundle`, which `gate.compiler.link` has passed."""
    predicates = lower_predicates(bundle)
    modules = [
        Module("bundle.rego", f"Bundle {bundle.meta.bundle_id}", tuple(_envelope(bundle)), documents_package=True),
        *_split("policy.rego", "Policy", list(_policy(bundle, predicates))),
        *_split("catalog.rego", "Capability catalog", list(_catalog(bundle))),
    ]
    if bundle.contracts:
        modules += _split("approvals.rego", "Approval contracts", list(_contracts(bundle)))
    modules += governance_modules(bundle)
    if bundle.reviewers:
        modules += _split("reviewers.rego", "Reviewers and their public keys", list(_reviewers(bundle)))
    if predicates.controls:
        modules += _split("checkpoints.rego", "Control checkpoints", list(predicates.controls))
    if predicates.operands:
        modules += _split("operands.rego", "Values the predicates look at", list(predicates.operands))
    if limits := list(lower_limits(bundle)):
        modules += _split("limits.rego", "Limits and budgets", limits)
    if bundle.runtime_controls is not None:
        modules += _split("runtime_controls.rego", "Runtime controls", list(lower_runtime_controls(bundle)))
    modules += continuity_modules(bundle)
    modules += history_modules(bundle)
    modules += compaction_modules(bundle)
    return CompiledBundle(package=package_name(bundle.name), modules=tuple(modules))


def _split(file: str, title: str, items: list[Item]) -> list[Module]:
    if len(items) <= MAX_RULES_PER_FILE:
        return [Module(file, title, tuple(items))]
    stem = file.removesuffix(".rego")
    chunks = [items[i : i + MAX_RULES_PER_FILE] for i in range(0, len(items), MAX_RULES_PER_FILE)]
    return [
        Module(f"{stem}_{number:03}.rego", f"{title}, part {number}", tuple(chunk))
        for number, chunk in enumerate(chunks, start=1)
    ]


def _source(file: str, *parts: str | int) -> str:
    return f"{file}#{pointer(*parts)}"


def _envelope(bundle: Bundle) -> Iterator[Item]:
    meta = bundle.meta
    yield Constant(
        name="bundle",
        value={
            "bundle_id": meta.bundle_id,
            "version": meta.version,
            "owner_team": meta.owner_team,
            "contract_version": meta.contract_version,
            "release_identity": meta.release_identity,
            "allow_network_access": list(bundle.policy.allow_network_access),
            "memory_kinds": list(bundle.policy.allow_kinds),
            "show_arguments": {name: list(shown) for name, shown in meta.show_arguments.items()},
            **envelope_extras(bundle),
        },
        title="Envelope of the bundle",
        source=_source(BUNDLE, "bundle"),
    )


def _policy(bundle: Bundle, predicates: LoweredPredicates) -> Iterator[Item]:
    yield from _precheck(bundle)
    for operation, decision in bundle.policy.operations.items():
        yield FindingRule(
            title=f"{decision} {operation}",
            code="operation_allowed" if decision == "allow" else "operation_denied",
            verdict=decision,
            rule_id=f"op.{operation}",
            requirement=f"operations.{operation}",
            source=_source(POLICY, "policy", "operations", operation),
            conditions=(
                Equals(("checkpoint",), _CHECKPOINT_OF[operation]),
                Equals(("operation",), operation),
            ),
        )
    for name, entry in bundle.policy.capabilities.items():
        code, verdict, rule_id = _DECISIONS[entry.decision]
        source = _source(POLICY, "policy", "capabilities", name)
        yield FindingRule(
            title=f"{entry.decision} {name}",
            code=code,
            verdict=verdict,
            rule_id=rule_id,
            requirement=f"capabilities.{name}",
            source=source,
            conditions=(
                Equals(("checkpoint",), "tool_execution"),
                Equals(("operation",), "call_tool"),
                Equals(("request", "capability"), name),
                *((Holds(predicates.when[name]),) if name in predicates.when else ()),
            ),
        )
        yield from predicates.when_rules.get(name, ())
        if name in predicates.when and bundle.policy.operations.get("resume_tool") == "allow":
            # That permits a resume of any capability; this one's condition holds there too.
            yield FindingRule(
                title=f"resume {name} only when its condition holds",
                code="when_not_met",
                verdict="deny",
                rule_id=rule_id,
                requirement=f"capabilities.{name}.when",
                source=f"{source}/when",
                conditions=(
                    Equals(("checkpoint",), "tool_execution"),
                    Equals(("operation",), "resume_tool"),
                    Equals(("request", "capability"), name),
                    NotHolds(predicates.when[name]),
                ),
            )
        if name in bundle.capabilities:
            yield Constant("decisions", entry.decision, f"What the policy says of {name}", source, key=name)
        else:
            yield Constant("refused", True, f"{name} is refused without being in the catalog", source, key=name)
    yield from _evidence(bundle)


def _evidence(bundle: Bundle) -> Iterator[Item]:
    for section, contract in bundle.policy.evidence.items():
        yield Constant(
            name="evidence_controls",
            key=section,
            # Every field is there, null when nothing is asked: what is absent in Rego is never taken for that.
            value={
                "max_age_ms": contract.max_age_seconds * 1000,
                "checked_by": None if contract.checked_by is None else list(contract.checked_by),
                "signature_keys": None if contract.signature_keys is None else dict(contract.signature_keys),
                "required_for": list(contract.required_for),
            },
            title=f"When evidence.{section} counts",
            source=_source(POLICY, "policy", "evidence", section),
        )


def _precheck(bundle: Bundle) -> Iterator[Item]:
    checks = (
        (bundle.policy.require_tenant, "require_tenant", "tenant_missing", "run_001", "tenant_id"),
        (
            bundle.policy.deny_if_principal_missing,
            "deny_if_principal_missing",
            "principal_missing",
            "run_002",
            "principal_id",
        ),
    )
    for wanted, key, code, rule_id, field in checks:
        if wanted:
            yield FindingRule(
                title=key,
                code=code,
                verdict="deny",
                rule_id=rule_id,
                requirement=f"run_precheck.{key}",
                source=_source(POLICY, "policy", "run_precheck", key),
                conditions=(NotHolds(f"{field}_stated"),),
            )
            yield StatedRule(f"{field}_stated", ("identity", field))


def _catalog(bundle: Bundle) -> Iterator[Item]:
    for name, capability in bundle.capabilities.items():
        yield Constant(
            name="catalog",
            key=name,
            value={**_catalog_entry(capability), **counted_by(bundle, name)},
            title=f"Capability {name}",
            source=_source(CATALOG, "capabilities", name),
        )


def _catalog_entry(capability: Capability) -> dict[str, Any]:
    spec = dict(capability.spec)
    spec["idempotency_key_required"] = capability.idempotency_key_required
    spec["allowed_egress"] = list(capability.allowed_egress)
    return {
        **spec,
        "arguments_digest": digest(spec["arguments"]),
        "capability_version": digest(spec),
    }


def _contracts(bundle: Bundle) -> Iterator[Item]:
    for index, contract in enumerate(bundle.contracts):
        yield Constant(
            name="contracts",
            key=contract.capability,
            value=contract_entry(contract),
            title=f"Approval of {contract.capability}",
            source=_source(APPROVALS, "approval_contracts", index),
        )


def _reviewers(bundle: Bundle) -> Iterator[Item]:
    for index, reviewer in enumerate(bundle.reviewers):
        yield Constant(
            name="reviewers",
            key=reviewer.id,
            value=_reviewer_entry(reviewer),
            title=f"Reviewer {reviewer.id}",
            source=_source(REVIEWERS, "reviewers", index),
        )


def _reviewer_entry(reviewer: Reviewer) -> dict[str, Any]:
    return {
        "human": reviewer.human,
        "roles": list(reviewer.roles),
        "keys": {
            key.key_id: {
                "public_key": key.public_key,
                "not_before_ms": key.not_before_ms,
                "not_after_ms": key.not_after_ms,
            }
            for key in reviewer.keys
        },
    }
