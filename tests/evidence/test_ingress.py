"""Identity from signed tokens: what holds, and every way in which one does not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gate.errors import EvidenceError, InputError
from gate.evidence import Identity
from gate.evidence.ingress import IngressVerifier

NOW = 1_800_000_000
KEY, OTHER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EDWARDS = ed25519.Ed25519PrivateKey.generate()
CLAIMS = {
    "iss": "https://ingress.internal",
    "aud": "gate",
    "sub": "user-42",
    "tenant_id": "acme",
    "iat": NOW - 10,
    "nbf": NOW - 10,
    "exp": NOW + 60,
}


def verifier(**changes: Any) -> IngressVerifier:
    fields: dict[str, Any] = {
        "issuer": "https://ingress.internal",
        "audience": "gate",
        "keys": {"key-1": KEY.public_key(), "key-rsa": RSA.public_key(), "key-ed": EDWARDS.public_key()},
        "algorithms": ("ES256", "EdDSA"),
        "clock_ms": lambda: NOW * 1000,
    }
    return IngressVerifier(**{**fields, **changes})


def token(key: Any = KEY, *, algorithm: str = "ES256", kid: str | None = "key-1", **claims: Any) -> str:
    said = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not ...}
    return jwt.encode(said, key, algorithm=algorithm, headers={} if kid is None else {"kid": kid})


def refused(text: Any, **changes: Any) -> str:
    with pytest.raises(EvidenceError) as caught:
        verifier(**changes).identity(text)
    message = f"{caught.value.message} {caught.value.hint}"
    assert str(text) not in message or text == ""
    assert "user-42" not in message
    return caught.value.code


def test_token_that_holds_names_tenant_and_principal() -> None:
    assert verifier().identity(token()) == Identity(tenant_id="acme", principal_id="user-42")
    assert verifier().identity(token(EDWARDS, algorithm="EdDSA", kid="key-ed")) == Identity(
        tenant_id="acme", principal_id="user-42"
    )


def test_token_of_a_delegation_names_both_principals() -> None:
    delegation = {"delegated_principal_id": "user-7", "delegated_scope": "tickets:create"}
    found = verifier(authorization_mode="user_delegated").identity(token(delegation=delegation))
    assert found == Identity(
        tenant_id="acme",
        principal_id="user-42",
        authorization_mode="user_delegated",
        delegated_principal_id="user-7",
        delegated_scope="tickets:create",
    )


def test_mode_is_the_hosts_and_no_claim() -> None:
    assert verifier().identity(token(authorization_mode="human_approved")).authorization_mode == "platform_owned"


def unsigned() -> str:
    parts = [{"alg": "none", "typ": "JWT", "kid": "key-1"}, CLAIMS]
    return ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "."


def signed_with_the_public_key() -> str:
    """The classic confusion: the public key's bytes as a shared secret."""
    secret = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    parts = [{"alg": "HS256", "typ": "JWT", "kid": "key-1"}, CLAIMS]
    text = ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts)
    mac = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def with_jwk_in_the_header() -> str:
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(OTHER.public_key()))
    return jwt.encode(
        CLAIMS, OTHER, algorithm="ES256", headers={"kid": "key-1", "jwk": jwk, "jku": "https://evil/jwks"}
    )


def swapped() -> str:
    header, _, signature = token().split(".")
    claims = base64.urlsafe_b64encode(json.dumps({**CLAIMS, "sub": "user-43"}).encode()).rstrip(b"=").decode()
    return f"{header}.{claims}.{signature}"


FORGED: dict[str, tuple[Callable[[], Any], str]] = {
    "other key": (lambda: token(OTHER), "ingress_token_invalid"),
    "no key id": (lambda: token(kid=None), "ingress_token_key_unknown"),
    "unknown key id": (lambda: token(kid="key-2"), "ingress_token_key_unknown"),
    "key id is a path": (lambda: token(kid="../../key"), "ingress_token_key_unknown"),
    "unsigned": (unsigned, "ingress_token_invalid"),
    "public key as secret": (signed_with_the_public_key, "ingress_token_invalid"),
    "key in the header": (with_jwk_in_the_header, "ingress_token_invalid"),
    "claims swapped": (swapped, "ingress_token_invalid"),
    "algorithm not pinned": (lambda: token(RSA, algorithm="RS256", kid="key-rsa"), "ingress_token_invalid"),
    "empty": (lambda: "", "ingress_token_invalid"),
    "garbage": (lambda: "a.b.c", "ingress_token_invalid"),
    "not a text": (lambda: None, "ingress_token_invalid"),
}


@pytest.mark.parametrize(("make", "code"), FORGED.values(), ids=FORGED)
def test_forged_token_is_refused(make: Callable[[], Any], code: str) -> None:
    assert refused(make()) == code


CLAIM_FAULTS: list[tuple[dict[str, Any], str]] = [
    *[({name: ...}, "ingress_token_invalid") for name in ("iss", "aud", "sub", "iat", "nbf", "exp")],
    ({"iss": "https://ingress.internal/"}, "ingress_token_invalid"),
    ({"aud": "other"}, "ingress_token_invalid"),
    ({"aud": ["other"]}, "ingress_token_invalid"),
    ({"exp": NOW}, "ingress_token_expired"),
    ({"exp": NOW - 1}, "ingress_token_expired"),
    ({"nbf": NOW + 1}, "ingress_token_not_yet_valid"),
    ({"iat": NOW + 1}, "ingress_token_not_yet_valid"),
    ({"exp": NOW + 100_000}, "ingress_token_too_long_lived"),
    ({"exp": NOW + 0.5}, "ingress_token_invalid"),
    ({"tenant_id": ...}, "ingress_token_incomplete"),
    ({"tenant_id": None}, "ingress_token_incomplete"),
    ({"tenant_id": " "}, "ingress_token_incomplete"),
    ({"tenant_id": ["acme"]}, "ingress_token_incomplete"),
    ({"sub": " "}, "ingress_token_incomplete"),
]


@pytest.mark.parametrize(("claims", "code"), CLAIM_FAULTS)
def test_claim_that_does_not_hold_is_refused(claims: dict[str, Any], code: str) -> None:
    assert refused(token(**claims)) == code


def test_bounds_of_the_times_are_good() -> None:
    assert verifier().identity(token(exp=NOW + 1, nbf=NOW, iat=NOW)).principal_id == "user-42"
    assert verifier(leeway_seconds=2).identity(token(exp=NOW - 1, nbf=NOW - 5, iat=NOW - 5)).principal_id == "user-42"


@pytest.mark.parametrize(
    "delegation",
    [..., None, "user-7", {}, {"delegated_principal_id": "user-7"}, {"delegated_scope": "s"},
     {"delegated_principal_id": " ", "delegated_scope": "s"}, {"delegated_principal_id": 7, "delegated_scope": "s"}],
)  # fmt: skip
def test_delegation_that_is_half_stated_is_refused(delegation: Any) -> None:
    assert refused(token(delegation=delegation), authorization_mode="user_delegated") == "ingress_token_incomplete"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"algorithms": ()}, "ingress_algorithm_invalid"),
        ({"algorithms": ("HS256",)}, "ingress_algorithm_invalid"),
        ({"algorithms": ("none",)}, "ingress_algorithm_invalid"),
        ({"algorithms": ("ES256", "HS512")}, "ingress_algorithm_invalid"),
        ({"keys": {}}, "ingress_settings_incomplete"),
        ({"issuer": ""}, "ingress_settings_incomplete"),
        ({"audience": ""}, "ingress_settings_incomplete"),
        ({"authorization_mode": "root"}, "ingress_mode_invalid"),
    ],
)
def test_settings_that_check_nothing_are_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        verifier(**changes)
    assert caught.value.code == code
