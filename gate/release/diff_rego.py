"""The compiled Rego of two sides rule by rule: what was added, removed and changed, each with its line in the YAML.

Pure. A rule that only moved in its YAML is no change; a rule that decides the same in other words is one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gate.release.diff_side import Side
from gate.release.rego_text import RegoText, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a rule comes from: the YAML for a compiled rule, the Rego file itself for a core rule."""

    file: str
    pointer: str
    """JSON pointer into the file; empty for a core rule."""
    line: int | None
    """1-based; None for a side without YAML."""

    def __str__(self) -> str:
        shown = self.file if self.line is None else f"{self.file}:{self.line}"
        return shown if self.line is not None or not self.pointer else f"{shown}#{self.pointer}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One rule that differs."""

    change: str
    """`added`, `removed` or `changed`."""
    file: str
    """Rego file inside the OPA bundle."""
    rule: str
    title: str
    old: Place | None
    new: Place | None
    lines: tuple[str, ...]
    """Unified diff of the rule's text, without headers."""


@dataclass(frozen=True, slots=True)
class RegoDiff:
    """All rules that differ, in the order of the files."""

    hunks: tuple[Hunk, ...]
    moved: int
    """Rules that are the same and stand elsewhere in their YAML."""
    changed: Mapping[str, tuple[Rule, ...]]
    """By package, the rules of either side that the other does not have."""
    read: frozenset[tuple[str, ...]]
    """Input paths that those rules read through their operands."""
    core: bool
    """Whether the hand-written policies differ."""


def rego_diff(old: Side, new: Side) -> RegoDiff:
    """Compares every compiled bundle rule by rule and every core policy file by file."""
    hunks: list[Hunk] = []
    changed: dict[str, tuple[Rule, ...]] = {}
    read: set[tuple[str, ...]] = set()
    moved = 0
    for package in sorted({*old.packages, *new.packages}):
        before, after = RegoText.read(old.rego(package)), RegoText.read(new.rego(package))
        gone, come, shifted = _unmatched(before.rules, after.rules)
        moved += shifted
        hunks += _hunks(package, old, new, (before, gone), (after, come))
        changed[package] = (*gone, *come)
        for text, rules in ((before, gone), (after, come)):
            read |= {path for rule in rules for path in text.inputs(rule)}
    core = list(_core_hunks(old, new))
    return RegoDiff((*hunks, *core), moved, changed, frozenset(read), bool(core))


def _unmatched(old: Sequence[Rule], new: Sequence[Rule]) -> tuple[list[Rule], list[Rule], int]:
    """What has no equal on the other side, and how many equals stand elsewhere in their YAML."""
    gone, come = list(old), list(new)
    moved = 0
    for exact in (True, False):
        stock: dict[tuple[str, str], list[Rule]] = {}
        for rule in come:
            stock.setdefault((rule.source if exact else "", rule.plain), []).append(rule)
        left: list[Rule] = []
        for rule in gone:
            same = stock.get((rule.source if exact else "", rule.plain))
            if same:
                same.pop(0)
                moved += not exact
            else:
                left.append(rule)
        gone, come = left, [rule for rules in stock.values() for rule in rules]
    order = {id(rule): index for index, rule in enumerate(new)}
    return gone, sorted(come, key=lambda rule: order[id(rule)]), moved


def _hunks(
    package: str, old: Side, new: Side, before: tuple[RegoText, list[Rule]], after: tuple[RegoText, list[Rule]]
) -> Iterable[Hunk]:
    origins = before[0].origins(), after[0].origins()
    rest = list(after[1])
    for rule in before[1]:
        partner = _partner(rule, rest)
        if partner is not None:
            rest.remove(partner)
        yield _hunk(package, old, new, origins, rule, partner)
    for rule in rest:
        yield _hunk(package, old, new, origins, None, rule)


def _partner(rule: Rule, candidates: Sequence[Rule]) -> Rule | None:
    """The rule that took the place of `rule`: the one of its name and source, else the nearest of its name."""
    named = [c for c in candidates if c.name == rule.name]
    here = [c for c in named if c.source == rule.source and c.bound == rule.bound]
    if here:
        return here[0]
    if rule.source:
        titled = [c for c in named if c.title == rule.title]
        return titled[0] if titled else None
    return named[0] if named else None


def _hunk(
    package: str,
    old: Side,
    new: Side,
    origins: tuple[Mapping[str, str], Mapping[str, str]],
    before: Rule | None,
    after: Rule | None,
) -> Hunk:
    shown = after or before
    assert shown is not None  # noqa: S101 - a hunk has at least one side
    return Hunk(
        change="changed" if before and after else ("added" if after else "removed"),
        file=f"gate/bundles/{package}/{shown.file}",
        rule=shown.name,
        title=shown.title,
        old=None if before is None else _place(old, package, before, origins[0]),
        new=None if after is None else _place(new, package, after, origins[1]),
        lines=_lines(before.text if before else "", after.text if after else ""),
    )


def _place(side: Side, package: str, rule: Rule, origins: Mapping[str, str]) -> Place:
    source = rule.source or origins.get(rule.name, "")
    document, _, pointer = source.partition("#")
    at = side.places.get(package, {}).get(source)
    folder = side.folders.get(package)
    file = document or f"gate/bundles/{package}/{rule.file}"
    return Place(
        file=f"{folder.rstrip('/')}/{file}" if folder and document else file,
        pointer=pointer,
        line=None if at is None else int(at["line"]),
    )


def places_of(sources: Iterable[str], about: str, old: Side, new: Side, hunks: Sequence[Hunk]) -> tuple[Place, ...]:
    """Where to look for the cause of a difference about the capability or operation `about`.

    The YAML behind `sources`, the reasons that differ, on the new side where it has them; without any, the changed
    rules that name `about`, else every changed rule.
    """
    found: list[Place] = []
    for source in sorted(sources):
        for side in (new, old):
            at = [(package, places[source]) for package, places in side.places.items() if source in places]
            if at:
                file, _, pointer = source.partition("#")
                folder = side.folders.get(at[0][0], "").rstrip("/")
                line = int(at[0][1]["line"])
                found.append(Place(file=f"{folder}/{file}" if folder else file, pointer=pointer, line=line))
                break
        else:
            file, _, pointer = source.partition("#")
            found.append(Place(file=file, pointer=pointer, line=None))
    if not found:
        naming = [h for h in hunks if about in h.title.split() or f'["{about}"]' in h.rule]
        found = [place for hunk in naming or hunks for place in (hunk.new or hunk.old,) if place is not None]
    return tuple(dict.fromkeys(found))


def _core_hunks(old: Side, new: Side) -> Iterable[Hunk]:
    for path in sorted({*old.modules, *new.modules}):
        if path.startswith(("gate/bundles/", "gate/agents/")):
            continue
        before, after = old.modules.get(path), new.modules.get(path)
        if before != after:
            lines = _lines(before or "", after or "")
            place = Place(file=f"policies/{path}", pointer="", line=_first(lines))
            yield Hunk(
                change="changed" if before and after else ("added" if after else "removed"),
                file=path,
                rule=path.removesuffix(".rego").replace("/", "."),
                title="core policy",
                old=place if before else None,
                new=place if after else None,
                lines=lines,
            )


def _lines(before: str, after: str) -> tuple[str, ...]:
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return tuple(line for line in found if not line.startswith(("---", "+++")))


def _first(lines: Sequence[str]) -> int:
    for line in lines:
        if line.startswith("@@"):
            return max(1, int(line.split("+", 1)[1].split(",")[0].split(" ")[0]))
    return 1
