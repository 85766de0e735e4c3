"""Which capability session an operation is part of: the host says which, the records say how it stands.

A source of `evidence.session`. A session that the host names and the records do not have is unknown, never absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from gate.errors import EvidenceError
from gate.evidence.source import Question
from gate.records import Store


@dataclass(frozen=True, slots=True)
class _Current:
    session_id: str
    elicits_sensitive: bool | None


_current: ContextVar[_Current | None] = ContextVar("gate_capability_session", default=None)


@contextmanager
def in_session(session_id: str, *, elicits_sensitive: bool | None = None) -> Iterator[None]:
    """What the gate is asked inside is part of the session `session_id`.

    `elicits_sensitive`: whether what the server asks the user for includes secrets, as the host judges the form it
    sent; None when the host cannot tell, which counts as yes.
    """
    token = _current.set(_Current(session_id, elicits_sensitive))
    try:
        yield
    finally:
        _current.reset(token)


class SessionEvidence:
    """Reads the session that the host is in from the store, at every question."""

    section: Final = "session"

    def __init__(self, store: Store, *, checked_by: str = "svc-session-records") -> None:
        self.checked_by = checked_by
        self._store = store

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """The record of the current session; None outside of one."""
        current = _current.get()
        if current is None:
            return None
        tenant = question.run.identity.tenant_id
        found = self._store.session(tenant, current.session_id) if tenant else None
        if found is None:
            raise EvidenceError("this tenant has no such session", code="session_unknown")
        return {
            "session_id": found.session_id,
            "capability": found.capability,
            "tenant_id": found.tenant_id,
            "principal_id": found.principal_id,
            "trace_session_id": found.trace_session_id,
            "status": str(found.status),
            "paused_at_ms": found.paused_at_ms,
            "expires_at_ms": found.expires_at_ms,
            "reinitialized_from": found.reinitialized_from,
            "elicits_sensitive": current.elicits_sensitive,
        }
