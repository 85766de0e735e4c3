"""The JSON Schema that a capability declares for its arguments: small, closed, and never silently ignored.

Pure. A misspelt keyword, or one that is not enforced, would be a rule that does not hold; so the schemas keep
to a subset where everything has an effect. It must not fetch anything: there are no references.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from gate.documents.document import Document, pointer_of
from gate.documents.schema_check import schema_problems
from gate.documents.strict_schema import compiled_pattern, strict_validator
from gate.documents.wording import quoted
from gate.errors import Problem

_SIZE = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number"}
_TYPE_NAMES = ["string", "integer", "number", "boolean", "array", "object", "null"]
_SCHEMA = {"$ref": "#/$defs/schema"}
_SHAPE: dict[str, Any] = {
    "allOf": [
        {"$ref": "#/$defs/schema"},
        {
            "required": ["type", "properties"],
            "properties": {"type": {"const": "object"}, "additionalProperties": {"const": False}},
        },
    ],
    "$defs": {
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "title": {"type": "string"},
                "description": {"type": "string"},
                "type": {"type": "string", "enum": _TYPE_NAMES},
                "enum": {"type": "array", "minItems": 1, "uniqueItems": True},
                "const": {},
                "properties": {"type": "object", "additionalProperties": _SCHEMA},
                "required": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
                "additionalProperties": {"const": False},
                "items": _SCHEMA,
                "minLength": _SIZE,
                "maxLength": _SIZE,
                "minItems": _SIZE,
                "maxItems": _SIZE,
                "uniqueItems": {"type": "boolean"},
                "pattern": {"type": "string"},
                "minimum": _NUMBER,
                "maximum": _NUMBER,
                "exclusiveMinimum": _NUMBER,
                "exclusiveMaximum": _NUMBER,
            },
            "required": ["type"],
            "allOf": [
                {
                    "if": {"required": ["type"], "properties": {"type": {"const": "object"}}},
                    "then": {"required": ["properties", "additionalProperties"]},
                },
                {
                    "if": {"required": ["type"], "properties": {"type": {"const": "array"}}},
                    "then": {"required": ["items"]},
                },
            ],
        }
    },
}


class ArgumentValidator(Protocol):
    """Says whether the arguments of a call are what their capability declares."""

    def is_valid(self, instance: Any) -> bool:
        """True when `instance`, a JSON value, keeps the schema."""


def argument_validator(schema: Mapping[str, Any]) -> ArgumentValidator:
    """The validator of a capability's `arguments`, a schema without `argument_schema_problems`."""
    validator: ArgumentValidator = strict_validator(schema)
    return validator


def argument_schema_problems(document: Document) -> list[Problem]:
    """What is wrong with the `arguments` in `document`, a `capabilities.yaml` that keeps its own schema."""
    problems: list[Problem] = []
    for name, spec in document.value["capabilities"].items():
        at = ("capabilities", name, "arguments")
        problems += schema_problems(document, _SHAPE, at=at)
        problems += _pattern_problems(document, spec["arguments"], at)
        problems += _required_problems(document, spec["arguments"], at)
    return sorted(set(problems))


def _schemas(schema: Any, at: tuple[str | int, ...]) -> Iterator[tuple[dict[str, Any], tuple[str | int, ...]]]:
    """`schema` and every schema inside it, as far as they have the right form."""
    pending = [(schema, at)]
    while pending:
        current, here = pending.pop()
        if not isinstance(current, dict):
            continue
        yield current, here
        pending.append((current.get("items"), (*here, "items")))
        properties = current.get("properties")
        if isinstance(properties, dict):
            pending += [(inner, (*here, "properties", name)) for name, inner in properties.items()]


def _pattern_problems(document: Document, schema: Any, at: tuple[str | int, ...]) -> Iterator[Problem]:
    for current, here in _schemas(schema, at):
        pattern = current.get("pattern")
        if not isinstance(pattern, str):
            continue
        try:
            compiled_pattern(pattern)
        except (re.error, OverflowError, RecursionError):
            message = f"{quoted(pattern)} is not a regular expression"
            yield document.problem(pointer_of(*here, "pattern"), "schema_value", message)


def _required_problems(document: Document, schema: Any, at: tuple[str | int, ...]) -> Iterator[Problem]:
    for current, here in _schemas(schema, at):
        required, properties = current.get("required"), current.get("properties")
        if not isinstance(required, list) or not isinstance(properties, dict):
            continue
        for index, name in enumerate(required):
            if isinstance(name, str) and name not in properties:
                message = f"argument {quoted(name)} is required but not among the `properties`"
                yield document.problem(pointer_of(*here, "required", index), "schema_value", message)
