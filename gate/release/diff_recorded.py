"""Recorded decisions as inputs to compare on: OPA's decision log, or the trace of the gate.

Reads; shows no value of a recorded input. What was erased from a record is not made up: where a rule that changed may
look at it, nothing can be told.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.documents import tokens_of
from gate.errors import InputError
from gate.release.diff_batch import Outcome
from gate.release.diff_documents import ABSENT, Candidate, Patch, fact, value_at

_MAX_LINES = 200_000
_MAX_LINE_BYTES = 1 << 20
_DECISION_PATHS = frozenset({"gate/decision", "gate.decision"})
_GZIP = b"\x1f\x8b"
NO_INPUT, ERASED, NOT_REPRODUCED, LACKS = "no_input", "input_erased", "not_reproduced", "lacks_field"
# What a bundle says of itself and a document repeats: put to the other side, the other side's word stands there.
_STATED = (
    (("state", "versions", "bundle_version"), ("bundle", "version")),
    (("state", "versions", "release_identity"), ("bundle", "release_identity")),
    (("state", "approval", "bundle_version"), ("bundle", "version")),
    (("state", "approval", "release_identity"), ("bundle", "release_identity")),
    (("state", "versions", "capability_version"), ("capabilities", "*", "capability_version")),
    (("evidence", "arguments", "schema_digest"), ("capabilities", "*", "arguments_digest")),
    (("state", "versions", "contract_digest"), ("contracts", "*", "contract_digest")),
    (("state", "approval", "contract_digest"), ("contracts", "*", "contract_digest")),
)
_LISTED = (list, type(None))
_VOTES = ("state", "approval", "votes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One recorded decision."""

    name: str
    """`file:line`."""
    document: Mapping[str, Any] | None = field(repr=False)
    """None when the record keeps no input."""
    erased: tuple[str, ...] = ()
    """Pointers into the input that were erased before it was written."""
    verdict: str | None = None
    codes: tuple[str, ...] = ()
    capability: str | None = None

    def candidate(self, facts: Sequence[Mapping[str, Mapping[str, Any]]]) -> Candidate:
        """The recorded input, where each side's own word replaces what one side's bundle said of itself."""
        document = self.document or {}
        agent = value_at(document, ("agent", "agent_id"))
        name = value_at(document, ("request", "capability"))
        said = [stated[agent] for stated in facts if isinstance(agent, str) and agent in stated]
        patches = []
        for path, where in _STATED:
            tokens = tuple(name if token == "*" else token for token in where)  # noqa: S105 - no secret
            if not all(isinstance(token, str) for token in tokens):
                continue
            present = value_at(document, path)
            if present is not ABSENT and any(value_at(one, tokens) == present for one in said):
                patches.append(Patch(path, fact(*tokens)))
        base: Any = document
        for patch in patches:
            base = _replaced(base, patch.path, patch.value)
        votes = value_at(base, _VOTES)
        if isinstance(votes, list) and isinstance(name, str):
            digests = [value_at(one, ("contracts", name, "contract_digest")) for one in said]
            mine = [
                {**vote, "contract_digest": fact("contracts", name, "contract_digest")}
                if isinstance(vote, Mapping) and vote.get("contract_digest") in digests
                else vote
                for vote in votes
            ]
            base = _replaced(base, _VOTES, mine)
        return Candidate(origin="recorded", name=self.name, base=base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A recorded decision of which nothing can be told."""

    name: str
    why: str
    """`no_input`, `input_erased`, `not_reproduced` or `lacks_field`."""
    fields: tuple[str, ...]
    """The fields that are missing, as pointers."""
    alike: int
    """Tried inputs with the same capability, verdict and reasons that now come out otherwise."""


def read_records(file: Path) -> Iterator[Record]:
    """The decisions in `file`, one JSON document a line, compressed by gzip or not.

    Lines of OPA's log that are about something else are left out. Raises `InputError` naming the first line that is no
    line of such a log.
    """
    try:
        with file.open("rb") as source, _plain(source) as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE_BYTES + 1), b""), start=1):
                if number > _MAX_LINES:
                    raise _unreadable(file, number, f"there are over {_MAX_LINES} lines")
                if line.strip():
                    value = _parsed(file, number, line)
                    if any(type(value.get(name, [])) not in _LISTED for name in ("erased", "masked")):
                        raise _unreadable(file, number, "what was erased is not a list")
                    record = _record(f"{file}:{number}", value)
                    if record is not None:
                        yield record
    except (OSError, EOFError, zlib.error) as exc:
        raise InputError(f"`{file}` cannot be read", code="decisions_unreadable") from exc


def _plain(source: io.BufferedReader) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=source) if source.peek(len(_GZIP)).startswith(_GZIP) else source


def unknowns(
    records: Sequence[Record],
    seen: Sequence[tuple[Candidate, tuple[Outcome, Outcome]]],
    *,
    read: frozenset[tuple[str, ...]],
    core: bool,
) -> tuple[Unknown, ...]:
    """The records of which nothing can be told; `read` is what changed rules look at, `core` that core rules did."""
    outcomes = {candidate.name: both for candidate, both in seen if candidate.origin == "recorded"}
    changed: dict[tuple[str, str, tuple[str, ...]], int] = {}
    for candidate, (old, new) in seen:
        if candidate.origin != "recorded" and not old.same(new):
            key = (str(value_at(candidate.base, ("request", "capability"))), old.verdict, old.codes)
            changed[key] = changed.get(key, 0) + 1
    found = []
    for record in records:
        why, fields = _why(record, outcomes.get(record.name), read, core=core)
        if why:
            key = (str(record.capability), str(record.verdict), record.codes)
            found.append(Unknown(name=record.name, why=why, fields=fields, alike=changed.get(key, 0)))
    return tuple(found)


def _why(
    record: Record, both: tuple[Outcome, Outcome] | None, read: Iterable[tuple[str, ...]], *, core: bool
) -> tuple[str, tuple[str, ...]]:
    if record.document is None or both is None:
        return NO_INPUT, ()
    if record.erased:
        paths = [tuple(tokens_of(pointer)) for pointer in record.erased]
        looked = [p for p, at in zip(record.erased, paths, strict=True) if core or _meets(at, read)]
        if looked:
            return ERASED, tuple(looked)
    if record.verdict is not None and record.verdict not in {both[0].verdict, both[1].verdict}:
        return NOT_REPRODUCED, record.erased
    # A field of a section that the record does not have at all was not recorded; one within a section was not stated.
    lacking = sorted({path[0] for path in read if value_at(record.document, path[:1]) is ABSENT})
    return (LACKS, tuple(f"/{name}" for name in lacking)) if lacking else ("", ())


def _meets(at: tuple[str, ...], read: Iterable[tuple[str, ...]]) -> bool:
    return any(path[: len(at)] == at or at[: len(path)] == path for path in read)


def _parsed(file: Path, number: int, line: bytes) -> dict[str, Any]:
    if len(line) > _MAX_LINE_BYTES:
        raise _unreadable(file, number, "the line is too long")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise _unreadable(file, number, "the line is not JSON") from exc
    if not isinstance(value, dict):
        raise _unreadable(file, number, "the line is not an object")
    return value


def _unreadable(file: Path, number: int, why: str) -> InputError:
    return InputError(
        f"`{file}` line {number}: {why}",
        code="decisions_unreadable",
        hint="give OPA's decision log or the gate's trace, one JSON document a line",
    )


def _record(name: str, value: Mapping[str, Any]) -> Record | None:
    if "event_type" in value and isinstance(value.get("payload"), Mapping):
        return _traced(name, value["payload"])
    if ("path" in value or "input" not in value) and str(value.get("path")).strip("/") not in _DECISION_PATHS:
        return None
    result = value.get("result")
    result = result if isinstance(result, Mapping) else {}
    document = value.get("input")
    erased = [str(p) for key in ("erased", "masked") for p in value.get(key) or () if isinstance(p, str)]
    reasons = result.get("reasons")
    return Record(
        name=name,
        document=document if isinstance(document, dict) and document and "/input" not in erased else None,
        erased=tuple(p.removeprefix("/input") for p in erased if p.startswith("/input/")),
        verdict=result["verdict"] if isinstance(result.get("verdict"), str) else None,
        codes=tuple(sorted({str(r.get("code")) for r in reasons if isinstance(r, Mapping)}))
        if isinstance(reasons, list)
        else (),
        capability=_word(value_at(document, ("request", "capability"))),
    )


def _traced(name: str, payload: Mapping[str, Any]) -> Record | None:
    """A decision of the trace: what came out, never what was put in."""
    if not isinstance(payload.get("verdict"), str):
        return None
    reasons = payload.get("reasons")
    codes = tuple(sorted({str(code) for code in reasons})) if isinstance(reasons, list) else ()
    return Record(
        name=name,
        document=None,
        verdict=payload["verdict"],
        codes=codes,
        capability=_word(payload.get("capability")),
    )


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _replaced(document: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**document, path[0]: _replaced(document[path[0]], path[1:], value)}
