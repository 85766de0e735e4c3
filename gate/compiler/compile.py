"""The whole compiler: load, validate, link, lower, emit; and the folder the result is checked in to.

`compile_bundle` is pure but for reading the bundle; `write` replaces `BUNDLE/rego/` as a whole, `differences` compares.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.compiler.emit import emit
from gate.compiler.link import link
from gate.compiler.lower import lower
from gate.compiler.model import CompiledBundle, Constant, EntryRule, FindingRule
from gate.documents import Bundle, load_bundle
from gate.errors import GateError

SOURCE_MAP = "source-map.json"
"""Line and column of each source pointer. Outside the content digest: a comment in the YAML changes no rule."""


class CompiledUnwritableError(GateError):
    """The compiled Rego could not be written; what was there before is still there."""

    code = "compiled_unwritable"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A bundle and the Rego it compiles to."""

    bundle: Bundle
    package: str
    rego: Mapping[str, str]
    """Text by file name."""
    source_map: str
    """JSON text of the source map."""

    @property
    def files(self) -> dict[str, str]:
        """Everything that belongs into `BUNDLE/rego/`."""
        return {**self.rego, SOURCE_MAP: self.source_map}


def compile_bundle(folder: Path) -> Compiled:
    """Compiles the bundle in `folder`. Raises `BundleError` with every problem of every document."""
    return compile_linked(link(load_bundle(folder)))


def compile_linked(bundle: Bundle) -> Compiled:
    """As `compile_bundle`, for a bundle whose documents agree."""
    lowered = lower(bundle)
    return Compiled(bundle, lowered.package, emit(lowered), _source_map(bundle, lowered))


def _source_map(bundle: Bundle, lowered: CompiledBundle) -> str:
    sources = sorted(
        {i.source for m in lowered.modules for i in m.items if isinstance(i, (FindingRule, Constant, EntryRule))}
    )
    entries = {}
    for source in sources:
        file, _, at = source.partition("#")
        line, column = bundle.documents[file].position(at, key=True)
        entries[source] = {"line": line, "column": column}
    return json.dumps(entries, indent=2, ensure_ascii=True) + "\n"


def differences(compiled: Compiled) -> list[str]:
    """Names in `BUNDLE/rego/` that are not what the YAML compiles to: changed, missing or left over."""
    target = compiled.bundle.folder / "rego"
    present = {p.name for p in target.iterdir()} if target.is_dir() else set()
    wanted = compiled.files
    return sorted(
        (present ^ wanted.keys()) | {name for name in present & wanted.keys() if _read(target / name) != wanted[name]}
    )


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def write(compiled: Compiled) -> list[str]:
    """Makes `BUNDLE/rego/` what the YAML compiles to; returns the names that changed.

    Staged beside and swapped in, so that a failure leaves the old folder whole. Raises `CompiledUnwritableError`.
    """
    changed = differences(compiled)
    if not changed:
        return []
    folder = compiled.bundle.folder
    try:
        stage = Path(tempfile.mkdtemp(prefix=".rego-", dir=folder))
        try:
            for name, text in compiled.files.items():
                (stage / name).write_bytes(text.encode("utf-8"))
            stage.chmod(0o755)
            target, old = folder / "rego", stage.with_suffix(".old")
            if target.exists():
                os.rename(target, old)
            try:
                os.rename(stage, target)
            except OSError:
                if old.exists():
                    os.rename(old, target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except OSError as exc:
        raise CompiledUnwritableError(
            f"cannot write `{folder / 'rego'}`", hint="check the folder's permissions and free space"
        ) from exc
    return changed
