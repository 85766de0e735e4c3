"""What an unquoted YAML scalar means, and which ones mean different things to different readers.

Pure. Only `true`, `false`, `null` and numbers as JSON writes them have a meaning of their own. What YAML 1.1,
YAML 1.2 or a lenient reader would turn into something else than the text is refused; nothing is guessed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import yaml

from gate.canonical import MAX_SAFE_INTEGER
from gate.documents.wording import quoted

QUOTE_IT = "quote it"

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_BOOLEAN_WORDS = {
    "y": "true", "yes": "true", "on": "true", "true": "true",
    "n": "false", "no": "false", "off": "false", "false": "false",
}  # fmt: skip
_NOT_FINITE = re.compile(r"(?i)[-+]?\.?(?:nan|inf|infinity)\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|\s+)[0-9]{1,2}(?::.*)?)?\Z", re.DOTALL)
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?\Z")
_BASED = re.compile(r"[-+]?0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)\Z", re.IGNORECASE)
_ZERO_LED = re.compile(r"[-+]?0[0-9_]+\Z")
_LOOSE_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\._*[0-9][0-9_]*)(?:[eE][-+]?[0-9_]*[0-9][0-9_]*)?\Z")
_LONGEST_SHOWN = 24
_LONGEST_NUMBER = 64
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a scalar is not accepted as it stands."""

    code: str
    message: str
    hint: str


def read_plain(text: str) -> str | int | float | bool | Refusal | None:
    """The value of the unquoted scalar `text`, or a `Refusal` that says what a reader could make of it."""
    if text in ("true", "false"):
        return text == "true"
    if text == "null":
        return None
    if text == "":
        message = "the value is empty and would be read as null"
        return Refusal("yaml_empty_value", message, 'write `null` or `""`')
    if text == "~" or text.lower() == "null":
        message = f"{quoted(text)} would be read as null"
        return Refusal("yaml_null_spelling", message, "write `null`, or quote it")
    number = _JSON_NUMBER.match(text)
    if number is not None:
        return _number(text, whole=number[1] is None and number[2] is None)
    meaning = _surprise(text)
    if meaning is not None:
        return _refused(text, f"is not quoted and would be read as {meaning}")
    return text


def _number(text: str, *, whole: bool) -> int | float | Refusal:
    # Judged by its length first: converting a million digits is quadratic.
    if whole:
        if len(text) <= 17 and abs(int(text)) <= MAX_SAFE_INTEGER:
            return int(text)
        return _refused(text, "is past 2^53-1 and would lose digits as a number")
    if len(text) > _LONGEST_NUMBER:
        return _refused(text, "is too long for a number")
    value = float(text)
    if not math.isfinite(value):
        return _refused(text, "is not quoted and would be read as infinity")
    if abs(value) > MAX_SAFE_INTEGER:
        return _refused(text, "is past 2^53-1 and would lose digits as a number")
    if value == 0 and re.search(r"[1-9]", re.split(r"[eE]", text)[0]):
        return _refused(text, "is not quoted and would be read as zero")
    return value


def _refused(text: str, why: str) -> Refusal:
    return Refusal("yaml_quote_it", f"{quoted(text)} {why}", QUOTE_IT)


def _surprise(text: str) -> str | None:
    """What a reader could make of `text` that is not `text`, in words; None when every reader keeps it."""
    word = _BOOLEAN_WORDS.get(text.lower())
    if word is not None:
        return f"the boolean {word}"
    if _NOT_FINITE.match(text):
        return "a number that is not finite"
    if text == "<<":
        return "a merge key"
    if text == "=":
        return "a default-value key"
    if text[0] in "0123456789+-.":
        meaning = _number_like(text)
        if meaning is not None:
            return meaning
    # The safety net: whatever PyYAML itself would not keep as text.
    for tag, pattern in _RESOLVERS.get(text[0], []):
        if pattern.match(text):
            return f"a {tag.rpartition(':')[2]}"
    return None


def _number_like(text: str) -> str | None:
    if _DATE.match(text):
        return "a date or time"
    if _SEXAGESIMAL.match(text):
        return _sexagesimal(text)
    shown = len(text) <= _LONGEST_SHOWN
    digits = text.replace("_", "")
    if _BASED.match(text):
        value = _integer(digits, 0) if shown else None
        return "a number" if value is None else f"the number {value}"
    if _ZERO_LED.match(text):
        value = _integer(digits, 8) if shown else None
        return "a number or text, depending on the reader" if value is None else f"the number {value}"
    if _LOOSE_NUMBER.match(text):
        loose = float(digits) if shown else math.inf
        if not math.isfinite(loose):
            return "a number"
        return f"the number {int(loose) if loose.is_integer() else loose}"
    return None


def _sexagesimal(text: str) -> str:
    parts = text.replace("_", "").lstrip("+-").split(":")
    if len(text) > _LONGEST_SHOWN or "." in text:
        return "a base-60 number"
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return f"the number {-total if text.startswith('-') else total}"


def _integer(digits: str, base: int) -> int | None:
    try:
        return int(digits, base)
    except ValueError:
        return None
