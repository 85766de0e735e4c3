"""Input documents as a base and patches: what makes a difference between two bundles can then be cut down to size.

Pure. `$facts` stand for what each side's bundle says, so that one document can be put to both.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gate.documents import pointer_of, tokens_of
from gate.release.diff_settled import GATHERED, settle
from gate.release.golden import FACTS

Path = tuple[str, ...]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""The patch that removes a field."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One field and what it is to be; `ABSENT` removes it."""

    path: Path
    value: Any

    @property
    def shown(self) -> str:
        """The field as a pointer."""
        return pointer_of(*self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document that both sides are asked about."""

    origin: str
    """`golden`, `recorded` or `generated`."""
    name: str
    """Id of the case, line of the record, or what the base of a generated document is."""
    base: Mapping[str, Any] = field(repr=False)
    patches: tuple[Patch, ...] = ()

    def with_patches(self, patches: Sequence[Patch]) -> Candidate:
        """The same base under other patches."""
        return Candidate(origin=self.origin, name=self.name, base=self.base, patches=tuple(patches))

    def document(self, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The whole document for a side whose bundles state `facts`, by agent."""
        # Only what a patch passes through is copied: ten thousand documents share the rest.
        document: Any = self.base
        for patch in self.patches:
            document = _patched(document, patch.path, patch.value)
        filled = _filled(document, _known(document, facts))
        assert isinstance(filled, dict)  # noqa: S101 - a mapping is filled with a mapping
        return filled


class Filler:
    """The documents of one side. A base is filled in once, whatever number of candidates share it."""

    def __init__(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        self._facts = facts
        self._bases: dict[int, tuple[Mapping[str, Any], Mapping[str, Any], Any]] = {}

    def document(self, candidate: Candidate) -> dict[str, Any]:
        """What `candidate.document` would be."""
        if any(patch.path[:1] in ((), ("agent",)) for patch in candidate.patches):
            return candidate.document(self._facts)  # the agent says whose facts stand in it
        # The base itself is kept beside its identity, which could otherwise be that of another one later.
        _, known, document = self._bases.get(id(candidate.base)) or self._filled(candidate.base)
        for patch in candidate.patches:
            document = _patched(document, patch.path, _filled(patch.value, known))
        assert isinstance(document, dict)  # noqa: S101 - a mapping is filled with a mapping
        return document

    def _filled(self, base: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any], Any]:
        known = _known(base, self._facts)
        self._bases[id(base)] = made = (base, known, _filled(base, known))
        return made


def fact(*tokens: str) -> dict[str, str]:
    """Stands for what the bundle says at this place."""
    return {FACTS: pointer_of(*tokens)}


def value_at(document: Any, path: Path) -> Any:
    """What stands at `path`; `ABSENT` when there is nothing."""
    for part in path:
        if not isinstance(document, Mapping) or part not in document:
            return ABSENT
        document = document[part]
    return document


def leaves(document: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field that is not an object, and every empty object, with its path."""
    if isinstance(document, Mapping) and document and FACTS not in document and GATHERED not in document:
        for key, value in document.items():
            yield from leaves(value, (*at, str(key)))
    else:
        yield at, document


def _patched(document: Any, path: Path, value: Any) -> Any:
    if not path:
        return copy.deepcopy(value)
    made = dict(document) if isinstance(document, Mapping) else {}
    if len(path) == 1 and value is ABSENT:
        made.pop(path[0], None)
    elif value is ABSENT and path[0] not in made:
        pass
    else:
        made[path[0]] = _patched(made.get(path[0]), path[1:], value)
    return made


def _known(document: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the bundle of the document's agent says; of any bundle where it names none of them."""
    agent_id = value_at(document, ("agent", "agent_id"))
    known = facts.get(agent_id) if isinstance(agent_id, str) else None
    return known or next(iter(facts.values()), {})


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        if value.keys() == {FACTS}:
            return _stated(facts, str(value[FACTS]))
        if GATHERED in value:
            return settle(value, facts)
        return {key: _filled(item, facts) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, facts) for item in value]
    return value


def _stated(facts: Any, pointer: str) -> Any:
    """What the bundle says there; null when this side says nothing, which no rule takes for an agreement."""
    for name in tokens_of(pointer):
        if not isinstance(facts, Mapping) or name not in facts:
            return None
        facts = facts[name]
    return facts
