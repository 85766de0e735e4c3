"""The decision point that is an OPA sidecar, asked over HTTP.

Sends a document and believes nothing that `gate.pdp.reply` has not checked; never asks the same question
twice, keeps no decision, and never logs what OPA answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gate.errors import GateError, PdpError
from gate.pdp.protocol import Facts, Reply
from gate.pdp.query import DECISION_PATH, FACTS_PATH, HEALTH_PATH, encode, facts_document, request_id_of
from gate.pdp.reply import MAX_FACTS_BYTES, MAX_REPLY_BYTES, check_status, read_facts, read_reply
from gate.pdp.status import MAX_STATUS_BYTES, STATUS_PATH, SidecarStatus, read_status
from gate.pdp.transport import Transport

_HEALTH_BYTES = 65_536
_T = TypeVar("_T")


class SidecarDecisionPoint:
    """A `DecisionPoint` over a running OPA. Safe to share between threads, and across a fork."""

    label = "opa sidecar"

    def __init__(
        self,
        *,
        url: str,
        expected_revisions: Iterable[str],
        token: str | None = None,
        timeout_ms: int = 1000,
        ca_file: Path | None = None,
        allowed_peer_uids: Iterable[int] | None = None,
    ) -> None:
        """Opens no connection yet; raises `PdpError`, `pdp_misconfigured`, for settings that cannot work.

        `url`, `token`, `ca_file`, `allowed_peer_uids`: see `gate.pdp.transport.Transport`.
        `expected_revisions`: a decision from any other revision is refused. `timeout_ms`: of a whole call,
        in milliseconds.
        """
        self._expected: frozenset[str]
        self.expect(expected_revisions)
        if timeout_ms <= 0:
            raise PdpError("the deadline of a call must be positive", code="pdp_misconfigured")
        self._timeout_ms = timeout_ms
        self._transport = Transport(
            url,
            token=token,
            ca_file=ca_file,
            allowed_peer_uids=None if allowed_peer_uids is None else frozenset(allowed_peer_uids),
        )
        self._revision = ""
        self._facts: dict[tuple[str, str], Facts] = {}

    def decide(self, document: Mapping[str, Any]) -> Reply:
        """The decision about `document`; raises `PdpError`, code `pdp_*`, when there is none to trust."""
        request_id = request_id_of(document)
        body = encode({"input": document})

        def read(answer: bytes) -> Reply:
            return read_reply(answer, request_id=request_id, expected_revisions=self._expected)

        reply = self._ask("POST", DECISION_PATH, body=body, limit=MAX_REPLY_BYTES, read=read)
        self._seen(reply.revision)
        return reply

    def facts(self, agent_id: str) -> Facts:
        """The facts of the bundle that governs `agent_id`, kept by revision; not to be changed."""
        cached = self._facts.get((agent_id, self._revision))
        return cached if cached is not None else self._fetch_facts(agent_id)

    def revision(self) -> str:
        """The revision being served now: always asked, never remembered."""
        return self._fetch_facts("").revision

    def ready(self) -> bool:
        """True when OPA's bundles are active and an expected revision answers; raises nothing."""
        try:
            self._ask("GET", HEALTH_PATH, body=b"", limit=_HEALTH_BYTES, read=len)
            self._fetch_facts("")
        except GateError:
            return False
        return True

    def expect(self, revisions: Iterable[str]) -> None:
        """From now on accepts these revisions and no other: old and new to declare a roll-over, new to end it.

        Takes effect for replies that are checked afterwards, in every thread of this process. Raises `PdpError`,
        `pdp_misconfigured`, for none.
        """
        expected = frozenset((revisions,) if isinstance(revisions, str) else revisions)
        if not expected:
            raise PdpError("no revision is pinned", code="pdp_misconfigured", hint="pin the one that is served")
        self._expected = expected

    def status(self) -> SidecarStatus:
        """What OPA says of its bundle, whatever revision that is; raises `PdpError`."""
        return self._ask("GET", STATUS_PATH, body=b"", limit=MAX_STATUS_BYTES, read=read_status)

    def close(self) -> None:
        """Closes the connections of this process; later calls raise `PdpError` with code `pdp_closed`."""
        self._transport.close()

    def _fetch_facts(self, agent_id: str) -> Facts:
        body = encode({"input": facts_document(agent_id)})

        def read(answer: bytes) -> Facts:
            return read_facts(answer, expected_revisions=self._expected)

        facts = self._ask("POST", FACTS_PATH, body=body, limit=MAX_FACTS_BYTES, read=read)
        self._seen(facts.revision)
        if facts.bundle is not None:  # agents that nobody governs are without number
            self._facts[(agent_id, facts.revision)] = facts
        return facts

    def _seen(self, revision: str) -> None:
        if revision != self._revision:
            self._revision = revision
            self._facts = {}

    def _ask(self, method: str, target: str, *, body: bytes, limit: int, read: Callable[[bytes], _T]) -> _T:
        began = time.monotonic()
        status, answer = self._transport.request(method, target, body=body, timeout_ms=self._timeout_ms, limit=limit)
        try:
            check_status(status)
            return read(answer)
        except GateError as exc:
            self._transport.discard()
            if exc.code == "pdp_unauthorized" and method == "POST":
                raise self._why_refused(exc, self._timeout_ms - (time.monotonic() - began) * 1000) from exc
            raise

    def _why_refused(self, refusal: GateError, left_ms: float) -> GateError:
        """Whoever is answered about status has the right token, and was refused for what is being served."""
        if left_ms <= 0:
            return refusal
        try:
            status, answer = self._transport.request("GET", STATUS_PATH, timeout_ms=left_ms, limit=MAX_STATUS_BYTES)
            check_status(status)
            revision = read_status(answer).revision
        except GateError:
            self._transport.discard()
            return refusal
        if revision is None:
            return PdpError("the sidecar has no bundle yet", code="pdp_not_ready", hint="see `gate status`")
        return PdpError(
            "the sidecar does not answer about the revision it serves: not the pinned one, or below the minimum",
            code="pdp_revision_refused",
            hint="see `gate status`",
        )
