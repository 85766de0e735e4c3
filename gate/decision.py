"""What the decision point answers, and how to read it without trusting it.

Pure: no network, no clock, no files. `gate.pdp` fetches, `gate.enforcement` acts. A verdict outside the closed set does
not become a `Decision` at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gate.errors import EXIT_APPROVAL, EXIT_DENIED, EXIT_OK, EXIT_UNDECIDED, GateError


class Verdict(StrEnum):
    """The closed set of verdicts, strictest first. Nothing here is named after a summary."""

    DENY = "deny"
    CONTINUITY_VALIDATION_FAILED = "continuity_validation_failed"
    BLOCKED_ON_RECONCILIATION = "blocked_on_reconciliation"
    REQUIRE_APPROVAL = "require_approval"
    REAUTHORIZATION_REQUIRED = "reauthorization_required"
    ALLOW = "allow"


EXIT_BY_VERDICT: Mapping[Verdict, int] = {
    Verdict.DENY: EXIT_DENIED,
    Verdict.CONTINUITY_VALIDATION_FAILED: EXIT_DENIED,
    Verdict.BLOCKED_ON_RECONCILIATION: EXIT_DENIED,
    Verdict.REQUIRE_APPROVAL: EXIT_APPROVAL,
    Verdict.REAUTHORIZATION_REQUIRED: EXIT_APPROVAL,
    Verdict.ALLOW: EXIT_OK,
}
"""Of the verdicts only `allow` exits 0."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One finding that took part in the decision."""

    code: str
    """Stable snake_case; the identity of the reason."""
    verdict: Verdict
    rule: str
    """Id of the rule that fired, such as `cap_210`."""
    requirement: str
    """Name of the requirement in the governed YAML; empty for a core rule."""
    source: str
    """JSON pointer into the governed YAML, such as `policy.yaml#/policy/capabilities/create_ticket`."""
    remedy: str
    """What a person can do about it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A complete decision: verdict, reasons, obligations the enforcement point must discharge, advice, audit."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    obligations: tuple[Mapping[str, Any], ...] = ()
    advice: tuple[Mapping[str, Any], ...] = ()
    audit: Mapping[str, Any] = field(default_factory=dict)
    revision: str = ""
    """Bundle revision the decision point says it used; empty when there was no decision."""
    decided: bool = True
    """False when the decision point could not decide and this is the refusal that takes its place."""

    @classmethod
    def from_result(cls, result: Mapping[str, Any], *, revision: str) -> Decision:
        """Reads a result that has passed `schemas/decision.schema.json`; see `gate.pdp.reply`."""
        return cls(
            verdict=Verdict(result["verdict"]),
            reasons=tuple(
                Reason(r["code"], Verdict(r["verdict"]), r["rule"], r["requirement"], r["source"], r["remedy"])
                for r in result["reasons"]
            ),
            obligations=tuple(result["obligations"]),
            advice=tuple(result["advice"]),
            audit=result["audit"],
            revision=revision,
        )

    @classmethod
    def undecided(cls, error: GateError, *, audit: Mapping[str, Any]) -> Decision:
        """The refusal that stands where no decision could be had; its only code is the error's."""
        reason = Reason(error.code, Verdict.DENY, "gate.enforcement", "", "", error.hint)
        return cls(verdict=Verdict.DENY, reasons=(reason,), audit=audit, decided=False)

    @property
    def allowed(self) -> bool:
        """True for a decided `allow` only."""
        return self.decided and self.verdict is Verdict.ALLOW

    @property
    def codes(self) -> tuple[str, ...]:
        """The reason codes, in the order of the reasons."""
        return tuple(r.code for r in self.reasons)

    @property
    def exit_code(self) -> int:
        """The exit code a command answers with."""
        return EXIT_BY_VERDICT[self.verdict] if self.decided else EXIT_UNDECIDED

    def obligation(self, kind: str) -> Mapping[str, Any] | None:
        """The first obligation of type `kind`, or None."""
        return next((o for o in self.obligations if o["type"] == kind), None)

    def enforce(self) -> Decision:
        """Returns itself when allowed, else raises `ActionBlocked`: a caller cannot forget to look."""
        if not self.allowed:
            raise ActionBlocked(self)
        return self

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, as in `schemas/decision.schema.json`."""
        return {
            "verdict": str(self.verdict),
            "reasons": [
                {
                    "code": r.code,
                    "verdict": str(r.verdict),
                    "rule": r.rule,
                    "requirement": r.requirement,
                    "source": r.source,
                    "remedy": r.remedy,
                }
                for r in self.reasons
            ],
            "obligations": [dict(o) for o in self.obligations],
            "advice": [dict(a) for a in self.advice],
            "audit": dict(self.audit),
        }


class ActionBlocked(GateError):
    """The action was not allowed and did not run. Raised by the enforcement point only; carries the decision."""

    code = "action_blocked"

    def __init__(self, decision: Decision, *, approval_id: str | None = None) -> None:
        super().__init__(f"{decision.verdict}: {', '.join(decision.codes) or 'no reason given'}")
        self.decision = decision
        self.approval_id = approval_id
        """The pending approval that was requested, when the verdict asked for one."""
        self.exit_code = decision.exit_code
