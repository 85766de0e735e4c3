"""How evidence gets in: a source answers one question about one section, and what it answers is held to the schema.

A source that fails, is late or answers nonsense makes its section unknown (`{}`), which restricts; it must never make
the section disappear, because a rule that looks only at what is stated would then let the call pass.
"""

from __future__ import annotations

import contextvars
import functools
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol, runtime_checkable

import fastjsonschema

from gate.canonical import canonical_bytes, is_digest, parse
from gate.documents import evidence_sections, schema
from gate.errors import EvidenceError, InputError
from gate.evidence.action import Action
from gate.evidence.host import Call, Run
from gate.evidence.signed import SignedEvidence, verified_facts
from gate.pdp import Facts

_logger = logging.getLogger(__name__)

RESERVED: Final = frozenset({"arguments", "vote", "reconciliation", "trajectory", "compound_authorization"})
"""Sections that the gate fills from its own computation and from records."""

MAX_PENDING: Final = 8
"""How many answers of one source may be outstanding: a hung source must not cost a thread for every call."""

_NAME = re.compile(r"\A[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a source may look at when it answers."""

    run: Run
    checkpoint: str
    operation: str
    now_ms: int
    """The gate's clock when the document was begun; a source dates what it checks now with it."""
    facts: Facts
    call: Call | None = None
    """UNTRUSTED: what the model asked, None for anything but a tool call."""
    action: Action | None = None
    """The frozen call with its digests, None for anything but a tool call."""


@runtime_checkable
class EvidenceSource(Protocol):
    """Where one section of evidence comes from: a trusted adapter of the host.

    May have an attribute `checked_by`, the name under which bundles trust it; without it that is the class's name.
    """

    @property
    def section(self) -> str:
        """Name of the section, one of `schemas/evidence/`."""

    def collect(self, question: Question) -> Mapping[str, Any] | SignedEvidence | None:
        """The section's facts; None when there is nothing to say. Whatever it raises makes the section unknown."""


@dataclass(slots=True)
class _Pending:
    """One answer that is being waited for."""

    source: EvidenceSource
    thread: threading.Thread | None = None
    answer: Any = None
    failure: str | None = "evidence_source_late"
    """Code of what went wrong; None when there is an answer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sources of one gate, at most one for each section. Safe to share between threads."""

    sources: tuple[EvidenceSource, ...] = ()
    environment: str = ""
    timeout_ms: int = 2_000
    """What all sources together may take for one document; the definition of a tool may take as long again before."""
    _slots: Mapping[str, threading.BoundedSemaphore] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, sources: Iterable[EvidenceSource], *, environment: str, timeout_ms: int = 2_000) -> Evidence:
        """Checks the sources. Raises `InputError` with an `evidence_*` code when they cannot be used together."""
        made = tuple(sources)
        if type(timeout_ms) is not int or timeout_ms <= 0:
            raise InputError("`evidence_timeout_ms` must be a positive integer", code="evidence_timeout_invalid")
        seen: set[str] = set()
        for source in made:
            section = getattr(source, "section", None)
            if not isinstance(section, str) or not callable(getattr(source, "collect", None)):
                raise InputError("an evidence source has a `section` and a `collect`", code="evidence_source_invalid")
            if section in RESERVED:
                raise InputError(f"section `{section}` is the gate's own", code="evidence_section_reserved")
            if not _NAME.match(section) or section not in evidence_sections():
                raise InputError(
                    f"no schema declares the evidence section `{section!a}`",
                    code="evidence_section_unknown",
                    hint="add schemas/evidence/NAME.schema.json and refer to it in input.schema.json",
                )
            if section in seen:
                raise InputError(f"two sources for section `{section}`", code="evidence_section_twice")
            seen.add(section)
        return cls(made, environment, timeout_ms, {name: threading.BoundedSemaphore(MAX_PENDING) for name in seen})

    def collect(self, question: Question) -> dict[str, Any]:
        """Every section, asked of all sources at once: its facts, None, or `{}` when it could not be known."""
        if not self.sources:
            return {}
        deadline = time.monotonic() + self.timeout_ms / 1000
        pending = [self._ask(source, functools.partial(source.collect, question)) for source in self.sources]
        found: dict[str, Any] = {}
        for one in pending:
            if one.thread is not None:
                one.thread.join(max(0.0, deadline - time.monotonic()))
            # Read once: a late thread may still write.
            failure, answer = one.failure, one.answer
            section = one.source.section
            try:
                found[section] = self._facts(one.source, answer, failure, question)
            except EvidenceError as exc:
                _logger.warning("evidence section %s is unknown: %s", section, exc.code)
                found[section] = {}
        return found

    def tool_definition(self, question: Question) -> str | None:
        """Digest of the called tool's definition, from the source that has `tool_definition`; None when not known."""
        for source in self.sources:
            ask = getattr(source, "tool_definition", None)
            if ask is None:
                continue
            pending = self._ask(source, functools.partial(ask, question))
            if pending.thread is not None:
                pending.thread.join(self.timeout_ms / 1000)
            failure, answer = pending.failure, pending.answer
            if failure is None and (answer is None or is_digest(answer)):
                return None if answer is None else str(answer)
            _logger.warning("the tool's definition is unknown: %s", failure or "evidence_malformed")
        return None

    def _ask(self, source: EvidenceSource, ask: Callable[[], Any]) -> _Pending:
        pending = _Pending(source)
        slot = self._slots[source.section]
        if not slot.acquire(blocking=False):
            pending.failure = "evidence_source_busy"
            return pending

        def target() -> None:
            try:
                pending.answer = ask()
                pending.failure = None
            except BaseException:  # noqa: BLE001 - whatever a host's adapter raises may quote a secret and goes no further
                pending.failure = "evidence_source_failed"
            finally:
                slot.release()

        context = contextvars.copy_context()
        # A daemon: a hung source must not keep the process from ending.
        thread = threading.Thread(target=context.run, args=(target,), name="gate-evidence", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            slot.release()
            pending.failure = "evidence_source_failed"
            return pending
        pending.thread = thread
        return pending

    def _facts(self, source: EvidenceSource, answer: Any, failure: str | None, question: Question) -> Any:
        if failure is not None:
            raise EvidenceError("the source gave no answer", code=failure)
        if answer is None:
            return None
        signed_by: str | None = None
        if isinstance(answer, SignedEvidence):
            keys = question.facts.evidence.get(source.section, {}).get("signature_keys", {})
            answer = verified_facts(answer, section=source.section, environment=self.environment, keys=keys)
            signed_by = answer.key_id
            answer = answer.facts
        facts = _checked(source.section, answer)
        return _stamped(source, facts, signed_by, question.now_ms)


def _checked(section: str, answer: Any) -> dict[str, Any]:
    """A copy of `answer` that the schema of `section` allows."""
    if not isinstance(answer, Mapping):
        raise EvidenceError("the answer is not an object", code="evidence_malformed")
    try:
        # A copy: what the source does to its own object afterwards must not reach the document.
        facts = parse(canonical_bytes(dict(answer)))
        _validator(section)(facts)
    except (InputError, fastjsonschema.JsonSchemaException) as exc:
        raise EvidenceError("the answer is not what its schema allows", code="evidence_malformed") from exc
    return dict(facts)


@cache
def _validator(section: str) -> Callable[[Any], Any]:
    validator: Callable[[Any], Any] = fastjsonschema.compile(schema(f"evidence/{section}"), use_default=False)
    return validator


def _stamped(source: EvidenceSource, facts: dict[str, Any], signed_by: str | None, now_ms: int) -> dict[str, Any]:
    """`facts` with what only the gate may say: by whom, when and how long ago it was checked, and who signed it."""
    declared = schema(f"evidence/{source.section}")["properties"]
    # A source that says null does not know when; one that says nothing looked now.
    checked_at_ms = facts.get("checked_at_ms", now_ms if signed_by is None else None)
    stamps = {
        "checked_by": getattr(source, "checked_by", type(source).__name__),
        "checked_at_ms": checked_at_ms,
        "check_age_ms": _age(checked_at_ms, now_ms),
        "signed_by": signed_by,
    }
    if "fetched_at_ms" in facts:
        stamps["age_ms"] = _age(facts["fetched_at_ms"], now_ms)
    return {**facts, **{name: value for name, value in stamps.items() if name in declared}}


def _age(then_ms: Any, now_ms: int) -> int | None:
    return None if then_ms is None else now_ms - int(then_ms)
