"""Proof that no rule can tell two versions of a bundle's data apart, though their text differs.

Pure, and on the safe side: a value counts as indistinct only when every rule that names its field compares it with
constants and comes to the same for both versions. Anything else is left to the golden cases and the search.
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
# A field of the document may be called like one of the bundle's data; a path from `input` never leads there.
_OF_DOCUMENT = re.compile(r"\binput(?:\.\w+)+")
_OF_BUNDLE = re.compile(r"router\.bundle\.(\w+)")
_FOLLOWING = frozenset({"capability_version", "contract_digest"})
"""Digests of what the YAML says. The gate states what it read of them, so they change on both sides of a comparison."""
_SETTLING = r"router\.(\w+)\.(\w+) == (.+)"
_ROUTER = "gate/router/router.rego"
"""Says what a bundle that leaves a document out is taken to state."""
_HELD_AGAINST_RECORD, _RECORD = 'compaction["digests"]', 'compaction["record"]'
_ABSENT = "absent"
"""No JSON text."""


def indistinct(changed: Sequence[Rule], core: Mapping[str, str], own: RegoText) -> bool:
    """Whether the rules of either side that the other lacks, `changed`, are data that no rule tells apart.

    `core` is the Rego text of the hand-written policies, `own` one of the two bundles.
    """
    if not changed or any(data_of(rule) is None for rule in changed):
        return False
    found = edits(changed)
    # Two entries of a list of objects can say between them what they said before: that no place differs is no proof.
    edited = {edit.rule for edit in found}
    if not _digests_only([rule for rule in changed if rule.name not in edited]):
        return False
    rules = [rule for rule in own.rules if data_of(rule) is None]
    texts = [*core.values(), "\n".join(rule.text for rule in rules)]
    stated = _Stated(core, own, changed)
    return all(_Seen(edit, changed, stated).nowhere(texts) for edit in found if not stated.unmeasured(edit))


def _digests_only(changed: Sequence[Rule]) -> bool:
    sides: dict[str, list[str]] = {}
    for rule in changed:
        (value,) = data_of(rule) or (None,)
        rest = {k: v for k, v in value.items() if k not in _FOLLOWING} if isinstance(value, Mapping) else value
        sides.setdefault(rule.name, []).append(json.dumps(rest))
    return all(len(both) == 2 and both[0] == both[1] for both in sides.values())


class _Stated:
    """What both sides say alike."""

    def __init__(self, core: Mapping[str, str], own: RegoText, changed: Sequence[Rule]) -> None:
        self._router = core.get(_ROUTER, "")
        self._changed = {rule.name.partition("[")[0] for rule in changed}
        self._names = {rule.name for rule in changed}
        self._groups: dict[str, dict[str, Any]] = {}
        for rule in own.rules:
            name, _, key = rule.name.partition('["')
            value = data_of(rule)
            if value is not None and (key or isinstance(value[0], Mapping)):
                self._groups.setdefault(name, {}).update({key.removesuffix('"]'): value[0]} if key else value[0])

    def of(self, group: str) -> Mapping[str, Any]:
        """The data called `group`, or its default where the bundle states none; empty when the sides differ."""
        if group in self._changed:
            return {}
        if group not in self._groups:
            default = re.search(rf"^default {group} := (\{{.*?^\}})$", self._router, re.MULTILINE | re.DOTALL)
            self._groups[group] = {} if default is None else _json(re.sub(r",(\s*[}\]])", r"\1", default[1])) or {}
        return self._groups[group]

    def unmeasured(self, edit: Edit) -> bool:
        """Whether the place is what a record of compactions is held against, and neither side has one."""
        return (
            edit.rule == _HELD_AGAINST_RECORD
            and self._names.isdisjoint({_RECORD})
            and self._groups.get("compaction", {}).get("record", _ABSENT) is None
        )


class _Seen:
    """One place where two sides differ, and the rules that may see it."""

    def __init__(self, edit: Edit, changed: Sequence[Rule], stated: _Stated) -> None:
        self._edit, self._stated = edit, stated
        self._name = edit.field or edit.key
        self._sides = _sides(edit, changed)

    def nowhere(self, texts: Iterable[str]) -> bool:
        """Whether no line of any of `texts` comes to something else on the other side."""
        return bool(self._name) and all(self._same(line, text) for text in texts for line in _lines(text))

    def _same(self, line: str, text: str) -> bool:
        edit, name = self._edit, self._name
        bare = _OF_DOCUMENT.sub("", _STRING.sub('""', line))
        # Reached by a name that is computed or quoted: nothing is known then.
        if f'"{name}"' in line or (edit.key and not edit.field and f"{edit.rule.partition('[')[0]}[" in bare):
            return False
        if not re.search(rf"\b{re.escape(name)}\b", bare):
            return True
        body = line.strip()
        return self._same_as_default(body, text) or self._same_compared(body) or self._settled_besides(line, text)

    def _same_compared(self, line: str) -> bool:
        constants = _compared(line, self._name, self._stated)
        if constants is None:
            return False
        held = {json.dumps(one) for one in constants}
        if self._sides is None:
            return not any(json.dumps(value) in held for value in self._edit.values)
        return len({side in held for side in self._sides}) == 1

    def _same_as_default(self, line: str, text: str) -> bool:
        """A helper that takes the value, and says the same where there is none."""
        match = re.fullmatch(rf"(_\w+) := {_NAME}{re.escape(self._name)}", line)
        if match is None or self._sides is None:
            return False
        default = re.search(rf"^default {match[1]} := (.+)$", text, re.MULTILINE)
        return default is not None and len({default[1] if s == _ABSENT else s for s in self._sides}) == 1

    def _settled_besides(self, line: str, text: str) -> bool:
        """One of the ways in which a rule may hold, and it holds in another way on both sides."""
        rule = re.match(r"([a-z_]\w*) if .*[^{]$", line)
        if rule is None:
            return False
        others = re.finditer(rf"^{rule[1]} if {_SETTLING}$", text, re.MULTILINE)
        return any(
            other[0] != line and other[3] == json.dumps(self._stated.of(other[1]).get(other[2], _ABSENT))
            for other in others
        )


def _sides(edit: Edit, changed: Sequence[Rule]) -> tuple[str, str] | None:
    """What each side says at the place, as JSON; None unless that is one scalar or nothing."""
    found: list[str] = []
    for rule in changed:
        if rule.name == edit.rule:
            values = list(_at(data_of(rule), edit.field))
            if len(values) > 1 or any(isinstance(value, (Mapping, list)) for value in values):
                return None
            found.append(json.dumps(values[0]) if values else _ABSENT)
    if len(found) == 1:
        found.append(_ABSENT)
    return (found[0], found[1]) if len(found) == 2 else None


def _at(value: Any, field: str) -> Iterator[Any]:
    """Everything under the key `field`, at any depth; all of it when there is no key."""
    if isinstance(value, tuple) and not field:
        yield value[0]
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key == field:
                yield inner
            yield from _at(inner, field)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _at(inner, field)


def _lines(text: str) -> Iterator[str]:
    yield from (line for line in text.split("\n") if not line.lstrip().startswith("#"))


def _compared(line: str, name: str, stated: _Stated) -> list[Any] | None:
    """The constants that `line` compares the field with when that is all it does; None otherwise."""
    field = _NAME + re.escape(name)
    match = re.fullmatch(rf"(?:[a-z_]\w* if )?{field} (==|in) (.+)", line)
    if match is None:
        return None
    text = match[2]
    if match[1] == "in":
        of_bundle = _OF_BUNDLE.fullmatch(text)
        if of_bundle is not None:
            held = stated.of("bundle").get(of_bundle[1])
            return held if isinstance(held, list) else None
        if not (text.startswith("{") and text.endswith("}")):
            return None
        text = f"[{text[1:-1]}]"
    value = _json(text)
    return value if match[1] == "in" or value is None else [value]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
