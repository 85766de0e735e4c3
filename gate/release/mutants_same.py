"""Proof that no rule can tell two versions of a bundle's data apart, though their text differs.

Pure, and on the safe side: a value counts as indistinct only when every rule that names its field compares it with a
constant that is neither the one value nor the other. Anything else is left to the golden cases and the search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gate.release.diff_values import Edit, data_of, edits
from gate.release.rego_text import RegoText, Rule

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAME = r"(?:[a-z_][\w.]*\.)?"


def indistinct(changed: Sequence[Rule], core: Mapping[str, str], own: RegoText) -> bool:
    """Whether the rules of either side that the other lacks, `changed`, are data that no rule tells apart.

    `core` is the Rego text of the hand-written policies, `own` one of the two bundles.
    """
    if not changed or any(data_of(rule) is None for rule in changed):
        return False
    found = edits(changed)
    texts = [*core.values(), *(rule.text for rule in own.rules if data_of(rule) is None)]
    return bool(found) and all(_unseen(edit, texts) for edit in found)


def _unseen(edit: Edit, texts: Iterable[str]) -> bool:
    name = edit.field or edit.key
    if not name:
        return False
    holder = edit.rule.partition("[")[0]
    for line in _lines(texts):
        bare = _STRING.sub('""', line)
        # Reached by a name that is computed or quoted: nothing is known then.
        if f'"{name}"' in line or (edit.key and not edit.field and f"{holder}[" in bare):
            return False
        if re.search(rf"\b{re.escape(name)}\b", bare):
            constants = _compared(line, name)
            if constants is None or any(value in constants for value in edit.values):
                return False
    return True


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (line.strip() for line in text.split("\n") if not line.lstrip().startswith("#"))


def _compared(line: str, name: str) -> list[Any] | None:
    """The constants that `line` compares the field with when that is all it does; None otherwise."""
    field = _NAME + re.escape(name)
    match = re.fullmatch(rf"(?:[a-z_]\w* if )?{field} (==|in) (.+)", line)
    if match is None:
        return None
    text = match[2]
    if match[1] == "in":
        if not (text.startswith("{") and text.endswith("}")):
            return None
        text = f"[{text[1:-1]}]"
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if match[1] == "in" else [value]
