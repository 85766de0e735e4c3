"""The golden cases of a bundle: the base input document, and what each case changes in it and expects.

It reads files and must not evaluate anything; a case states its expectation, `gate test` checks it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.documents.document import Document, pointer_of
from gate.documents.files import entries, read_document
from gate.documents.resources import schema
from gate.documents.schema_check import schema_problems
from gate.documents.wording import quoted
from gate.errors import BundleError, Problem

ABSENT = "$absent"
"""A value of exactly `{"$absent": true}` in a case's `input` removes the field: missing and null differ."""

_BASE = "_base.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One golden case: an input document and the decision it must get."""

    id: str
    title: str
    document: dict[str, Any] = field(repr=False)
    """The whole input document; no other case shares any part of it."""
    expect_verdict: str
    expect_reasons: tuple[str, ...]
    """Reason codes, sorted."""
    file: str
    """The case's file, as the user gave the path."""
    expect_obligations: tuple[Mapping[str, Any], ...] | None = None
    """The fields that matter of each obligation, its type always, in order; None when the case does not say."""
    expect_advice: tuple[str, ...] | None = None
    """Codes of the advice, in order; None when the case does not say."""


def load_cases(folder: Path) -> tuple[Case, ...]:
    """The cases in `folder/cases`, sorted by file name. Raises `BundleError` with all problems of all files.

    `cases/_NAME.yaml` is a patch over the base document for the cases that say `base: NAME`. A bundle without
    `cases/_base.yaml`, or with nothing but it, is refused: its test would test nothing.
    """
    cases_folder = folder / "cases"
    names = entries(cases_folder, code="cases_missing")
    problems: list[Problem] = []
    bases: dict[str, dict[str, Any]] = {}
    found: list[Document] = []
    for name in names:
        if not name.lower().endswith((".yaml", ".yml")):
            continue
        if not name.endswith(".yaml"):
            message = f"{quoted(name)} is not read, because its name does not end in `.yaml`"
            problems.append(Problem(str(cases_folder / name), 1, 1, "case_misnamed", message, "rename it"))
            continue
        try:
            document = read_document(cases_folder / name)
        except BundleError as exc:
            problems += exc.problems
            continue
        if name.startswith("_"):
            bases[name] = document.value
            continue
        breaches = schema_problems(document, schema("case")) or list(_patch_problems(document))
        problems += breaches
        if not breaches:
            found.append(document)
    problems += _naming(found)
    if _BASE not in names:
        message = f"{quoted(_BASE)} is needed and not there"
        problems.append(Problem(str(cases_folder / _BASE), 1, 1, "case_base_missing", message))
    if not found and not problems:
        problems.append(Problem(str(cases_folder), 1, 1, "cases_missing", "there is no case in the folder"))
    problems += _bases(found, names)
    if problems or _BASE not in bases:
        raise BundleError(problems)
    sound = bases[_BASE]
    derived = {name: sound if name == _BASE else patched(sound, patch) for name, patch in bases.items()}
    return tuple(_case(document, derived[_base_of(document)]) for document in found)


def _base_of(document: Document) -> str:
    return f"_{document.value.get('base', 'base')}.yaml"


def _bases(found: list[Document], names: list[str]) -> Iterator[Problem]:
    used = {_base_of(document) for document in found}
    for document in found:
        if _base_of(document) not in {_BASE, *names}:
            message = f"{quoted(_base_of(document))} is not in the folder"
            yield document.problem("/base", "case_base_unknown", message)
    for name in names:
        if name.startswith("_") and name.endswith(".yaml") and name != _BASE and found and name not in used:
            place = str(Path(found[0].file).parent / name)
            yield Problem(place, 1, 1, "case_base_unused", f"no case is a patch over {quoted(name)}")


def patched(base: Any, patch: Any) -> Any:
    """`base` changed by `patch`: RFC 7396, but null is a value and `{"$absent": true}` removes the field.

    Shares nothing with either. Lists are replaced whole.
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = copy.deepcopy(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if _removes(value):
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


def _removes(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and value.get(ABSENT) is True


def _case(document: Document, base: dict[str, Any]) -> Case:
    value = document.value
    return Case(
        id=value["id"],
        title=value["title"],
        document=patched(base, value["input"]),
        expect_verdict=value["expect"]["verdict"],
        expect_reasons=tuple(sorted(value["expect"]["reasons"])),
        file=document.file,
        expect_obligations=_duties(value["expect"]),
        expect_advice=_stated(value["expect"], "advice"),
    )


def _duties(expect: dict[str, Any]) -> tuple[Mapping[str, Any], ...] | None:
    stated = expect.get("obligations")
    return None if stated is None else tuple({"type": one} if isinstance(one, str) else dict(one) for one in stated)


def _stated(expect: dict[str, Any], key: str) -> tuple[str, ...] | None:
    return tuple(expect[key]) if key in expect else None


def _naming(found: list[Document]) -> Iterator[Problem]:
    files: dict[str, str] = {}
    for document in found:
        name = document.value["id"]
        if name in files:
            message = f"case {quoted(name)} is already in {quoted(files[name])}"
            yield document.problem("/id", "case_duplicate", message)
        files.setdefault(name, document.file)
        stem = Path(document.file).stem
        if name != stem:
            message = f"the case is called {quoted(name)} in a file called {quoted(stem)}"
            yield document.problem("/id", "case_id_mismatch", message, "use the file's name")


def _patch_problems(document: Document) -> Iterator[Problem]:
    """`$absent` anywhere but as the one key of a field's value, where it would silently do nothing."""
    pending: list[tuple[Any, tuple[str | int, ...], bool]] = [(document.value["input"], ("input",), False)]
    while pending:
        value, at, removable = pending.pop()
        if isinstance(value, dict):
            if ABSENT in value and not (removable and _removes(value)):
                message = f"{quoted(ABSENT)} removes a field only as {quoted('{$absent: true}')} in its place"
                yield document.problem(pointer_of(*at, ABSENT), "case_patch_invalid", message, key=True)
            pending += [(item, (*at, key), True) for key, item in value.items()]
        elif isinstance(value, list):
            pending += [(item, (*at, index), False) for index, item in enumerate(value)]
