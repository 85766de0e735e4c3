"""What OPA says of its own bundle: which revision is active, since when, and why the next one is not.

Reads OPA's status document and repeats none of its words: an error there is one of a few codes here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gate.documents import parse_rfc3339_ms
from gate.errors import InputError, PdpError

MAX_STATUS_BYTES = 4 * 1_048_576
STATUS_PATH = "/v1/status"

# The first that OPA's message holds, in lower case.
_ERRORS = (
    ("bundle read failed", "bundle_unreadable"),
    ("unexpected eof", "bundle_unreadable"),
    ("missing .signatures.json", "bundle_unsigned"),
    ("digest mismatch", "bundle_tampered"),
    ("not included in bundle signature", "bundle_tampered"),
    ("not found in bundle", "bundle_tampered"),
    ("specified in bundle signatures but not found", "bundle_tampered"),
    ("failed to verify", "bundle_signature_invalid"),
    ("verification", "bundle_signature_invalid"),
    ("signature", "bundle_signature_invalid"),
    ("gzip", "bundle_unreadable"),
    ("eof", "bundle_unreadable"),
    ("archive", "bundle_unreadable"),
    ("flate", "bundle_unreadable"),
    ("connection refused", "bundle_fetch_failed"),
    ("request failed", "bundle_fetch_failed"),
    ("server replied", "bundle_fetch_failed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarStatus:
    """State of the one bundle a sidecar serves."""

    revision: str | None
    """The active one; None before the first."""
    activated_at_ms: int | None
    """Milliseconds since the epoch, by OPA's clock."""
    requested_at_ms: int | None
    """When OPA last looked for a bundle."""
    error: str | None
    """Why the last bundle was not activated, as a code; None when it was."""


def read_status(body: bytes) -> SidecarStatus:
    """The status in `body`, as OPA sends it; raises `PdpError` with code `pdp_status_invalid`."""
    try:
        # Not strictly: its metrics hold integers that no reader of JSON needs to keep apart.
        document = json.loads(body)
        bundle = document["result"]["bundles"]["gate"]
        revision = bundle.get("active_revision") or None
        code, message = bundle.get("code") or "", str(bundle.get("message") or "")
        status = SidecarStatus(
            revision=revision,
            activated_at_ms=_time(bundle.get("last_successful_activation")),
            requested_at_ms=_time(bundle.get("last_request")),
            error=_error(message) if code or message else None,
        )
    except (InputError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as exc:
        raise PdpError("the status of the sidecar is not one", code="pdp_status_invalid") from exc
    if revision is not None and type(revision) is not str:
        raise PdpError("the status of the sidecar is not one", code="pdp_status_invalid")
    return status


def _error(message: str) -> str:
    lower = message.lower()
    return next((code for words, code in _ERRORS if words in lower), "bundle_error")


def _time(value: Any) -> int | None:
    """None for the year 1, by which OPA means never."""
    if value is None:
        return None
    at_ms = parse_rfc3339_ms(value)
    return at_ms if at_ms > 0 else None
