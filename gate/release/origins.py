"""Where a reason code comes from: the rules that raise it, each with its line in the YAML or in the core policies.

Reads the Rego that decides; decides nothing. A code may have several rules: the capability narrows them down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gate.compiler import Compiled, assemble
from gate.release.rego_text import RegoText

_MADE = re.compile(
    r'finding\.new\(\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*"),'
    r'\s*"(?:[^"\\]|\\.)*",\s*("(?:[^"\\]|\\.)*")'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One rule that raises a code."""

    code: str
    verdict: str
    rule: str
    """Id of the rule, such as `cap_210`."""
    file: str
    """YAML of the bundle, or the core policy inside the OPA bundle."""
    line: int
    """1-based."""
    capability: str | None
    """The capability it is bound to; None for any."""
    operation: str | None = None
    """The operation it is bound to; None for any."""


class Origins:
    """The rules of one bundle with the core policies, by code."""

    def __init__(self, compiled: Compiled) -> None:
        self._by_code: dict[str, list[Origin]] = {}
        folder = compiled.bundle.folder
        places: Mapping[str, Mapping[str, int]] = json.loads(compiled.source_map)
        for rule in RegoText.read(compiled.rego).rules:
            for match in _MADE.finditer(rule.text):
                source = json.loads(match[4])
                place = places.get(source, {"line": 1})
                file = str(folder / source.partition("#")[0])
                self._add(match, file, int(place["line"]), rule.bound)
        for path, text in assemble([compiled]).modules.items():
            if not path.startswith("gate/bundles/"):
                for match in _MADE.finditer(text):
                    self._add(match, f"policies/{path}", text.count("\n", 0, match.start()) + 1, {})

    def of(self, code: str, capability: str | None, operation: str | None = None) -> tuple[Origin, ...]:
        """The rules that raise `code` about `capability`, those bound to it before those bound to none.

        `operation`: what was asked about, so that rules about another are left out; None when nobody knows.
        """
        found = [one for one in self._by_code.get(code, []) if operation in (None, one.operation) or not one.operation]
        own = [one for one in found if capability is not None and one.capability == capability]
        return tuple(own or [one for one in found if one.capability is None or capability is None])

    def _add(self, match: re.Match[str], file: str, line: int, bound: Mapping[str, str]) -> None:
        code = json.loads(match[1])
        origin = Origin(
            code=code,
            verdict=json.loads(match[2]),
            rule=json.loads(match[3]),
            file=file,
            line=line,
            capability=bound.get("request.capability"),
            operation=bound.get("operation"),
        )
        self._by_code.setdefault(code, []).append(origin)
