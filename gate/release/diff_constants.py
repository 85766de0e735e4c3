"""Inputs about what the data of two bundles disagree on: each word and number where it could matter, and old evidence.

Pure. What a rule does with the data need not be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gate.release.diff_documents import ABSENT, Candidate, Patch, Path, value_at
from gate.release.diff_probe import OTHER
from gate.release.diff_values import Edit, numbers, placed, readers, shape, texts

_MOST_CONSTANTS = 40
_CONTRACTED = "evidence_controls["


def vouching(edits: Sequence[Edit], base: Candidate) -> Iterator[Candidate]:
    """Each section of evidence whose contract changed: of every age, by anybody, or with nothing said of that."""
    now = value_at(base.base, ("now_ms",))
    contracts = [edit for edit in edits if edit.rule.startswith(_CONTRACTED)]
    for name in dict.fromkeys(edit.key for edit in contracts):
        if not isinstance(value_at(base.base, ("evidence", name)), Mapping) or not isinstance(now, int):
            continue
        mine = [edit for edit in contracts if edit.key == name]
        ages = [int(age) + step for age in numbers(mine) for step in (0, 1, -1)]
        said: list[tuple[str, list[Any]]] = [
            ("checked_at_ms", [*(now - age for age in ages), 0, now + 1, now, None, ABSENT]),
            ("checked_by", [OTHER, *texts(mine), None, ABSENT]),
            ("signed_by", [OTHER, *texts(mine), None, ABSENT]),
        ]
        for key, values in said:
            for value in values:
                yield base.with_patches([*base.patches, Patch(("evidence", name, key), value)])


def constants(
    edits: Sequence[Edit], modules: Mapping[str, str], bases: Sequence[Candidate], refused: Sequence[Candidate]
) -> Iterator[Candidate]:
    """Every word and number that only one side has, wherever a document could hold it.

    `modules` is Rego text by path. A document that is `refused` may be so for the want of that very word.
    """
    if not edits:
        return
    words, counts = texts(edits)[:_MOST_CONSTANTS], numbers(edits)[:_MOST_CONSTANTS]
    within = readers(modules, edits)
    # One document of a shape tells what a hundred would, and one of an operation what a field it lacks would do.
    plain, near, every = alone(bases, frozenset()), alone([*bases, *refused], within), alone(bases, None)
    yield from in_turn([placed(base, words, counts, within=within) for base in plain])
    yield from in_turn([placed(base, words, counts, within=within) for base in near])
    yield from in_turn([placed(base, words, counts) for base in plain])
    yield from in_turn([placed(base, [*words, OTHER], counts) for base in every])


def alone(bases: Sequence[Candidate], fields: frozenset[Path] | None) -> list[Candidate]:
    """The first document of every shape, as far as `fields` tell."""
    return list({shape(base, fields): base for base in reversed(bases)}.values())[::-1]


def in_turn(sources: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    """One from each source in turn until all are used up."""
    pending = list(sources)
    while pending:
        left: list[Iterator[Candidate]] = []
        for source in pending:
            one = next(source, None)
            if one is not None:
                left.append(source)
                yield one
        pending = left
