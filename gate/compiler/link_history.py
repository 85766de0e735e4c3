"""What `bundle.yaml` says of its past: the versions it was made from, and the rules that are gone.

Pure. Knows only what the bundle itself says; the ledger of released versions belongs to the release room.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.compiler.positions import at
from gate.documents import Bundle
from gate.documents import pointer_of as pointer
from gate.errors import Problem

_APPROVALS, _BUNDLE, _CHECKPOINTS, _POLICY = "approvals.yaml", "bundle.yaml", "checkpoints.yaml", "policy.yaml"


def lineage_leads_here(bundle: Bundle) -> Iterator[Problem]:
    """An ancestor that is this very version, or was made by the same change."""
    meta, document = bundle.meta, bundle.documents[_BUNDLE]
    for index, ancestor in enumerate(meta.lineage):
        here = ("bundle", "artifact_lineage", index)
        if ancestor.version == meta.version:
            yield document.problem(
                pointer(*here, "version"),
                "lineage_contains_itself",
                f"version `{ancestor.version}` cannot be made from itself",
                f"see {at(document, 'bundle', 'version')}",
            )
        if ancestor.change_id is not None and ancestor.change_id == meta.change_id:
            yield document.problem(
                pointer(*here, "change_id"),
                "lineage_change_reused",
                f"change `{ancestor.change_id}` has made an earlier version already",
                f"see {at(document, 'bundle', 'change_id')}",
            )


def deprecated_rules_are_gone(bundle: Bundle) -> Iterator[Problem]:
    """A deprecated rule that is in force under one of its names."""
    if not bundle.meta.deprecated_rules:
        return
    in_force: dict[str, str] = {}
    for name, place in _rules_in_force(bundle):
        in_force.setdefault(name, place)
    for index, name in enumerate(bundle.meta.deprecated_rules):
        if name in in_force:
            yield bundle.documents[_BUNDLE].problem(
                pointer("bundle", "deprecated_rules", index),
                "deprecated_rule_in_force",
                f"rule `{name}` is deprecated and still in force",
                f"remove it at {in_force[name]}",
            )


_RULE_IDS = {"allow": "cap_110", "approval_required": "cap_210", "deny": "cap_410"}


def _rules_in_force(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Every name a compiled rule or contract goes by, and where it is written."""
    policy = bundle.documents[_POLICY]
    for key, rule_id, wanted in (
        ("require_tenant", "run_001", bundle.policy.require_tenant),
        ("deny_if_principal_missing", "run_002", bundle.policy.deny_if_principal_missing),
    ):
        if wanted:
            place = at(policy, "policy", "run_precheck", key, key=True)
            yield from ((name, place) for name in (rule_id, f"run_precheck.{key}"))
    for operation in bundle.policy.operations:
        place = at(policy, "policy", "operations", operation, key=True)
        yield from ((name, place) for name in (f"op.{operation}", f"operations.{operation}"))
    for name, entry in bundle.policy.capabilities.items():
        place = at(policy, "policy", "capabilities", name, key=True)
        yield from ((known, place) for known in (_RULE_IDS[entry.decision], f"capabilities.{name}"))
    for index, control in enumerate(bundle.checkpoints):
        place = at(bundle.documents[_CHECKPOINTS], "control_checkpoints", index)
        requirement = control.policy_requirement
        yield from ((name, place) for name in (requirement, f"control_checkpoints.{requirement}"))
        yield f"control.{control.checkpoint}", place
    for index, contract in enumerate(bundle.contracts):
        yield contract.contract_id, at(bundle.documents[_APPROVALS], "approval_contracts", index)
