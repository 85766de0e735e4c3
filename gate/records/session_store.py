"""The part of the store that keeps capability sessions.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from gate.records import checks, sessions
from gate.records.database import Database
from gate.records.model import SessionRecord
from gate.records.statuses import SessionStatus


class SessionStore:
    """Stateful conversations with the servers of tools."""

    _database: Database

    def open_session(self, new: SessionRecord, *, lifetime_ms: int) -> SessionRecord:
        """Records a new session, active for `lifetime_ms`.

        Raises `ConflictError`: `run_unknown`, `run_closed`, `session_exists`, and for one that names what it replaces
        `session_unknown`, `session_not_ended`, `session_replaced`.
        """
        return self._database.writing(lambda tx: sessions.open_session(tx, new, lifetime_ms=lifetime_ms))

    def session(self, tenant_id: str, session_id: str) -> SessionRecord | None:
        """The session, or None when this tenant has none of that id."""
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        return self._database.reading(lambda tx: sessions.find(tx, tenant_id, session_id))

    def move_session(
        self, tenant_id: str, session_id: str, *, expected_version: int, status: SessionStatus
    ) -> SessionRecord:
        """Pauses, resumes or ends a session.

        Raises `ConflictError`: `session_unknown`, `session_changed`, `session_transition_illegal`.
        """
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        checks.whole("expected_version", expected_version, low=1)
        status = checks.member("status", SessionStatus, status)
        return self._database.writing(
            lambda tx: sessions.move(tx, tenant_id, session_id, expected_version=expected_version, status=status)
        )

    def note_progress(self, tenant_id: str, session_id: str) -> SessionRecord:
        """Counts a progress event. Raises `ConflictError`: `session_unknown`, `session_not_live`."""
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        return self._database.writing(lambda tx: sessions.note(tx, tenant_id, session_id, "progress"))

    def note_elicitation(self, tenant_id: str, session_id: str) -> SessionRecord:
        """Counts what the server asked the user for. Raises `ConflictError`: `session_unknown`, `session_not_live`."""
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        return self._database.writing(lambda tx: sessions.note(tx, tenant_id, session_id, "elicitation"))
