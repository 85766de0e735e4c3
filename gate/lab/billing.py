"""The billing system of the refund desk's laboratory: what was charged, to whom, and what of it is a duplicate.

Stands where a host asks its own billing service. It states facts and decides nothing; what nobody charged it knows
nothing of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gate.errors import EvidenceError
from gate.evidence.services import RecordSource, charge_review_source


@dataclass(slots=True)
class Billing:
    """The charges of one tenant. Safe to read from several threads."""

    tenant_id: str
    charges: dict[str, dict[str, Any]] = field(default_factory=dict)
    down: bool = False
    """Nobody answers."""

    def charge(self, charge_id: str, amount_minor: int, *, principal_id: str, duplicate_of: str | None = None) -> None:
        """Books a charge of `amount_minor` US cents; `duplicate_of` names the charge that it repeats."""
        self.charges[charge_id] = {
            "charge_id": charge_id,
            "tenant_id": self.tenant_id,
            "principal_id": principal_id,
            "duplicate": duplicate_of is not None,
            "duplicate_of": duplicate_of,
            "amount_minor": amount_minor,
            "currency": "USD",
        }

    def ask(self, question: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What billing knows of `charge_id`, None when nothing. Raises `EvidenceError` while it is down."""
        if self.down:
            raise EvidenceError("billing does not answer", code="evidence_source_failed")
        return self.charges.get(question["charge_id"])

    def source(self) -> RecordSource:
        """Billing as a source of evidence for a gate."""
        return charge_review_source(self.ask)
