"""A governed bundle of any size, for measuring: every capability a write under an approval contract of its own.

Written as YAML like an author would, so that what is measured went through the whole compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from gate.records import generate_key

AGENT = "support-triage-ref"
VERSION = "1.0.0-bench"
_RELEASE = "release-bench"


def write_bundle(
    folder: Path,
    *,
    capabilities: int,
    bound: int = 0,
    unbound: int = 0,
    control: Callable[[int, str], Mapping[str, object]] | None = None,
    version: str = VERSION,
    public_key: str | None = None,
) -> None:
    """Writes a bundle with that many capabilities, each under a contract, into the new `folder`.

    `bound` controls are each bound to one capability, `unbound` ones to every capability. `control` says what one is,
    given its number and its capability. Two bundles with the same `public_key` have the same reviewer.
    """
    make = control or _control
    names = [f"capability_{number}" for number in range(capabilities)]
    folder.mkdir(parents=True)
    documents = {
        "bundle.yaml": {
            "bundle": {
                "bundle_id": "policy-bench",
                "version": version,
                "owner_team": "bench",
                "applies_to": {"agent_ids": [AGENT]},
                "artifacts": ["policy.yaml", "capabilities.yaml", "approvals.yaml", "reviewers.yaml"],
                "contract_version": "capability-contract-bench",
                "release_identity": _RELEASE,
            }
        },
        "policy.yaml": {
            "policy": {
                "run_precheck": {"require_tenant": True, "deny_if_principal_missing": True},
                "operations": {"run_start": "allow"},
                "capabilities": {name: {"decision": "approval_required", "approver": "manager"} for name in names},
                "execution": {"allow_network_access": ["brokered"]},
            }
        },
        "capabilities.yaml": {"capabilities": {name: _capability() for name in names}},
        "approvals.yaml": {"approval_contracts": [_contract(name, version) for name in names]},
        "reviewers.yaml": {"reviewers": [_reviewer(public_key or generate_key()[1])]},
    }
    controls = [make(n, names[n % len(names)]) for n in range(bound)]
    controls += [make(bound + n, "*") for n in range(unbound)]
    if controls:
        documents["bundle.yaml"]["bundle"]["artifacts"].append("checkpoints.yaml")  # type: ignore[index]
        documents["checkpoints.yaml"] = {"control_checkpoints": controls}
    for name, document in documents.items():
        text = yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True)
        (folder / name).write_text(text, "utf-8")


class _Plain(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
    """No anchors: the loader refuses them."""

    def ignore_aliases(self, data: object) -> bool:
        """Writes every value out."""
        return True


def _capability() -> dict[str, object]:
    return {
        "owner": "bench",
        "mode": "write",
        "side_effect": "external_write",
        "transport": "gateway",
        "tool_principal": "svc-bench",
        "risk_tier": "high",
        "network_access": "brokered",
        "allowed_egress": ["bench.internal"],
        "timeout_seconds": 15,
        "approval": "manager",
        "idempotency_key_required": True,
        "identifying_arguments": ["/order"],
        "arguments": {
            "type": "object",
            "additionalProperties": False,
            "required": ["order"],
            "properties": {"order": {"type": "string"}, "amount": {"type": "integer"}},
        },
    }


def _contract(name: str, version: str) -> dict[str, object]:
    return {
        "contract_id": f"contract-{name}",
        "capability": name,
        "risk_tier": "high",
        "bundle_version": version,
        "release_identity": _RELEASE,
        "required_reviewers": ["manager"],
        "request_fields": ["idempotency_key", "reason"],
        "allowed_decisions": ["approved", "rejected"],
        "runtime_controls": {"pause_allowed": True, "max_wait_seconds": 1800, "on_expiry": "request_again"},
        "on_reject": "continue_without",
    }


def _control(number: int, capability: str) -> dict[str, object]:
    return {
        "checkpoint": "tool_execution",
        "policy_requirement": f"requirement_{number}",
        "applies_to": [capability],
        "predicate": f'risk_tier == "critical" and timeout_seconds > {number}',
        "action": "deny",
        "control_version": "1.0",
        "eval_case_id": "some_case",
        "audit_fields": ["predicate_result", "action"],
    }


def _reviewer(public_key: str) -> dict[str, object]:
    return {
        "id": "bench-manager",
        "human": "Bench Manager",
        "roles": ["manager"],
        "keys": [
            {
                "key_id": "bench-key",
                "public_key": public_key,
                "not_before": "2026-01-01T00:00:00Z",
                "not_after": "2036-01-01T00:00:00Z",
            }
        ],
    }
