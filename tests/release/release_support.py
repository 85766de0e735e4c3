from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from gate.compiler import Compiled, compile_bundle, write
from gate.pdp import VerificationKey
from gate.release.diff_side import Side
from gate.release.signing import SigningKey, new_pair, read_signing_key

AT = "2026-05-01T00:00:00Z"
BUNDLE_ID = "policy-support-triage-2026-04-07"


@dataclass
class Told:
    """A decision diff that answers what it is told, and remembers what it was asked."""

    label: str = "none"
    asked: int = 0

    def __call__(self, old: Side, new: Side) -> str:
        assert old.modules != new.modules
        self.asked += 1
        return self.label


def fresh_copy(repo: Path, target: Path, name: str = "support-triage") -> Path:
    """A copy of a shipped bundle that was never released, its Rego as it compiles."""
    shutil.copytree(repo / "bundles" / name, target)
    (target / "releases.yaml").unlink(missing_ok=True)
    write(compile_bundle(target))
    return target


def edit(folder: Path, file: str, old: str, new: str) -> Compiled:
    """Replaces text in a document, which must be there, and checks the new Rego in."""
    path = folder / file
    before = path.read_text("utf-8")
    assert old in before
    path.write_text(before.replace(old, new), "utf-8")
    compiled = compile_bundle(folder)
    write(compiled)
    return compiled


def bump(folder: Path, old: str = "2026.04.07", new: str = "2026.04.08") -> Compiled:
    """The next version, in every document that says it."""
    for file in ("approvals.yaml", "bundle.yaml"):
        path = folder / file
        path.write_text(path.read_text("utf-8").replace(f'"{old}"', f'"{new}"'), "utf-8")
    compiled = compile_bundle(folder)
    write(compiled)
    return compiled


def pair(folder: Path, name: str = "release", kind: str = "rsa") -> tuple[SigningKey, VerificationKey]:
    path = folder / f"{name}.pem"
    public = new_pair(path, kind=kind)
    return read_signing_key(path), public
