"""The input schema as `opa check` can use it: one self-contained file.

OPA's type checker reads no keyword that would widen or join types, so what `schemas/input.schema.json` says beyond
types and closed properties is left out here; the full schema is what documents are validated against.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gate.documents.resources import schema

_KEPT = ("type", "properties", "additionalProperties", "items")


def opa_schema(node: dict[str, Any]) -> dict[str, Any]:
    """`node` with only the keywords OPA's type checker reads."""
    kept: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    if "properties" in kept:
        kept["properties"] = {name: opa_schema(child) for name, child in kept["properties"].items()}
    if isinstance(kept.get("items"), dict):
        kept["items"] = opa_schema(kept["items"])
    return kept


if __name__ == "__main__":
    sys.stdout.write(json.dumps(opa_schema(schema("input")), indent=2) + "\n")
