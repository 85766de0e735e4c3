"""Who acts in the continuity evals, and what their host knows: taken from a golden case that wants an approval.

Pure. A case's own evidence is served again as if it had just been looked up; what the gate computes itself is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gate.compiler import Compiled
from gate.compiler.link_cases import linked_cases
from gate.documents import evidence_sections
from gate.documents.models import Capability
from gate.errors import GateError, InputError
from gate.evidence import ABSENT, Call, Identity, SignedEvidence, sign_evidence
from gate.evidence.source import RESERVED, Question
from gate.pdp import DecisionPoint
from gate.release import golden

KEY = "continuity-eval-key"
"""Idempotency key of the subject's call."""

_IDENTITY = ("tenant_id", "principal_id", "authorization_mode", "delegated_principal_id", "delegated_scope")
_OF_GATE = frozenset({"checked_by", "check_age_ms", "signed_by", "age_ms"})
# What the gate states of every section by itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who acts and what is attempted: a call of the bundle's own golden cases that wants an approval."""

    agent_id: str
    session_id: str
    run_id: str
    environment: str
    identity: Identity
    call: Call
    sources: tuple[CaseEvidence, ...] = ()
    """The evidence of the case, for the gate to ask for."""
    before: tuple[Call, ...] = ()
    """What the case says the run has done already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvidence:
    """One section of a case's evidence, with its moments moved to now and its digests to those of the call."""

    section: str
    checked_by: str
    environment: str
    facts: Mapping[str, Any]
    then_ms: int
    """The moment of the case."""
    digests: Mapping[str, str]
    """Name of a digest of the call, by the value that stands for it in the case."""
    key_id: str | None = None
    """Key that signs the section; None for one that is not signed."""
    private_key: str | None = None

    def collect(self, question: Question) -> Mapping[str, Any] | SignedEvidence | None:
        """The section as of now."""
        facts = self._moved(self.facts, question)
        if self.key_id is None or self.private_key is None:
            return dict(facts)
        return sign_evidence(
            facts,
            section=self.section,
            environment=self.environment,
            key_id=self.key_id,
            private_key=self.private_key,
        )

    def _moved(self, value: Any, question: Question, name: str = "") -> Any:
        if isinstance(value, Mapping):
            return {key: self._moved(item, question, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self._moved(item, question) for item in value]
        if type(value) is int and name.endswith("_at_ms"):
            return value + question.now_ms - self.then_ms
        if isinstance(value, str) and value in self.digests and question.action is not None:
            return getattr(question.action, self.digests[value])
        return value


def subjects(compiled: Compiled, point: DecisionPoint, signing: Mapping[str, str]) -> Iterator[Subject]:
    """Everybody who could act, the plainest case first; `signing` has the private key of each source, by key id.

    Raises `BundleError` for cases that cannot be read.
    """
    facts = golden.as_document(point.facts(compiled.bundle.meta.agent_ids[0]))
    wanted = [
        case
        for case in linked_cases(compiled.bundle)
        if case.expect_verdict == "require_approval" and "approval_missing" in case.expect_reasons
    ]
    # A call that only wants its approval says most about what a boundary does to it.
    for case in sorted(wanted, key=lambda each: len(each.expect_reasons)):
        try:
            yield _subject(golden.case_document(case, facts), compiled, signing)
        except (GateError, KeyError, TypeError):
            # A case may be about a document that no host could bring about.
            continue


def _subject(document: Mapping[str, Any], compiled: Compiled, signing: Mapping[str, str]) -> Subject:
    request, environment = document["request"], document["agent"]["environment"]
    call = Call(
        capability=request["capability"],
        arguments=_stated(request.get("arguments", ABSENT), compiled.bundle.capabilities.get(request["capability"])),
        idempotency_key=KEY,
        reason=request.get("reason") or "continuity evals",
        resource=request.get("resource"),
    )
    return Subject(
        agent_id=document["agent"]["agent_id"],
        session_id=document["trace"]["session_id"],
        run_id=document["trace"]["run_id"],
        environment=environment,
        identity=Identity(**{name: document["identity"].get(name) for name in _IDENTITY}),
        call=call,
        sources=tuple(_sources(document, environment, signing)),
        before=tuple(_before(document, call, compiled)),
    )


def _stated(arguments: Any, capability: Capability | None) -> Any:
    """The arguments without those that the case only takes away from the document it patches, by saying null."""
    if not isinstance(arguments, Mapping) or capability is None:
        return arguments
    declared = capability.arguments.get("properties", {})
    return {name: value for name, value in arguments.items() if value is not None or name in declared}


def _sources(document: Mapping[str, Any], environment: str, signing: Mapping[str, str]) -> Iterator[CaseEvidence]:
    digests = {value: name for name, value in document["digests"].items() if name in ("action_digest", "intent_digest")}
    for section, stated in document.get("evidence", {}).items():
        if section in RESERVED or section not in evidence_sections() or not isinstance(stated, Mapping):
            continue
        key_id = stated.get("signed_by")
        if key_id is not None and key_id not in signing:
            raise InputError("the case has evidence under a key that nobody has", code="eval_bundle_unfit")
        yield CaseEvidence(
            section=section,
            checked_by=stated.get("checked_by") or "ContinuityEvals",
            environment=environment,
            facts={name: value for name, value in stated.items() if name not in _OF_GATE},
            then_ms=document["now_ms"],
            digests=digests,
            key_id=key_id,
            private_key=None if key_id is None else signing[key_id],
        )


def _before(document: Mapping[str, Any], call: Call, compiled: Compiled) -> Iterator[Call]:
    """The steps that the case's history has behind it, each with those of the subject's arguments it takes."""
    history = document.get("evidence", {}).get("trajectory", {}).get("history", {})
    known = compiled.bundle.capabilities
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    for place, name in enumerate(history.get("completed_actions", ())):
        entry = known.get(name)
        if entry is None or name == call.capability:
            continue
        taken = {key: value for key, value in arguments.items() if key in entry.arguments.get("properties", {})}
        if set(entry.arguments.get("required", ())) <= taken.keys():
            yield Call(capability=name, arguments=taken, idempotency_key=f"{KEY}-{place}", reason=call.reason)
