"""`releases.yaml`: the ledger of what was released, in order, as typed values.

Reads and checks the order and the chain of the entries. It must not compare them with a bundle: that is for
`gate.release.ledger`, which also writes them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.canonical import digest
from gate.documents.document import Document, pointer_of
from gate.documents.files import read_document
from gate.documents.resources import schema
from gate.documents.schema_check import schema_problems
from gate.documents.timestamps import parse_rfc3339_ms
from gate.errors import BundleError, InputError, Problem

LEDGER = "releases.yaml"

_PARTS = re.compile(r"[0-9]+|[A-Za-z]+|[.+-]")
_VERSION = re.compile(r"\A[0-9A-Za-z][0-9A-Za-z.+-]{0,63}\Z")
_RANK = {"-": 0, "+": 2, ".": 3}
_END = 1
"""Where a version ends: after `1.0-rc1`, before `1.0+2` and `1.0.1`."""


def version_order(version: str) -> tuple[int | str, ...]:
    """`version` as alternating parts and ranks of what separates them: numbers by value, words by letters.

    A hyphen begins what comes before the release, a plus what comes after it. Compare with `version_below`.
    """
    order: list[int | str] = []
    separated = True
    for part in _PARTS.findall(version):
        if part in _RANK:
            order.append(_RANK[part])
            separated = True
            continue
        if not separated:
            order.append(_RANK["."])  # `rc10`: a word and a number
        order.append(int(part) if part.isdigit() else part)
        separated = False
    return (*order, _END)


def is_version(text: str) -> bool:
    """Whether a bundle may have this version; what is none orders before every one, and must bound nothing."""
    return _VERSION.match(text) is not None


def version_below(one: str, other: str) -> bool:
    """True when `one` comes before `other`; two spellings of one version are below neither way."""
    return _sortable(version_order(one)) < _sortable(version_order(other))


def sealed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """`entry` of the ledger with the digest of the rest of it: against a slip of the hand, not against a forger."""
    rest = {key: value for key, value in entry.items() if key != "seal"}
    return {**rest, "seal": digest(rest)}


def _sortable(order: tuple[int | str, ...]) -> list[tuple[bool, int, str]]:
    # As OPA compares arrays: position by position, numbers before words.
    return [(False, part, "") if isinstance(part, int) else (True, 0, part) for part in order]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One entry of the ledger."""

    version: str
    revision: str
    content_digest: str
    """Over everything OPA loads."""
    core_digest: str
    """Over the hand-written core policies alone."""
    files: Mapping[str, str]
    """Digest by path inside the bundle folder."""
    release_identity: str
    change_id: str | None
    approver: str | None
    released_at: str
    """RFC 3339, as written."""
    released_at_ms: int
    """Milliseconds since the epoch."""
    decision_diff: str
    """`first`, `none`, `tightens`, `loosens` or `mixed`."""
    digest: str
    """Of the entry itself; what the next one calls `previous`."""
    sealed: bool = False
    """Whether the entry holds the digest of the rest of itself, and it is the one."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every release of a bundle, oldest first; empty when there was none."""

    file: str
    releases: tuple[Release, ...] = ()

    @property
    def last(self) -> Release | None:
        """The newest release."""
        return self.releases[-1] if self.releases else None

    def of(self, version: str) -> Release | None:
        """The release of exactly this version."""
        return next((r for r in self.releases if r.version == version), None)

    def at(self, now_ms: int) -> Release | None:
        """The release in force at `now_ms` (milliseconds since the epoch); None before the first."""
        return next((r for r in reversed(self.releases) if r.released_at_ms <= now_ms), None)


def load_ledger(folder: Path) -> Ledger:
    """The ledger of the bundle in `folder`, empty when it has none.

    Raises `BundleError`: what strict YAML and the schema say, `ledger_out_of_order`, `ledger_rewritten`.
    """
    path = folder / LEDGER
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Ledger(str(path))
    except (OSError, ValueError):
        pass  # a ledger that cannot be seen is not an empty one: reading it says what is wrong
    document = read_document(path)
    problems = schema_problems(document, schema("releases"))
    if problems:
        raise BundleError(problems)
    releases: list[Release] = []
    for index, entry in enumerate(document.value["releases"]):
        release = _release(document, index, entry, problems)
        if release is not None:
            _check_order(document, index, entry, releases, release, problems)
            releases.append(release)
    if problems:
        raise BundleError(problems)
    return Ledger(str(path), tuple(releases))


def _release(document: Document, index: int, entry: dict[str, Any], problems: list[Problem]) -> Release | None:
    try:
        released_at_ms = parse_rfc3339_ms(entry["released_at"])
    except InputError as exc:
        at = pointer_of("releases", index, "released_at")
        problems.append(document.problem(at, exc.code, exc.message, exc.hint))
        return None
    return Release(
        version=entry["version"],
        revision=entry["revision"],
        content_digest=entry["content_digest"],
        core_digest=entry["core_digest"],
        files=dict(entry["files"]),
        release_identity=entry["release_identity"],
        change_id=entry.get("change_id"),
        approver=entry.get("approver"),
        released_at=entry["released_at"],
        released_at_ms=released_at_ms,
        decision_diff=entry["decision_diff"],
        digest=digest(entry),
        sealed="seal" in entry,
    )


def _check_order(
    document: Document,
    index: int,
    entry: dict[str, Any],
    before: list[Release],
    release: Release,
    problems: list[Problem],
) -> None:
    last = before[-1] if before else None

    def problem(key: str, code: str, message: str, hint: str = "") -> None:
        problems.append(document.problem(pointer_of("releases", index, key), code, message, hint))

    if entry["previous"] != (None if last is None else last.digest):
        hint = "restore the ledger from version control; it is only ever appended to"
        problem("previous", "ledger_rewritten", "the entry before this one is not what it was", hint)
    if "seal" in entry and sealed(entry) != entry:
        hint = "restore the ledger from version control; only `gate release` writes it"
        problem("seal", "ledger_rewritten", f"the entry of version `{release.version}` was changed", hint)
    if "seal" not in entry and last is not None and last.sealed:
        problem("version", "ledger_rewritten", f"the entry of version `{release.version}` has no seal")
    if not release.revision.endswith(f"@{release.version}+{release.content_digest.removeprefix('sha256:')}"):
        problem("revision", "ledger_rewritten", "the revision is not that of this version and content")
    if (release.decision_diff == "first") != (last is None):
        problem("decision_diff", "ledger_rewritten", "only the first release is compared with nothing")
    if last is not None and not version_below(last.version, release.version):
        problem("version", "ledger_out_of_order", f"version `{release.version}` is not above `{last.version}`")
    if last is not None and release.released_at_ms < last.released_at_ms:
        problem("released_at", "ledger_out_of_order", "the release is older than the one before it")
