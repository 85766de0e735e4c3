"""The JSON Schema of a capability's arguments: closed, small, never silently ignored."""

from __future__ import annotations

from typing import Any

import pytest

from gate.documents.argument_schema import argument_schema_problems, argument_validator
from gate.documents.yaml_source import load

SOUND = """capabilities:
  t:
    arguments:
      type: object
      additionalProperties: false
      required: [q]
      properties:
        q: {type: string, minLength: 1, pattern: "^[a-z]+$"}
        many: {type: array, items: {type: integer, minimum: 1}}
        deep:
          type: object
          additionalProperties: false
          properties: {flag: {type: boolean}}
"""


def places(text: str) -> list[str]:
    found = argument_schema_problems(load(text, file="f.yaml"))
    return [f"{p.line}:{p.column} {p.code}" for p in found]


def test_sound_schema_has_no_problems() -> None:
    assert places(SOUND) == []


@pytest.mark.parametrize(
    ("sound", "broken", "expected"),
    [
        ("      additionalProperties: false\n", "", ["3:5 missing_key"]),
        (
            "additionalProperties: false\n      req",
            "additionalProperties: true\n      req",
            ["5:29 schema_value"],
        ),
        ("type: object\n      add", "type: string\n      add", ["4:13 schema_value"]),
        ("type: object\n      add", "type: objekt\n      add", ["4:13 schema_enum", "4:13 schema_value"]),
        ("required: [q]", "requred: [q]", ["6:7 unknown_key"]),
        ("required: [q]", "required: [r]", ["6:18 schema_value"]),
        ("minLength: 1", "minLength: -1", ["8:38 schema_range"]),
        ("minLength: 1", "format: email", ["8:27 unknown_key"]),
        ("type: string, ", "", ["8:9 missing_key"]),
        (
            "{type: string, minLength: 1",
            "{$ref: 'http://x/y', minLength: 1",
            ["8:9 missing_key", "8:13 unknown_key"],
        ),
        ('"^[a-z]+$"', '"("', ["8:50 schema_value"]),
        ("items: {type: integer, minimum: 1}", "maxItems: 3", ["9:9 missing_key"]),
        ("items: {type: integer, minimum: 1}", "items: {}", ["9:29 missing_key"]),
        ("          additionalProperties: false\n", "", ["10:9 missing_key"]),
    ],
)
def test_schema_with_a_rule_that_would_not_hold_is_refused(sound: str, broken: str, expected: list[str]) -> None:
    text = SOUND.replace(sound, broken, 1)
    assert text != SOUND
    assert places(text) == expected


def test_schema_nested_to_the_depth_limit_is_judged_without_a_stack_overflow() -> None:
    inner = "{type: string}"
    for _ in range(28):
        inner = f"{{type: object, additionalProperties: false, properties: {{a: {inner}}}}}"
    document = load(f"capabilities: {{t: {{arguments: {inner}}}}}", file="f")
    assert argument_schema_problems(document) == []
    value: Any = "leaf"
    for _ in range(28):
        value = {"a": value}
    validator = argument_validator(document.value["capabilities"]["t"]["arguments"])
    assert (validator.is_valid(value), validator.is_valid({"a": value})) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "valid"),
    [
        ({"q": "abc"}, True),
        ({"q": "abc", "many": [1, 2], "deep": {"flag": True}}, True),
        ({}, False),
        (None, False),
        ([], False),
        ({"q": None}, False),
        ({"q": ""}, False),
        ({"q": "abc\n"}, False),
        ({"q": "abc", "x": 1}, False),
        ({"q": "abc", "many": [1.0]}, False),
        ({"q": "abc", "many": [True]}, False),
        ({"q": "abc", "many": None}, False),
        ({"q": "abc", "deep": {"flag": 1}}, False),
        ({"q": "abc", "deep": {"flog": True}}, False),
    ],
)
def test_arguments_are_valid_only_when_they_keep_every_rule(arguments: Any, valid: bool) -> None:
    schema = load(SOUND, file="f").value["capabilities"]["t"]["arguments"]
    assert argument_validator(schema).is_valid(arguments) is valid
