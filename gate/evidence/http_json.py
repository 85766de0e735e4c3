"""One question to a service of the host: a JSON object out, a JSON object back, within a deadline.

Knows no section and decides nothing. Whatever is not a small, whole, unredirected answer with status 200 is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import requests

from gate.canonical import canonical_bytes, parse
from gate.errors import EvidenceError, InputError

MAX_ANSWER_BYTES = 262_144
"""Size limit of an answer in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonService:
    """A service that answers POSTed JSON. Safe to share between threads: each question is a connection of its own."""

    url: str
    timeout_seconds: float = 1.5
    """For connecting, and again between two pieces of the answer."""
    token: Callable[[], str] | None = None
    """Bearer token, asked for at each question so that it can be renewed; never logged."""
    ca_file: str | None = None
    """Certificates an https service is checked against; None for the system's."""

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `question`. Raises `EvidenceError` (`evidence_service_failed`) when there is none."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token()}"
        try:
            with requests.Session() as session:
                # Neither a proxy nor a .netrc of this machine may answer in the service's place.
                session.trust_env = False
                with session.post(
                    self.url,
                    data=canonical_bytes(dict(question)),
                    headers=headers,
                    timeout=self.timeout_seconds,
                    allow_redirects=False,
                    stream=True,
                    verify=True if self.ca_file is None else self.ca_file,
                ) as response:
                    if response.status_code != 200:
                        raise _failed()
                    body = response.raw.read(MAX_ANSWER_BYTES + 1, decode_content=True)
        except (requests.RequestException, OSError, ValueError) as exc:
            raise _failed() from exc
        except Exception as exc:
            # urllib3 raises its own while the body is read.
            if isinstance(exc, EvidenceError):
                raise
            raise _failed() from exc
        return _object(body)


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = parse(body, max_bytes=MAX_ANSWER_BYTES)
    except InputError as exc:
        raise _failed() from exc
    if not isinstance(answer, dict):
        raise _failed()
    return answer


def _failed() -> EvidenceError:
    return EvidenceError("the service gave no answer that can be used", code="evidence_service_failed")
