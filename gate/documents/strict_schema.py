"""JSON Schema Draft 2020-12 as this project means it: `jsonschema` where Python is laxer, made strict.

`$` is the very end, `1.0` is no integer, `true` is no number, and an error about a key is put on that key. It
must not fetch a schema, and knows nothing of documents or messages.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators


def strict_validator(schema: Mapping[str, Any]) -> Any:
    """A `jsonschema` validator of `schema`, with its methods `is_valid` and `iter_errors`."""
    return _Validator(schema)


def _check_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not compiled_pattern(pattern).search(value):
        yield ValidationError("pattern")


def _check_property_names(validator: Any, names: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, dict):
        for name in value:
            if next(validator.descend(name, names), None) is not None:
                yield ValidationError("propertyNames", path=[name])


def _check_additional(validator: Any, extra: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    patterns = [compiled_pattern(pattern) for pattern in schema.get("patternProperties", {})]
    for name, item in value.items():
        if name in schema.get("properties", {}) or any(pattern.search(name) for pattern in patterns):
            continue
        if extra is False:
            yield ValidationError("additionalProperties", path=[name])
        else:
            yield from validator.descend(item, extra, path=name)


def _check_required(validator: Any, names: list[str], value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield ValidationError("required", path=[name])


def _check_unique(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted is not True or not isinstance(value, list):
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        identity = identity_of(item)
        if identity in seen:
            yield ValidationError("uniqueItems", path=[index])
        seen.add(identity)


def identity_of(item: Any) -> str:
    """A text that two JSON values share only when they are the same: `1`, `1.0` and `true` are not."""
    return json.dumps(item, sort_keys=True)


@functools.lru_cache(maxsize=256)
def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """`pattern` of a JSON Schema with `$` as the very end: Python's also matches before a last line feed."""
    parts = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    return re.compile("".join(r"\Z" if part == "$" else part for part in parts))


_Validator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _check_pattern,
        "propertyNames": _check_property_names,
        "additionalProperties": _check_additional,
        "required": _check_required,
        "uniqueItems": _check_unique,
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
