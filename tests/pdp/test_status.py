from __future__ import annotations

import json
from typing import Any

import pytest

from gate.errors import PdpError
from gate.pdp import SidecarStatus
from gate.pdp.status import read_status

SOUND = {
    "name": "gate",
    "active_revision": "b@1+aa",
    "last_successful_activation": "2026-01-01T00:00:00.123456789Z",
    "last_request": "2026-01-01T00:00:01Z",
    "metrics": {"some_counter": 9223372036854775807},
}


def body(bundle: Any) -> bytes:
    return json.dumps({"result": {"bundles": {"gate": bundle}, "metrics": {"x": 1e300}}}).encode()


def test_active_bundle_is_read_whole() -> None:
    assert read_status(body(SOUND)) == SidecarStatus(
        revision="b@1+aa", activated_at_ms=1_767_225_600_123, requested_at_ms=1_767_225_601_000, error=None
    )


def test_bundle_that_was_never_activated_has_no_revision_and_no_time() -> None:
    never = {**SOUND, "active_revision": "", "last_successful_activation": "0001-01-01T00:00:00Z"}
    found = read_status(body({**never, "code": "bundle_error", "message": "bundle missing .signatures.json file"}))
    assert (found.revision, found.activated_at_ms, found.error) == (None, None, "bundle_unsigned")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("gate/main.rego: digest mismatch (want: a, got: b)", "bundle_tampered"),
        ("file gate/more.rego not included in bundle signature", "bundle_tampered"),
        ("failed to verify JWT signature: dsig.VerifyECDSA: x", "bundle_signature_invalid"),
        ("bundle read failed: failed to copy file /.signatures.json: unexpected EOF", "bundle_unreadable"),
        ("request failed: Get http://x: connection refused", "bundle_fetch_failed"),
        ("server replied with Not Found", "bundle_fetch_failed"),
        ("1 error occurred: SECRET", "bundle_error"),
    ],
)
def test_error_is_one_of_a_few_codes_and_no_word_of_opa(message: str, error: str) -> None:
    found = read_status(body({**SOUND, "code": "bundle_error", "message": message}))
    assert (found.revision, found.error) == ("b@1+aa", error)
    assert "SECRET" not in repr(found)


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"result":null}',
        b'{"result":{"bundles":{}}}',
        body(None),
        body({**SOUND, "active_revision": 7}),
        body({**SOUND, "last_request": "yesterday"}),
        b"[" * 100_000,
    ],
)
def test_status_that_is_none_is_refused(wrong: bytes) -> None:
    with pytest.raises(PdpError) as caught:
        read_status(wrong)
    assert caught.value.code == "pdp_status_invalid"
