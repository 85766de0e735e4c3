"""Canonical JSON, strict parsing and digests: one meaning, one sequence of bytes.

Pure. RFC 8785 canonical JSON, UTF-8, SHA-256, written `sha256:<64 hex>`. Whatever two parsers could read differently
is refused before it is hashed: duplicate keys, NaN, Infinity, integers past 2^53-1, lone surrogates, control characters
in names, documents over the size or depth limit. Text is hashed as given; nothing is normalised.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, NoReturn

import rfc8785

from gate.errors import InputError

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 8785 section 3.2.2.3, I-JSON)."""

MAX_DOCUMENT_BYTES = 1_048_576
"""Size limit of one document in bytes: a tool call that needs more passes a reference instead."""

MAX_DEPTH = 64
"""Nesting limit: deeper documents cost a recursive reader its stack."""

_DIGEST = re.compile(r"\Asha256:[0-9a-f]{64}\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def canonical_bytes(value: Any) -> bytes:
    """The RFC 8785 bytes of `value`, which must be made of dict, list, str, int, float, bool and None only.

    Raises `InputError` with code `json_*` for anything that has no single canonical form.
    """
    _check(value, 0)
    try:
        data = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as exc:
        raise InputError("the document has no canonical form", code="json_not_canonical") from exc
    if len(data) > MAX_DOCUMENT_BYTES:
        raise InputError(f"the document is over {MAX_DOCUMENT_BYTES} bytes", code="json_too_large")
    return data


def digest(value: Any) -> str:
    """`sha256:<64 hex>` over the canonical bytes of `value`."""
    return digest_bytes(canonical_bytes(value))


def digest_bytes(data: bytes) -> str:
    """`sha256:<64 hex>` over `data` as it is."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(value: object) -> bool:
    """True only for `sha256:` and 64 lower-case hex digits."""
    return isinstance(value, str) and _DIGEST.match(value) is not None


def parse(text: str | bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> Any:
    """Strict JSON: raises `InputError` with code `json_*` where the standard parser would quietly choose a meaning."""
    try:
        raw = text.encode("utf-8") if isinstance(text, str) else text
        if len(raw) > max_bytes:
            raise InputError(f"the document is over {max_bytes} bytes", code="json_too_large")
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except (UnicodeDecodeError, UnicodeEncodeError) as exc:
        raise InputError("the document is not UTF-8", code="json_not_utf8") from exc
    except RecursionError as exc:
        raise InputError(f"the document is nested over {MAX_DEPTH} deep", code="json_too_deep") from exc
    except json.JSONDecodeError as exc:
        raise InputError(f"not JSON at line {exc.lineno} column {exc.colno}", code="json_malformed") from exc
    _check(value, 0)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InputError("an object has the same key twice", code="json_duplicate_key")
    return result


def _constant(name: str) -> NoReturn:
    raise InputError(f"`{name}` is not a JSON number", code="json_number_not_finite")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InputError("a number is outside the range of a double", code="json_number_not_finite")
    return value


def _int(text: str) -> int:
    # Judged by its length first: converting a million digits is quadratic.
    if len(text) > 17 or abs(int(text)) > MAX_SAFE_INTEGER:
        raise InputError("an integer is outside ±(2^53-1); send it as a string", code="json_integer_unsafe")
    return int(text)


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InputError(f"the document is nested over {MAX_DEPTH} deep", code="json_too_deep")
    kind = type(value)
    if kind is str:
        _check_text(value)
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise InputError("an object key is not a string", code="json_key_not_string")
            _check_text(key)
            if _CONTROL.search(key):
                raise InputError("an object key has a control character", code="json_key_control_character")
            _check(item, depth + 1)
    elif kind is list:
        for item in value:
            _check(item, depth + 1)
    elif kind is int:
        if abs(value) > MAX_SAFE_INTEGER:
            raise InputError("an integer is outside ±(2^53-1); send it as a string", code="json_integer_unsafe")
    elif kind is float:
        if not math.isfinite(value):
            raise InputError("a number is not finite", code="json_number_not_finite")
        if value.is_integer() and abs(value) > MAX_SAFE_INTEGER:
            # 2.0**53 and 2**53 + 1 share their bytes once both are doubles.
            raise InputError("an integer is outside ±(2^53-1); send it as a string", code="json_integer_unsafe")
    elif value is not None and kind is not bool:
        raise InputError(f"a value of type `{kind.__name__}` is not JSON", code="json_type_unsupported")


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise InputError("a string has a lone surrogate", code="json_lone_surrogate") from exc
