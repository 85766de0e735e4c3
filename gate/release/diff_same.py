"""Proof that a document is decided alike on both sides, for a fraction of what deciding it twice costs.

A decision is what the core policies make of the document and of what the governing bundle says of it, and of nothing
else. Where the core policies, the data of the bundles and the document are the same on both sides, and so is
everything the bundles' rules say of the document, then so is the decision. OPA is asked what they say; no rule is
interpreted here. Anything that does not fit this leaves no proof, and the document is decided.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gate.release.diff_batch import CHUNK, Batch
from gate.release.diff_engine import parallel
from gate.release.diff_rego import RegoDiff
from gate.release.diff_side import Side
from gate.release.diff_values import data_of
from gate.release.rego_text import RegoText, Rule, blocks_of

PATH = "review/said.rego"
RULE = "review/said"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')
_ROUTED = re.compile(r"data\.gate\.bundles\[_name\]\.[a-z]")
_AGENTS = "gate/agents/agents.rego"
_BUNDLES = "gate/bundles/"


def review_of(old: Side, new: Side, compared: RegoDiff) -> str | None:
    """A module for both sides whose `said` tells of each document what the bundles' rules say of it.

    None where that does not settle a decision: the hand-written policies differ, or data of a bundle does.
    """
    if compared.core or old.packages != new.packages or old.modules.get(_AGENTS) != new.modules.get(_AGENTS):
        return None
    if not all(_routed(text) for path, text in old.modules.items() if not path.startswith(_BUNDLES)):
        return None
    named: dict[str, list[str]] = {}
    for package in old.packages:
        if any(_data(rule) for rule in compared.changed.get(package, ())):
            return None
        if _unread(old, package) or _unread(new, package):
            return None
        rules = [rule for side in (old, new) for rule in RegoText.read(side.rego(package)).rules]
        named[package] = sorted(
            {rule.name.partition("[")[0] for rule in rules if not _private(rule) and not _data(rule)}
        )
    return _module(named)


def _private(rule: Rule) -> bool:
    return rule.name.startswith("_")


def _data(rule: Rule) -> bool:
    return not _private(rule) and data_of(rule) is not None


def _routed(text: str) -> bool:
    """Whether a core policy asks bundles what they say of the document at hand, by a name that is not private."""
    bare = "\n".join(_STRING.sub('""', line) for line in text.split("\n") if not line.lstrip().startswith("#"))
    return not re.search(r"\bwith\b|\bdata\.gate(?!\.)|\bdata(?!\.)|\bwalk\b", bare) and len(
        re.findall(r"\bbundles\b", bare)
    ) == len(_ROUTED.findall(bare))


def _unread(side: Side, package: str) -> bool:
    """Whether the bundle has Rego that is not laid out as it is compiled, so that a rule could go unseen."""
    for text in side.rego(package).values():
        for block in blocks_of(text):
            lines = [line for line in block.split("\n") if line and not line.startswith("#")]
            heads = [line for line in lines if re.match(r"[a-z_]", line) and not line.startswith("else")]
            if lines and not heads:
                return True
            names = {re.split(r"[^a-z0-9_]", line.removeprefix("default "))[0] for line in heads}
            if len(names) > 1 or any(line.startswith(" ") for line in lines):
                return True
    return False


def _module(named: Mapping[str, list[str]]) -> str:
    lines = ["package review", ""]
    for package, names in named.items():
        for name in names:
            key = json.dumps(f"{package}.{name}")
            lines += [f"_own[{key}] := data.gate.bundles.{package}.{name}", ""]
    lines += [
        "said := {index: crypto.sha256(everything) |",
        "\tsome index, document in input.documents",
        '\teverything := sprintf("%v", [_own]) with input as document',
        "}",
        "",
    ]
    return "\n".join(lines)


def alike(
    old: Batch, new: Batch, pairs: Iterable[tuple[bytes, bytes]], *, told: Callable[[int], None] = lambda _: None
) -> frozenset[tuple[bytes, bytes]]:
    """Those of `pairs` that are one document of which both sides' `said` tells the same.

    `told` hears of how many decisions are not needed.
    """
    repeated = Counter(pair for pair in pairs if pair[0] == pair[1])
    same = list(repeated)

    def work(start: int) -> list[tuple[bytes, bytes]]:
        asked = same[start : start + CHUNK]
        one, two = (batch.value(RULE, [pair[0] for pair in asked]) for batch in (old, new))
        found = [pair for pair, proven in zip(asked, _proven(one, two, len(asked)), strict=True) if proven]
        told(sum(2 * repeated[pair] for pair in found))
        return found

    with ThreadPoolExecutor(max_workers=2 * parallel()) as pool:
        return frozenset(pair for found in pool.map(work, range(0, len(same), CHUNK)) for pair in found)


def _proven(one: Any, two: Any, count: int) -> list[bool]:
    if not isinstance(one, Mapping) or not isinstance(two, Mapping):
        return [False] * count
    told = [(one.get(str(index)), two.get(str(index))) for index in range(count)]
    return [isinstance(first, str) and first == second for first, second in told]
