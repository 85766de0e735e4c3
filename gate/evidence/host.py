"""What the host vouches for and what the model asked: the two halves of a call, kept apart by type.

Pure. Nothing here comes from a context window except `Call`, and only `Call` becomes `input.request`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from gate.errors import InputError


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""No arguments were passed at all: not the same action as null or `{}`."""


def require_text(name: str, value: object) -> None:
    """Raises `InputError` (`field_invalid`) unless `value` is a string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"`{name}` must be a string that is not blank", code="field_invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who acts for whom, from the host's verified context, never from the model."""

    tenant_id: str | None
    principal_id: str | None
    authorization_mode: str = "platform_owned"
    """platform_owned, user_delegated or human_approved."""
    delegated_principal_id: str | None = None
    """Required with user_delegated."""
    delegated_scope: str | None = None
    """Required with user_delegated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The host's handle on one agent run. Its state is read from the records at every call.

    Raises `InputError` for a name that is blank or not text.
    """

    agent_id: str
    session_id: str
    run_id: str
    trace_id: str
    identity: Identity
    epoch: int | None = None
    """The epoch the host is in: 1 at the start of a run, one more after every boundary; None says nothing."""
    role: str | None = None
    """The role in which the agent acts, for bundles that compare it at a boundary."""

    def __post_init__(self) -> None:
        for name in ("agent_id", "session_id", "run_id", "trace_id"):
            require_text(name, getattr(self, name))
        if self.epoch is not None and (type(self.epoch) is not int or self.epoch < 0):
            raise InputError("`epoch` must be a whole number", code="field_invalid")
        if self.role is not None:
            require_text("role", self.role)

    def as_identity(self, identity: Identity) -> Run:
        """The same run asked for by `identity`; the policies refuse when the run belongs to another."""
        return replace(self, identity=identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call as the model asked for it. UNTRUSTED.

    Raises `InputError` for a capability that is blank, or any name that is not text.
    """

    capability: str
    arguments: Any = ABSENT
    idempotency_key: str | None = None
    """Names the intent; the same intent keeps its key over retries."""
    reason: str | None = None
    """What a reviewer is told; required when the approval contract lists it."""
    resource: str | None = None
    approval_id: str | None = None
    """Approval the host says this call is under; without it the approval is found by digest."""

    def __post_init__(self) -> None:
        require_text("capability", self.capability)
        for name in ("idempotency_key", "reason", "resource", "approval_id"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"`{name}` must be a string", code="field_invalid")
