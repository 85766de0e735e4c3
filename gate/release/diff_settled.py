"""What the gate would gather of a call under a bundle: whether its arguments are valid, and of which effect.

Pure, and as `gate.evidence` does it; decides nothing. A marker stands for the outcome in a document of both sides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gate.documents import argument_validator, pointer_of, tokens_of
from gate.evidence.action import MISSING, resolve

GATHERED = "$gathered"
"""Key of a marker: `valid`, `identified`, `effect` or `standing`."""
STANDING = "sha256:" + "5" * 64
"""Digest of what the approval in a document stands for."""
_EARLIER_ACTION, _EARLIER_KEY, _EFFECT = "sha256:" + "8" * 64, "key-0", "sha256:" + "9" * 64
_OTHER_STANDING = "sha256:" + "a" * 64


def settle(marker: Mapping[str, Any], facts: Mapping[str, Any]) -> Any:
    """What the gate would state in the place of `marker` under a bundle that says `facts` of itself."""
    entry = facts.get("capabilities", {}).get(marker["capability"], {})
    arguments = marker["arguments"]
    match marker[GATHERED]:
        case "valid":
            return bool(entry) and _valid(json.dumps(entry["arguments"], sort_keys=True), json.dumps(arguments))
        case "identified":
            return _identity(entry, arguments) is not None
        case "standing":
            terms = facts.get("contracts", {}).get(marker["capability"], {}).get("standing")
            return None if terms is None else _standing(terms, arguments, marker["earlier"])
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


def _standing(terms: Mapping[str, Any], arguments: Any, earlier: Any) -> str:
    """`STANDING` when the arguments are those approved earlier but for what the terms leave free."""
    both = [json.loads(json.dumps(one)) for one in (arguments, earlier)]
    for *parents, last in map(tokens_of, terms["free_arguments"]):
        for one in both:
            node = resolve(one, pointer_of(*parents)) if parents else one
            if isinstance(node, dict):
                node.pop(last, None)
    return STANDING if both[0] == both[1] else _OTHER_STANDING


@lru_cache(maxsize=65_536)
def _valid(schema: str, arguments: str) -> bool:
    return bool(_validator(schema).is_valid(json.loads(arguments)))


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    return argument_validator(json.loads(schema))
