"""The canonical form that long-task records are measured and digested in.

Pure. It differs from `gate.canonical` (RFC 8785) on purpose: the published figures of the price-repair trajectory
are in this form. Whatever this project stores or compares for authority is digested with `gate.canonical`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any


def plain(value: Any) -> Any:
    """`value` as JSON data: records as objects, enums as their word, sets sorted, tuples as lists."""
    if isinstance(value, StrEnum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(member) for member in value)
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    return value


def canonical_text(value: Any) -> str:
    """JSON with sorted keys, no space and no ASCII escapes."""
    return json.dumps(plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def serialized_bytes(value: Any) -> int:
    """Size of the canonical form in UTF-8 bytes; not tokens of any provider."""
    return len(canonical_text(value).encode())


def digest(value: Any) -> str:
    """SHA-256 of the canonical form: 64 hex digits, no prefix. A text is hashed with its JSON quotes."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()


def content_digest(content: str) -> str:
    """SHA-256 of the text itself: 64 hex digits, no prefix."""
    return hashlib.sha256(content.encode()).hexdigest()
