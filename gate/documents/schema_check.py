"""A document against its JSON Schema: every breach at once, in a person's words, at its line and column.

Pure. It must not repair or default anything. What a schema means is for `gate.documents.strict_schema`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gate.documents.document import Document, pointer_of
from gate.documents.seed_messages import condition_of, seed_text
from gate.documents.strict_schema import identity_of, strict_validator
from gate.documents.wording import did_you_mean, listed, quoted
from gate.documents.yaml_scalars import QUOTE_IT
from gate.errors import Problem

_TYPE_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "`true` or `false`",
    "null": "`null`",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}
_STRONGER = {"type", "minItems", "minLength", "minProperties"}
_REPEATING = {"enum", "const", "pattern", "contains"}


@dataclass(frozen=True, slots=True)
class _Breach:
    """One breach of a schema: jsonschema's error, with its types known."""

    path: tuple[str | int, ...]
    """From the root of the document."""
    keyword: str
    wanted: Any
    """What the keyword says in the schema."""
    value: Any
    """What the keyword was applied to."""
    properties: tuple[str, ...]
    """Keys that the schema knows beside the keyword."""


def schema_problems(document: Document, schema: Mapping[str, Any], *, at: tuple[str | int, ...] = ()) -> list[Problem]:
    """Every way in which `document`, or its part `at`, breaks `schema`, in the order of the file.

    A value of the wrong type, or an empty one, is reported for that alone: other rules would only repeat it.
    """
    value: Any = document.value
    for token in at:
        value = value[token]
    breaches = [
        _Breach(
            path=(*at, *error.absolute_path),
            keyword=str(error.validator),
            wanted=error.validator_value,
            value=error.instance,
            properties=tuple(sorted(error.schema.get("properties", ()))),
        )
        for error in strict_validator(schema).iter_errors(value)
    ]
    settled = {breach.path for breach in breaches if breach.keyword in _STRONGER}
    return sorted(
        {
            _problem(document, breach)
            for breach in breaches
            if breach.keyword not in _REPEATING or breach.path not in settled
        }
    )


def _problem(document: Document, breach: _Breach) -> Problem:
    code, describe = _DESCRIBED.get(breach.keyword, ("schema_value", _other))
    message, hint = describe(_subject(breach.path), breach, document)
    known = _known_text(document, breach)
    if known is not None:
        message, hint = known, f"{message}; {hint}" if hint else message
    return document.problem(pointer_of(*breach.path), code, message, hint, key=breach.keyword in _ON_THE_KEY)


def _known_text(document: Document, breach: _Breach) -> str | None:
    """What operators know this breach by; None when there is no such text."""
    last = breach.path[-1] if breach.path else None
    value = last if breach.keyword == "propertyNames" else breach.value
    return seed_text(document.file, breach.path, condition_of(breach.keyword, breach.wanted, value), value)


def _subject(path: tuple[str | int, ...]) -> str:
    """What a person calls the value at `path`: its key, or its number in the list that has one."""
    if not path:
        return "the document"
    last = path[-1]
    return quoted(last) if isinstance(last, str) else f"item {last + 1} of {_subject(path[:-1])}"


def _found(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool) or value is None:
        return quoted(json.dumps(value))
    if isinstance(value, int | float):
        return f"the number {quoted(json.dumps(value))}"
    return "a list" if isinstance(value, list) else "a mapping"


def _unknown_key(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    parent = _subject(breach.path[:-1])
    if breach.keyword == "propertyNames":
        return f"key {subject} in {parent} does not have the form {quoted(breach.wanted.get('pattern'))}", ""
    hint = did_you_mean(breach.path[-1], breach.properties)
    if not hint and breach.properties:
        hint = f"known keys: {listed(breach.properties)}"
    return f"key {subject} is not known in {parent}", hint


def _missing_key(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    return f"key {subject} is missing in {_subject(breach.path[:-1])}", ""


def _type(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    wanted = breach.wanted if isinstance(breach.wanted, list) else [breach.wanted]
    words = " or ".join(_TYPE_WORDS[name] for name in wanted)
    scalar = breach.value is None or isinstance(breach.value, bool | int | float)
    hint = QUOTE_IT if scalar and "string" in wanted else ""
    return f"{subject} is {_found(breach.value)}, wanted {words}", hint


def _enum(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    message = f"{subject} is {_found(breach.value)}, wanted one of {listed(breach.wanted)}"
    return message, did_you_mean(breach.value, [word for word in breach.wanted if isinstance(word, str)])


def _const(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    return f"{subject} is {_found(breach.value)}, wanted {_found(breach.wanted)}", ""


def _pattern(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    return f"{subject} is {_found(breach.value)}, wanted the form {quoted(breach.wanted)}", ""


def _empty(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    unit = {"minLength": "character", "minItems": "item", "minProperties": "key"}[breach.keyword]
    size = len(breach.value)
    state = "empty" if size == 0 else f"only {size} long"
    return (
        f"{subject} is {state}, wanted at least {breach.wanted} {unit}{'' if breach.wanted == 1 else 's'}",
        "",
    )


def _range(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    return (
        f"{subject} is {_found(breach.value)}, wanted {_BOUNDS[breach.keyword]} {quoted(breach.wanted)}",
        "",
    )


def _duplicate(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    item = breach.value[breach.path[-1]]
    first = [identity_of(other) for other in breach.value].index(identity_of(item))
    line = document.position(pointer_of(*breach.path[:-1], first))[0]
    return f"{subject} is {_found(item)}, which is already on line {line}", ""


def _contains(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    if set(breach.wanted) == {"const"}:
        return f"{subject} does not list {quoted(breach.wanted['const'])}", ""
    return f"{subject} lists nothing of the kind that it must", ""


def _other(subject: str, breach: _Breach, document: Document) -> tuple[str, str]:
    return f"{subject} breaks the schema rule {quoted(breach.keyword)}", ""


_Describe = Callable[[str, _Breach, Document], tuple[str, str]]
_DESCRIBED: Mapping[str, tuple[str, _Describe]] = {
    "additionalProperties": ("unknown_key", _unknown_key),
    "propertyNames": ("unknown_key", _unknown_key),
    "required": ("missing_key", _missing_key),
    "type": ("schema_type", _type),
    "enum": ("schema_enum", _enum),
    "pattern": ("schema_pattern", _pattern),
    "minLength": ("schema_empty", _empty),
    "minItems": ("schema_empty", _empty),
    "minProperties": ("schema_empty", _empty),
    "minimum": ("schema_range", _range),
    "maximum": ("schema_range", _range),
    "exclusiveMinimum": ("schema_range", _range),
    "exclusiveMaximum": ("schema_range", _range),
    "uniqueItems": ("schema_duplicate", _duplicate),
    "contains": ("schema_value", _contains),
    "const": ("schema_value", _const),
}
_ON_THE_KEY = {"additionalProperties", "propertyNames", "required"}
