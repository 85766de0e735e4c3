"""What an authorization server granted: from its token responses (RFC 6749) and its introspection (RFC 7662).

A source of `evidence.oauth_scope`. Never takes what was requested for what was granted, never tries again, refreshes,
switches to another grant or asks for more; a token is sent to the introspection endpoint and goes nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import requests
import urllib3

from gate.canonical import parse
from gate.errors import EvidenceError, GateError
from gate.evidence.source import Question

MAX_ANSWER_BYTES: Final = 65_536
_REFUSED = frozenset({"access_denied", "consent_required", "interaction_required"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A grant that the host holds for a run."""

    grant_ref: str
    """Names the grant in evidence and audit; not a secret."""
    token: str | None = field(repr=False)
    """The access token; None when the user refused or there is none."""
    requested_scopes: tuple[str, ...]
    task_ref: str | None
    """Run the grant was obtained for."""
    resource: tuple[str, ...] = ()
    """RFC 8707 resources that the server confirmed when it issued the token."""
    refused: bool = False
    """The authorization server answered with a refusal of consent."""


def scopes_of(answer: Mapping[str, Any]) -> list[str] | None:
    """The `scope` of a server's answer as exact names; None when it does not say.

    RFC 6749 5.1 lets a server leave it out when it granted what was asked; here that counts as not said, because
    what was asked permits nothing. Names are split at single spaces, as RFC 6749 3.3 writes them.
    """
    scope = answer.get("scope")
    if not isinstance(scope, str):
        return None
    return [name for name in scope.split(" ") if name]


def grant_of_response(
    body: bytes,
    *,
    status: int,
    grant_ref: str,
    requested_scopes: tuple[str, ...],
    task_ref: str | None,
    resource: tuple[str, ...] = (),
) -> Grant:
    """The grant in a token response. Raises `EvidenceError` (`oauth_*`) for an answer that is none.

    What it grants is not read here but asked of the server at every call, because it can be taken away.
    """
    answer = _object(body)
    error = answer.get("error")
    if status == 200 and error is None:
        token = answer.get("access_token")
        if not isinstance(token, str) or not token or str(answer.get("token_type", "")).lower() != "bearer":
            raise EvidenceError("the token response holds no bearer token", code="oauth_response_invalid")
        return Grant(
            grant_ref=grant_ref,
            token=token,
            requested_scopes=requested_scopes,
            task_ref=task_ref,
            resource=resource,
        )
    if error in _REFUSED:
        return Grant(
            grant_ref=grant_ref, token=None, requested_scopes=requested_scopes, task_ref=task_ref, refused=True
        )
    raise EvidenceError("the authorization server did not issue a token", code="oauth_not_granted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Introspection:
    """One introspection endpoint (RFC 7662), asked as a client of its own."""

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)
    issuer: str | None = None
    """`iss` that an answer must have, when it states one."""
    timeout_seconds: float = 2.0

    def ask(self, token: str) -> Mapping[str, Any]:
        """The server's answer about `token`, asked once. Raises `EvidenceError` (`oauth_*`)."""
        try:
            with requests.post(
                self.endpoint,
                data={"token": token, "token_type_hint": "access_token"},
                auth=(self.client_id, self.client_secret),
                headers={"Accept": "application/json"},
                timeout=self.timeout_seconds,
                # A redirect would carry the token to wherever it points.
                allow_redirects=False,
                stream=True,
            ) as response:
                body = response.raw.read(MAX_ANSWER_BYTES + 1, decode_content=True)
                status = response.status_code
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as exc:
            raise EvidenceError("the introspection endpoint did not answer", code="oauth_unreachable") from exc
        if status != 200 or len(body) > MAX_ANSWER_BYTES:
            raise EvidenceError("the introspection endpoint gave no answer", code="oauth_introspection_failed")
        answer = _object(body)
        if not isinstance(answer.get("active"), bool):
            raise EvidenceError("the introspection answer says nothing of `active`", code="oauth_response_invalid")
        if self.issuer is not None and answer.get("iss", self.issuer) != self.issuer:
            raise EvidenceError("the introspection answer is of another issuer", code="oauth_issuer_mismatch")
        return answer


class OAuthGrants:
    """Asks the authorization server about the run's grant at every call: what it said before is not used again.

    `grant_for` finds the grant that the host holds for the question; it must not look at the model's arguments.
    """

    section: Final = "oauth_scope"

    def __init__(
        self,
        grant_for: Callable[[Question], Grant | None],
        introspection: Introspection,
        *,
        checked_by: str = "svc-authorization-server",
    ) -> None:
        self.checked_by = checked_by
        self._grant_for = grant_for
        self._introspection = introspection

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """What the server grants now; None for anything but a call, or when the host holds no grant for it."""
        if question.call is None:
            return None
        grant = self._grant_for(question)
        if grant is None:
            return None
        stated = {
            "grant_ref": grant.grant_ref,
            "requested_scopes": list(grant.requested_scopes),
            "task_ref": grant.task_ref,
            "resource": list(grant.resource),
            "policy_version": (question.facts.bundle or {}).get("version"),
        }
        if grant.token is None:
            return {**stated, "status": "refused" if grant.refused else "unknown", "granted_scopes": None}
        answer = self._introspection.ask(grant.token)
        if answer["active"] is not True:
            # RFC 7662 2.2: an inactive token's other members say nothing.
            return {**stated, "status": "revoked", "granted_scopes": None}
        expires, subject = answer.get("exp"), answer.get("sub")
        return {
            **stated,
            "status": "active",
            "subject_ref": subject if isinstance(subject, str) else None,
            "granted_scopes": scopes_of(answer),
            "audience": _audience(answer.get("aud")),
            "expires_at_ms": expires * 1000 if isinstance(expires, int) and not isinstance(expires, bool) else None,
        }


def _audience(value: object) -> list[str] | None:
    """`aud` is one text or a list of them (RFC 7519 4.1.3)."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    return None


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        answer = parse(body, max_bytes=MAX_ANSWER_BYTES)
    except GateError as exc:
        raise EvidenceError("the authorization server did not answer in JSON", code="oauth_response_invalid") from exc
    if not isinstance(answer, dict):
        raise EvidenceError("the authorization server's answer is no object", code="oauth_response_invalid")
    return answer
