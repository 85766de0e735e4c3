"""What makes a side effect the same effect, whatever the call or its idempotency key.

Pure: a value and how it is checked and written down; knows no table.
"""

from __future__ import annotations

from dataclasses import dataclass

from gate import canonical
from gate.records import checks


@dataclass(frozen=True, slots=True)
class EffectKey:
    """What makes an effect the same effect."""

    tenant_id: str
    principal_id: str
    capability: str
    business_key: str

    @classmethod
    def checked(cls, tenant_id: str, principal_id: str, capability: str, business_key: str) -> EffectKey:
        """Raises `InputError` for a part that is blank, unprintable or not text."""
        return cls(
            checks.name("tenant_id", tenant_id),
            checks.name("principal_id", principal_id),
            checks.name("capability", capability),
            checks.name("business_key", business_key),
        )

    def event_fields(self) -> dict[str, str]:
        """How events name the effect: a business key can hold argument values, so only its digest."""
        return {
            "principal_id": self.principal_id,
            "capability": self.capability,
            "business_key_digest": canonical.digest(self.business_key),
        }
