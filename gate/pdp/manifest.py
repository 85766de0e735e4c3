"""Reads what a built bundle says about itself, before anything serves it.

Verifies no signature and loads no policy: it only tells which revision to expect, and refuses a bundle that
claims more of the data document than the gate's own part.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate import canonical
from gate.documents.releases import version_below
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
    except (OSError, EOFError, tarfile.TarError, zlib.error) as exc:
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


def require_versions(tarball: Path | str, minimum: Mapping[str, str]) -> None:
    """Returns when the tarball holds every bundle of `minimum` (version by bundle id) at that version or above.

    Raises `ToolchainError`: `bundle_rolled_back`, or `bundle_unreadable`.
    """
    metadata = read_manifest(tarball).get("metadata")
    listed = metadata.get("bundles") if type(metadata) is dict else None
    if type(listed) is not list or not all(type(name) is str for name in listed):
        raise _unreadable("does not say which bundles it holds")
    held = dict(name.split("@", 1) for name in listed if "@" in name)
    for bundle_id, least in minimum.items():
        if bundle_id not in held or version_below(held[bundle_id], least):
            raise ToolchainError(
                f"the bundle tarball does not hold `{bundle_id}` at version `{least}` or above",
                code="bundle_rolled_back",
                hint="serve the newer release, or lower the minimum on purpose",
            )


def _unreadable(what: str) -> ToolchainError:
    return ToolchainError(f"the bundle tarball {what}", code="bundle_unreadable", hint="build it with `gate build`")
