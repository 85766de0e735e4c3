"""Who asks, from the signed token of the host's ingress: an `Identity` that no prompt and no argument can set.

Needs the extra `ingress`. Checks signature, issuer, audience and times; what the identity may do is decided in Rego.
Never repeats a token or a claim in an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gate.errors import EvidenceError, InputError, ToolchainError
from gate.evidence.host import Identity

ALGORITHMS: Final = frozenset({"EdDSA", "ES256", "ES384", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
"""Only signatures that the host can check and not make: a shared secret would let every checker issue tokens."""

_MODES = frozenset({"platform_owned", "user_delegated", "human_approved"})


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressVerifier:
    """Checks tokens of one issuer for one audience. Raises `InputError` (`ingress_*`) for settings that check nothing.

    Claims: `sub` is the principal, `tenant_claim` the tenant; a user's delegation is `delegated_principal_id` and
    `delegated_scope` under `delegation_claim`. The mode is the host's setting and never a claim.
    """

    issuer: str
    audience: str
    keys: Mapping[str, Any] = field(repr=False)
    """Public keys of the issuer by key id, PEM or objects of `cryptography`."""
    algorithms: tuple[str, ...]
    authorization_mode: str = "platform_owned"
    tenant_claim: str = "tenant_id"
    delegation_claim: str = "delegation"
    max_age_seconds: int = 3600
    """Greatest time between issue and expiry."""
    leeway_seconds: int = 0
    clock_ms: Callable[[], int]

    def __post_init__(self) -> None:
        if not self.algorithms or not set(self.algorithms) <= ALGORITHMS:
            raise InputError("the algorithms must be asymmetric signatures", code="ingress_algorithm_invalid")
        if not self.keys or not self.issuer or not self.audience:
            raise InputError("issuer, audience and keys must be stated", code="ingress_settings_incomplete")
        if self.authorization_mode not in _MODES:
            raise InputError("the authorization mode is not known", code="ingress_mode_invalid")

    def identity(self, token: str) -> Identity:
        """The identity that `token` proves. Raises `EvidenceError` (`ingress_token_*`) for any fault."""
        claims = self._claims(token)
        tenant, principal = claims.get(self.tenant_claim), claims.get("sub")
        if not _stated(tenant) or not _stated(principal):
            raise EvidenceError("the ingress token names no tenant or no principal", code="ingress_token_incomplete")
        if self.authorization_mode != "user_delegated":
            return Identity(tenant_id=tenant, principal_id=principal, authorization_mode=self.authorization_mode)
        delegation = claims.get(self.delegation_claim)
        if not isinstance(delegation, Mapping):
            delegation = {}
        delegated, scope = delegation.get("delegated_principal_id"), delegation.get("delegated_scope")
        if not _stated(delegated) or not _stated(scope):
            raise EvidenceError("the ingress token names no delegation", code="ingress_token_incomplete")
        return Identity(
            tenant_id=tenant,
            principal_id=principal,
            authorization_mode="user_delegated",
            delegated_principal_id=delegated,
            delegated_scope=scope,
        )

    def _claims(self, token: str) -> Mapping[str, Any]:
        try:
            import jwt
        except ImportError as exc:
            raise ToolchainError("checking ingress tokens needs `PyJWT`", hint="install the extra `ingress`") from exc
        try:
            # The header only picks among the host's own keys; `jku`, `jwk` and `x5u` in it are not looked at.
            key_id = jwt.get_unverified_header(token).get("kid")
            if not isinstance(key_id, str) or key_id not in self.keys:
                raise EvidenceError("the ingress token is signed with an unknown key", code="ingress_token_key_unknown")
            claims: Mapping[str, Any] = jwt.decode(
                token,
                self.keys[key_id],
                algorithms=list(self.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                options={
                    "require": ["exp", "iat", "nbf", "iss", "aud", "sub"],
                    # The gate's clock and not the library's: below.
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, TypeError, ValueError, AttributeError) as exc:
            raise EvidenceError("the ingress token does not hold", code="ingress_token_invalid") from exc
        self._check_times(claims)
        return claims

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        times = [claims.get(name) for name in ("iat", "nbf", "exp")]
        if not all(isinstance(t, int) and not isinstance(t, bool) for t in times):
            raise EvidenceError("the ingress token is not dated in whole seconds", code="ingress_token_invalid")
        issued, not_before, expires = (int(t or 0) * 1000 for t in times)
        now, leeway = self.clock_ms(), self.leeway_seconds * 1000
        if now >= expires + leeway:
            raise EvidenceError("the ingress token has expired", code="ingress_token_expired")
        if now + leeway < not_before or now + leeway < issued:
            raise EvidenceError("the ingress token is not good yet", code="ingress_token_not_yet_valid")
        if expires - issued > self.max_age_seconds * 1000:
            raise EvidenceError("the ingress token lives too long", code="ingress_token_too_long_lived")


def _stated(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""
