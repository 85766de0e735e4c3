"""Sound documents of calls that are more than plain ones: routed, handed over, done by a worker, judged, sandboxed.

Pure; beside `diff_base`, whose documents they are made from. Each is in order under some bundle, so that every setting
of runtime-controls.yaml meets a call it lets through and one it does not. Made without a golden case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gate.release.diff_base import ACTION
from gate.release.diff_documents import Candidate, value_at
from gate.release.diff_values import data_of
from gate.release.rego_text import RegoText

GOVERNED_BY = ("routing_controls", "orchestration_controls", "verifiers_controls", "sandbox_controls", "reviewers")
"""The data of a bundle that these documents are about."""
_PARENT, _PROFILE, _SNAPSHOT = "parent-agent", "sha256:" + "6" * 64, "sha256:" + "7" * 64
_UNKNOWN = "nobodys-contract"


@dataclass(frozen=True, slots=True)
class Section:
    """What a host states besides the call itself."""

    what: str
    evidence: Mapping[str, Any]
    agent: Mapping[str, Any]


def data_group(text: RegoText, group: str) -> dict[str, Any]:
    """The data of a bundle called `group`, by key; empty when it states none."""
    found: dict[str, Any] = {}
    for rule in text.rules:
        name, _, key = rule.name.partition('["')
        stated = data_of(rule) if name == group and key else None
        if stated is not None:
            found[key.removesuffix('"]')] = stated[0]
    return found


def sectioned(call: Candidate, sections: Sequence[Section], contracts: Mapping[str, Any]) -> Iterator[Candidate]:
    """`call` with each of `sections`, checked and signed as the bundle's `contracts` of evidence want it."""
    now = value_at(call.base, ("now_ms",))
    for section in sections:
        evidence = {name: {**_checked(now, contracts.get(name)), **said} for name, said in section.evidence.items()}
        base = {
            **call.base,
            "agent": {**call.base["agent"], **section.agent},
            "evidence": {**call.base["evidence"], **evidence},
        }
        yield replace(call, name=f"{call.name} {section.what}", base=base)


def sections_of(agent: str, facts: Mapping[str, Any], text: RegoText, call: Candidate) -> list[Section]:
    """Everything that the controls of one bundle could be about, of a call like `call`."""
    identity = {name: value_at(call.base, ("identity", name)) for name in ("tenant_id", "principal_id")}
    scope = value_at(call.base, ("identity", "delegated_scope"))
    handed = {"from_agent_id": _PARENT, "to_agent_id": agent, **identity, "delegated_scope": scope}
    return [
        *_routed(facts),
        Section("handed over", {"handoff": handed}, {}),
        *_worked(handed),
        *_judged(data_group(text, "verifiers_controls")),
        *_sandboxed(data_group(text, "sandbox_controls").get("sandbox_profile_contract")),
    ]


def _checked(now: Any, contract: Any) -> dict[str, Any]:
    stated = contract if isinstance(contract, Mapping) else {}
    return {
        "checked_by": next(iter(stated.get("checked_by") or ()), "review"),
        "checked_at_ms": now - 1 if isinstance(now, int) else None,
        "check_age_ms": 1,
        "signed_by": next(iter(stated.get("signature_keys") or ()), None),
    }


def _routed(facts: Mapping[str, Any]) -> Iterator[Section]:
    yield Section("let through by a person", {"approval_route": {"decided_by": "human", "delegate_id": None}}, {})
    for reviewer in facts["reviewers"]:
        route = {"decided_by": "delegate", "delegate_id": reviewer}
        yield Section(f"let through by {reviewer} as delegate", {"approval_route": route}, {})
    by_classifier = {"decided_by": "classifier", "delegate_id": None}
    for verdict in ("allow", "uncertain", "deny"):
        said = {"verdict": verdict, "action_digest": ACTION}
        yield Section(f"classified as {verdict}", {"classifier": said}, {})
        yield Section(
            f"let through by a classifier: {verdict}", {"classifier": said, "approval_route": by_classifier}, {}
        )


def _worked(handed: Mapping[str, Any]) -> Iterator[Section]:
    worker = {"role": "worker", "parent_agent_id": _PARENT, "orchestration_pattern": "orchestrator_workers"}
    review = {"verdict": "passed", "action_digest": ACTION, "reviewer_id": "reviewing-agent"}
    yield Section("by a worker", {}, worker)
    yield Section("by a worker, reviewed", {"worker_review": review}, worker)
    yield Section("by a worker it was handed to", {"handoff": handed}, worker)
    yield Section("by a worker it was handed to, reviewed", {"handoff": handed, "worker_review": review}, worker)


def _judged(controls: Mapping[str, Any]) -> Iterator[Section]:
    contracts = controls.get("verifier_contracts") or {}
    for name in dict.fromkeys([*(controls.get("trusted_verifier_contracts") or ()), *contracts, _UNKNOWN]):
        stated = contracts.get(name, {})
        verdict = {"contract": name, "verdict": "passed", "action_digest": ACTION}
        verdict |= {"contract_version": stated.get("version"), "contract_digest": stated.get("contract_digest")}
        key = {"signed_by": stated["key_id"]} if "key_id" in stated else {}
        yield Section(f"passed by {name}", {"verifier": {**verdict, **key}}, {})


def _sandboxed(contract: Any) -> Iterator[Section]:
    stated = contract if isinstance(contract, Mapping) else {}
    narrow = {
        "profile_contract": stated.get("contract_id", _UNKNOWN),
        "profile_digest": _PROFILE,
        "reviewed_digest": _PROFILE,
        "review_ref": "review-1",
        "review_state": "approved",
        "network": "denied",
        "secrets": "none",
        "shell": "none",
        "workspace_entries": [],
        "snapshot_digest": None,
        "resumed_from": None,
    }
    yield Section("in a sandbox", {"sandbox": narrow}, {})
    wider: list[tuple[str, dict[str, Any]]] = [
        ("with a network", {"network": "restricted"}),
        ("with secrets", {"secrets": "brokered"}),
        ("with a shell", {"shell": "restricted"}),
        ("from its snapshot", {"snapshot_digest": _SNAPSHOT, "resumed_from": _SNAPSHOT}),
        ("nobody reviewed", {"reviewed_digest": None, "review_ref": None, "review_state": None}),
        *((f"with {entry}", {"workspace_entries": [entry]}) for entry in stated.get("workspace") or ()),
    ]
    for what, more in wider:
        yield Section(f"in a sandbox {what}", {"sandbox": {**narrow, **more}}, {})


__all__ = ["GOVERNED_BY", "Section", "data_group", "sectioned", "sections_of"]
