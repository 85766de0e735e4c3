"""The two doors through which anything enters Rego text: a value as a literal, a name as a checked identifier.

Pure. There is no third way: no template, no pasted string. What has no exact Rego form is an error, never a warning.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gate.canonical import canonical_bytes
from gate.errors import GateError, InputError

_IDENTIFIER = re.compile(r"\A[a-z][a-z0-9_]{0,127}\Z")
RESERVED = frozenset(
    [
        "and",
        "as",
        "contains",
        "data",
        "default",
        "else",
        "every",
        "false",
        "if",
        "import",
        "in",
        "input",
        "not",
        "null",
        "or",
        "package",
        "set",
        "some",
        "true",
        "with",
    ]
)


class CompileError(GateError):
    """A value or name that has no exact form in Rego: a defect of an earlier pass, since validation came first."""

    code = "compile_unexpressible"


def literal(value: Any) -> str:
    """`value` as a Rego term on one line: JSON, ASCII, as `opa fmt` leaves it.

    Raises `CompileError` for anything that JSON cannot hold exactly (NaN, integers past 2^53-1, lone surrogates).
    """
    try:
        canonical_bytes(value)
    except InputError as exc:
        raise CompileError(f"a value cannot be written as a Rego literal: {exc.message}") from exc
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def identifier(name: str) -> str:
    """`name` when it may stand as a Rego package or rule name; raises `CompileError` otherwise."""
    if not _IDENTIFIER.match(name) or name in RESERVED:
        raise CompileError(f"`{name!a}` cannot be a Rego name")
    return name


def package_name(bundle: str) -> str:
    """Package segment for a bundle folder's name: `support-triage` becomes `support_triage`.

    Two folders may collide; `gate.compiler.assemble` refuses that.
    """
    return identifier(bundle.replace("-", "_"))


def prose(text: str) -> str:
    """`text` as a YAML scalar for a METADATA comment: one line, ASCII, always quoted."""
    if text.isascii():
        return literal(text)
    # YAML reads the escapes of JSON but for surrogate pairs, which it has a longer escape for.
    inner = "".join(literal(c)[1:-1] if c <= "\uffff" else f"\\U{ord(c):08x}" for c in text)
    return f'"{inner}"'
