"""What the host of a trial vouches for: billing that has booked every charge the contract acts on.

Decides nothing. Each charge is on record as a duplicate of its caller's, so that what refuses a call in a trial is the
rule under test and not a ledger that the trial does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gate.compiler import Compiled
from gate.documents.compaction import Act, CompactionContract
from gate.evidence import EvidenceSource
from gate.evidence.services import charge_review_source

SECTION = "charge_review"


def witnesses(compiled: Compiled) -> tuple[EvidenceSource, ...]:
    """The sources that the bundle's own contracts of evidence ask for and a trial can stand in for."""
    contract = compiled.bundle.compaction
    if contract is None or SECTION not in compiled.bundle.policy.evidence:
        return ()
    booked = [(re.compile(_pattern(charge)), amount, currency) for charge, amount, currency in _charges(contract)]

    def ask(question: Mapping[str, Any]) -> Mapping[str, Any] | None:
        for pattern, amount, currency in booked:
            if pattern.fullmatch(question["charge_id"]):
                return {
                    "charge_id": question["charge_id"],
                    "tenant_id": question["tenant_id"],
                    "principal_id": question["principal_id"],
                    "duplicate": True,
                    "duplicate_of": f"{question['charge_id']}-first",
                    "amount_minor": amount,
                    "currency": currency,
                }
        return None

    return (charge_review_source(ask),)


def _charges(contract: CompactionContract) -> Iterator[tuple[str, int, str]]:
    for act in _acts(contract):
        match act.arguments:
            case {"charge_id": str(charge), "amount_minor": int(amount), "currency": str(currency)}:
                yield charge, amount, currency


def _acts(contract: CompactionContract) -> Iterator[Act]:
    yield from contract.permitted
    for rule in contract.rules.values():
        yield from (*rule.probe.before, rule.probe.forbidden)


def _pattern(charge: str) -> str:
    """`{round}` stands for a number; the rest for itself."""
    return re.escape(charge).replace(re.escape("{round}"), "[0-9]+")
