"""`gate check-controls`: gathers what can be observed of a bundle, and has Rego assess the controls.

Decides nothing. Signals say what cannot be observed here; what can be is asked of the policies themselves: the golden
cases, and for each capability a write that lacks exactly one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate import canonical
from gate.compiler import Assembly, Compiled
from gate.compiler.compile import compile_linked
from gate.compiler.link import link
from gate.compiler.link_cases import cases_about, link_cases, observed
from gate.compiler.link_governance import ASSESSED
from gate.decision import Verdict
from gate.documents import Bundle, Case, load_bundle, load_cases
from gate.errors import BundleError, PdpError, Problem
from gate.pdp import DecisionPoint, Facts, Reply
from gate.release.evaluate import evaluate
from gate.release.golden import run_cases

REPORT_RULE = "data.gate.controls.report"
REPORT_KEYS = (
    "healthy",
    "required_controls",
    "blocked_findings_expected",
    "missing_controls",
    "failed_run_controls",
    "preserved_failed_run_controls",
    "failed_run_controls_healthy",
    "support_duplicate_controls",
    "preserved_support_duplicate_controls",
    "support_duplicate_controls_healthy",
    "blocking_findings",
    "inventory_drift",
)
"""Keys of a report, in the order they are shown."""
_DRIFT_KEYS = ("has_drift", "missing_from_catalog", "missing_from_inventory")
_PROBE = "controls-probe"
_LACKS = ("approval", "idempotency_key")


@dataclass(frozen=True, slots=True)
class Assessable:
    """A bundle whose controls can be assessed, and its golden cases."""

    compiled: Compiled
    cases: tuple[Case, ...]


def assessable(folder: Path) -> Assessable:
    """The bundle in `folder`, compiled, even when inventory or controls disagree with its catalog: that is assessed.

    Raises `BundleError` with every other problem, and when the bundle has no `controls.yaml`.
    """
    problems: list[Problem] = []
    bundle = load_bundle(folder)
    try:
        link(bundle)
    except BundleError as exc:
        problems += [problem for problem in exc.problems if problem.code not in ASSESSED]
    cases = load_cases(folder)
    problems += link_cases(bundle, cases)
    if bundle.controls is None:
        message = "the bundle has no `controls.yaml`, so there is nothing to assess"
        problems.append(Problem(str(folder / "controls.yaml"), 1, 1, "controls_missing", message, "write and list it"))
    if problems:
        raise BundleError(problems)
    return Assessable(compile_linked(bundle), cases)


def self_observed(bundle: Bundle, signals: Iterable[str]) -> list[str]:
    """The names among `signals` that the gate observes itself, so that nothing said about them counts."""
    return sorted(name for name in signals if observed(name)[0] != "signal" and name in _named(bundle))


def unnamed(bundle: Bundle, signals: Iterable[str]) -> list[str]:
    """The names among `signals` that `controls.yaml` does not know."""
    return sorted(set(signals) - set(_named(bundle)))


def _named(bundle: Bundle) -> tuple[str, ...]:
    return () if bundle.controls is None else (*bundle.controls.require, *bundle.controls.block_if)


def gather(subject: Assessable, point: DecisionPoint, signals: Mapping[str, bool]) -> dict[str, Any]:
    """The document that Rego assesses: signals as they were given, and what `point` answered."""
    bundle = subject.compiled.bundle
    agent_id = bundle.meta.agent_ids[0]
    golden = list(_golden(subject.cases, point, agent_id))
    kinds = [observed(name) for name in _named(bundle)]
    evals = {about: [c.id for c in cases_about(about, subject.cases)] for kind, about in kinds if kind == "eval_passed"}
    facts = point.facts(agent_id)
    asked = sorted({about for kind, about in kinds if kind.endswith("_required")} & facts.capabilities.keys())
    probes = [
        {"capability": name, "lacks": lacks, "codes": _probe(point, facts, agent_id, name, lacks)}
        for name in asked
        for lacks in _LACKS
    ]
    evidence = {"signals": dict(signals), "evals": evals, "golden": golden, "probes": probes}
    return {"agent": {"agent_id": agent_id}, "evidence": evidence}


def assess(assembly: Assembly, evidence: Mapping[str, Any], *, binary: Path | None) -> dict[str, Any]:
    """The report of the policies in `assembly` about `evidence`, its keys in the order of `REPORT_KEYS`.

    Evaluated by the OPA at `binary`, or embedded without one. Raises `PdpError` when there is no report to trust.
    """
    result = evaluate(assembly, REPORT_RULE, evidence, binary=binary)
    if not isinstance(result, dict) or result.keys() != set(REPORT_KEYS) or type(result["healthy"]) is not bool:
        raise PdpError("the policies gave no assessment of the controls", code="pdp_result_invalid")
    report = {key: result[key] for key in REPORT_KEYS}
    report["inventory_drift"] = {key: report["inventory_drift"][key] for key in _DRIFT_KEYS}
    return report


def _golden(cases: Sequence[Case], point: DecisionPoint, agent_id: str) -> Iterator[dict[str, Any]]:
    listening = _Listening(point)
    # Lazily: what was heard last is what this case was answered.
    for result in run_cases(cases, listening, agent_id=agent_id):
        yield {"id": result.id, "passed": result.passed, **listening.take()}


@dataclass(slots=True)
class _Listening:
    """A decision point that remembers its last answer. It changes none."""

    point: DecisionPoint
    last: tuple[Mapping[str, Any], Reply] | None = None

    def decide(self, document: Mapping[str, Any]) -> Reply:
        self.last = None
        reply = self.point.decide(document)
        self.last = (document, reply)
        return reply

    def facts(self, agent_id: str) -> Facts:
        return self.point.facts(agent_id)

    def revision(self) -> str:
        return self.point.revision()

    def ready(self) -> bool:
        return self.point.ready()

    def close(self) -> None:
        """Leaves the point open: it belongs to the caller."""

    def take(self) -> dict[str, Any]:
        """Trace id that was asked about, audit and rules of the answer; no audit when there was no answer."""
        heard, self.last = self.last, None
        if heard is None:
            return {"trace_id": None, "audit": None, "rules": []}
        document, reply = heard
        trace = document.get("trace")
        return {
            "trace_id": trace.get("trace_id") if isinstance(trace, Mapping) else None,
            "audit": {key: reply.decision.audit[key] for key in ("request_id", "trace_id")},
            "rules": [reason.rule for reason in reply.decision.reasons],
        }


def _probe(point: DecisionPoint, facts: Facts, agent_id: str, capability: str, lacks: str) -> list[str]:
    """The codes of what stands against a write of `capability` that is in order but for what it lacks."""
    entry, bundle = facts.capabilities[capability], facts.bundle or {}
    person = {"tenant_id": _PROBE, "principal_id": _PROBE, "authorization_mode": "platform_owned"}
    document = {
        "schema_version": "gate-input/v1",
        "checkpoint": "tool_execution",
        "operation": "call_tool",
        "request_id": _PROBE,
        "now_ms": 1,
        "trace": {"trace_id": _PROBE, "session_id": _PROBE, "run_id": _PROBE},
        "agent": {"agent_id": agent_id, "environment": _PROBE},
        "identity": person,
        "request": {
            "capability": capability,
            "idempotency_key": None if lacks == "idempotency_key" else _PROBE,
            "reason": _PROBE,
            "arguments": {},
        },
        "state": {
            "run": {
                **person,
                "run_id": _PROBE,
                "status": "running",
                "agent_id": agent_id,
                "session_id": _PROBE,
                "version": 1,
            },
            "versions": {
                "bundle_version": bundle.get("version"),
                "release_identity": bundle.get("release_identity"),
                "capability_version": entry.get("capability_version"),
            },
            "approval": None,
            "rejection": {"approval_id": None, "intent_digest": None},
            "side_effect": {"status": "not_started"},
            "idempotency": {"idempotency_key": None, "action_digest": None},
        },
        "evidence": {"arguments": {"valid": True, "schema_digest": entry.get("arguments_digest"), "identified": True}},
        "digests": {name: canonical.digest(_PROBE) for name in ("action_digest", "intent_digest", "arguments")},
    }
    reasons = point.decide(document).decision.reasons
    return sorted({reason.code for reason in reasons if reason.verdict is not Verdict.ALLOW})
