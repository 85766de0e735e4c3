"""A reviewer's private key in a file that only its owner can read.

Signs nothing and never overwrites. The key itself appears in no message and in no `repr`.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from gate import canonical
from gate.errors import InputError
from gate.records import votes

_MAX_BYTES = 4096
_KEYS = {"reviewer", "key_id", "private_key"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerKey:
    """Whose key it is, the id it goes by in `reviewers.yaml`, and the key."""

    reviewer: str
    key_id: str
    private_key: str = field(repr=False)
    """Base64 of 32 bytes."""


def write_key_file(path: Path, key: ReviewerKey) -> None:
    """Creates `path` with mode 0600.

    Raises `InputError`: `key_file_exists`, `key_file_unwritable`, `key_malformed`.
    """
    votes.public_key_of(key.private_key)
    text = json.dumps(
        {"reviewer": key.reviewer, "key_id": key.key_id, "private_key": key.private_key},
        indent=2,
        sort_keys=True,
    )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as exc:
        raise InputError(
            f"`{path}` exists already",
            code="key_file_exists",
            hint="choose another name; keys are not overwritten",
        ) from exc
    except OSError as exc:
        raise _unwritable(path) from exc
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            # The umask can only have taken bits away; this also undoes a default ACL's generosity.
            os.fchmod(file.fileno(), 0o600)
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise _unwritable(path) from exc


def read_key_file(path: Path) -> ReviewerKey:
    """The key in `path`.

    Raises `InputError`: `key_file_exposed` when group or others can read it, `key_file_unreadable`,
    `key_file_malformed`.
    """
    try:
        # Not blocking: a named pipe in the place of the file must not hang the command.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"`{path}` is not a file", code="key_file_unreadable")
            if found.st_mode & 0o077:
                raise InputError(
                    f"`{path}` can be read by others",
                    code="key_file_exposed",
                    hint="treat the key as known: retire it and make a new one, with mode 0600",
                )
            data = file.read(_MAX_BYTES + 1)
    except OSError as exc:
        raise InputError(
            f"`{path}` cannot be read",
            code="key_file_unreadable",
            hint="make a key with `gate approvals keygen`",
        ) from exc
    return _parse(path, data)


def _parse(path: Path, data: bytes) -> ReviewerKey:
    # The parser's own words are dropped on purpose: they could quote the key.
    malformed = InputError(
        f"`{path}` is not a key file",
        code="key_file_malformed",
        hint="make a key with `gate approvals keygen`",
    )
    if len(data) > _MAX_BYTES:
        raise malformed
    try:
        fields = canonical.parse(data)
    except InputError:
        raise malformed from None
    if type(fields) is not dict or set(fields) != _KEYS or not all(type(v) is str and v for v in fields.values()):
        raise malformed
    try:
        votes.public_key_of(fields["private_key"])
    except InputError:
        raise malformed from None
    return ReviewerKey(**fields)


def _unwritable(path: Path) -> InputError:
    return InputError(
        f"`{path}` cannot be written",
        code="key_file_unwritable",
        hint="check that its folder exists and is yours",
    )
