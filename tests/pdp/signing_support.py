"""Bundles of a few rules, signed or spoilt: what a sidecar must and must not serve."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gate import opa
from gate.documents.releases import version_order
from gate.pdp import VerificationKey

REGO = Path(__file__).parent / "rego"


def new_key(folder: Path, name: str = "release") -> VerificationKey:
    private = ec.generate_private_key(ec.SECP256R1())
    secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{name}.pem").write_bytes(private.private_bytes(serialization.Encoding.PEM, *secret))
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / f"{name}.pub").write_bytes(public)
    return VerificationKey.read(folder / f"{name}.pub")


def built(folder: Path, version: str, *, binary: Path, key: str | None = "release") -> Path:
    """`sample@VERSION`, signed with the key of that name in `folder`; decisions say which version they are from."""
    tree = folder / f"tree-{version}-{key}"
    shutil.copytree(REGO, tree / "gate")
    manifest = {
        "revision": f"sample@{version}",
        "roots": ["gate"],
        "rego_version": 1,
        "metadata": {"bundles": [f"sample@{version}"], "versions": {"sample": list(version_order(version))}},
    }
    (tree / ".manifest").write_text(json.dumps(manifest), encoding="utf-8")
    tarball = folder / f"{tree.name}.tar.gz"
    signing: list[str] = []
    if key is not None:
        claims = folder / f"{key}.claims.json"
        claims.write_text(json.dumps({"keyid": key}), encoding="utf-8")
        pem = folder / f"{key}.pem"
        signing = ["--signing-key", str(pem), "--signing-alg", "ES256", "--claims-file", str(claims)]
    done = opa.run(["build", "-b", ".", "-o", str(tarball), *signing], cwd=tree, binary=binary)
    assert (done.returncode, done.stderr) == (0, "")
    return tarball


def members(tarball: Path) -> dict[str, bytes]:
    with tarfile.open(tarball, "r:gz") as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]


def repacked(tarball: Path, changes: Mapping[str, bytes | None]) -> Path:
    """A copy with some members replaced, added, or (None) left out; its signature is the old one."""
    target = tarball.with_name(f"repacked-{len(list(tarball.parent.glob('repacked-*')))}.tar.gz")
    with tarfile.open(target, "w:gz") as archive:
        for name, data in {**members(tarball), **changes}.items():
            if data is not None:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return target
