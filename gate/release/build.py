"""Builds the OPA bundle of one or several compiled bundles: reproducible, rooted at `gate`, signed, without tests.

The same modules give the same tarball, signed ones included when the key is RSA. Never builds compiled Rego that is not
what the YAML compiles to, nor, unless it is a trial, other content under a version that was released.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gate import opa
from gate.canonical import canonical_bytes, digest_bytes
from gate.compiler import Assembly, Compiled, assemble, differences
from gate.documents.releases import version_order
from gate.errors import BundleError, GateError, Problem
from gate.pdp import verify_bundle
from gate.release.ledger import require_immutable
from gate.release.signing import SigningKey

ROOTS = ("gate",)
_TIMEOUT_S = 600.0


class BuildError(GateError):
    """The bundle could not be built; nothing was written."""

    code = "build_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A tarball that OPA can load."""

    path: Path
    revision: str
    digest: str
    """Digest of the tarball's bytes."""


def build(
    compiled: Sequence[Compiled],
    out_dir: Path,
    *,
    binary: Path,
    signing_key: SigningKey | None = None,
    trial: bool = False,
) -> Built:
    """Builds `compiled` into `out_dir`, signed with `signing_key` when there is one.

    `trial`: a tarball that is asked here and never handed on (a demo, a measurement, a mutant) may hold other content
    than the ledger has under its version. Raises `BundleError` when the checked-in Rego is stale, and, unless it is a
    trial, when content changed after its version was released (DESIGN 11); nothing is written then.
    """
    require_checked_in(compiled)
    if not trial:
        require_immutable(compiled)
    assembly = assemble(compiled)
    name = compiled[0].bundle.name if len(compiled) == 1 else "linked"
    out_dir = Path(os.path.realpath(out_dir))  # opa runs in the staging tree; of a loop of links `resolve` would raise
    target = out_dir / f"{name}-{assembly.content_digest.removeprefix('sha256:')[:12]}.tar.gz"
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=out_dir) as stage:
            staged = Path(stage) / "tree"
            _stage(assembly, staged)
            made = Path(stage) / "bundle.tar.gz"
            # Run inside the tree: the paths given on the command line enter the tarball.
            signed = _signing(signing_key, Path(stage)) if signing_key is not None else []
            arguments = ["build", "-b", ".", "-o", str(made), *signed]
            done = opa.run(arguments, cwd=staged, timeout_s=_TIMEOUT_S, binary=binary)
            if done.returncode != 0:
                raise BuildError("`opa build` refused the compiled bundle", hint="run `opa check --strict` on it")
            if signing_key is not None:
                verify_bundle(made, signing_key.public)
            os.replace(made, target)
    except OSError as exc:
        raise BuildError(f"cannot write to `{out_dir}`", hint="check permissions and free space") from exc
    return Built(path=target, revision=assembly.revision, digest=digest_bytes(target.read_bytes()))


def require_checked_in(compiled: Sequence[Compiled]) -> None:
    """Raises `BundleError` naming each file under `BUNDLE/rego/` that is not what the YAML compiles to."""
    stale = [
        Problem(
            str(one.bundle.folder / "rego" / name),
            1,
            1,
            "compiled_rego_stale",
            f"`{name}` is not what the YAML compiles to",
            "run `gate compile`, review the diff and check it in",
        )
        for one in compiled
        for name in differences(one)
    ]
    if stale:
        raise BundleError(stale)


def _signing(key: SigningKey, stage: Path) -> list[str]:
    claims = stage / "claims.json"
    # In the signed claims, not only in the unsigned header: the verifier pins the id, too.
    claims.write_bytes(canonical_bytes({"keyid": key.public.key_id}))
    algorithm = ("--signing-alg", key.public.algorithm)
    return ["--signing-key", str(key.path), *algorithm, "--claims-file", str(claims)]


def _stage(assembly: Assembly, folder: Path) -> None:
    for path, text in assembly.modules.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
    manifest = {
        "revision": assembly.revision,
        "roots": list(ROOTS),
        "rego_version": 1,
        "metadata": {
            "bundles": list(assembly.bundles),
            "content_digest": assembly.content_digest,
            # The sidecar compares them with its pinned minimum, without a parser of versions.
            "versions": {name: list(version_order(version)) for name, _, version in _split(assembly.bundles)},
        },
    }
    (folder / ".manifest").write_bytes(canonical_bytes(manifest))


def _split(bundles: Sequence[str]) -> list[tuple[str, str, str]]:
    return [name.partition("@") for name in bundles]
