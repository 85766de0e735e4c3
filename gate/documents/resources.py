"""Where the schemas and hand-written policies are: inside an installed wheel, or beside `gate/` in a clone.

It must not look anywhere else: a folder that merely has the right name is somebody else's.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from gate.canonical import parse
from gate.errors import GateError, ToolchainError

_PACKAGE = Path(__file__).resolve().parents[1]
_SUFFIX = ".schema.json"
_OF_A_ROOT = frozenset({"$schema", "$id"})


def schemas_dir() -> Path:
    """Folder of the `*.schema.json` files. Raises `ToolchainError` when this installation has none."""
    return _find("schemas", "bundle.schema.json")


def policies_dir() -> Path:
    """Folder of the hand-written Rego. Raises `ToolchainError` when this installation has none."""
    return _find("policies", "gate")


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema `<name>.schema.json` with the files it refers to put in their places; callers must not change it.

    Raises `ToolchainError` when there is no such schema, or it or a file it refers to cannot be read.
    """
    path = schemas_dir() / f"{name}{_SUFFIX}"
    try:
        value = parse(path.read_bytes())
    except (OSError, GateError) as exc:
        raise ToolchainError(f"schema `{name}` cannot be read", hint="reinstall the package") from exc
    if not isinstance(value, dict):
        raise ToolchainError(f"schema `{name}` is not a JSON object", hint="reinstall the package")
    return {key: _whole(child) for key, child in value.items()}


def evidence_sections() -> frozenset[str]:
    """Names of the evidence sections that `input.schema.json` declares."""
    return frozenset(schema("input")["properties"]["evidence"]["properties"])


def _whole(node: Any) -> Any:
    """`node` with every reference to another schema file replaced by that schema: OPA follows no such reference."""
    if isinstance(node, list):
        return [_whole(child) for child in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"$ref": str(file)} if len(node) == 1 and file.endswith(_SUFFIX):
            # `$schema` may stand at the root of a schema only.
            return {key: child for key, child in schema(file.removesuffix(_SUFFIX)).items() if key not in _OF_A_ROOT}
    return {key: _whole(child) for key, child in node.items()}


def _find(name: str, marker: str, package: Path = _PACKAGE) -> Path:
    for folder in (package / f"_{name}", package.parent / name):
        if (folder / marker).exists():
            return folder
    raise ToolchainError(f"the `{name}` of this package are not installed", hint="reinstall the package")
