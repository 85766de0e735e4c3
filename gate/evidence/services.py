"""Sources that ask a service of the host: access decisions, incident and billing records, verdicts of verifiers.

Each is a section, a question and an answer; nothing here decides. What the service does not say stays unsaid, and what
it says about somebody else is left as it is for the policies to see.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gate.errors import EvidenceError
from gate.evidence.action import MISSING, resolve
from gate.evidence.http_json import JsonService
from gate.evidence.signed import SignedEvidence
from gate.evidence.source import Question

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
"""Answers a question of names; None when the service knows nothing of what is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSource:
    """One section from a service that is asked about one thing that the call names.

    `ask` is a callable, such as `JsonService(url=…).ask`. The thing's name is the argument at `subject`; a call that
    names none, or a capability that is not in `capabilities`, gets no section.
    """

    section: str
    ask: Ask
    subject: str
    """JSON pointer of the argument that names what is asked about."""
    field: str
    """Name of the subject in question and answer, such as `document_id`."""
    capabilities: frozenset[str]
    checked_by: str
    """Name under which bundles trust the service."""

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """What the service says now. Raises `EvidenceError` when it does not answer."""
        call, action = question.call, question.action
        if call is None or action is None or call.capability not in self.capabilities:
            return None
        named = resolve(action.fresh_arguments(), self.subject)
        if named is MISSING or not isinstance(named, str):
            return None
        identity = question.run.identity
        answer = self.ask(
            {
                self.field: named,
                "tenant_id": identity.tenant_id,
                "principal_id": identity.principal_id,
                "capability": call.capability,
            }
        )
        # A service that knows nothing of it is an answer: the section is there, and says nothing.
        return {} if answer is None else answer


def retrieval_source(
    ask: Ask,
    *,
    capabilities: frozenset[str] = frozenset({"read_document"}),
    subject: str = "/document_id",
    checked_by: str = "svc-access-control",
) -> RecordSource:
    """`evidence.retrieval` from an access service: classification, access decision, revision, provenance, age."""
    return RecordSource(
        section="retrieval",
        ask=ask,
        subject=subject,
        field="document_id",
        capabilities=capabilities,
        checked_by=checked_by,
    )


def ownership_source(
    ask: Ask,
    *,
    capabilities: frozenset[str],
    subject: str = "/incident_id",
    checked_by: str = "svc-incident-registry",
) -> RecordSource:
    """`evidence.ownership` from an incident registry: owner, role, severity, handover, on call."""
    return RecordSource(
        section="ownership",
        ask=ask,
        subject=subject,
        field="incident_id",
        capabilities=capabilities,
        checked_by=checked_by,
    )


def charge_review_source(
    ask: Ask,
    *,
    capabilities: frozenset[str] = frozenset({"issue_refund"}),
    subject: str = "/charge_id",
    checked_by: str = "svc-billing-ledger",
) -> RecordSource:
    """`evidence.charge_review` from billing: whose charge it is, how much, and whether it repeats another one."""
    return RecordSource(
        section="charge_review",
        ask=ask,
        subject=subject,
        field="charge_id",
        capabilities=capabilities,
        checked_by=checked_by,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierSource:
    """`evidence.verifier` from a verifier that signs its verdict about exactly this action."""

    ask: Ask
    """Answers with `payload` and `signature`, both base64; `JsonService(url=…).ask` for one over HTTP.

    Is told `asked_at_ms`, the moment the decision is about: a verdict dated after it is from the future, and unknown.
    """
    capabilities: frozenset[str]
    """Capabilities whose calls are verified."""
    checked_by: str
    shows_arguments: bool = False
    """The verifier is shown the arguments that would run; without this it knows their digest only."""
    section: str = "verifier"

    def collect(self, question: Question) -> SignedEvidence | None:
        """The signed verdict; whether its signature holds is found out against the served bundle's keys.

        Raises `EvidenceError` when the verifier does not answer with one.
        """
        call, action = question.call, question.action
        if call is None or action is None or call.capability not in self.capabilities:
            return None
        asked: dict[str, Any] = {
            "capability": call.capability,
            "action_digest": action.action_digest,
            "asked_at_ms": question.now_ms,
        }
        if self.shows_arguments:
            asked["arguments"] = action.fresh_arguments()
        answer = self.ask(asked)
        if answer is None:
            return None
        try:
            payload, signature = (base64.b64decode(answer[name], validate=True) for name in ("payload", "signature"))
        except (LookupError, TypeError, ValueError, binascii.Error) as exc:
            raise EvidenceError("the verdict is not signed evidence", code="evidence_malformed") from exc
        return SignedEvidence(payload, signature)


__all__ = [
    "Ask",
    "JsonService",
    "RecordSource",
    "VerifierSource",
    "charge_review_source",
    "ownership_source",
    "retrieval_source",
]
