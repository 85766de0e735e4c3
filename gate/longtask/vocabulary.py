"""The closed words of long-task context: kinds of events and items, and the ranks that order them.

Pure. A rank sorts candidates; it never makes one text an authority over another rule of the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class EventType(StrEnum):
    """What an event of the log tells of."""

    TASK = "task"
    OBSERVATION = "observation"
    DECISION = "decision"
    TOOL_RESULT = "tool_result"
    VERIFICATION = "verification"
    USER_UPDATE = "user_update"


class ContextKind(StrEnum):
    """What kind of statement an item is; only an instruction may carry authority."""

    INSTRUCTION = "instruction"
    TASK = "task"
    FACT = "fact"
    OBSERVATION = "observation"
    ARTIFACT = "artifact"
    TOOL_SCHEMA = "tool_schema"


class _Ranked(StrEnum):
    """A word whose place in its class is its rank, weakest first."""

    @property
    def rank(self) -> int:
        """0 for the weakest."""
        return list(type(self)).index(self)


class InstructionAuthority(_Ranked):
    """Who an instruction is from."""

    NONE = "none"
    UNTRUSTED = "untrusted"
    USER = "user"
    REPOSITORY = "repository"
    DEVELOPER = "developer"
    SYSTEM = "system"


class TrustLevel(_Ranked):
    """How far a statement was checked."""

    HOSTILE = "hostile"
    UNKNOWN = "unknown"
    UNVERIFIED = "unverified"
    TRUSTED_SOURCE = "trusted_source"
    VERIFIED = "verified"


class RetentionPriority(_Ranked):
    """How much is lost with an item."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    REQUIRED = "required"


class Sensitivity(StrEnum):
    """Who may see an item; a secret never leaves the governed store."""

    PUBLIC = "public"
    INTERNAL = "internal"
    SECRET = "secret"  # noqa: S105  # a word, not one


MAY_INSTRUCT: Mapping[EventType, frozenset[InstructionAuthority]] = MappingProxyType(
    {
        EventType.TASK: frozenset(InstructionAuthority),
        EventType.USER_UPDATE: frozenset(
            {InstructionAuthority.NONE, InstructionAuthority.UNTRUSTED, InstructionAuthority.USER}
        ),
        EventType.OBSERVATION: frozenset(
            {InstructionAuthority.NONE, InstructionAuthority.UNTRUSTED, InstructionAuthority.REPOSITORY}
        ),
        **dict.fromkeys(
            (EventType.DECISION, EventType.TOOL_RESULT, EventType.VERIFICATION),
            frozenset({InstructionAuthority.NONE, InstructionAuthority.UNTRUSTED}),
        ),
    }
)
"""With which authority an event of each type can carry an instruction: what a tool or a model said is data."""
