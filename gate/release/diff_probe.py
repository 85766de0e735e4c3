"""What to try on a compiled rule: every value its predicate compares with, each side of it, and nothing at all.

Pure. Values come from the rules of both sides; `gate.release.diff_inputs` says which documents they are tried on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.release.diff_documents import ABSENT, Candidate, Patch, Path, value_at
from gate.release.pattern_samples import samples
from gate.release.rego_text import Comparison, RegoText, Rule

ACTING = ("findings", "demands", "redactions", "advice")
"""Heads of the rules that decide something."""
OTHER = "someone-else"
_MOST_COMBINATIONS = 48
_NUMBER, _STRING, _BOOLEAN, _LIST = "v_number_", "v_string_", "v_boolean_", "v_list_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One rule with operands: where it is bound, and what each of its inputs is compared with."""

    title: str
    head: str
    """One of `ACTING`."""
    checkpoint: str
    operation: str | None
    """None for every operation of the checkpoint."""
    capability: str | None
    """None for every capability."""
    comparisons: Mapping[Path, tuple[Comparison, ...]]
    partners: Mapping[Path, Path]
    """Input that another is compared with."""
    sound: tuple[Patch, ...]
    """Makes the rule content: a restricting one silent, a permitting one true."""

    def values(self, path: Path, base: Candidate) -> list[Any]:
        """What to put at `path` of a document like `base`, boundaries first."""
        found = [value for one in self.comparisons[path] for value in _around(one)]
        partner = self.partners.get(path)
        if partner is not None:
            found += _like(_value(base, partner))
        found += _other_types(self.comparisons[path])
        return _distinct([*found, None, ABSENT])

    def tried_on(self, base: Candidate) -> Iterator[Candidate]:
        """Each value by itself, then combinations of the values that matter."""
        paths = sorted(self.comparisons)
        for path in paths:
            for value in self.values(path, base):
                yield base.with_patches([*base.patches, Patch(path, value)])
        if len(paths) < 2:
            return
        choices = [self.values(path, base)[:5] for path in paths]
        total = 1
        for choice in choices:
            total *= len(choice)
        # Evenly spread where there are too many: neighbours differ in the last operand only. An odd stride meets all.
        stride = max(1, total // _MOST_COMBINATIONS) | 1
        for combination in itertools.islice(itertools.product(*choices), 0, total, stride):
            patches = [Patch(path, value) for path, value in zip(paths, combination, strict=True)]
            yield base.with_patches([*base.patches, *patches])


def probes(text: RegoText) -> Iterator[Probe]:
    """A probe for every rule of one bundle that decides something."""
    for rule in text.rules:
        if rule.name in ACTING and "checkpoint" in rule.bound:
            found, partners = _operands(text, text.reached(rule))
            if found:
                yield Probe(
                    title=rule.title,
                    head=rule.name,
                    checkpoint=rule.bound["checkpoint"],
                    operation=rule.bound.get("operation"),
                    capability=rule.bound.get("request.capability"),
                    comparisons=found,
                    partners=partners,
                    sound=tuple(_sound(text, rule)),
                )


def _operands(text: RegoText, rules: Sequence[Rule]) -> tuple[dict[Path, tuple[Comparison, ...]], dict[Path, Path]]:
    found: dict[Path, list[Comparison]] = {}
    partners: dict[Path, Path] = {}
    for rule in rules:
        for name in (*sorted(rule.uses), rule.name[1:]):
            if name.startswith("v_") and name in text.paths:
                # Compared with nothing where it is only asked whether it is there.
                empty = Comparison(op="exists", operand=name, other=None, constant=None)
                found.setdefault(text.paths[name], [empty])
        for one in rule.comparisons:
            path = text.paths.get(one.operand)
            if path is not None:
                found.setdefault(path, []).append(one)
                other = text.paths.get(one.other or "")
                if other is not None:
                    partners[path] = other
    return {path: tuple(ones) for path, ones in found.items()}, partners


def _sound(text: RegoText, rule: Rule) -> Iterator[Patch]:
    """Values under which the rule has nothing to say against the call."""
    wanted = "_true" if "allow" in rule.text.partition("(")[2][:200].split('"')[3:4] else "_false"
    clause = next((r for r in text.reached(rule) if r.name.endswith(wanted)), None)
    for one in () if clause is None else [c for r in text.reached(clause) for c in r.comparisons]:
        path = text.paths.get(one.operand)
        if path is None or path[0] == "identity":
            continue
        partner = text.paths.get(one.other or "")
        match one.op:
            case "==" | ">=" | "<=" if one.other is None:
                yield Patch(path, one.constant)
            case "in" if isinstance(one.constant, list):
                yield Patch(path, one.constant[0])
            case "!=" if one.other is None and isinstance(one.constant, str):
                yield Patch(path, one.constant + "x")
            case "==" if partner is not None and path > partner:
                yield Patch(path, partner)  # resolved against the base by `settled`


def settled(base: Candidate, found: Iterable[Patch]) -> Candidate:
    """`base` with the sound patches of its probes, each partner's value read from the base."""
    for patch in found:
        value = patch.value
        if isinstance(value, tuple):
            value = _value(base, value)
            if value is ABSENT or value is None:
                value = "sample"
                base = base.with_patches([*base.patches, Patch(patch.value, value)])
        base = base.with_patches([*base.patches, Patch(patch.path, value)])
    return base


def _value(base: Candidate, path: Path) -> Any:
    for patch in reversed(base.patches):
        if patch.path == path:
            return patch.value
    return value_at(base.base, path)


def _around(one: Comparison) -> list[Any]:
    """The constant of a comparison, and what lies on each side of it."""
    constant = one.constant
    if one.op == "exists":
        return []
    if one.op == "matches":
        return [*samples(str(constant)), "harmless text"]
    items = constant if isinstance(constant, list) else [constant]
    found: list[Any] = []
    for item in items:
        if isinstance(item, bool):
            found += [item, not item]
        elif isinstance(item, int):
            found += [item, item + 1, item - 1]
        elif isinstance(item, float):
            found += [item, item + 0.01, item - 0.01]
        elif isinstance(item, str):
            found.append(item)
    if one.operand.startswith(_LIST):
        return [[], *([item] for item in found), found, [*found, OTHER]]
    return [*found, OTHER] if one.operand.startswith(_STRING) else found


def _like(value: Any) -> list[Any]:
    if isinstance(value, bool) or value is ABSENT or value is None:
        return []
    return [value, value + 1, value - 1] if isinstance(value, (int, float)) else [value, OTHER]


def _other_types(comparisons: Sequence[Comparison]) -> list[Any]:
    operand = comparisons[0].operand
    if operand.startswith(_NUMBER):
        return [0, 1_000_000_000, "7"]
    if operand.startswith(_BOOLEAN):
        return [True, False, "true"]
    if operand.startswith(_LIST):
        return [[], [7], "x"]
    return ["", OTHER, 7]


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({repr(value): value for value in values}.values())
