"""A compactor by the words it is chosen with on a command line. Starts nothing before it is used."""

from __future__ import annotations

import hashlib
import importlib
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from gate.errors import InputError
from gate.lab.compaction.compactor import Compactor
from gate.lab.compaction.compactors.harmful import DropRule, InjectConsent, Paraphrase
from gate.lab.compaction.compactors.outside import CallableCompactor, CommandCompactor, HttpCompactor
from gate.lab.compaction.compactors.plain import EvictByNoise, NoCompaction, ParagraphSummary, SlidingWindow, Truncate
from gate.lab.compaction.compactors.recorded import RecordedCompactor
from gate.lab.compaction.compactors.typed import Pinned, Structured

SHIPPED: tuple[Callable[[], Compactor], ...] = (
    NoCompaction,
    Truncate,
    SlidingWindow,
    ParagraphSummary,
    DropRule,
    Paraphrase,
    InjectConsent,
    EvictByNoise,
    Structured,
)
"""The compactors that come with the gate, for comparison, in the order of the baseline table."""

FORMS = "a shipped name, NAME+pinning, command:PROGRAM ARGS, http(s)://…, python:MODULE:FUNCTION, transcript:FILE"


def shipped() -> tuple[Compactor, ...]:
    """One of each shipped compactor."""
    return tuple(make() for make in SHIPPED)


def chosen(spec: str, *, version: str | None = None, token: str | None = None) -> Compactor:
    """The compactor that `spec` names, in one of `FORMS`.

    `version` is the exact revision of one from outside; without it a program's version is the digest of its file and
    an endpoint has none (`unknown`, which the hard gates block). Raises `InputError` (`compactor_unknown`).
    """
    by_name = {one.name: one for one in shipped()}
    if spec in by_name:
        return by_name[spec]
    if spec.endswith("+pinning") and spec.removesuffix("+pinning") in by_name:
        return Pinned(by_name[spec.removesuffix("+pinning")])
    kind, _, rest = spec.partition(":")
    if kind == "command" and rest:
        return _command(rest, version)
    if kind in {"http", "https"}:
        return HttpCompactor(name="http", version=version or "unknown", url=spec, token=token)
    if kind == "python" and ":" in rest:
        return _function(rest, version)
    if kind == "transcript" and rest:
        return RecordedCompactor.read(Path(rest))
    raise InputError(
        f"`{spec}` names no compactor", code="compactor_unknown", hint=f"{FORMS}; shipped: {', '.join(by_name)}"
    )


def _command(text: str, version: str | None) -> CommandCompactor:
    try:
        words = shlex.split(text)
    except ValueError as exc:
        raise InputError("the command is not well quoted", code="compactor_unknown") from exc
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise InputError("there is no such program", code="compactor_unknown", hint="name one that can be run")
    return CommandCompactor(
        name=f"command:{Path(words[0]).name}", version=version or _digest(Path(program), words[1:]), command=words
    )


def _digest(program: Path, arguments: list[str]) -> str:
    """Of the program and of every file among its arguments: a script is an argument of its interpreter."""
    found = hashlib.sha256()
    for path in (program, *(Path(a) for a in arguments)):
        try:
            found.update(path.read_bytes() if path.is_file() else str(path).encode("utf-8"))
        except OSError as exc:
            raise InputError(f"`{path}` cannot be read", code="compactor_unknown") from exc
    return f"sha256:{found.hexdigest()}"


def _function(text: str, version: str | None) -> Compactor:
    module, _, name = text.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as exc:
        raise InputError(f"`{text}` cannot be imported", code="compactor_unknown") from exc
    if isinstance(found, type):
        found = found()
    if isinstance(found, Compactor):
        return found
    if not callable(found):
        raise InputError(f"`{text}` is not a function", code="compactor_unknown")
    return CallableCompactor(name=f"python:{text}", version=version or "unknown", function=found)
