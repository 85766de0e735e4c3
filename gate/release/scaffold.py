"""A new bundle that validates, compiles and passes its own golden cases: somewhere to start from.

Written beside its place and moved there as a whole, so that nothing half-written is left. The reviewer's private key
goes into the file that was named for it, and without one it is forgotten.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gate.compiler import CompileError, compile_bundle, write
from gate.compiler.literal import package_name
from gate.errors import GateError, InputError
from gate.records import ReviewerKey, generate_key, write_key_file
from gate.release.scaffold_files import documents

REVIEWER = "first-reviewer"
"""Id of the one reviewer of a new bundle."""
KEY_ID = "first-reviewer-key-1"
_NAME = re.compile(r"\A[a-z][a-z0-9_-]{0,63}\Z")
_YEAR_MS = 365 * 24 * 3600 * 1000


class ScaffoldError(GateError):
    """The new bundle could not be written; nothing was."""

    code = "init_unwritable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffolded:
    """A new bundle."""

    folder: Path
    name: str
    agent_id: str
    """The agent it governs."""
    files: tuple[str, ...]
    """Relative to the folder, sorted."""


def scaffold(folder: Path, *, name: str | None = None, key_file: Path | None = None, now_ms: int) -> Scaffolded:
    """Writes a new bundle into `folder`, which must be new or empty; its reviewer's key is valid for a year.

    `name`: the folder's own when None. `key_file`: gets the reviewer's private key, mode 0600. `now_ms`: milliseconds
    since the epoch. After an error there is neither bundle nor key. Raises `ScaffoldError`, and `InputError`:
    `bundle_name_invalid`, `folder_not_empty`, `folder_unusable`, `key_file_in_bundle`, `key_file_exists`,
    `key_file_unwritable`.
    """
    chosen = _require_usable(folder, name, key_file)
    private_key, public_key = generate_key()
    start_ms = now_ms // 1000 * 1000
    texts = documents(
        name=chosen,
        reviewer=REVIEWER,
        key_id=KEY_ID,
        public_key=public_key,
        not_before=_rfc3339(start_ms),
        not_after=_rfc3339(start_ms + _YEAR_MS),
        cases_now_ms=start_ms + 3_600_000,
    )
    target = Path(os.path.realpath(folder))
    existed = target.exists()
    try:
        # Inside a folder that is there already: it may be another file system than its parent.
        with tempfile.TemporaryDirectory(prefix=".gate-init-", dir=target if existed else target.parent) as stage:
            # Under its final name, because that becomes the name of the Rego package.
            staged = Path(stage) / target.name
            for file, text in texts.items():
                path = staged / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8"))
            write(compile_bundle(staged))
            files = tuple(sorted(p.relative_to(staged).as_posix() for p in staged.rglob("*") if p.is_file()))
            with _key_written(key_file, private_key):
                if existed:
                    _move_into(staged, target)
                else:
                    os.rename(staged, target)
    except OSError as exc:
        raise ScaffoldError(f"`{folder}` cannot be written", hint="check permissions and free space") from exc
    return Scaffolded(folder=folder, name=chosen, agent_id=f"{chosen}-agent", files=files)


@contextlib.contextmanager
def _key_written(path: Path | None, private_key: str) -> Iterator[None]:
    """The key file is there inside, and stays when the inside ends well."""
    if path is None:
        yield
        return
    write_key_file(path, ReviewerKey(reviewer=REVIEWER, key_id=KEY_ID, private_key=private_key))
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def _require_usable(folder: Path, name: str | None, key_file: Path | None) -> str:
    """The name of a new bundle in `folder`: `name`, or else the folder's own."""
    own = os.path.basename(os.path.realpath(folder))
    chosen = own if name is None else name
    for word in (own, chosen):
        try:
            package_name(word)
        except CompileError as exc:
            raise _bad_name(word) from exc
        if not _NAME.match(word):
            raise _bad_name(word)
    try:
        if folder.is_symlink() or folder.exists():
            if os.listdir(folder):
                raise InputError(
                    f"`{folder}` is not empty", code="folder_not_empty", hint="name a folder that is new or empty"
                )
        elif not os.path.isdir(os.path.dirname(os.path.realpath(folder))):
            raise InputError(
                f"the folder that `{folder}` would be in does not exist", code="folder_unusable", hint="make it first"
            )
    except OSError as exc:
        raise InputError(
            f"`{folder}` is not a folder that can be used", code="folder_unusable", hint="name a new folder"
        ) from exc
    if key_file is not None and Path(os.path.realpath(key_file)).is_relative_to(os.path.realpath(folder)):
        raise InputError(
            f"`{key_file}` would be inside the bundle",
            code="key_file_in_bundle",
            hint="a private key is kept away from what is checked in",
        )
    return chosen


def _move_into(staged: Path, target: Path) -> None:
    """Moves everything in `staged` into `target`, or nothing."""
    moved: list[Path] = []
    try:
        for entry in sorted(staged.iterdir()):
            moved.append(target / entry.name)
            os.rename(entry, moved[-1])
    except OSError:
        for path in moved:
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def _bad_name(name: str) -> InputError:
    return InputError(
        f"`{name!a}` cannot be the name of a bundle, because it becomes a Rego package",
        code="bundle_name_invalid",
        hint="start with a lower-case letter and use lower-case letters, digits, - and _, at most 64 characters",
    )


def _rfc3339(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
