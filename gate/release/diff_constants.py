"""Inputs about what the data of two bundles disagree on: each word and number where it could matter, and old evidence.

Pure. What a rule does with the data need not be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gate.release.diff_documents import ABSENT, Candidate, Patch, Path, leaves, value_at
from gate.release.diff_probe import OTHER
from gate.release.diff_values import FIXED, UNTOUCHED, Edit, numbers, placed, readers, shape, texts

_MOST_CONSTANTS = 40
_CONTRACTED = "evidence_controls["
_DIGEST = "sha256:" + "0" * 64


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


def below(base: Candidate, at: Path, edits: Sequence[Edit]) -> Iterator[Candidate]:
    """`base` with each field at or below `at` broken, of another digest, and with each word and number of `edits`."""
    words, counts = texts(edits)[:_MOST_CONSTANTS], numbers(edits)[:_MOST_CONSTANTS]
    within = frozenset({at})
    other = (
        base.with_patches([*base.patches, Patch(path, _DIGEST)])
        for path, value in leaves(base.base)
        if path[: len(at)] == at and isinstance(value, str) and value.startswith("sha256:")
    )
    yield from in_turn([other, broken(base, at), placed(base, words, counts, within=within)])


def broken(base: Candidate, at: Path = ()) -> Iterator[Candidate]:
    """Each field of a document, at or below `at`, absent, null, empty and of another type."""
    for path, value in leaves(base.base):
        if path and path[: len(at)] == at and path not in FIXED and path not in UNTOUCHED:
            wrong = 7 if isinstance(value, (str, Mapping)) else "7"
            empty: list[Any] = [[]] if isinstance(value, list) and value else []
            for wanting in (ABSENT, None, wrong, *empty):
                yield base.with_patches([*base.patches, Patch(path, wanting)])


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
