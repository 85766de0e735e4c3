"""Reads what a built bundle says about itself, before anything serves it.

Verifies no signature and loads no policy: it only tells which revision to expect, and refuses a bundle that
claims more of the data document than the gate's own part.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

from gate import canonical
from gate.errors import InputError, ToolchainError

_MANIFEST_BYTES = 4 * 1_048_576
_NAMES = frozenset({".manifest", "/.manifest", "./.manifest"})


def read_manifest(tarball: Path | str) -> dict[str, Any]:
    """The `.manifest` of a bundle tarball; raises `ToolchainError` with code `bundle_unreadable`."""
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            members = [member for member in archive if member.name in _NAMES]
            if len(members) != 1 or not members[0].isfile() or members[0].size > _MANIFEST_BYTES:
                raise _unreadable("has no manifest, or more than one")
            handle = archive.extractfile(members[0])
            content = handle.read() if handle is not None else b""
        manifest = canonical.parse(content, max_bytes=_MANIFEST_BYTES)
    except (OSError, EOFError, tarfile.TarError) as exc:
        raise _unreadable("is not a bundle that can be read") from exc
    except InputError as exc:
        raise _unreadable("has a manifest that is not JSON") from exc
    if type(manifest) is not dict:
        raise _unreadable("has a manifest that is not an object")
    return manifest


def manifest_revision(tarball: Path | str) -> str:
    """The revision of a bundle tarball whose only root is `gate`.

    Raises `ToolchainError` with code `bundle_unreadable`. A bundle that owned more could replace the
    sidecar's own authorization policy.
    """
    manifest = read_manifest(tarball)
    revision = manifest.get("revision")
    if type(revision) is not str or not revision:
        raise _unreadable("has no revision")
    if manifest.get("roots") != ["gate"]:
        raise _unreadable("does not have `gate` as its only root")
    return revision


def _unreadable(what: str) -> ToolchainError:
    return ToolchainError(f"the bundle tarball {what}", code="bundle_unreadable", hint="build it with `gate build`")
