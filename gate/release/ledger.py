"""What a released version holds: compared with the bundle at every build, and appended to the ledger by a release.

Never changes an entry that is there. The digest of a document is that of its values: a comment changes no release.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.canonical import digest, digest_bytes
from gate.compiler import Compiled, assemble
from gate.documents.releases import LEDGER, Ledger, Release, load_ledger, sealed
from gate.errors import BundleError, GateError, Problem


class LedgerError(GateError):
    """The ledger could not be written; what was there before is still there."""

    code = "ledger_unwritable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a bundle's version stands for."""

    revision: str
    content_digest: str
    core_digest: str
    files: Mapping[str, str]
    """Digest by path inside the bundle folder."""


def content_of(compiled: Compiled) -> Content:
    """The content of `compiled`, linked alone with the core policies."""
    assembly = assemble([compiled])
    documents = {name: digest(document.value) for name, document in compiled.bundle.documents.items()}
    rego = {f"rego/{name}": digest_bytes(text.encode("utf-8")) for name, text in compiled.rego.items()}
    return Content(
        revision=assembly.revision,
        content_digest=assembly.content_digest,
        core_digest=core_digest(assembly.modules),
        files=dict(sorted({**documents, **rego}.items())),
    )


def changed_files(content: Content, release: Release) -> tuple[str, ...]:
    """Paths whose content is not what `release` holds; `policies/gate` stands for the core policies."""
    names = content.files.keys() | release.files.keys()
    changed = sorted(name for name in names if content.files.get(name) != release.files.get(name))
    if content.core_digest != release.core_digest:
        changed.append("policies/gate")
    return tuple(changed)


def require_immutable(compiled: Sequence[Compiled]) -> None:
    """Raises `BundleError` naming each file that changed since the version in its `bundle.yaml` was released."""
    problems: list[Problem] = []
    for one in compiled:
        ledger = load_ledger(one.bundle.folder)
        release = ledger.of(one.bundle.meta.version)
        if release is not None:
            problems += _changed(one, release)
    if problems:
        raise BundleError(problems)


def _changed(compiled: Compiled, release: Release) -> Iterator[Problem]:
    folder, version = compiled.bundle.folder, release.version
    hint = "give `bundle.yaml` a higher version, or restore what was released"
    changed = changed_files(content_of(compiled), release)
    # What was compiled from a changed document is a consequence, and no news.
    causes = [name for name in changed if not name.startswith("rego/")]
    for name in causes or changed:
        if name == "policies/gate":
            message = f"the core policies are not those that version `{version}` was released with"
            yield Problem(str(folder / LEDGER), 1, 1, "released_core_changed", message, hint)
        else:
            message = f"`{name}` changed after version `{version}` was released"
            yield Problem(str(folder / name), 1, 1, "released_content_changed", message, hint)


def append_release(
    compiled: Compiled,
    *,
    expected: Ledger,
    released_at: str,
    decision_diff: str,
    change_id: str | None,
    approver: str | None,
) -> Release:
    """Appends the version of `compiled` to its ledger and returns the entry as it is read back.

    `expected` is the ledger the release was decided on: another one by now is `ledger_moved`. Raises
    `LedgerError`, and `BundleError` when the ledger would not be one; nothing is written then.
    """
    folder = compiled.bundle.folder
    content = content_of(compiled)
    entry = {
        "version": compiled.bundle.meta.version,
        "revision": content.revision,
        "content_digest": content.content_digest,
        "core_digest": content.core_digest,
        "release_identity": compiled.bundle.meta.release_identity,
        **({"change_id": change_id} if change_id else {}),
        **({"approver": approver} if approver else {}),
        "released_at": released_at,
        "decision_diff": decision_diff,
        "previous": expected.last.digest if expected.last else None,
        "files": dict(content.files),
    }
    with _locked(folder):
        if load_ledger(folder) != expected:
            raise LedgerError("somebody else released in the meantime", code="ledger_moved", hint="run it again")
        return _write(folder, _entry_text(sealed(entry)))


def _write(folder: Path, text: str) -> Release:
    path = folder / LEDGER
    stage = folder / f".{LEDGER}.{os.getpid()}"
    try:
        before = (
            path.read_text("utf-8")
            if path.exists()
            else "# Written by `gate release`; only ever appended to.\nreleases:\n"
        )
        stage.mkdir(mode=0o700)
        try:
            (stage / LEDGER).write_text(before + text, encoding="utf-8")
            last = load_ledger(stage).last  # what would not be read back must not take the place of what can
            if last is None:
                raise LedgerError("the entry cannot be read back")
            with (stage / LEDGER).open("rb") as file:
                os.fsync(file.fileno())
            os.replace(stage / LEDGER, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                (stage / LEDGER).unlink()
            stage.rmdir()
    except OSError as exc:
        raise LedgerError(f"cannot write `{path}`", hint="check the folder's permissions and free space") from exc
    return last


def _entry_text(entry: Mapping[str, object]) -> str:
    # JSON strings are YAML strings in double quotes: nothing needs to be guessed about quoting.
    lines = []
    for key, value in entry.items():
        if isinstance(value, dict):
            lines.append(f"    {key}:")
            lines += [f"      {name}: {json.dumps(text)}" for name, text in value.items()]
        else:
            lines.append(f"    {key}: {json.dumps(value)}")
    lines[0] = "  - " + lines[0].lstrip()
    return "\n".join(lines) + "\n"


def core_digest(modules: Mapping[str, str]) -> str:
    """Digest over the hand-written policies among `modules`, Rego text by path inside the OPA bundle."""
    return digest(
        {
            path: digest_bytes(text.encode("utf-8"))
            for path, text in modules.items()
            if not path.startswith(("gate/bundles/", "gate/agents/"))
        }
    )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)  # the folder itself: a lock file would have to go away
    except OSError as exc:
        raise LedgerError(f"cannot read `{folder}`", hint="check the folder's permissions") from exc
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
