"""Capability sessions around the gate: what the server of a live session sends is decided about, then recorded.

Decides nothing. Wrap a stateful MCP client with it: `progress` and `elicit` in its callbacks, before anything of what
the server sent reaches the agent or the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gate.canonical import digest
from gate.decision import ActionBlocked, Decision
from gate.enforcement.asking import refusal
from gate.enforcement.obligations import refuse_unknown
from gate.errors import EvidenceError
from gate.evidence import Call, Run
from gate.evidence.sessions import in_session
from gate.records import SessionRecord, SessionStatus, Store

Check = Callable[[Run, str, Mapping[str, Any]], Decision]
CheckResume = Callable[[Run, Call], Decision]

_LEFT_TO_THE_CALL = frozenset({"claim_effect", "consume_approval", "mark_partial"})
"""Obligations of the call that goes on: it is decided again when it is carried out, and discharges them then."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of one gate, which must have `gate.evidence.sessions.SessionEvidence` among its sources."""

    store: Store
    check: Check
    check_resume: CheckResume

    def open(
        self,
        run: Run,
        *,
        session_id: str,
        capability: str,
        server: str,
        lifetime_ms: int,
        remote_session_id: str | None = None,
        replaces: str | None = None,
    ) -> SessionRecord:
        """Records a session that a call of `capability` opened; whether it may be used is asked at every use.

        Of the server's own session id only a digest is kept. `replaces` names an expired session that this one stands
        in for. Raises `ConflictError` as `Store.open_session` does.
        """
        identity = run.identity
        new = SessionRecord(
            tenant_id=identity.tenant_id or "",
            session_id=session_id,
            run_id=run.run_id,
            principal_id=identity.principal_id or "",
            trace_session_id=run.session_id,
            server=server,
            capability=capability,
            remote_digest=None if remote_session_id is None else digest(remote_session_id),
            reinitialized_from=replaces,
        )
        return self.store.open_session(new, lifetime_ms=lifetime_ms)

    def pause(self, session: SessionRecord) -> SessionRecord:
        """Pauses a session: nothing of it passes until `resume`. Raises `ConflictError` as `Store.move_session`."""
        return self._move(session, SessionStatus.PAUSED)

    def resume(self, run: Run, session: SessionRecord, call: Call) -> SessionRecord:
        """Makes a paused session active again so that `call` can go on in it, when that is permitted now.

        Asked at operation resume_tool, with everything that a call is asked for; carrying the call out is decided once
        more. Raises `ActionBlocked`, and as `pause` does.
        """
        with in_session(session.session_id):
            decision = self.check_resume(run, call).enforce()
        self._refuse_beyond(decision, _LEFT_TO_THE_CALL)
        return self._move(session, SessionStatus.ACTIVE)

    def expire(self, session: SessionRecord) -> SessionRecord:
        """Says that the server, or the clock, ended the session; it may then be replaced. Raises as `pause` does."""
        return self._move(session, SessionStatus.EXPIRED)

    def close(self, session: SessionRecord) -> SessionRecord:
        """Ends a session for good. Raises as `pause` does."""
        return self._move(session, SessionStatus.CLOSED)

    def progress(self, run: Run, session: SessionRecord) -> SessionRecord:
        """Lets one progress event of the server through. Raises `ActionBlocked`, `ConflictError` `session_not_live`."""
        with in_session(session.session_id):
            self._ask(run, "progress", session)
        return self.store.note_progress(session.tenant_id, session.session_id)

    def elicit(self, run: Run, session: SessionRecord, *, sensitive: bool | None) -> SessionRecord:
        """Lets the server ask the user for something; `sensitive` when that includes secrets, None when unknown.

        Raises `ActionBlocked`, `ConflictError` (`session_not_live`).
        """
        with in_session(session.session_id, elicits_sensitive=sensitive):
            self._ask(run, "elicit", session)
        return self.store.note_elicitation(session.tenant_id, session.session_id)

    def _ask(self, run: Run, operation: str, session: SessionRecord) -> None:
        decision = self.check(run, operation, {"capability": session.capability}).enforce()
        self._refuse_beyond(decision, frozenset())

    def _refuse_beyond(self, decision: Decision, discharged: frozenset[str]) -> None:
        try:
            refuse_unknown(decision, discharged)
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, None)) from exc

    def _move(self, session: SessionRecord, status: SessionStatus) -> SessionRecord:
        return self.store.move_session(
            session.tenant_id, session.session_id, expected_version=session.version, status=status
        )
