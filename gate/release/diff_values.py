"""What the data of two bundles disagree on, and every place of a document such a word could be for.

Pure. A list that grew by one word is found by putting that word wherever a document holds a word; which rule reads it
need not be known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gate.documents import schema
from gate.release.diff_documents import Candidate, Patch, Path, leaves, value_at
from gate.release.rego_text import Rule

FIXED = frozenset({("schema_version",), ("request_id",), ("checkpoint",), ("operation",)})
UNTOUCHED = frozenset({("agent", "agent_id"), ("trace", "trace_id")})
"""A rule that governs the agent is asked through the host's agent id; another one is another bundle."""
_ACTING = frozenset({"findings", "demands", "redactions", "advice"})
# They follow from something else, or tell a reader something and no rule.
_DERIVED = frozenset(
    {
        *("version", "bundle_version", "release_identity", "contract_version", "contract_digest"),
        *("capability_version", "arguments_digest", "policy_digest", "owner_team", "display_name"),
    }
)
_MOST_TEXT = 200
_TRAILING = re.compile(r",(\n\s*[}\]])")
_SECOND_MS = 1000
_READ = re.compile(r"\binput\.([a-z_]+(?:\.[a-z_]+)+)")


@dataclass(frozen=True, slots=True)
class Edit:
    """One place in the data of a bundle that is not the same on both sides."""

    rule: str
    """Name of the rule with its key, such as `catalog["create_ticket"]`."""
    field: str
    """Key of the place inside it; empty for the rule's own value."""
    values: tuple[Any, ...]
    """What only one of the two sides says there."""

    @property
    def key(self) -> str:
        """Key of the rule; empty for one without."""
        return self.rule.partition('["')[2].removesuffix('"]')


def edits(changed: Iterable[Rule]) -> list[Edit]:
    """Every place in the data rules among `changed`, which hold both sides, that they disagree on."""
    versions: dict[str, list[set[tuple[str, str]]]] = {}
    for rule in changed:
        stated = None if rule.name in _ACTING else data_of(rule)
        if stated is not None:
            versions.setdefault(rule.name, []).append(set(_stated(stated[0], "")))
    found: list[Edit] = []
    for name, sides in versions.items():
        shared = set.intersection(*sides) if len(sides) > 1 else set()
        differing: dict[str, list[Any]] = {}
        for at, text in sorted(set.union(*sides) - shared):
            if at.rpartition("/")[2] not in _DERIVED:
                differing.setdefault(at, []).append(json.loads(text))
        found += [Edit(name, at.rpartition("/")[2], tuple(values)) for at, values in differing.items()]
    return found


def data_of(rule: Rule) -> tuple[Any] | None:
    """The value of a rule that is nothing but data, in a tuple; None for any other rule."""
    _, assigned, body = rule.text.partition(" := ")
    if not assigned:
        return None
    try:
        # Written by `opa fmt`: a comma stands behind the last entry of what takes several lines.
        return (json.loads(_TRAILING.sub(r"\1", body)),)
    except ValueError:
        return None


def _stated(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Each scalar with where it stands; the entries of a list all stand at the list, a key is said there, too."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield at, json.dumps(key)
            yield from _stated(inner, f"{at}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _stated(inner, at)
    else:
        yield at, json.dumps(value)


def texts(found: Iterable[Edit]) -> list[str]:
    """The words among the values, short ones that a document could hold."""
    words = {v for edit in found for v in edit.values if isinstance(v, str)}
    return sorted(word for word in words if len(word) <= _MOST_TEXT and not word.startswith("sha256:"))


def numbers(found: Iterable[Edit]) -> list[int | float]:
    """The numbers among the values."""
    return sorted({v for e in found for v in e.values if isinstance(v, (int, float)) and not isinstance(v, bool)})


def readers(modules: Mapping[str, str], found: Sequence[Edit]) -> frozenset[Path]:
    """Input paths, or what they start with, in the core policies that read one of the places by its name.

    `modules` is Rego text by path inside the OPA bundle.
    """
    names = sorted({name for edit in found for name in (edit.field, edit.key) if name})
    if not names:
        return frozenset()
    named = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
    core = (text for path, text in modules.items() if not path.startswith(("gate/bundles/", "gate/agents/")))
    return frozenset(
        tuple(match[1].split(".")) for text in core if named.search(text) for match in _READ.finditer(text)
    )


def placed(
    base: Candidate, words: Sequence[str], counts: Sequence[int | float], *, within: frozenset[Path] | None = None
) -> Iterator[Candidate]:
    """`base` with each word and each number in every field that could hold it, one at a time; fields it has first.

    `within`: only fields at or below one of these.
    """
    present = {path: value for path, value in leaves(base.base) if path}
    for path, value in present.items():
        if path not in FIXED and path not in UNTOUCHED and _below(path, within):
            for other in _fitting(path, value, words, counts, base):
                yield base.with_patches([*base.patches, Patch(path, other)])
    for path, kind in _declared():
        if path in present or path in FIXED or path in UNTOUCHED or path[0] == "envelope" or not _below(path, within):
            continue
        values: list[Any] = list(words) if kind == "string" else [[word] for word in words if kind == "strings"]
        if kind == "integer":
            values += _near(path, counts, base)
        for other in values:
            yield base.with_patches([*base.patches, Patch(path, other)])


def _below(path: Path, within: frozenset[Path] | None) -> bool:
    return within is None or any(path[: len(top)] == top for top in within)


def _fitting(
    path: Path, present: Any, words: Sequence[str], counts: Sequence[int | float], base: Candidate
) -> Iterator[Any]:
    if isinstance(present, bool):
        return
    if isinstance(present, list):
        yield from _inside(present, words)
    elif isinstance(present, (int, float)):
        yield from (number for number in _near(path, counts, base) if number != present)
    elif present is None:
        yield from words
        if any(declared == path and kind == "integer" for declared, kind in _declared()):
            yield from _near(path, counts, base)
    else:
        yield from (word for word in words if word != present)


def _inside(present: list[Any], words: Sequence[str]) -> Iterator[list[Any]]:
    """The list with a word more, of that word alone, and each entry of objects with it in one field."""
    for word in words:
        if all(isinstance(item, str) for item in present):
            yield [word]
            yield [*present, word]
        for index, item in enumerate(present):
            for key, value in item.items() if isinstance(item, Mapping) else ():
                if isinstance(value, str):
                    yield [*present[:index], {**item, key: word}, *present[index + 1 :]]


def _near(path: Path, counts: Sequence[int | float], base: Candidate) -> Iterator[int | float]:
    """Each number and both sides of it; where a field counts milliseconds, as an age and as a time, in seconds too."""
    now = value_at(base.base, ("now_ms",))
    for number in counts:
        yield from (number, number + 1, number - 1)
        if path[-1].endswith("_ms"):
            for step in (-1, 0, 1):
                if path[-1].endswith("_at_ms") and isinstance(now, int):
                    yield from (now - number + step, now + number + step)
                yield number * _SECOND_MS + step
                if path[-1].endswith("_at_ms") and isinstance(now, int):
                    yield from (now - number * _SECOND_MS + step, now + number * _SECOND_MS + step)


@cache
def _declared() -> tuple[tuple[Path, str], ...]:
    """Every field that an input document may have, and what it holds: `string`, `strings` or `integer`."""
    return tuple(_fields(schema("input"), ()))


def _fields(node: Mapping[str, Any], at: Path) -> Iterator[tuple[Path, str]]:
    kinds = node.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "string" in kinds or "integer" in kinds:
        yield at, "string" if "string" in kinds else "integer"
    elif "array" in kinds and node.get("items", {}).get("type") == "string":
        yield at, "strings"
    for name, inner in node.get("properties", {}).items():
        yield from _fields(inner, (*at, name))


def shape(base: Candidate, within: frozenset[Path] | None = None) -> tuple[Any, ...]:
    """What two documents must share for a word to mean the same in both: operation, capability and the fields there.

    `within`: only fields at or below one of these.
    """
    document = base.base
    named = (value_at(document, ("operation",)), value_at(document, ("request", "capability")))
    return (*map(repr, named), frozenset(path for path, _ in leaves(document) if _below(path, within)))
