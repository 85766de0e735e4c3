"""What commands are given, turned into what rooms take: bundles, input documents, tokens, stores, decision points.

Opens and closes; decides nothing and prints nothing but remarks. Never creates a store: a mistyped address must not
look like an empty one.
"""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from gate import canonical, opa
from gate.cli.options import PointOptions, StoreOptions
from gate.cli.rendering import note
from gate.compiler import Compiled, assemble, compile_bundle, differences, write
from gate.documents import pointer_of, schema, strict_validator
from gate.errors import InputError, StoreError, ToolchainError
from gate.pdp import DecisionPoint, EmbeddedDecisionPoint, Sidecar, SidecarDecisionPoint
from gate.records import Store
from gate.records.dialect import locate
from gate.release import build

_TIMEOUT_MS = 10_000
"""Deadline of one decision for a person at a terminal, who waits rather than fails."""
_MAX_TOKEN_BYTES = 4096


def input_document(source: str) -> dict[str, Any]:
    """The input document in the file `source`, or on stdin for `-`. Raises `InputError`; shows no value of it."""
    limit = canonical.MAX_DOCUMENT_BYTES + 1
    try:
        if source == "-":
            data = sys.stdin.buffer.read(limit)
        else:
            with Path(source).open("rb") as file:
                data = file.read(limit)
    except (OSError, ValueError) as exc:
        raise InputError(
            f"`{source}` cannot be read", code="input_unreadable", hint="name a file, or - for stdin"
        ) from exc
    try:
        document = canonical.parse(data)
    except InputError as exc:
        hint = exc.hint or "the input is one strict JSON document; see schemas/input.schema.json"
        raise InputError(exc.message, code=exc.code, hint=hint) from exc
    breaches = sorted(
        (pointer_of(*error.absolute_path), str(error.validator))
        for error in strict_validator(schema("input")).iter_errors(document)
    )
    if breaches:
        path, rule = breaches[0]
        others = f" (and {len(breaches) - 1} more)" if len(breaches) > 1 else ""
        raise InputError(
            f"field `{path or '/'}` breaks the rule `{rule}` of its schema{others}",
            code="input_schema_violation",
            hint="see schemas/input.schema.json",
        )
    assert isinstance(document, dict)  # noqa: S101 - the schema has just said so
    return document


def read_token(path: Path) -> str:
    """The bearer token in `path`.

    Raises `InputError`: `token_file_unreadable`, `token_file_exposed` when others can read it, `token_file_malformed`.
    """
    try:
        # Not blocking: a named pipe in the place of the file must not hang the command.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"`{path}` is not a file", code="token_file_unreadable")
            if found.st_mode & 0o077:
                raise InputError(
                    f"`{path}` can be read by others",
                    code="token_file_exposed",
                    hint="treat the token as known: remove the file and let `gate serve` make a new one",
                )
            data = file.read(_MAX_TOKEN_BYTES + 1).strip()
    except OSError as exc:
        raise InputError(
            f"`{path}` cannot be read", code="token_file_unreadable", hint="`gate serve` prints where its token is"
        ) from exc
    if not data or len(data) > _MAX_TOKEN_BYTES or any(not 0x21 <= byte <= 0x7E for byte in data):
        raise InputError(
            f"`{path}` does not hold one token", code="token_file_malformed", hint="`gate serve` writes such a file"
        )
    return data.decode("ascii")


@contextmanager
def opened_store(records: StoreOptions) -> Iterator[Store]:
    """The store that the options name, as `existing_store` opens it."""
    with existing_store(records.url, busy_timeout_ms=records.busy_timeout_ms) as store:
        yield store


@contextmanager
def existing_store(url: str, *, busy_timeout_ms: int = 5000) -> Iterator[Store]:
    """The store, which must exist and have this gate's schema: `gate store migrate` alone brings one up.

    Raises `StoreError`, and `InputError` with code `store_in_memory`.
    """
    location = locate(url)
    if location.path is None:
        raise InputError(
            "a store in memory holds no records", code="store_in_memory", hint="name the file the gate writes to"
        )
    # Opening would make a store out of nothing, or out of an empty file.
    if location.url is None and (not os.path.isfile(location.path) or not os.path.getsize(location.path)):
        raise StoreError("there is no store at this address", hint="name the file the gate writes to with --store")
    with Store.open(url, busy_timeout_ms=busy_timeout_ms, migrate=False) as store:
        yield store


@contextmanager
def decision_point(options: PointOptions) -> Iterator[DecisionPoint]:
    """The decision point the options name: a running sidecar, or the bundle inside this process."""
    point: DecisionPoint
    if options.bundle is not None:
        point = embedded_point(compile_bundle(options.bundle))
    elif options.opa_url is None or options.token_file is None or options.revision is None:
        raise click.UsageError("name the decision point")
    else:
        point = SidecarDecisionPoint(
            url=options.opa_url,
            token=read_token(options.token_file),
            expected_revisions=(options.revision,),
            timeout_ms=_TIMEOUT_MS,
        )
    try:
        yield point
    finally:
        point.close()


def embedded_point(compiled: Compiled) -> EmbeddedDecisionPoint:
    """`compiled` inside this process, saying so."""
    note(EmbeddedDecisionPoint.label)
    assembly = assemble([compiled])
    return EmbeddedDecisionPoint(assembly.modules, revision=assembly.revision)


def chosen_engine(asked: str | None) -> tuple[str, Path | None]:
    """The engine and, for `opa`, its binary. Without a choice it is OPA when the pinned one is found."""
    if asked == "embedded":
        return asked, None
    try:
        return "opa", opa.find().path
    except ToolchainError as exc:
        # A binary that was named and does not fit is a mistake to report, not a reason to use another engine.
        if asked == "opa" or os.environ.get("GATE_OPA_BIN"):
            raise
        note(f"the pinned OPA is not here, using the embedded engine: {exc.message}")
        return "embedded", None


@contextmanager
def local_point(compiled: Compiled, engine: str | None) -> Iterator[tuple[str, DecisionPoint]]:
    """What `compiled` compiles to on a real OPA process of its own, or embedded; with the engine's name."""
    if differences(compiled):
        note("the checked-in Rego is not what the YAML compiles to; the YAML is what is asked")
    name, binary = chosen_engine(engine)
    if binary is None:
        point = embedded_point(compiled)
        try:
            yield name, point
        finally:
            point.close()
        return
    with tempfile.TemporaryDirectory(prefix="gate-") as scratch:
        # A copy: asking must work, and answer for the YAML, where the bundle cannot or should not be written.
        folder = Path(scratch) / "bundle"
        folder.mkdir()
        copy = dataclasses.replace(compiled, bundle=dataclasses.replace(compiled.bundle, folder=folder))
        write(copy)
        built = build([copy], Path(scratch) / "dist", binary=binary, trial=True)
        with Sidecar.start(
            tarball=built.path, opa=binary, listen=Path(scratch) / "s" / "opa.sock", work_dir=Path(scratch) / "w"
        ) as sidecar:
            client = sidecar.client(timeout_ms=_TIMEOUT_MS)
            try:
                yield name, client
            finally:
                client.close()
