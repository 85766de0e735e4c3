"""Compiled Rego read back as a reviewer reads it: rules, where each came from, what each compares.

Pure. It reads what `gate.compiler.emit` writes, from a folder, a tarball or an old commit alike; it judges nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_SOURCE = re.compile(r'^#   source: (".*")$', re.MULTILINE)
_TITLE = re.compile(r'^# title: (".*")$', re.MULTILINE)
_HEAD = re.compile(r"(default )?(_?[a-z][a-z0-9_]*)(\[\"(?:[^\"\\]|\\.)*\"\])?")
_LOCAL = re.compile(r"(?<![\w.\"])_([a-z][a-z0-9_]*)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BOUND = re.compile(r'^\s*(?:.* if )?input\.(checkpoint|operation|request\.capability) == ("(?:[^"\\]|\\.)*")$', re.M)
_INPUT = re.compile(r'^(_[a-z0-9_]+) := (input|known\.section)((?:\.\w+|\["(?:[^"\\]|\\.)*"\])+)$', re.MULTILINE)
# Evidence is read as far as it is fresh and trusted; what the rule looks at stands in the input all the same.
_SECTIONS = {"input": (), "known.section": ("evidence",)}
_STEP = re.compile(r'\.(\w+)|\[("(?:[^"\\]|\\.)*")\]')
_COMPARED = re.compile(r"^\s*(?:.* if )?(.+?) (==|!=|<=|>=|<|>|in) (.+)$", re.MULTILINE)
_MATCHED = re.compile(r'regex\.match\(("(?:[^"\\]|\\.)*"), _([a-z0-9_]+)\)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison of a rule: operand names without the underscore, or constants."""

    op: str
    """`== != < <= > >= in matches`."""
    operand: str
    other: str | None
    """The other operand; None when it is compared with a constant."""
    constant: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of one compiled file."""

    file: str
    name: str
    """Name with its key, such as `findings` or `catalog["create_ticket"]`."""
    title: str
    source: str
    """JSON pointer into the YAML; empty for a helper rule, whose user says where it comes from."""
    text: str
    """Without its METADATA."""
    bound: Mapping[str, str]
    """Of checkpoint, operation and request.capability, those it equals a constant."""
    uses: frozenset[str]
    """Local rules it refers to, without the underscore."""
    comparisons: tuple[Comparison, ...]

    @property
    def plain(self) -> str:
        """The text with the place in the YAML left out: the same rule further down is the same rule."""
        return self.text.replace(json.dumps(self.source), '""') if self.source else self.text


@dataclass(frozen=True, slots=True)
class RegoText:
    """The rules of one compiled bundle."""

    rules: tuple[Rule, ...]
    paths: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Input path by operand name."""
    _by_name: Mapping[str, tuple[Rule, ...]] = field(repr=False)

    @classmethod
    def read(cls, files: Mapping[str, str]) -> RegoText:
        """The rules in `files`, Rego text by file name, in the order of the names."""
        rules: list[Rule] = []
        paths: dict[str, tuple[str, ...]] = {}
        for file, text in sorted(files.items()):
            rules += [rule for rule in (_rule(file, block) for block in blocks_of(text)) if rule is not None]
            for match in _INPUT.finditer(text):
                steps = (step[1] or json.loads(step[2]) for step in _STEP.finditer(match[3]))
                paths[match[1][1:]] = (*_SECTIONS[match[2]], *steps)
        by_name: dict[str, list[Rule]] = {}
        for rule in rules:
            by_name.setdefault(rule.name, []).append(rule)
        return cls(tuple(rules), paths, {name: tuple(found) for name, found in by_name.items()})

    def reached(self, rule: Rule) -> tuple[Rule, ...]:
        """`rule` and every local rule it refers to, directly or not."""
        seen: dict[int, Rule] = {}
        pending = [rule]
        while pending:
            one = pending.pop()
            if id(one) not in seen:
                seen[id(one)] = one
                for name in sorted(one.uses):
                    pending.extend(self._by_name.get(f"_{name}", ()))
        return tuple(seen.values())

    def inputs(self, rule: Rule) -> frozenset[tuple[str, ...]]:
        """Input paths that `rule` reads through its operands."""
        return frozenset(
            self.paths[name] for one in self.reached(rule) for name in (*one.uses, one.name[1:]) if name in self.paths
        )

    def origins(self) -> dict[str, str]:
        """By name of a helper rule, the source of a rule that uses it."""
        found: dict[str, str] = {}
        for rule in self.rules:
            if rule.source:
                for helper in self.reached(rule):
                    found.setdefault(helper.name, rule.source)
        return found


def blocks_of(text: str) -> list[str]:
    """The rules of a compiled file, with what stands above each; an `else` belongs to what it follows."""
    return re.split(r"\n\n(?!else )", text)


def _rule(file: str, block: str) -> Rule | None:
    comments = "\n".join(line for line in block.split("\n") if line.startswith("#"))
    text = "\n".join(line for line in block.split("\n") if not line.startswith("#"))
    if not text.strip() or text.startswith(("package ", "import ")):
        return None
    head = _HEAD.match(text)
    if head is None:
        return None
    source, title = _SOURCE.search(comments), _TITLE.search(comments)
    bare = _STRING.sub('""', text)
    return Rule(
        file=file,
        name=head[2] + (head[3] or ""),
        title=json.loads(title[1]) if title else "",
        source=json.loads(source[1]) if source else "",
        text=text,
        bound={match[1]: json.loads(match[2]) for match in _BOUND.finditer(text)},
        uses=frozenset(match[1] for match in _LOCAL.finditer(bare)) - {head[2].removeprefix("_")},
        comparisons=tuple(_comparisons(text)),
    )


def _comparisons(text: str) -> Iterator[Comparison]:
    for match in _MATCHED.finditer(text):
        yield Comparison(op="matches", operand=match[2], other=None, constant=json.loads(match[1]))
    for match in _COMPARED.finditer(text):
        left, right = _side(match[1]), _side(match[3])
        if left is None or right is None:
            continue
        if isinstance(left, _Operand) and isinstance(right, _Operand):
            yield Comparison(op=match[2], operand=left.name, other=right.name, constant=None)
            yield Comparison(op=match[2], operand=right.name, other=left.name, constant=None)
        elif isinstance(left, _Operand):
            yield Comparison(op=match[2], operand=left.name, other=None, constant=right)
        elif isinstance(right, _Operand):
            yield Comparison(op=match[2], operand=right.name, other=None, constant=left)


@dataclass(frozen=True, slots=True)
class _Operand:
    name: str


def _side(text: str) -> Any:
    """An operand, a constant, or None for anything else."""
    if re.fullmatch(r"_[a-z0-9_]+", text):
        return _Operand(text[1:])
    try:
        return json.loads(text)
    except ValueError:
        return None
