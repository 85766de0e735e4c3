"""What the gate would gather of a call under a bundle: whether its arguments are valid, and of which effect.

Pure, and as `gate.evidence` does it; decides nothing. A marker stands for the outcome in a document of both sides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gate.documents import argument_validator
from gate.evidence.action import MISSING, resolve

GATHERED = "$gathered"
"""Key of a marker: `valid`, `identified` or `effect`."""
_EARLIER_ACTION, _EARLIER_KEY, _EFFECT = "sha256:" + "8" * 64, "key-0", "sha256:" + "9" * 64


def settle(marker: Mapping[str, Any], facts: Mapping[str, Any]) -> Any:
    """What the gate would state in the place of `marker` under a bundle that says `facts` of itself."""
    entry = facts.get("capabilities", {}).get(marker["capability"], {})
    arguments = marker["arguments"]
    match marker[GATHERED]:
        case "valid":
            return bool(entry) and _valid(json.dumps(entry["arguments"], sort_keys=True), json.dumps(arguments))
        case "identified":
            return _identity(entry, arguments) is not None
        case _:
            key = _identity(entry, arguments)
            if key is None or key != _identity(entry, marker["earlier"]):
                return {"status": "not_started"}
            return {
                "status": "side_effect_committed",
                "capability": marker["capability"],
                "business_key": _EFFECT,
                "idempotency_key": _EARLIER_KEY,
                "action_digest": _EARLIER_ACTION,
                "run_id": marker["run_id"],
                "lease_expires_at_ms": None,
                "version": 3,
            }


def _identity(entry: Mapping[str, Any], arguments: Any) -> str | None:
    """The values that make two calls one effect; None when one of them is missing."""
    pointers = entry.get("identifying_arguments")
    values = [[pointer, resolve(arguments, pointer)] for pointer in pointers or ()]
    known = bool(values) and not any(value is MISSING or value is None for _, value in values)
    return json.dumps(values, sort_keys=True) if known else None


@lru_cache(maxsize=65_536)
def _valid(schema: str, arguments: str) -> bool:
    return bool(_validator(schema).is_valid(json.loads(arguments)))


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    return argument_validator(json.loads(schema))
